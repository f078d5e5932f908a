#include <libra/host/tile_kernel.hpp>

#include <libra/core/error.hpp>
#include <libra/core/random.hpp>
#include <libra/host/instruction_set.hpp>
#include <libra/host/reference.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace {

using libra::attention_mask;
using libra::row_range;
using libra::host::attend;
using libra::host::attend_backward;
using libra::host::head_rows;
using libra::host::reference_result;
using libra::host::scratch;
using libra::host::tile_extent;

/// `[rows, heads, width]` with gaps between heads and rows, at an address that is aligned to nothing but floats.
class strided {
 public:
  strided(std::int64_t rows, std::int64_t heads, std::int64_t width)
      : head_stride_(width + 3),
        row_stride_(heads * head_stride_ + 5),
        values_(static_cast<std::size_t>(rows * row_stride_ + 1), gap) {}

  [[nodiscard]] head_rows<float> view(std::int64_t row = 0, std::int64_t head = 0) {
    return {values_.data() + 1 + row * row_stride_ + head * head_stride_, row_stride_, head_stride_};
  }
  void fill(float value) { std::ranges::fill(values_, value); }
  void randomise(libra::random_bits& bits, float size) {
    for (float& value : values_) {
      value = static_cast<float>(bits.between(-1'000'000, 1'000'000)) * 1e-6F * size;
    }
  }
  [[nodiscard]] bool same_bits(strided const& other) const {
    return std::memcmp(values_.data(), other.values_.data(), values_.size() * sizeof(float)) == 0;
  }

  static constexpr float gap = -77.0F;

 private:
  std::int64_t head_stride_;
  std::int64_t row_stride_;
  std::vector<float> values_;
};

/// Rows and heads of a tile, and how many key blocks below the visible ones it carries along.
struct cut {
  row_range rows;
  row_range heads;
  std::int64_t keys_begin;
};

/// One segment's inputs for one key/value head, and its outputs as the tile kernel computes them.
struct segment {
  std::int64_t length;
  std::int32_t heads;
  std::int32_t head_dim;
  attention_mask mask;
  float scale{0.3F};
  strided q{length, heads, head_dim};
  strided k{length, 1, head_dim};
  strided v{length, 1, head_dim};
  strided d_o{length, heads, head_dim};
  strided o{length, heads, head_dim};
  strided lse{length, heads, 1};
  strided delta{length, heads, 1};
  strided dq{length, heads, head_dim};
  strided dk{length, 1, head_dim};
  strided dv{length, 1, head_dim};

  void randomise(std::uint64_t seed, float size = 1.0F) {
    libra::random_bits bits(seed);
    for (strided* each : {&q, &k, &v, &d_o}) {
      each->randomise(bits, size);
    }
  }

  [[nodiscard]] cut whole() const { return {{0, length}, {0, heads}, 0}; }

  [[nodiscard]] tile_extent extent(cut const& c) const {
    row_range const seen = mask.span(c.rows.begin, c.rows.end, length);
    return {.rows = c.rows,
            .keys = {c.keys_begin, seen.end},
            .length = length,
            .heads = static_cast<std::int32_t>(c.heads.size()),
            .head_dim = head_dim,
            .mask = mask,
            .scale = scale};
  }

  void forward(cut const& c, scratch& memory) {
    attend({.extent = extent(c),
            .q = q.view(c.rows.begin, c.heads.begin),
            .k = k.view(c.keys_begin),
            .v = v.view(c.keys_begin),
            .o = o.view(c.rows.begin, c.heads.begin),
            .lse = lse.view(c.rows.begin, c.heads.begin)},
           memory);
  }

