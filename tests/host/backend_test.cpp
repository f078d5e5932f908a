#include <libra/host/backend.hpp>

#include <libra/run/executor.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace {

using libra::location;
using libra::queue;
using libra::tensor;

constexpr std::int64_t tokens = 5;
constexpr libra::attention_shape shape{.q_heads = 1, .kv_heads = 1, .head_dim = 16, .mask = {}};

/// Rank 0 has a segment; rank 1 computes it in its workspace and sends the result back. Written by hand.
libra::pool_program two_rank_program() {
  libra::pool_program pool{
      .direction = libra::pass::forward, .width = {4, 4, 4}, .ranks = std::vector<libra::program>(2)};
  std::int64_t const block = tokens * 16 * 4;
  auto const part = [](tensor t) { return libra::region{t, libra::segment_id(0), 0, 1, {0, tokens}}; };
  auto const slot = [&](std::int64_t i) { return location::workspace(i * block); };

  libra::program& home = pool.ranks[0];
  libra::program& worker = pool.ranks[1];
  std::int64_t next = 0;
  for (tensor const t : {tensor::q, tensor::k, tensor::v}) {
    home.sends.push_back({part(t), libra::rank_id(1), location::home(0)});
    worker.receives.push_back({part(t), libra::rank_id(0), slot(next++)});
  }
  for (tensor const t : {tensor::o, tensor::lse}) {
    worker.sends.push_back({part(t), libra::rank_id(0), slot(next++)});
    home.receives.push_back({part(t), libra::rank_id(1), location::home(0)});
  }
  libra::tile_task tile{
      .segment = libra::segment_id(0), .head_begin = 0, .head_end = 1, .rows = {0, tokens}, .keys = {0, tokens}};
  next = 0;
  for (tensor const t : {tensor::q, tensor::k, tensor::v, tensor::o, tensor::lse}) {
    tile.put(t, slot(next++));
  }
  worker.tiles = {tile};
  worker.workspace_bytes = 5 * block;

  using libra::op_kind;
  home.ops = {
      {.kind = op_kind::exchange, .on = queue::fetch, .round = 0, .after = {}, .items = {0, 3}, .receives = {}},
      {.kind = op_kind::exchange, .on = queue::deliver, .round = 0, .after = {}, .items = {}, .receives = {0, 2}}};
  worker.ops = {
      {.kind = op_kind::exchange, .on = queue::fetch, .round = 0, .after = {}, .items = {}, .receives = {0, 3}},
      {.kind = op_kind::attend, .on = queue::compute, .round = 0, .after = {1, 0, 0}, .items = {0, 1}, .receives = {}},
      {.kind = op_kind::exchange,
       .on = queue::deliver,
       .round = 0,
       .after = {0, 1, 0},
       .items = {0, 2},
       .receives = {}}};
  return pool;
}

std::vector<float> ramp(float step) {
  std::vector<float> values(tokens * 16);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = std::sin(step * static_cast<float>(i));
  }
  return values;
}

TEST_CASE("a program written by hand computes one rank's segment on the other") {
  libra::pool_program const pool = two_rank_program();
  std::vector<float> const q = ramp(0.1F), k = ramp(0.2F), v = ramp(0.3F);
  std::vector<float> o(q.size()), lse(tokens);
  libra::host::rank_group group(2);
  run_ranks(group, [&](libra::rank_id rank) {
    libra::host::backend parts(group, rank);
    auto const workspace = parts.kernel().allocate(pool.ranks[rank.index()].workspace_bytes);
    libra::bindings at(shape, {4, 4, 4}, rank.value == 0 ? tokens : 0);
    at.workspace(workspace.data(), pool.ranks[rank.index()].workspace_bytes);
    at.softmax_scale(0.25F);
    if (rank.value == 0) {
      at.input(tensor::q, std::as_bytes(std::span(q)).data());
      at.input(tensor::k, std::as_bytes(std::span(k)).data());
      at.input(tensor::v, std::as_bytes(std::span(v)).data());
      at.output(tensor::o, std::as_writable_bytes(std::span(o)).data());
      at.output(tensor::lse, std::as_writable_bytes(std::span(lse)).data());
    }
    libra::executor<libra::host::transport::ticket>(pool, rank).run(parts.transport(), parts.kernel(), at);
  });

  for (std::size_t row = 0; row < tokens; ++row) {
    double sum = 0;
    std::vector<double> expected(16);
    for (std::size_t key = 0; key <= row; ++key) {
      double score = 0;
      for (std::size_t c = 0; c < 16; ++c) {
        score += 0.25 * static_cast<double>(q[row * 16 + c]) * static_cast<double>(k[key * 16 + c]);
      }
      sum += std::exp(score);
      for (std::size_t c = 0; c < 16; ++c) {
        expected[c] += std::exp(score) * static_cast<double>(v[key * 16 + c]);
      }
    }
    CHECK(static_cast<double>(lse[row]) == doctest::Approx(std::log(sum)).epsilon(1e-5));
    for (std::size_t c = 0; c < 16; ++c) {
      CHECK(static_cast<double>(o[row * 16 + c]) == doctest::Approx(expected[c] / sum).epsilon(1e-5));
    }
  }
}

}  // namespace
