#include "conformance/cuda_ranks.hpp"
#include "cuda_double/control.hpp"
#include "simt/block.hpp"

#include <doctest/doctest.h>

#include <set>

// Every barrier of the kernels is needed: with any one of them removed some order of threads gives a wrong result.

namespace {

using ranks = conformance::fp32_peer_ranks;

std::shared_ptr<conformance::pool_plan const> small_plan() {
  conformance::pool_batch batch;
  batch.shape = {2, 1, 16, {}};
  batch.home = {50, 1};
  batch.slots = 1;
  batch.segments.push_back({{libra::document_id(std::int64_t{0}), 0, 50}, libra::sequence_id(0), libra::slot_id(0), 0});
  return conformance::plan(batch, libra::ulysses{}, {.width = conformance::kernel_of<ranks>::width});
}

/// Forward rings add to what an earlier part has written, which is where the kernels' last barrier is.
std::shared_ptr<conformance::pool_plan const> ring_plan() {
  conformance::pool_batch batch = small_plan()->batch;
  batch.home = {50, 2};
  return conformance::plan(batch, libra::zigzag_ring{}, {.width = conformance::kernel_of<ranks>::width});
}

auto run(std::shared_ptr<conformance::pool_plan const> const& plan, std::uint64_t seed) {
  cuda_double::reset({.seed = seed});
  return conformance::run<ranks>(plan);
}

/// True when some order shows that the barrier is missing.
bool missed(simt::barrier_site const& site) {
  for (auto const& plan : {small_plan(), ring_plan()}) {
    auto const right = run(plan, 0);
    for (std::uint64_t seed = 1; seed < 12; ++seed) {
      simt::remove_barrier(site);
      bool wrong = true;
      try {
        wrong = !conformance::same_bits(run(plan, seed), right);
      } catch (std::exception const&) {
        // what follows the barrier may not even run
      }
      simt::remove_barrier({});
      if (wrong) {
        cuda_double::reset({});
        return true;
      }
    }
  }
  return false;
}

}  // namespace

TEST_CASE("planted: each barrier of the kernels, removed, shows as a wrong result") {
  static_cast<void>(simt::take_barriers_seen());
  static_cast<void>(run(small_plan(), 1));
  static_cast<void>(run(ring_plan(), 1));
  std::set<simt::barrier_site> const sites = simt::take_barriers_seen();
  CHECK(sites.size() == 11);
  for (auto const& site : sites) {
    CAPTURE(site.first);
    CAPTURE(site.second);
    CHECK(missed(site));
  }
}