  void backward(cut const& c, scratch& memory) {
    row_dot(d_o.view(c.rows.begin, c.heads.begin), o.view(c.rows.begin, c.heads.begin),
            delta.view(c.rows.begin, c.heads.begin),
            {c.rows.size(), static_cast<std::int32_t>(c.heads.size()), head_dim});
    attend_backward({.extent = extent(c),
                     .q = q.view(c.rows.begin, c.heads.begin),
                     .k = k.view(c.keys_begin),
                     .v = v.view(c.keys_begin),
                     .d_o = d_o.view(c.rows.begin, c.heads.begin),
                     .lse = lse.view(c.rows.begin, c.heads.begin),
                     .delta = delta.view(c.rows.begin, c.heads.begin),
                     .dq = dq.view(c.rows.begin, c.heads.begin),
                     .dk = dk.view(c.keys_begin),
                     .dv = dv.view(c.keys_begin)},
                    memory);
  }

  /// Both passes over the given tiles.
  void run(std::span<cut const> cuts) {
    scratch memory;
    dk.fill(0.0F);
    dv.fill(0.0F);
    for (cut const& c : cuts) {
      forward(c, memory);
      backward(c, memory);
    }
  }

  [[nodiscard]] reference_result reference() {
    return libra::host::reference_attention({.length = length,
                                             .heads = heads,
                                             .head_dim = head_dim,
                                             .mask = mask,
                                             .scale = static_cast<double>(scale),
                                             .q = q.view(),
                                             .k = k.view(),
                                             .v = v.view(),
                                             .d_o = d_o.view()});
  }
};

/// Largest difference over the largest expected magnitude, or over 0.01 where all that is expected is smaller (the
/// gradients of a row that sees one key are zero). NaN anywhere makes it NaN.
double relative_error(head_rows<float const> got, std::vector<double> const& expected, std::int64_t heads,
                      std::int64_t width) {
  double error = 0;
  double size = 1e-2;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    auto const at = static_cast<std::int64_t>(i);
    double const value = static_cast<double>(got.at(at / width / heads, at / width % heads)[at % width]);
    double const difference = std::abs(value - expected[i]);
    error = difference <= error ? error : difference;
    size = std::max(size, std::abs(expected[i]));
  }
  return error / size;
}

void check_against_reference(segment& s) {
  reference_result const expected = s.reference();
  CHECK(relative_error(s.o.view(), expected.o, s.heads, s.head_dim) < 1e-5);
  CHECK(relative_error(s.lse.view(), expected.lse, s.heads, 1) < 1e-5);
  CHECK(relative_error(s.dq.view(), expected.dq, s.heads, s.head_dim) < 1e-4);
  CHECK(relative_error(s.dk.view(), expected.dk, 1, s.head_dim) < 1e-4);
  CHECK(relative_error(s.dv.view(), expected.dv, 1, s.head_dim) < 1e-4);
}

/// Runs `check` once on every instruction set of this processor.
template <class Check>
void on_every_instruction_set(Check check) {
  for (std::string_view const name : libra::host::instruction_sets()) {
    libra::host::use_instruction_set(name);
    INFO("instruction set ", std::string(name));
    check();
  }
  libra::host::use_instruction_set(libra::host::instruction_sets().front());
}

attention_mask random_mask(libra::random_bits& bits, std::int64_t length) {
  switch (bits.below(4)) {
    case 0:
      return attention_mask::full();
    case 1:
      return attention_mask::window(bits.between(1, 40));
    case 2:
      return attention_mask::window(bits.between(1, length + 20));
    default:
      return attention_mask::causal();
  }
}

/// Tiles that cover a segment once, with random numbers of rows and heads and more keys than needed here and there.
std::vector<cut> random_cuts(libra::random_bits& bits, segment const& s) {
  std::vector<cut> cuts;
  for (std::int64_t head = 0; head < s.heads;) {
    std::int64_t const head_end = bits.between(head + 1, s.heads);
    for (std::int64_t row = 0; row < s.length;) {
      std::int64_t const longest = bits.below(3) == 0 ? 15 : 200;
      std::int64_t const row_end = std::min(s.length, row + bits.between(1, longest));
      std::int64_t const panel = s.mask.panel(row, row_end, s.length).begin / libra::key_block;
      cuts.push_back({{row, row_end}, {head, head_end}, bits.between(0, panel) * libra::key_block});
      row = row_end;
    }
    head = head_end;
  }
  libra::shuffle(std::span(cuts), bits);
  return cuts;
}

