#include "conformance/cuda_ranks.hpp"
#include "cuda_double/control.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

// The executor on streams and events, under every order of work that they leave open; and bugs planted in programs,
// each of which must show.

namespace {

using conformance::home_tensors;
using conformance::pool_plan;
using libra::op;
using libra::op_kind;
using libra::queue;
using ranks = conformance::fp32_peer_ranks;
using results_of_ranks = std::vector<home_tensors<float>>;

constexpr std::int32_t rank_count = 4;

/// A long document on rank 0 that every rank helps with, and a short one on each of the others.
std::shared_ptr<pool_plan const> busy_plan() {
  conformance::pool_batch batch = conformance::busy_batch(rank_count);
  batch.shape = {4, 2, 16, {}};
  batch.home = {40, 1};
  batch.segments.front().what.length = 40;
  return conformance::plan(batch, libra::pooled{}, {.width = conformance::kernel_of<ranks>::width, .waves = 2});
}

/// The plan after `mutate` has worked on a copy. The fingerprint stays: no rank is to notice by it.
template <class Mutate>
std::shared_ptr<pool_plan const> mutated(Mutate mutate) {
  auto copy = std::make_shared<pool_plan>(*busy_plan());
  mutate(*copy);
  return copy;
}

results_of_ranks run_seed(std::shared_ptr<pool_plan const> const& plan, std::uint64_t seed) {
  cuda_double::reset({.seed = seed});
  return conformance::run<ranks>(plan);
}

bool close_to(results_of_ranks const& got, std::vector<home_tensors<double>> const& exact) {
  for (std::size_t r = 0; r < got.size(); ++r) {
    for (auto const t : conformance::results) {
      auto const& x = conformance::of(got[r], t);
      auto const& e = conformance::of(exact[r], t);
      double const bound = 1e-5 * std::max(1.0, conformance::largest(exact, t));
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (!(std::abs(static_cast<double>(x[i]) - e[i]) <= bound)) {
          return false;
        }
      }
    }
  }
  return true;
}

struct tally {
  int wrong{};
  int thrown{};
  std::string what;
};

tally try_seeds(std::shared_ptr<pool_plan const> const& plan, std::uint64_t seeds) {
  auto const exact = conformance::reference<float>(plan->batch);
  tally result;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    try {
      result.wrong += !close_to(run_seed(plan, seed), exact);
    } catch (std::exception const& e) {
      ++result.thrown;
      result.what = e.what();
    }
  }
  return result;
}

/// The first op of a rank's program that satisfies `which`, with the rank; fails the test when there is none.
template <class Which>
std::pair<libra::program*, op*> find_op(libra::pool_program& of, Which which) {
  for (libra::program& p : of.ranks) {
    auto const at = std::ranges::find_if(p.ops, [&](op const& o) { return which(p, o); });
    if (at != p.ops.end()) {
      return {&p, &*at};
    }
  }
  FAIL("the plan has no op to plant a bug in");
  std::abort();
}

}  // namespace

TEST_CASE("100 orders of the same work give the same bits, close to double precision") {
  auto const plan = busy_plan();
  auto const exact = conformance::reference<float>(plan->batch);
  results_of_ranks const first = run_seed(plan, 0);
  CHECK(close_to(first, exact));
  for (std::uint64_t seed = 1; seed < 100; ++seed) {
    CAPTURE(seed);
    CHECK(conformance::same_bits(run_seed(plan, seed), first));
    CHECK(cuda_double::finding() == "");
    CHECK(cuda_double::objects_alive() == 0);
  }
}

TEST_CASE("planted: a wait for a fetched round that is missing gives wrong results with some order") {
  auto const plan = mutated([](pool_plan& p) {
    auto const [of, o] = find_op(p.forward, [](auto const&, op const& x) {
      return x.kind == op_kind::attend && x.after[static_cast<std::size_t>(queue::fetch)] > 0;
    });
    o->after[static_cast<std::size_t>(queue::fetch)] = 0;
  });
  tally const seen = try_seeds(plan, 20);
  CHECK(seen.wrong > 0);
  CHECK(seen.thrown == 0);
}

TEST_CASE("planted: results sent home before they were computed are wrong with some order") {
  auto const plan = mutated([](pool_plan& p) {
    auto const [of, o] = find_op(p.forward, [](auto const&, op const& x) {
      return x.on == queue::deliver && x.items.size() > 0 && x.after[static_cast<std::size_t>(queue::compute)] > 0;
    });
    o->after[static_cast<std::size_t>(queue::compute)] = 0;
  });
  CHECK(try_seeds(plan, 20).wrong > 0);
}

TEST_CASE("planted: two receives that are swapped give wrong results with every order") {
  auto const plan = mutated([](pool_plan& p) {
    // Two regions of one tensor and one size from one rank: nothing but their contents tells them apart.
    for (libra::program& of : p.forward.ranks) {
      for (op const& o : of.ops) {
        for (std::uint32_t i = o.receives.begin; o.kind == op_kind::exchange && i + 1 < o.receives.end; ++i) {
          for (std::uint32_t j = i + 1; j < o.receives.end; ++j) {
            libra::transfer& a = of.receives[i];
            libra::transfer& b = of.receives[j];
            if (a.peer == b.peer && a.what.tokens.size() == b.what.tokens.size() && a.what.heads() == b.what.heads() &&
                a.at != b.at && !is_statistic(a.what.what) && !is_statistic(b.what.what)) {
              std::swap(a.at, b.at);
              std::swap(a.what, b.what);
              return;
            }
          }
        }
      }
    }
    FAIL("the plan has no two receives to swap");
  });
  tally const seen = try_seeds(plan, 5);
  CHECK(seen.wrong == 5);
}

