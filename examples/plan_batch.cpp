// Plans a global batch of long documents and prints how even it became.
#include <libra/libra.hpp>

#include <cstdint>
#include <iostream>
#include <vector>

int main() {
  // Document lengths in tokens: a long tail, as in real corpora.
  libra::random_bits bits(1);
  std::vector<std::int64_t> lengths;
  for (int i = 0; i < 4000; ++i) {
    lengths.push_back(1 + bits.between(0, 1 << bits.between(6, 17)));
  }

  libra::layout const layout{.window_tokens = 131072, .dp = 8, .cp = 4, .pool = 4, .micro_steps = 2};
  libra::scheduler const planner{libra::best_fit_decreasing{}, libra::fixed_size{}, libra::variance_reduced{},
                                 libra::pooled{}, libra::roofline{}};
  libra::batch_plan const batch = planner.plan(lengths, layout);  // same on every rank
  libra::pool_plan const pool = planner.plan_pool(batch, libra::micro_step_id(0), libra::pool_id(0));  // only its ranks

  std::cout << batch.packing.sequences.size() << " sequences; largest over mean attention work: Ulysses "
            << batch.certificate.ulysses_over_mean() << ", placed " << batch.certificate.placed_over_mean()
            << "; inside the pool at most " << 100 * pool.certificate.gap() << " % above the even share\n";
}
