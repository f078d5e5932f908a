#pragma once

#include <libra/place/batches.hpp>
#include <libra/place/concept.hpp>
#include <libra/place/fill.hpp>
#include <libra/place/group_into_steps.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace libra {

/// Fills all pools of a global batch at once by balanced differencing, then groups pools of like weight into
/// micro-steps.
///
/// The sequences, by falling work, are cut into rounds of one sequence per pool. Each round is a partial solution; the
/// two whose pools differ most are joined, heaviest pool to lightest, until one is left: every pool then has a sequence
/// of every round, and differences have cancelled. Where pools differ in size, the smaller ones get none in the last
/// round, which counts as one of mean work, so that even sums are even per slot.
///
/// Complexity: O(n log n) in the sequences. Determinism: ties by order of creation and by pool.
/// Source: Karmarkar, Karp, "The differencing method of set partitioning", 1982; balanced: Yakir, "The differencing
/// algorithm LDM for partitioning: a proof of a conjecture of Karmarkar and Karp", 1996, and for more than two sets
/// Michiels, Aarts, Korst, van Leeuwen, Spieksma, "Computer-assisted proof of performance ratios for the differencing
/// method", 2012.
struct karmarkar_karp {
  static constexpr std::string_view name = "karmarkar_karp";

  [[nodiscard]] placement operator()(std::span<int128 const> work, layout const& l, pool_partition const& pools) const {
    placement placed = packed_order(work.size(), l, pools);
    auto const per_batch = static_cast<std::size_t>(l.sequences_per_batch());
    for (std::size_t first = 0; first < placed.at.size(); first += per_batch) {
      place_batch(std::span(placed.at).subspan(first, per_batch), work, l, pools);
    }
    return placed;
  }

 private:
  static constexpr std::size_t nothing = std::numeric_limits<std::size_t>::max();

  /// Sequences that share a pool: positions in the order, a list from `head` to `tail`.
  struct share {
    int128 sum{};
    std::size_t head{nothing};
    std::size_t tail{nothing};
    std::int32_t count{};
  };
  /// A partial solution: one share per pool, by falling sum.
  struct partial {
    std::vector<share> shares;
    std::size_t created{};
  };

  static void place_batch(std::span<sequence_id> batch, std::span<int128 const> work, layout const& l,
                          pool_partition const& pools) {
    std::vector<sequence_id> order(batch.begin(), batch.end());
    sort_heaviest_first(order, work);
    std::vector<std::size_t> next(order.size(), nothing);
    auto const count = static_cast<std::size_t>(l.micro_steps) * static_cast<std::size_t>(pools.size());
    std::vector<sequence_id> filled;
    std::vector<bin> bins;
    for (share const& s : difference(rounds_of(order, work, count), next)) {
      bins.push_back({.first = filled.size(), .slots = s.count, .filled = s.count});
      for (std::size_t i = s.head; i != nothing; i = next[i]) {
        filled.push_back(order[i]);
        bins.back().load += work[order[i].index()];
      }
    }
    group_into_steps(bins, filled, pools, batch);
  }

  /// Cuts the order into rounds of a sequence per pool; pools that the last has none for get the mean work instead.
  static std::vector<partial> rounds_of(std::span<sequence_id const> order, std::span<int128 const> work,
                                        std::size_t pools) {
    int128 total = 0;
    std::vector<partial> rounds;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i % pools == 0) {
        rounds.push_back({{}, rounds.size()});
      }
      rounds.back().shares.push_back({work[order[i].index()], i, i, 1});
      total += work[order[i].index()];
    }
    rounds.back().shares.resize(pools, {.sum = total / static_cast<std::int64_t>(order.size())});
    std::ranges::stable_sort(rounds.back().shares, std::ranges::greater{}, &share::sum);
    return rounds;
  }

  /// Joins the two partial solutions that differ most until one is left. Pre: at least one.
  static std::vector<share> difference(std::vector<partial> heap, std::vector<std::size_t>& next) {
    auto const differs_less = [](partial const& a, partial const& b) {
      int128 const of_a = a.shares.front().sum - a.shares.back().sum;
      int128 const of_b = b.shares.front().sum - b.shares.back().sum;
      return of_a != of_b ? of_a < of_b : a.created > b.created;
    };
    std::ranges::make_heap(heap, differs_less);
    for (std::size_t created = heap.size(); heap.size() > 1; ++created) {
      std::ranges::pop_heap(heap, differs_less);
      partial const joined = std::move(heap.back());
      heap.pop_back();
      std::ranges::pop_heap(heap, differs_less);
      join(heap.back(), joined, next);
      heap.back().created = created;
      std::ranges::push_heap(heap, differs_less);
    }
    return std::move(heap.front().shares);
  }

  /// Adds the shares of `other` to those of `to`, the heaviest to the lightest.
  static void join(partial& to, partial const& other, std::vector<std::size_t>& next) {
    std::size_t const pools = to.shares.size();
    for (std::size_t g = 0; g < pools; ++g) {
      share& mine = to.shares[g];
      share const& theirs = other.shares[pools - 1 - g];
      if (theirs.count == 0) {
        continue;
      }
      (mine.count == 0 ? mine.head : next[mine.tail]) = theirs.head;
      mine.tail = theirs.tail;
      mine.sum += theirs.sum;
      mine.count += theirs.count;
    }
    std::ranges::stable_sort(to.shares, std::ranges::greater{}, &share::sum);
  }
};
static_assert(placer<karmarkar_karp>);

}  // namespace libra
