#include <libra/core/random.hpp>
#include <libra/host/tile_kernel.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace {

using libra::host::head_rows;

constexpr std::int64_t length = 200;
constexpr std::int32_t heads = 2;
constexpr std::int32_t dim = 24;

std::vector<float> random(std::uint64_t seed, std::int64_t row_heads) {
  libra::random_bits bits(seed);
  std::vector<float> values(static_cast<std::size_t>(length * row_heads * dim));
  for (float& x : values) {
    x = static_cast<float>(bits.between(-1000, 1000)) * 2e-3F;
  }
  return values;
}

struct result {
  std::vector<float> o = std::vector<float>(static_cast<std::size_t>(length * heads * dim));
  std::vector<float> lse = std::vector<float>(static_cast<std::size_t>(length * heads));

  [[nodiscard]] head_rows<float> o_rows() { return {o.data(), heads * dim, dim}; }
  [[nodiscard]] head_rows<float> lse_rows() { return {lse.data(), heads, 1}; }
};

result attend(libra::row_range keys, libra::attention_mask mask, bool all_keys) {
  static std::vector<float> const q = random(1, heads);
  static std::vector<float> const k = random(2, 1);
  static std::vector<float> const v = random(3, 1);
  libra::host::scratch memory;
  result r;
  libra::host::attend({.extent = {{0, length}, keys, length, heads, dim, mask, 0.5F, all_keys},
                       .q = {q.data(), heads * dim, dim},
                       .k = {k.data() + keys.begin * dim, dim, dim},
                       .v = {v.data() + keys.begin * dim, dim, dim},
                       .o = r.o_rows(),
                       .lse = r.lse_rows()},
                      memory);
  return r;
}

TEST_CASE("parts of the keys, wherever they are cut, combine to all of them") {
  for (libra::attention_mask const mask :
       {libra::attention_mask::causal(), libra::attention_mask::full(), libra::attention_mask::window(37)}) {
    result const whole = attend({0, length}, mask, true);
    for (std::int64_t const cut : {1, 77, 128, 199}) {
      result first = attend({0, cut}, mask, false);
      result second = attend({cut, length}, mask, false);
      combine(second.o_rows(), second.lse_rows(), first.o_rows(), first.lse_rows(), {length, heads, dim});
      double worst = 0;
      for (std::size_t i = 0; i < whole.o.size(); ++i) {
        worst = std::max(worst, std::abs(static_cast<double>(first.o[i]) - static_cast<double>(whole.o[i])));
      }
      for (std::size_t i = 0; i < whole.lse.size(); ++i) {
        worst = std::max(worst, std::abs(static_cast<double>(first.lse[i]) - static_cast<double>(whole.lse[i])));
      }
      CAPTURE(cut);
      CHECK(worst < 1e-5);
    }
  }
}

TEST_CASE("a row that sees none of a part's keys has nothing to add") {
  result const part = attend({150, length}, libra::attention_mask::causal(), false);
  CHECK(part.lse[0] == -std::numeric_limits<float>::infinity());
  CHECK(part.o[0] == 0.0F);
  CHECK(std::isfinite(part.lse.back()));
}

}  // namespace
