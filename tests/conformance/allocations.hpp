#pragma once

// That calls after the first allocate nothing, for any backend of the suite. Includes the counting operators: one file
// of a program.

#include "conformance/suite.hpp"
#include "support/counted_new.hpp"

#include <libra/run/timeline.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace conformance {

/// Counts exchanges that begin or end while a kernel computes.
struct overlap_counter {
  std::int64_t overlaps{};
  bool computing{};

  void operator()(libra::op const& what, libra::op_step step) {
    if (what.kind != libra::op_kind::exchange) {
      computing = step == libra::op_step::start;
    } else if (computing && step != libra::op_step::wait) {
      ++overlaps;
    }
  }
};

/// What this process's ranks saw.
struct allocation_count {
  std::int64_t allocations{};
  std::int64_t overlaps{};
};

/// Allocations during `calls` forward and backward calls that follow a first one of each.
template <class Ranks>
allocation_count allocations_after_first_call(std::shared_ptr<pool_plan const> const& what, int calls) {
  libra::test::counted_allocations = 0;
  std::atomic<std::int64_t> overlaps{0};
  Ranks{}(what->batch.ranks(), [&](typename Ranks::backend& parts) {
    libra::pooled_attention attention(parts, what);
    placed_call<Ranks> c(parts, what->batch, attention.rank());
    auto const both = [&](overlap_counter& watch) {
      attention.forward(c.forward(), watch);
      attention.backward(c.backward(), watch);
    };
    std::vector<std::uint64_t> words(static_cast<std::size_t>(what->batch.ranks()));
    auto const meet = [&] { parts.transport().gather({words.data(), 1}, words); };
    overlap_counter first;
    overlap_counter later;
    both(first);
    meet();
    meet();  // The buffers of both turns have their size.
    libra::test::counting_allocations = true;
    meet();
    for (int i = 0; i < calls; ++i) {
      both(later);
    }
    meet();
    libra::test::counting_allocations = false;
    meet();
    overlaps += later.overlaps;
  });
  return {libra::test::counted_allocations, overlaps};
}

}  // namespace conformance
