#pragma once

#include <libra/model/layout.hpp>
#include <libra/pack/best_fit_decreasing.hpp>
#include <libra/plan/plan.hpp>
#include <libra/sample/sampler.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace libra::test {

/// Packs, and leaves sequences where they are: the least that a sampler takes for a scheduler.
struct packs_only {
  [[nodiscard]] packing pack(std::span<std::int64_t const> lengths, layout const& l, plan_options const&) const {
    return best_fit_decreasing{}(lengths, l.window_tokens);
  }
  [[nodiscard]] batch_plan place(std::span<std::int64_t const>, packing packed, layout const& l,
                                 plan_options const& options) const {
    batch_plan plan;
    plan.layout = l;
    plan.options = options;
    plan.packing = std::move(packed);
    return plan;
  }
  [[nodiscard]] std::string_view packer_name() const noexcept { return best_fit_decreasing::name; }
};

/// Goes on from a state's position in a small stream, whatever the state says of its own: a sampler refuses it or
/// yields batches.
inline void resume(sampler_state state) {
  static constexpr std::array<std::int64_t, 8> lengths{3, 0, 25, 7, 10, 1, 6, 4};
  sampler samples(span_lengths(lengths), packs_only{},
                  {.window_tokens = 10, .dp = 2, .cp = 1, .pool = 1, .micro_steps = 1},
                  {.at_end = state.stream.at_end});
  state.stream = samples.state().stream;
  samples.restore(state);
  for (int i = 0; i < 6; ++i) static_cast<void>(samples.next());
}

}  // namespace libra::test
