#pragma once

#include <libra/core/error.hpp>
#include <libra/core/ids.hpp>
#include <libra/model/packing.hpp>
#include <libra/plan/plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace libra {

/// A packed sequence as a trainer loads it: which tokens of which documents, in which order. A view into its batch.
///
/// Tokens `[tokens(), window_tokens)` of the sequence are padding; a sequence may be empty.
struct packed_sequence {
  sequence_id id;
  std::int64_t window_tokens{};
  /// Shape: `[segments]`, in the order in which they lie in the sequence.
  std::span<segment const> segments;

  /// Valid tokens: those that are no padding.
  [[nodiscard]] std::int64_t tokens() const noexcept {
    std::int64_t sum = 0;
    for (segment const& s : segments) sum += s.length;
    return sum;
  }
  /// Tokens whose successor is in the same segment: what next-token prediction has a loss for.
  [[nodiscard]] std::int64_t targets() const noexcept { return tokens() - static_cast<std::int64_t>(segments.size()); }
  [[nodiscard]] std::int64_t longest() const noexcept {
    std::int64_t most = 0;
    for (segment const& s : segments) most = std::max(most, s.length);
    return most;
  }

  /// Where each segment begins, and where the last one ends: the `cu_seqlens` of variable-length attention.
  ///
  /// Shape: `[segments + 1]`, from 0 to `tokens()`. Errors: `range_error` for a window beyond int32.
  [[nodiscard]] std::vector<std::int32_t> cu_seqlens() const {
    check_int32();
    std::vector<std::int32_t> starts{0};
    starts.reserve(segments.size() + 1);
    for (segment const& s : segments) {
      starts.push_back(static_cast<std::int32_t>(starts.back() + s.length));
    }
    return starts;
  }

  /// Each token's place in its segment, from 0; 0 for padding.
  ///
  /// Shape: `[window_tokens]`. Errors: `range_error` for a window beyond int32.
  [[nodiscard]] std::vector<std::int32_t> position_ids() const {
    check_int32();
    std::vector<std::int32_t> positions(static_cast<std::size_t>(window_tokens));
    std::size_t at = 0;
    for (segment const& s : segments) {
      for (std::int32_t i = 0; i < s.length; ++i) positions[at++] = i;
    }
    return positions;
  }

 private:
  void check_int32() const {
    if (window_tokens > std::numeric_limits<std::int32_t>::max()) {
      throw range_error(message("window is ", window_tokens, " tokens, beyond the 32 bits of cu_seqlens"));
    }
  }
};

/// One optimizer step's documents, packed and placed. Equal on every rank that asks with the same inputs.
struct global_batch {
  std::int64_t epoch{};
  /// In its epoch, from 0.
  std::int64_t number{};
  /// `plan_pool` of the scheduler takes it; document ids are those of the data set.
  batch_plan plan;

  /// What DP slot `slot` computes in micro-step `step`. Pre: this batch outlives the view.
  ///
  /// Errors: `input_error` naming a step or slot that the layout does not have.
  [[nodiscard]] packed_sequence at(std::int32_t step, std::int32_t slot) const {
    layout const& l = plan.layout;
    require(step >= 0 && step < l.micro_steps, "micro-step is ", step, ", expected 0 to ", l.micro_steps - 1);
    require(slot >= 0 && slot < l.dp, "slot is ", slot, ", expected 0 to ", l.dp - 1);
    return sequence(plan.placement.step(micro_step_id(step))[static_cast<std::size_t>(slot)]);
  }
  /// A sequence by its number in packed order. Pre: the batch has it.
  [[nodiscard]] packed_sequence sequence(sequence_id s) const noexcept {
    return {s, plan.layout.window_tokens, plan.packing.sequences[s.index()]};
  }

  /// Valid tokens of the whole batch. A mean over tokens is the sum over all sequences divided by this.
  [[nodiscard]] std::int64_t tokens() const noexcept { return plan.packing.tokens; }
  /// Tokens with a successor in their segment, in the whole batch.
  [[nodiscard]] std::int64_t targets() const noexcept {
    return tokens() - static_cast<std::int64_t>(plan.packing.sequences.values().size());
  }
};

}  // namespace libra
