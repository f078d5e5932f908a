#include <libra/model/scatter.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <set>

namespace {

using libra::pool_batch;
using libra::slot_id;
using libra::topology;

pool_batch pool(std::int32_t slots, std::int32_t cp, libra::sharding home = libra::sharding::contiguous) {
  return {.shape = {.q_heads = 8, .kv_heads = 2, .head_dim = 64, .mask = {}},
          .home = {1024, cp, home},
          .slots = slots,
          .first_rank = 0,
          .segments = {}};
}

/// On how many nodes the shards of a slot lie; 0 if two consecutive ones lie on the same.
std::int32_t nodes_of(pool_batch batch, topology const& links, std::int32_t slot) {
  batch.stride = scattering_stride(batch, links);
  std::set<std::int32_t> nodes;
  std::int32_t before = -1;
  for (std::int32_t c = 0; c < batch.home.cp; ++c) {
    std::int32_t const node = batch.rank_of(slot_id(slot), c).value / links.ranks_per_node;
    if (node == before) return 0;
    nodes.insert(node);
    before = node;
  }
  return static_cast<std::int32_t>(nodes.size());
}

TEST_CASE("shards lie on as many nodes as there are, consecutive ones on different nodes") {
  topology const links;
  for (std::int32_t slot = 0; slot < 4; ++slot) {
    CHECK(nodes_of(pool(16, 8), links, slot) == 8);
    CHECK(nodes_of(pool(8, 8), links, slot) == 8);
    CHECK(nodes_of(pool(4, 8), links, slot) == 4);
    CHECK(nodes_of(pool(8, 2), links, slot) == 2);
    CHECK(nodes_of(pool(16, 4), links, slot) == 4);
    CHECK(nodes_of(pool(4, 16), links, slot) == 8);
  }
}

TEST_CASE("a pool in one node, a single rank and zigzag shards stay as they are") {
  topology const links;
  CHECK(scattering_stride(pool(2, 4), links) == 0);
  CHECK(scattering_stride(pool(16, 1), links) == 0);
  CHECK(scattering_stride(pool(8, 8, libra::sharding::zigzag), links) == 0);
  CHECK(scattering_stride(pool(1, 16), links) == 0);
}

}  // namespace
