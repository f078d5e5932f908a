#include "prepare.hpp"

#include "stopwatch.hpp"

#include <libra/core/error.hpp>

#include <algorithm>
#include <utility>

namespace libra::tools {
namespace {

/// The micro-steps of a global batch: as given, or as many as the list fills, up to the usual number.
std::int32_t resolve_micro_steps(layout const& l, std::int64_t sequences) {
  constexpr std::int64_t usual = 4;
  require(sequences >= l.dp, "the list fills ", sequences, " sequences of --window ", l.window_tokens,
          ", expected at least --dp ", l.dp);
  if (l.micro_steps == 0) {
    return static_cast<std::int32_t>(std::min(usual, sequences / l.dp));
  }
  require(sequences >= l.sequences_per_batch(), "the list fills ", sequences, " sequences of --window ",
          l.window_tokens, ", expected at least --dp ", l.dp, " x --micro-steps ", l.micro_steps, " = ",
          l.sequences_per_batch());
  return l.micro_steps;
}

}  // namespace

prepared_plan prepare(input_options const& input, configuration config, std::int64_t shrink) {
  prepared_plan result{.config = std::move(config), .docs = {}, .plan = {}, .batch = {}, .seconds = {}};
  configuration& c = result.config;
  result.docs = load_documents(input, c, shrink);
  result.plan = make_planner(c, c.policies.dispatcher);

  // Packing reads the window and the ranks only; how many micro-steps there are is known afterwards.
  layout provisional = c.layout;
  provisional.micro_steps = std::max(1, provisional.micro_steps);
  stopwatch const packing_time;
  packing packed = result.plan.pack(result.docs.lengths, provisional, c.planning);
  result.seconds.pack = packing_time.seconds();

  c.layout.micro_steps = resolve_micro_steps(c.layout, static_cast<std::int64_t>(packed.sequences.size()));
  stopwatch const placing_time;
  result.batch = result.plan.place(result.docs.lengths, std::move(packed), c.layout, c.planning);
  result.seconds.place = placing_time.seconds();
  return result;
}

}  // namespace libra::tools
