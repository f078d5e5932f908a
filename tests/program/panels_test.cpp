#include "support/printing.hpp"

#include <libra/program/panels.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

using libra::row_range;
using libra::segment_id;
using libra::detail::join_panels;
using libra::detail::panel;
using libra::detail::tile_ref;

TEST_CASE("key ranges that touch form one panel, others do not") {
  auto const ref = [](std::int32_t segment, std::int32_t kv_head, row_range keys, std::int32_t wave) {
    tile_ref t;
    t.what.segment = segment_id(segment);
    t.kv_head = kv_head;
    t.keys = keys;
    t.wave = wave;
    return t;
  };
  std::vector<tile_ref> tiles{ref(0, 0, {128, 256}, 2), ref(0, 0, {0, 128}, 1), ref(0, 0, {384, 500}, 1),
                              ref(0, 1, {0, 128}, 3),   ref(1, 0, {0, 128}, 1), ref(0, 0, {0, 64}, 3),
                              ref(0, 0, {256, 300}, 9)};
  std::vector<panel> const panels = join_panels(
      tiles, [](tile_ref const& t) { return t.wave != 9; }, [](tile_ref& t, std::size_t p) { t.panel = p; });
  REQUIRE(panels.size() == 4);
  CHECK(panels[0].keys == row_range{0, 256});
  CHECK(panels[0].first_wave == 1);
  CHECK(panels[0].last_wave == 3);
  CHECK(panels[1].keys == row_range{384, 500});
  CHECK(panels[2].kv_head == 1);
  CHECK(panels[3].segment == segment_id(1));
  std::vector<std::size_t> of_tile;
  for (tile_ref const& t : tiles) {
    of_tile.push_back(t.panel);
  }
  CHECK(of_tile == std::vector<std::size_t>{0, 0, 1, 2, 3, 0, libra::detail::none});
}

}  // namespace
