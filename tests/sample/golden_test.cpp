#include <libra/core/digest.hpp>
#include <libra/pack/best_fit_decreasing.hpp>
#include <libra/sample/batch_cutter.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <span>
#include <string>

// What batches hold is fixed for good: states of old checkpoints point into this stream. Regenerate the values only
// together with sampler_state::current_version.

namespace {

std::string batches_of_two_epochs(libra::epoch_end at_end) {
  libra::computed_lengths const source(3000, [](std::int64_t i) {
    return i % 50 == 7 ? 40 * (i % 13) : static_cast<std::int64_t>(libra::mix64(static_cast<std::uint64_t>(i)) % 60);
  });
  auto const pack = [](std::span<std::int64_t const> lengths) { return libra::best_fit_decreasing{}(lengths, 100); };
  libra::batch_cutter<decltype(source), decltype(pack)> cut(source, pack, 100, 6, {.seed = 12}, at_end);
  libra::hasher hash;
  for (int epoch = 0; epoch < 2; ++epoch) {
    while (auto const batch = cut.next()) {
      hash.add(batch->sequences.size());
      for (libra::segment const& s : batch->sequences.values()) {
        hash.add(s.document.value).add(s.offset).add(s.length);
      }
    }
  }
  return to_hex(hash.finish());
}

TEST_CASE("the batches of a fixed list are what they were") {
  CHECK(batches_of_two_epochs(libra::epoch_end::pad) == "19df0f728822ed3b25ea473f7c9cf4f9");
  CHECK(batches_of_two_epochs(libra::epoch_end::drop) == "260db14e0b9b28923746d34210557228");
  CHECK(batches_of_two_epochs(libra::epoch_end::carry) == "de40e111053944845114dfff1ef55df1");
}

}  // namespace
