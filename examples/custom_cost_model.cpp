// Plans by a cost model of one's own: a table of measured attention times.
#include <libra/libra.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iostream>
#include <vector>

namespace {

/// Attention times as somebody measured them: the more rows a tile has, the less a query-key pair costs.
struct measured_cost {
  static constexpr std::string_view name = "measured_cost";  // what reports and fingerprints call it

  struct point {
    std::int64_t rows;
    std::int64_t forward_fs;  // femtoseconds per pair and query head
    std::int64_t backward_fs;
  };
  // From fewest rows to most. Between two points the dearer one counts, so that cutting a tile never seems to pay.
  std::array<point, 5> table{
      {{1, 6000, 16000}, {64, 2400, 6500}, {512, 1300, 3600}, {4096, 900, 2500}, {32768, 840, 2300}}};

  [[nodiscard]] libra::work operator()(libra::tile_shape const& tile) const {
    auto const next = std::ranges::upper_bound(table, tile.q_end - tile.q_begin, {}, &point::rows);
    point const& at = next == table.begin() ? table.front() : *(next - 1);
    // Integers only, and checked: every rank must come to the same plan.
    libra::int128 const pairs = tile.mask.pairs(tile.q_begin, tile.q_end, tile.length) * tile.heads;
    auto const picoseconds = [&](std::int64_t fs) {
      return libra::checked_int64(libra::ceil_div(libra::checked_mul(pairs, fs), 1000), "the time of a tile");
    };
    return {picoseconds(at.forward_fs), picoseconds(at.backward_fs)};
  }
};
static_assert(libra::cost_model<measured_cost>);

}  // namespace

int main() {
  libra::random_bits bits(2);
  std::vector<std::int64_t> lengths;
  for (int i = 0; i < 2000; ++i) {
    lengths.push_back(1 + bits.between(0, 1 << bits.between(6, 16)));
  }
  libra::layout const layout{.window_tokens = 65536, .dp = 8, .cp = 2, .pool = 4, .micro_steps = 2};
  libra::scheduler const planner{libra::best_fit_decreasing{}, libra::fixed_size{}, libra::variance_reduced{},
                                 libra::pooled{}, measured_cost{}};
  libra::batch_plan const batch = planner.plan(lengths, layout);
  libra::pool_plan const pool = planner.plan_pool(batch, libra::micro_step_id(0), libra::pool_id(0));

  auto const milliseconds = [](libra::int128 picoseconds) {
    return static_cast<double>(picoseconds / 1'000'000) / 1000;
  };
  std::cout << "a layer's attention on the busiest rank: forward " << milliseconds(pool.certificate.makespan.forward)
            << " ms, backward " << milliseconds(pool.certificate.makespan.backward) << " ms, at most "
            << 100 * pool.certificate.gap() << " % above the even share\n";
}
