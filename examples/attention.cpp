// Computes attention of two packed sequences on two ranks, threads here, that share the work of both.
#include <libra/host/backend.hpp>
#include <libra/host/rank_group.hpp>
#include <libra/libra.hpp>
#include <libra/run/pooled_attention.hpp>

#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <vector>

int main() {
  // One long document against many short ones: without a pool, rank 0 computes 16 times as much as rank 1.
  std::vector<std::int64_t> lengths(17, 64);
  lengths[0] = 1024;
  libra::layout const layout{.window_tokens = 1024, .dp = 2, .cp = 1, .pool = 2, .micro_steps = 1};
  libra::plan_options const options{.shape = {.q_heads = 4, .kv_heads = 2, .head_dim = 64}, .width = {4, 4, 4}};
  libra::scheduler const planner{libra::best_fit_decreasing{}, libra::fixed_size{}, libra::variance_reduced{},
                                 libra::pooled{}, libra::pair_count{}};
  auto const plan = std::make_shared<libra::pool_plan const>(
      planner.plan_pool(planner.plan(lengths, layout, options), libra::micro_step_id(0), libra::pool_id(0)));

  libra::host::rank_group group(plan->batch.ranks());
  std::vector<float> first_output(2);
  libra::host::run_ranks(group, [&](libra::rank_id rank) {
    libra::host::backend parts(group, rank);
    libra::pooled_attention attention(parts, plan);
    auto const tokens = static_cast<std::size_t>(attention.local_tokens());
    // With equal scores a row's output is the mean of the values it sees.
    std::vector<float> q(tokens * 4 * 64), k(tokens * 2 * 64), v(k.size(), 1.5F), o(q.size()), lse(tokens * 4);
    attention.forward({.q = q, .k = k, .v = v, .o = o, .lse = lse});
    first_output[rank.index()] = o[0];
  });
  std::cout << "outputs " << first_output[0] << " and " << first_output[1] << "; the busiest rank has "
            << libra::to_string(plan->certificate.makespan.forward) << " of "
            << libra::to_string(plan->certificate.total.forward) << " pairs\n";
  return first_output == std::vector<float>{1.5F, 1.5F} ? 0 : 1;
}
