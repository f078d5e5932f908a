#include <libra/host/kernel.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace {

using libra::location;
using libra::tensor;

constexpr libra::attention_shape shape{.q_heads = 4, .kv_heads = 2, .head_dim = 16, .mask = {}};
constexpr libra::segment_id segment{0};
constexpr std::int64_t tokens = 6;

/// Home tensors of one rank with a workspace of floats.
struct fixture {
  std::array<std::vector<float>, libra::tensor_count> home;
  libra::host::kernel kernel;
  libra::host::kernel::memory memory = kernel.allocate(64 * 1024);
  libra::bindings at{shape, libra::host::kernel::width, tokens};

  fixture() {
    for (std::size_t i = 0; i < libra::tensor_count; ++i) {
      auto const t = static_cast<tensor>(i);
      home[i].resize(static_cast<std::size_t>(tokens * heads_of(t, shape) * (is_statistic(t) ? 1 : shape.head_dim)));
      for (std::size_t e = 0; e < home[i].size(); ++e) {
        home[i][e] = static_cast<float>((e * 7 + i * 5) % 11) - 5.0F;
      }
      at.output(t, std::as_writable_bytes(std::span(home[i])).data());
    }
    at.workspace(memory.data(), 64 * 1024);
    at.softmax_scale(0.25F);
  }
  std::vector<float>& of(tensor t) { return home[static_cast<std::size_t>(t)]; }
  /// The workspace as floats.
  float* work() { return static_cast<float*>(static_cast<void*>(memory.data())); }
};

TEST_CASE_FIXTURE(fixture, "clear zeroes a region and nothing else") {
  auto const before = of(tensor::dk);
  std::array<libra::region_task, 1> const tasks{{{{tensor::dk, segment, 1, 2, {0, 2}}, location::home(3)}}};
  kernel.clear(tasks, at);
  for (std::size_t e = 0; e < before.size(); ++e) {
    std::size_t const token = e / 32;
    bool const cleared = (token == 3 || token == 4) && e % 32 >= 16;
    CHECK(of(tensor::dk)[e] == (cleared ? 0.0F : before[e]));
  }
}

TEST_CASE_FIXTURE(fixture, "row_dot writes delta of its rows and heads") {
  std::ranges::fill(of(tensor::delta), -1.0F);
  location const rows = location::home(2);
  std::array<libra::dot_task, 1> const tasks{{{{tensor::delta, segment, 0, 4, {10, 13}}, rows, rows, rows}}};
  kernel.row_dot(tasks, at);
  for (std::size_t row = 0; row < 6 * 4; ++row) {
    float expected = -1.0F;
    if (row >= 8 && row < 20) {
      expected = 0.0F;
      for (std::size_t c = 0; c < 16; ++c) {
        expected += of(tensor::d_o)[row * 16 + c] * of(tensor::o)[row * 16 + c];
      }
    }
    CHECK(of(tensor::delta)[row] == expected);
  }
}

TEST_CASE_FIXTURE(fixture, "reduce sums partials in their order into a home region") {
  // In fp32 (1e8 + 1) - 1e8 is 0, and (1e8 - 1e8) + 1 is 1.
  for (std::size_t c = 0; c < 2 * 16; ++c) {
    work()[c] = 1e8F;
    work()[64 + c] = 1.0F;
    work()[128 + c] = -1e8F;
  }
  std::array const partials{location::nowhere(),      location::workspace(0), location::workspace(256),
                            location::workspace(512), location::workspace(0), location::workspace(512),
                            location::workspace(256)};
  std::array<libra::reduce_task, 2> const tasks{{{{tensor::dv, segment, 0, 1, {0, 2}}, location::home(0), 1, 4},
                                                 {{tensor::dv, segment, 1, 2, {4, 6}}, location::home(4), 4, 7}}};
  kernel.reduce(tasks, partials, at);
  CHECK(of(tensor::dv)[0] == 0.0F);
  CHECK(of(tensor::dv)[32 + 15] == 0.0F);
  CHECK(of(tensor::dv)[4 * 32 + 16] == 1.0F);
  CHECK(of(tensor::dv)[5 * 32 + 31] == 1.0F);
}

/// A tile over the whole segment and one head, everything at home.
libra::tile_task home_tile(std::int32_t head) {
  libra::tile_task task{
      .segment = segment, .head_begin = head, .head_end = head + 1, .rows = {0, tokens}, .keys = {0, tokens}};
  for (std::size_t i = 0; i < libra::tensor_count; ++i) {
    task.put(static_cast<tensor>(i), location::home(0));
  }
  return task;
}

TEST_CASE_FIXTURE(fixture, "a tile in the workspace gives the bits of a tile at home") {
  std::array const local{home_tile(3)};
  kernel.attend(local, at);
  auto const o = of(tensor::o);
  auto const lse = of(tensor::lse);

  // The same tile, its last two rows only, on copies: q of head 3 and key/value head 1.
  libra::tile_task task{.segment = segment, .head_begin = 3, .head_end = 4, .rows = {4, 6}, .keys = {0, 6}};
  for (std::size_t t = 0; t < 6; ++t) {
    std::copy_n(of(tensor::k).begin() + static_cast<std::ptrdiff_t>(t * 32 + 16), 16, work() + 1024 + t * 16);
    std::copy_n(of(tensor::v).begin() + static_cast<std::ptrdiff_t>(t * 32 + 16), 16, work() + 2048 + t * 16);
  }
  for (std::size_t t = 4; t < 6; ++t) {
    std::copy_n(of(tensor::q).begin() + static_cast<std::ptrdiff_t>(t * 64 + 48), 16, work() + (t - 4) * 16);
  }
  task.put(tensor::q, location::workspace(0));
  task.put(tensor::k, location::workspace(4096));
  task.put(tensor::v, location::workspace(8192));
  task.put(tensor::o, location::workspace(12288));
  task.put(tensor::lse, location::workspace(16384));
  std::array const remote{task};
  kernel.attend(remote, at);
  for (std::size_t t = 4; t < 6; ++t) {
    for (std::size_t c = 0; c < 16; ++c) {
      CHECK(work()[3072 + (t - 4) * 16 + c] == o[t * 64 + 48 + c]);
    }
    CHECK(work()[4096 + t - 4] == lse[t * 4 + 3]);
  }
}

TEST_CASE_FIXTURE(fixture, "backward adds to dk and dv and writes dq") {
  std::array const tiles{home_tile(2), home_tile(3)};
  kernel.attend(tiles, at);
  location const rows = location::home(0);
  std::array<libra::dot_task, 1> const dots{{{{tensor::delta, segment, 2, 4, {0, tokens}}, rows, rows, rows}}};
  kernel.row_dot(dots, at);
  std::ranges::fill(of(tensor::dk), 0.0F);
  std::ranges::fill(of(tensor::dv), 0.0F);
  kernel.attend_backward({&tiles[0], 1}, at);
  auto const dq = of(tensor::dq);
  auto const dv = of(tensor::dv);
  kernel.attend_backward({&tiles[0], 1}, at);
  CHECK(of(tensor::dq) == dq);
  for (std::size_t e = 0; e < dv.size(); ++e) {
    CHECK(of(tensor::dv)[e] == doctest::Approx(2 * dv[e]));
  }
}

}  // namespace
