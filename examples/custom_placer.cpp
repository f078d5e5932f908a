// Places sequences by a rule of one's own, and compares its certificate with the shipped placer's.
#include <libra/libra.hpp>
#include <libra/place/batches.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <span>
#include <vector>

namespace {

/// Sorts each global batch by weight and deals it out, heaviest first: sequences of like weight share a micro-step.
struct like_with_like {
  static constexpr std::string_view name = "like_with_like";

  [[nodiscard]] libra::placement operator()(std::span<libra::int128 const> work, libra::layout const& layout,
                                            libra::pool_partition const& pools) const {
    libra::placement placed = libra::packed_order(work.size(), layout, pools);
    auto const per_batch = static_cast<std::size_t>(layout.sequences_per_batch());
    for (std::size_t first = 0; first < placed.at.size(); first += per_batch) {
      // Stable, so that equal weights stay in packed order: every rank must come to the same plan.
      std::ranges::stable_sort(std::span(placed.at).subspan(first, per_batch), std::ranges::greater{},
                               [&](libra::sequence_id s) { return work[s.index()]; });
    }
    return placed;
  }
};
static_assert(libra::placer<like_with_like>);

template <class Placer>
double skew_under(Placer const& placer, std::span<std::int64_t const> lengths, libra::layout const& layout) {
  libra::scheduler const planner{libra::best_fit_decreasing{}, libra::fixed_size{}, placer, libra::pooled{},
                                 libra::pair_count{}};
  return planner.plan(lengths, layout).certificate.placed_over_mean();
}

}  // namespace

int main() {
  libra::random_bits bits(3);
  std::vector<std::int64_t> lengths;
  for (int i = 0; i < 8000; ++i) {
    lengths.push_back(1 + bits.between(0, 1 << bits.between(6, 17)));
  }
  libra::layout const layout{.window_tokens = 131072, .dp = 16, .cp = 1, .pool = 4, .micro_steps = 4};
  double const packed = skew_under(libra::as_packed{}, lengths, layout);
  double const own = skew_under(like_with_like{}, lengths, layout);
  double const shipped = skew_under(libra::variance_reduced{}, lengths, layout);
  std::cout << "largest pool over the mean: as packed " << packed << ", like with like " << own << ", variance reduced "
            << shipped << '\n';
  return own < packed && shipped < own ? 0 : 1;
}