TEST_CASE("planted: a rank that starts its rounds in another order makes every rank throw") {
  auto const plan = mutated([](pool_plan& p) {
    std::vector<op*> rounds;
    for (op& o : p.forward.ranks[0].ops) {
      if (o.kind == op_kind::exchange && o.on == queue::fetch) {
        rounds.push_back(&o);
      }
    }
    REQUIRE(rounds.size() >= 2);
    std::swap(rounds[0]->round, rounds[1]->round);
  });
  tally const seen = try_seeds(plan, 3);
  CHECK(seen.thrown == 3);
  CHECK(seen.what.find("fetch round") != std::string::npos);
}

TEST_CASE("an op that waits for what comes later is refused by name") {
  auto const plan = mutated([](pool_plan& p) {
    auto const [of, o] = find_op(p.forward, [](auto const&, op const& x) { return x.kind == op_kind::attend; });
    o->after[static_cast<std::size_t>(queue::deliver)] = 99;
  });
  tally const seen = try_seeds(plan, 1);
  CHECK(seen.thrown == 1);
  CHECK(seen.what.find("(attend) waits for 99 ops of queue deliver") != std::string::npos);
}

TEST_CASE("a head_dim or elements that no kernel computes are an error before anything is launched") {
  auto const odd = mutated([](pool_plan& p) { p.batch.shape.head_dim = 20; });
  CHECK_THROWS_WITH_AS(run_seed(odd, 0), doctest::Contains("head_dim is 20"), libra::input_error);
  auto const narrow =
      conformance::plan(busy_plan()->batch, libra::pooled{}, {.width = libra::element_bytes{2, 4, 4}, .waves = 2});
  CHECK(cuda_double::kernels_launched() == 0);
  CHECK_THROWS_WITH_AS(run_seed(narrow, 0), doctest::Contains("plan is for elements of 2, 4 and 4 bytes"),
                       libra::input_error);
  CHECK(cuda_double::kernels_launched() == 0);
  run_seed(busy_plan(), 0);
  CHECK(cuda_double::kernels_launched() > 0);
}

TEST_CASE("a device too small for a plan is an error that names what was asked, what the plan needs and what is free") {
  auto const plan = busy_plan();
  // The most that a device may be short of: what one rank keeps, and no more than the lists of the others.
  std::int64_t const needed = exchange_memory_of(*plan, libra::rank_id(0)).bytes();
  auto const thrown_with = [&](std::size_t memory_bytes) -> std::string {
    cuda_double::reset({.seed = 0, .devices = 1, .memory_bytes = memory_bytes});
    libra::cuda::peer_group group(rank_count);
    std::string what;
    try {
      run_ranks(group, [&](libra::rank_id rank) {
        if (rank != libra::rank_id(0)) {
          return;
        }
        libra::cuda::peer_backend<float> parts(group, rank);
        libra::pooled_attention const attention(parts, plan);
      });
    } catch (libra::cuda::out_of_memory const& e) {
      what = e.what();
      CHECK(e.name() == "cudaErrorMemoryAllocation");
    }
    CHECK(cuda_double::objects_alive() == 0);
    return what;
  };
  constexpr std::size_t plenty = std::size_t{1} << 24;
  REQUIRE(thrown_with(plenty).empty());
  // Lists come first: the smallest device that holds them has nothing left for the workspace.
  std::size_t holds_lists = 0;
  for (std::size_t step = plenty; step > 0; step /= 2) {
    if (thrown_with(holds_lists + step).find("for a plan's lists") != std::string::npos) {
      holds_lists += step;
    }
  }
  std::string const lists = thrown_with(holds_lists);
  std::string const workspace = thrown_with(holds_lists + 1);
  CAPTURE(lists);
  CAPTURE(workspace);
  std::string const need = libra::message("; the plan needs ", needed, " bytes of exchange memory on this rank");
  CHECK(lists.starts_with("cudaMallocAsync of "));
  CHECK(lists.find(libra::message(" bytes for a plan's lists, of ", holds_lists, " the device has ")) !=
        std::string::npos);
  CHECK(lists.ends_with(need));
  CHECK(workspace.starts_with(
      libra::message("cudaMalloc of ", exchange_memory_of(*plan, libra::rank_id(0)).workspace_bytes,
                     " bytes for a plan's exchange memory, of ", holds_lists + 1, " the device has ")));
  CHECK(workspace.find(" free failed: cudaErrorMemoryAllocation (out of memory), at ") != std::string::npos);
  CHECK(workspace.ends_with(need));
}

TEST_CASE("a region beyond the planned workspace is an error before anything is launched") {
  auto const plan = mutated([](pool_plan& p) {
    for (libra::program& of : p.forward.ranks) {
      of.workspace_bytes /= 2;
    }
    for (libra::program& of : p.backward.ranks) {
      of.workspace_bytes = 0;
    }
  });
  tally const seen = try_seeds(plan, 1);
  CHECK(seen.thrown == 1);
  CHECK(seen.what.find("of a workspace of") != std::string::npos);
}