TEST_CASE("outputs and gradients match the double-precision reference") {
  libra::random_bits bits(11);
  std::array const groups{1, 4, 7};
  on_every_instruction_set([&] {
    for (std::int32_t const head_dim : {16, 24, 64, 72, 128, 256}) {
      std::int32_t const heads = groups[bits.below(head_dim > 100 ? 2 : 3)];
      // Beyond one key block and one batch of rows, yet quick without vectors and optimisation.
      std::int64_t const length = bits.between(100, head_dim > 100 ? 140 : 270);
      segment s{length, heads, head_dim, random_mask(bits, length)};
      INFO("head_dim ", head_dim, ", heads ", heads, ", length ", length, ", mask ", static_cast<int>(s.mask.kind),
           " of width ", s.mask.width_tokens);
      s.randomise(bits());
      s.run(std::array{s.whole()});
      check_against_reference(s);
    }
  });
}

TEST_CASE("segments of one to seventeen rows match the reference") {
  for (std::int64_t length = 1; length <= 17; ++length) {
    segment s{length, 1, 40, attention_mask::causal()};
    s.randomise(static_cast<std::uint64_t>(length));
    s.run(std::array{s.whole()});
    check_against_reference(s);
  }
}

TEST_CASE("tiles cut anywhere match the reference") {
  libra::random_bits bits(12);
  for (int round = 0; round < 4; ++round) {
    std::int64_t const length = bits.between(150, 500);
    segment s{length, 3, 32, random_mask(bits, length)};
    s.randomise(bits());
    s.run(random_cuts(bits, s));
    check_against_reference(s);
  }
}

TEST_CASE("the bits of o, lse and dq do not depend on how a segment is cut") {
  libra::random_bits bits(13);
  on_every_instruction_set([&] {
    for (int round = 0; round < 6; ++round) {
      std::int64_t const length = bits.between(1, 330);
      auto const heads = static_cast<std::int32_t>(bits.between(1, 4));
      auto const head_dim = static_cast<std::int32_t>(bits.between(2, 6)) * 8;
      segment whole{length, heads, head_dim, random_mask(bits, length)};
      whole.randomise(bits(), round % 2 == 0 ? 1.0F : 6.0F);
      segment pieces = whole;
      whole.run(std::array{whole.whole()});
      pieces.run(random_cuts(bits, pieces));
      INFO("head_dim ", head_dim, ", heads ", heads, ", length ", length, ", mask ", static_cast<int>(whole.mask.kind),
           " of width ", whole.mask.width_tokens);
      CHECK(pieces.o.same_bits(whole.o));
      CHECK(pieces.lse.same_bits(whole.lse));
      CHECK(pieces.dq.same_bits(whole.dq));
    }
  });
}

TEST_CASE("nor does the sign of a zero") {
  libra::random_bits bits(23);
  segment whole{260, 2, 16, attention_mask::causal()};
  whole.randomise(24);
  // So small that products with a probability vanish, some of them from below.
  whole.v.randomise(bits, 3e-45F);
  whole.d_o.randomise(bits, 3e-45F);
  segment pieces = whole;
  whole.run(std::array{whole.whole()});
  pieces.run(random_cuts(bits, pieces));
  CHECK(pieces.o.same_bits(whole.o));
  CHECK(pieces.dq.same_bits(whole.dq));
}

TEST_CASE("the same tiles on several threads give the same bits") {
  libra::random_bits bits(14);
  segment serial{300, 4, 32, attention_mask::causal()};
  serial.randomise(1);
  segment threaded = serial;
  std::vector<cut> const cuts = random_cuts(bits, serial);
  scratch memory;
  for (cut const& c : cuts) {
    serial.forward(c, memory);
  }
  {
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < 3; ++rank) {
      threads.emplace_back([&threaded, &cuts, rank] {
        scratch own;
        for (std::size_t i = rank; i < cuts.size(); i += 3) {
          threaded.forward(cuts[i], own);
        }
      });
    }
  }
  CHECK(threaded.o.same_bits(serial.o));
  CHECK(threaded.lse.same_bits(serial.lse));
}

