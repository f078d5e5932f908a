#include <libra/sample/length_source.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

TEST_CASE("views and callables are sources alike") {
  std::vector<std::int64_t> const lengths{5, 0, 7};
  libra::span_lengths const view(lengths);
  libra::computed_lengths const computed(3, [&](std::int64_t i) { return lengths[static_cast<std::size_t>(i)]; });
  static_assert(libra::length_source<decltype(computed)>);
  CHECK(view.size() == 3);
  CHECK(view[2] == 7);
  CHECK(computed[2] == 7);
  CHECK(digest_of_lengths(view) == digest_of_lengths(computed));
}

TEST_CASE("the digest tells lists apart") {
  std::vector<std::int64_t> const lengths{5, 0, 7};
  std::vector<std::int64_t> const swapped{5, 7, 0};
  std::vector<std::int64_t> const shorter{5, 0};
  auto const of = [](std::vector<std::int64_t> const& list) { return digest_of_lengths(libra::span_lengths(list)); };
  CHECK(of(lengths) != of(swapped));
  CHECK(of(lengths) != of(shorter));
}
