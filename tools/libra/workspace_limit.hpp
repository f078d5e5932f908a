#pragma once

#include "planner.hpp"

#include <libra/core/error.hpp>
#include <libra/core/ids.hpp>
#include <libra/plan/plan.hpp>
#include <libra/plan/workspace_error.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace libra::tools {

/// Plans pool after pool within `--max-workspace`, and knows in the end the least that all of them need.
///
/// Where a pool does not fit, the limit rises to what it needs, and so the others are asked only whether they need
/// more.
class workspace_limit {
 public:
  /// `plan_one(batch, m, g)`, within the batch's limit as it is by then. Pre: always the same batch.
  [[nodiscard]] pool_plan plan(batch_plan& batch,
                               std::function<pool_plan(batch_plan const&, micro_step_id, pool_id)> const& plan_one,
                               micro_step_id m, pool_id g) {
    try {
      return plan_one(batch, m, g);
    } catch (workspace_error const& e) {
      asked_ = exceeded_ ? asked_ : batch.options.max_workspace_bytes;
      exceeded_ = workspace_error(message("--max-workspace is ", asked_, ", expected at least ", e.least_bytes(),
                                          " bytes, which pool ", g.value, " of micro-step ", m.value, " needs"),
                                  e.least_bytes());
      batch.options.max_workspace_bytes = e.least_bytes();
      return plan_one(batch, m, g);
    }
  }

  /// The least that all pools so far need, where that is more than was asked for.
  [[nodiscard]] std::optional<workspace_error> const& exceeded() const noexcept { return exceeded_; }

  /// Errors: `workspace_error` with what `exceeded` knows.
  void require_kept() const {
    if (exceeded_) {
      throw *exceeded_;
    }
  }

 private:
  std::int64_t asked_{};
  std::optional<workspace_error> exceeded_;
};

/// The larger need of two, where all have to fit: `most` becomes the error of `system` if that needs more.
inline void keep_larger_need(std::optional<workspace_error>& most, workspace_error const& need,
                             std::string_view system) {
  if (!most || need.least_bytes() > most->least_bytes()) {
    most = workspace_error(message(need.what(), " under ", system), need.least_bytes());
  }
}
/// The smaller need of two, where one has to fit.
inline void keep_smaller_need(std::optional<workspace_error>& least, workspace_error const& need) {
  if (!least || need.least_bytes() < least->least_bytes()) {
    least = need;
  }
}

}  // namespace libra::tools
