#include <libra/dispatch/node_traffic.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

using libra::segment_id;
using libra::detail::node_traffic;

/// Four nodes of one rank. A document of 400 tokens, 100 on each.
libra::pool_batch one_document() {
  return {.shape = {.q_heads = 4, .kv_heads = 2, .head_dim = 16, .mask = libra::attention_mask::causal()},
          .home = {400, 4},
          .slots = 1,
          .first_rank = 0,
          .segments = {{{libra::document_id(0), 0, 400}, libra::sequence_id(0), libra::slot_id(0), 0}}};
}

struct tried {
  libra::pool_batch batch = one_document();
  libra::node_map nodes{batch, 1};
  node_traffic bytes{batch, nodes, {.row_out = 7, .row_back = 3, .key_out = 5, .key_back = 2}};

  [[nodiscard]] std::vector<std::int64_t> busiest() const {
    std::vector<std::int64_t> all;
    for (std::size_t n = 0; n < 4; ++n) {
      all.push_back(bytes.busiest(n));
    }
    return all;
  }
};
using by_node = std::vector<std::int64_t>;

TEST_CASE("rows leave their homes for a helper, and their results come back") {
  tried t;
  t.bytes.add_rows(segment_id(0), {50, 200}, 2, 3);  // 50 rows of node 0, 100 of node 1
  CHECK(t.busiest() == by_node{50 * 2 * 7, 100 * 2 * 7, 0, 150 * 2 * 7});
}

TEST_CASE("keys that several nodes need leave home once, and helpers share their way") {
  tried t;
  t.bytes.add_keys(segment_id(0), 0, {0, 100}, 1);
  CHECK(t.busiest() == by_node{500, 500, 0, 0});
  // The next one gets them from the first, as much as it passes on itself: keys and sums, both ways.
  t.bytes.add_keys(segment_id(0), 0, {0, 100}, 2);
  CHECK(t.busiest() == by_node{500, 500, 700, 0});
  // Another head is another matter; of more keys, only the new ones leave home.
  t.bytes.add_keys(segment_id(0), 1, {0, 100}, 3);
  CHECK(t.busiest() == by_node{1000, 500, 700, 500});
  t.bytes.add_keys(segment_id(0), 0, {0, 200}, 3);
  CHECK(t.busiest() == by_node{1000, 500 + 200, 700, 500 + 700 + 500});
}

TEST_CASE("another attempt begins with what always crosses, and with the keys that it brought") {
  tried t;
  t.bytes.add_keys(segment_id(0), 0, {0, 100}, 1);
  t.bytes.keep();
  for (int attempt = 0; attempt < 2; ++attempt) {
    t.bytes.restart();
    CHECK(t.busiest() == by_node{500, 500, 0, 0});
    t.bytes.add_keys(segment_id(0), 0, {0, 100}, 2);
    t.bytes.add_keys(segment_id(0), 1, {0, 100}, 2);
    CHECK(t.busiest() == by_node{1000, 500, 1200, 0});
  }
}

}  // namespace
