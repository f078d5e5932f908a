#include "support/coverage.hpp"
#include "support/placing.hpp"
#include "support/printing.hpp"
#include "support/random_cases.hpp"

#include <libra/program/verifier.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

// Invariants 1 to 5 and 7 on a real list of document lengths, with windows and layouts that do not divide.

namespace {

using libra::pass;

std::vector<std::int64_t> sample_list() {
  char const* const root = std::getenv("LIBRA_SOURCE_DIR");
  REQUIRE_MESSAGE(root != nullptr, "LIBRA_SOURCE_DIR must name the repository");
  std::ifstream file(std::string(root) + "/data/sample/linux_files.len");
  std::vector<std::int64_t> lengths;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line[0] != '#') {
      lengths.push_back(std::stoll(line));
    }
  }
  REQUIRE(lengths.size() == 4000);
  return lengths;
}

template <class Scheduler>
void check_plan(Scheduler const& planner, libra::layout const& l, libra::plan_options const& options) {
  std::vector<std::int64_t> const lengths = sample_list();
  libra::batch_plan const plan = planner.plan(lengths, l, options);
  std::vector<std::int64_t> tokens(lengths.size());
  for (std::size_t s = 0; s < plan.packing.sequences.size(); ++s) {
    std::int64_t used = 0;
    for (libra::segment const& piece : plan.packing.sequences[s]) {
      tokens[piece.document.index()] += piece.length;
      used += piece.length;
    }
    REQUIRE(used <= l.window_tokens);
  }
  REQUIRE(tokens == lengths);

  libra::test::placing placed{.layout = l, .pools = plan.pools, .work = {}};
  for (libra::wide_work const& w : plan.work) {
    placed.work.push_back(w.total());
  }
  REQUIRE(libra::test::is_permutation_of_batches(placed, plan.placement.at));
  REQUIRE(plan.certificate.lower_bound <= plan.certificate.makespan);

  for (std::int32_t g = 0; g < plan.pools.size(); ++g) {
    libra::pool_plan const pool =
        planner.plan_pool(plan, libra::micro_step_id(plan.placement.steps() - 1), libra::pool_id(g));
    REQUIRE(pool.certificate.lower_bound.forward <= pool.certificate.makespan.forward);
    REQUIRE(pool.certificate.lower_bound.backward <= pool.certificate.makespan.backward);
    for (pass const p : {pass::forward, pass::backward}) {
      REQUIRE(libra::test::coverage_error(pool.batch, pool.dispatch.of(p)) == "");
      REQUIRE(libra::verify(pool.batch, pool.of(p)).what == "");
    }
  }
}

TEST_CASE("long windows, pooled, picoseconds") {
  check_plan(libra::scheduler{libra::best_fit_decreasing{}, libra::fixed_size{}, libra::variance_reduced{},
                              libra::pooled{}, libra::roofline{}},
             {.window_tokens = 262144, .dp = 11, .cp = 6, .pool = 4, .micro_steps = 2},
             {.shape = {.q_heads = 8, .kv_heads = 2, .head_dim = 128, .mask = {}}, .waves = 2});
}

TEST_CASE("short windows that C does not divide, pairs, 28 heads over 4") {
  check_plan(libra::scheduler{libra::best_fit_decreasing{}, libra::fixed_size{}, libra::longest_first{},
                              libra::pooled{}, libra::pair_count{}},
             {.window_tokens = 20011, .dp = 12, .cp = 5, .pool = 5, .micro_steps = 3},
             {.shape = {.q_heads = 28, .kv_heads = 4, .head_dim = 64, .mask = {}}, .waves = 3});
}

TEST_CASE("the baseline under a window") {
  check_plan(
      libra::scheduler{libra::in_order{}, libra::fixed_size{}, libra::as_packed{}, libra::ulysses{}, libra::roofline{}},
      {.window_tokens = 131072, .dp = 8, .cp = 8, .pool = 8, .micro_steps = 4},
      {.shape = {.q_heads = 16, .kv_heads = 2, .head_dim = 128, .mask = libra::attention_mask::window(4096)}});
}

}  // namespace
