// A model whose layers take turns between full and windowed attention: each asks for its plan, and two are made.
#include <libra/host/backend.hpp>
#include <libra/host/rank_group.hpp>
#include <libra/libra.hpp>
#include <libra/run/pooled_attention.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <vector>

namespace {

constexpr int layers = 12;
constexpr int q_heads = 4, kv_heads = 2, head_dim = 32;

/// Every third layer sees the whole document, the others the last 128 tokens.
constexpr bool windowed(int layer) { return layer % 3 != 0; }

}  // namespace

int main() {
  std::vector<std::int64_t> lengths(17, 32);
  lengths[0] = 512;
  libra::layout const layout{.window_tokens = 512, .dp = 2, .cp = 1, .pool = 2, .micro_steps = 1};
  libra::plan_options const options{.shape = {.q_heads = q_heads, .kv_heads = kv_heads, .head_dim = head_dim},
                                    .width = libra::host::kernel::width};
  libra::scheduler const planner{libra::best_fit_decreasing{}, libra::fixed_size{}, libra::variance_reduced{},
                                 libra::pooled{}, libra::pair_count{}};
  // Rows have one home in all layers, so they are placed once. Which rank computes what is each kind's own affair.
  libra::batch_plan const full = planner.plan(lengths, layout, options);
  libra::batch_plan window = full;
  window.options.shape.mask = libra::attention_mask::window(128);

  libra::host::rank_group group(static_cast<std::int32_t>(layout.ranks()));
  std::vector<std::int64_t> made(2);
  std::vector<char> right(2);
  libra::host::run_ranks(group, [&](libra::rank_id rank) {
    libra::host::backend parts(group, rank);
    libra::plan_cache plans(planner);  // each rank's own
    auto const plan_of = [&](int layer) {
      return plans.plan_pool(windowed(layer) ? window : full, libra::micro_step_id(0), libra::pool_id(0));
    };
    // One operator per kind: its memory is reused by all layers of the kind.
    libra::pooled_attention of_full(parts, plan_of(0));
    libra::pooled_attention of_window(parts, plan_of(1));

    auto const tokens = static_cast<std::size_t>(of_full.local_tokens());
    std::vector<float> const q(tokens * q_heads * head_dim), k(tokens * kv_heads * head_dim);
    std::vector<float> v(k.size(), 1.0F), o(q.size()), lse(tokens * q_heads);
    bool all_right = true;
    for (int layer = 0; layer < layers; ++layer) {
      auto& attention = windowed(layer) ? of_window : of_full;
      all_right = all_right && &attention.plan() == plan_of(layer).get();
      attention.forward({.q = q, .k = k, .v = v, .o = o, .lse = lse});
      // With equal scores a row's output is the mean of the values that it sees, all of them `layer + 1`.
      all_right = all_right && std::ranges::all_of(o, [&](float x) { return std::abs(x / v[0] - 1.0F) < 1e-5F; });
      v.assign(v.size(), v[0] + 1.0F);
    }
    made[rank.index()] = plans.misses();
    right[rank.index()] = all_right;
  });
  std::cout << layers << " layers of two kinds; plans made on each rank: " << made[0] << " and " << made[1] << '\n';
  return made == std::vector<std::int64_t>{2, 2} && right == std::vector<char>{1, 1} ? 0 : 1;
}