TEST_CASE("dq is written, dk and dv are added to") {
  segment once{150, 2, 24, attention_mask::causal()};
  once.randomise(15);
  segment twice = once;
  once.run(std::array{once.whole()});
  twice.run(std::array{twice.whole(), twice.whole()});
  CHECK(twice.dq.same_bits(once.dq));
  for (std::int64_t row = 0; row < 150; ++row) {
    for (std::int64_t channel = 0; channel < 24; ++channel) {
      REQUIRE(twice.dk.view().at(row)[channel] == 2.0F * once.dk.view().at(row)[channel]);
      REQUIRE(twice.dv.view().at(row)[channel] == 2.0F * once.dv.view().at(row)[channel]);
    }
  }
}

TEST_CASE("nothing outside the rows, heads and channels of a tile is written") {
  segment s{60, 3, 16, attention_mask::full()};
  s.randomise(16);
  strided const untouched = s.o;
  scratch memory;
  s.forward({{20, 31}, {1, 2}, 0}, memory);
  for (std::int64_t row = 0; row < 60; ++row) {
    for (std::int64_t head = 0; head < 3; ++head) {
      bool const inside = row >= 20 && row < 31 && head == 1;
      float const* const at = s.o.view().at(row, head);
      REQUIRE((*at != strided::gap) == inside);
      REQUIRE((at[15] != strided::gap) == inside);
      REQUIRE(at[16] == strided::gap);
    }
  }
}

TEST_CASE("scores of any size give finite outputs") {
  for (float const size : {30.0F, 1e4F, 1e10F}) {
    segment s{200, 2, 64, attention_mask::causal()};
    s.randomise(17, size);
    s.run(std::array{s.whole()});
    for (std::int64_t row = 0; row < s.length; ++row) {
      for (std::int64_t channel = 0; channel < s.head_dim; ++channel) {
        REQUIRE(std::isfinite(s.o.view().at(row, 1)[channel]));
        REQUIRE(std::abs(s.o.view().at(row, 1)[channel]) <= size);
        REQUIRE(std::isfinite(s.dq.view().at(row, 1)[channel]));
        REQUIRE(std::isfinite(s.dk.view().at(row)[channel]));
      }
      REQUIRE(std::isfinite(*s.lse.view().at(row, 1)));
    }
  }
}

TEST_CASE("scores of a thousand keep the accuracy that fp32 scores allow") {
  segment s{200, 1, 64, attention_mask::full()};
  s.randomise(18, 20.0F);
  s.run(std::array{s.whole()});
  reference_result const expected = s.reference();
  CHECK(relative_error(s.lse.view(), expected.lse, 1, 1) < 1e-5);
  CHECK(relative_error(s.o.view(), expected.o, 1, 64) < 1e-3);
}

TEST_CASE("zero queries, zero values and zero scale are ordinary") {
  segment s{180, 2, 48, attention_mask::causal()};
  s.randomise(19);
  SUBCASE("queries") { s.q.fill(0.0F); }
  SUBCASE("values") { s.v.fill(0.0F); }
  SUBCASE("output gradients") { s.d_o.fill(0.0F); }
  SUBCASE("scale") { s.scale = 0.0F; }
  SUBCASE("negative scale") { s.scale = -0.4F; }
  s.run(std::array{s.whole()});
  check_against_reference(s);
}

TEST_CASE("a query that is not a number spoils its own row only") {
  segment s{64, 1, 16, attention_mask::causal()};
  s.randomise(20);
  s.q.view().at(10)[3] = std::numeric_limits<float>::quiet_NaN();
  scratch memory;
  s.forward(s.whole(), memory);
  for (std::int64_t row = 0; row < s.length; ++row) {
    CHECK(std::isnan(*s.o.view().at(row)) == (row == 10));
  }
}

TEST_CASE("a tile without rows computes nothing") {
  segment s{10, 1, 16, attention_mask::causal()};
  scratch memory;
  attend({.extent = {.rows = {4, 4}, .keys = {}, .length = 10, .head_dim = 16}}, memory);
  attend_backward({.extent = {.rows = {4, 4}, .keys = {}, .length = 10, .head_dim = 16}}, memory);
}

TEST_CASE("extents that do not fit are refused with what was expected") {
  segment s{300, 2, 16, attention_mask::causal()};
  scratch memory;
  auto const refuse = [&](tile_extent const& extent, char const* text) {
    CHECK_THROWS_WITH_AS(attend({.extent = extent}, memory), text, libra::input_error);
    CHECK_THROWS_WITH_AS(attend_backward({.extent = extent}, memory), text, libra::input_error);
  };
  tile_extent const good = s.extent(s.whole());
  tile_extent bad = good;
  bad.head_dim = 20;
  refuse(bad, "head_dim is 20, expected 16 to 256 in steps of 8");
  bad = good;
  bad.heads = 0;
  refuse(bad, "tile has 0 heads, expected at least 1");
  bad = good;
  bad.rows.end = 301;
  refuse(bad, "tile has rows [0, 301), expected a range inside its segment of 300 tokens");
  bad = good;
  bad.keys.begin = 64;
  refuse(bad, "tile's keys begin at 64, expected a multiple of 128");
  bad = good;
  bad.keys.end = 299;
  refuse(bad,
         "tile has keys [0, 299), expected at least the visible [0, 300) and none beyond the segment's 300 tokens");
}

TEST_CASE("row_dot sums products over the channels of every row and head") {
  strided x(9, 3, 40);
  strided y(9, 3, 40);
  strided sums(9, 3, 1);
  libra::random_bits bits(21);
  x.randomise(bits, 1.0F);
  y.randomise(bits, 1.0F);
  libra::host::row_dot(x.view(), y.view(), sums.view(), {9, 3, 40});
  for (std::int64_t row = 0; row < 9; ++row) {
    for (std::int64_t head = 0; head < 3; ++head) {
      double expected = 0;
      for (int c = 0; c < 40; ++c) {
        expected += static_cast<double>(x.view().at(row, head)[c]) * static_cast<double>(y.view().at(row, head)[c]);
      }
      CHECK(std::abs(static_cast<double>(*sums.view().at(row, head)) - expected) < 1e-5);
    }
  }
}

TEST_CASE("add_rows adds the parts in the given order, also in place") {
  strided a(4, 2, 24);
  strided b(4, 2, 24);
  strided c(4, 2, 24);
  strided sum(4, 2, 24);
  a.view().at(3, 1)[23] = 1e8F;
  b.view().at(3, 1)[23] = 1.0F;
  c.view().at(3, 1)[23] = -1e8F;
  std::array<head_rows<float const>, 3> parts{a.view(), b.view(), c.view()};
  libra::host::add_rows(parts, sum.view(), {4, 2, 24});
  CHECK(sum.view().at(3, 1)[23] == 0.0F);  // the 1 is lost beside 1e8
  CHECK(sum.view().at(0, 0)[0] == 3 * strided::gap);
  CHECK(sum.view().at(0, 0)[24] == strided::gap);
  std::swap(parts[1], parts[2]);
  libra::host::add_rows(parts, a.view(), {4, 2, 24});
  CHECK(a.view().at(3, 1)[23] == 1.0F);
  CHECK_THROWS_AS(libra::host::add_rows({}, sum.view(), {4, 2, 24}), libra::input_error);
}

TEST_CASE("scratch memory is allocated once") {
  segment s{200, 2, 16, attention_mask::causal()};
  s.randomise(22);
  scratch memory;
  s.forward(s.whole(), memory);
  s.backward(s.whole(), memory);
  std::byte const* const address = memory.reserve(1);
  s.forward(s.whole(), memory);
  s.backward(s.whole(), memory);
  CHECK(memory.reserve(1) == address);
}

}  // namespace
