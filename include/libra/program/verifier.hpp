#pragma once

#include <libra/core/error.hpp>
#include <libra/core/random.hpp>
#include <libra/model/pool_batch.hpp>
#include <libra/program/home_results.hpp>
#include <libra/program/op_effects.hpp>
#include <libra/program/op_form.hpp>
#include <libra/program/ops.hpp>
#include <libra/program/order.hpp>
#include <libra/program/region_store.hpp>
#include <libra/program/tile_ledger.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace libra {

/// What the verifier says of a pool's programs: nothing, or the first op that breaks an invariant.
struct verdict {
  bool valid{true};
  std::int32_t rank{-1};
  std::int32_t op{-1};  ///< in the rank's list; -1 when a result is missing at the end
  std::string what;

  explicit operator bool() const noexcept { return valid; }
};

namespace detail {

/// Runs the programs of a pool over regions instead of numbers.
class interpreter {
 public:
  interpreter(pool_batch const& batch, pool_program const& programs)
      : batch_(batch),
        programs_(programs),
        store_(batch, programs),
        run_(batch, programs.direction, store_, ledger_) {}

  [[nodiscard]] verdict run() {
    try {
      rank_ = -1;
      expect(programs_.width.activation >= 1 && programs_.width.statistic >= 1 && programs_.width.partial >= 1,
             "elements of ", programs_.width.activation, ", ", programs_.width.statistic, " and ",
             programs_.width.partial, " bytes");
      expect(programs_.ranks.size() == static_cast<std::size_t>(batch_.ranks()), "the pool has ", batch_.ranks(),
             " ranks, the program ", programs_.ranks.size());
      for (program const& p : programs_.ranks) {
        ++rank_;
        ranks_.push_back(load(p));
      }
      if (backward()) {
        for_each_kept(&region_store::begin_with);
      }
      while (step_all()) {
      }
      check_finished();
      op_ = -1;
      for_each_kept(&region_store::end_with);
      ledger_.check_rows(batch_, rank_, op_);
      op_ = -1;
      check_results(batch_, programs_.direction, store_, ledger_, rank_);
      check_padding(batch_, store_, rank_);
    } catch (broken const& b) {
      return {false, rank_, op_, b.what};
    }
    return {};
  }

 private:
  struct rank_state {
    program const* code{};
    op_order order;
    std::array<std::vector<std::size_t>, queue_count> queues;
    std::array<std::size_t, queue_count> done{};
  };

  [[nodiscard]] bool backward() const noexcept { return programs_.direction == pass::backward; }

  /// Checks the form of a rank's list: rounds are numbered in order and waits name earlier ops, so there is no cycle
  /// inside the rank.
  rank_state load(program const& p) {
    rank_state rank;
    rank.code = &p;
    op_ = -1;
    for (std::size_t i = 0; i < p.ops.size(); ++i) {
      op const& o = p.ops[i];
      op_ = static_cast<std::int32_t>(i);
      check_form(p, o, batch_.ranks());
      auto const own = static_cast<std::size_t>(o.on);
      for (std::size_t q = 0; q < queue_count; ++q) {
        expect(o.after[q] >= 0 && static_cast<std::size_t>(o.after[q]) <= rank.queues[q].size(), "waits for ",
               o.after[q], " ops of queue ", name_of(static_cast<queue>(q)), " where ", rank.queues[q].size(),
               " come before it");
      }
      expect((o.kind == op_kind::exchange) == exchanges(o.on), name_of(o.kind), " is on queue ", name_of(o.on));
      expect(o.kind != op_kind::exchange || static_cast<std::size_t>(o.round) == rank.queues[own].size(), "is round ",
             o.round, " of queue ", name_of(o.on), ", expected ", rank.queues[own].size());
      rank.queues[own].push_back(i);
    }
    rank.order = op_order(p.ops);
    op_ = -1;
    return rank;
  }

  // --- running -----------------------------------------------------------------------------------------------------

  /// The op at the head of a queue if everything it waits for is finished.
  [[nodiscard]] op const* started(std::size_t r, std::size_t q) const {
    rank_state const& rank = ranks_[r];
    if (rank.done[q] == rank.queues[q].size()) {
      return nullptr;
    }
    op const& o = rank.code->ops[rank.queues[q][rank.done[q]]];
    for (std::size_t other = 0; other < queue_count; ++other) {
      if (other != q && static_cast<std::size_t>(o.after[other]) > rank.done[other]) {
        return nullptr;
      }
    }
    return &o;
  }

  /// True when rank `peer` has started, or finished, its op of this round.
  [[nodiscard]] bool reached(std::size_t peer, std::size_t q, std::int32_t round) const {
    auto const done = static_cast<std::int32_t>(ranks_[peer].done[q]);
    return done > round || (done == round && started(peer, q) != nullptr);
  }

  bool step_all() {
    bool progress = false;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      for (std::size_t q = 0; q < queue_count; ++q) {
        while (step(r, q)) {
          progress = true;
        }
      }
    }
    return progress;
  }

  bool step(std::size_t r, std::size_t q) {
    op const* o = started(r, q);
    if (o == nullptr) {
      return false;
    }
    enter(r, q);
    if (o->kind == op_kind::exchange) {
      if (!exchange(r, q, *o)) {
        return false;
      }
    } else {
      run_(*ranks_[r].code, *o, rank_, op_);
    }
    ++ranks_[r].done[q];
    return true;
  }

  /// Makes `r` the rank and its queue's head the op that errors name.
  void enter(std::size_t r, std::size_t q) {
    rank_ = static_cast<std::int32_t>(r);
    std::size_t const i = ranks_[r].queues[q][ranks_[r].done[q]];
    op_ = static_cast<std::int32_t>(i);
    store_.enter(rank_id(r), {i, &ranks_[r].order, q});
  }

  // --- exchange ----------------------------------------------------------------------------------------------------

  /// Finishes an exchange once every peer has started its op of the round; false while one has not.
  bool exchange(std::size_t r, std::size_t q, op const& o) {
    std::vector<std::size_t> peers;
    auto const add_peers = [&](std::span<transfer const> transfers) {
      for (transfer const& t : transfers) {
        peers.push_back(t.peer.index());
      }
    };
    add_peers(ranks_[r].code->sends_of(o));
    add_peers(ranks_[r].code->receives_of(o));
    std::ranges::sort(peers);
    peers.erase(std::ranges::unique(peers).begin(), peers.end());
    for (std::size_t const p : peers) {
      expect(static_cast<std::size_t>(o.round) < ranks_[p].queues[q].size(), "exchanges with rank ", p,
             ", which has no round ", o.round, " on queue ", name_of(o.on));
      if (!reached(p, q, o.round)) {
        return false;
      }
    }
    for (std::size_t const p : peers) {
      // Both ends have started: whoever comes first moves the data of the pair.
      if (moved_.insert({{q, o.round, std::min(r, p), std::max(r, p)}, true}).second) {
        move(r, p, q, o.round);
        if (p != r) {
          move(p, r, q, o.round);
        }
      }
    }
    return true;
  }

  /// Moves what rank `from` sends to rank `to` in a round.
  void move(std::size_t from, std::size_t to, std::size_t q, std::int32_t round) {
    std::size_t const from_op = ranks_[from].queues[q][static_cast<std::size_t>(round)];
    std::size_t const to_op = ranks_[to].queues[q][static_cast<std::size_t>(round)];
    auto const with = [](std::span<transfer const> all, std::size_t peer) {
      std::vector<transfer> some;
      std::ranges::copy_if(all, std::back_inserter(some), [&](transfer const& t) { return t.peer.index() == peer; });
      return some;
    };
    auto const sends = with(ranks_[from].code->sends_of(ranks_[from].code->ops[from_op]), to);
    auto const receives = with(ranks_[to].code->receives_of(ranks_[to].code->ops[to_op]), from);
    locate(from, from_op, q);
    expect(sends.size() == receives.size(), "rank ", from, " sends ", sends.size(), " regions to rank ", to,
           ", which receives ", receives.size());
    for (std::size_t i = 0; i < sends.size(); ++i) {
      locate(from, from_op, q);
      expect(sends[i].what == receives[i].what, "rank ", from, " sends ", sends[i].what, " to rank ", to,
             ", which expects ", receives[i].what);
      auto const rows = store_.read(sends[i].what, sends[i].at);
      locate(to, to_op, q);
      store_.write(receives[i].what, receives[i].at, rows);
    }
  }

  void locate(std::size_t r, std::size_t i, std::size_t q) {
    rank_ = static_cast<std::int32_t>(r);
    op_ = static_cast<std::int32_t>(i);
    store_.enter(rank_id(r), {i, &ranks_[r].order, q});
  }

  void for_each_kept(void (region_store::*check)(rank_id, region_task const&)) {
    for (std::size_t r = 0; r < programs_.ranks.size(); ++r) {
      rank_ = static_cast<std::int32_t>(r);
      for (region_task const& kept : programs_.ranks[r].kept) {
        (store_.*check)(rank_id(r), kept);
      }
    }
  }

  // --- at the end --------------------------------------------------------------------------------------------------

  void check_finished() {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      for (std::size_t q = 0; q < queue_count; ++q) {
        if (ranks_[r].done[q] != ranks_[r].queues[q].size()) {
          enter(r, q);
          expect(false, "never finishes: the queues of the pool wait for each other");
        }
      }
    }
  }

  pool_batch const& batch_;
  pool_program const& programs_;
  std::vector<rank_state> ranks_;
  std::map<std::tuple<std::size_t, std::int32_t, std::size_t, std::size_t>, bool> moved_;
  tile_ledger ledger_;
  std::int32_t rank_{-1};
  std::int32_t op_{-1};
  region_store store_;
  op_effects run_;
};

}  // namespace detail

/// Interprets a pool's programs over regions instead of numbers and proves that
/// - every (row, head) is computed exactly once against the keys its mask shows, and every result reaches its home;
/// - no transfer leaves the pool, and sends match receives;
/// - nothing is read before it is written, and no two unordered ops touch the same bytes;
/// - rows of padding are zero in every result;
/// - what is kept from the forward to the backward pass is there at the end of both;
/// - the queues never wait for each other in a cycle, and every access lies in the planned workspace.
///
/// Returns the first op that breaks one of these. Complexity: about O(n log n) in transfers and tiles; for tests, and
/// for plans from outside.
[[nodiscard]] inline verdict verify(pool_batch const& batch, pool_program const& programs) {
  return detail::interpreter(batch, programs).run();
}

/// Proves the programs of both passes, and that the backward pass begins with what the forward pass leaves in the
/// workspaces and nothing else.
[[nodiscard]] inline verdict verify(pool_batch const& batch, pool_program const& forward,
                                    pool_program const& backward) {
  verdict v = verify(batch, forward);
  v = v ? verify(batch, backward) : v;
  for (std::size_t r = 0; v && r < forward.ranks.size(); ++r) {
    if (forward.ranks[r].kept != backward.ranks[r].kept) {
      v = {false, static_cast<std::int32_t>(r), -1,
           message("backward begins with ", backward.ranks[r].kept.size(), " kept regions, which differ from the ",
                   forward.ranks[r].kept.size(), " that forward leaves")};
    }
  }
  return v;
}

namespace detail {

inline void require_true(verdict const& v) {
  if (!v) {
    throw run_error(message("program of rank ", v.rank, ", op ", v.op, ": ", v.what));
  }
}

}  // namespace detail

/// Errors: `run_error` with the verdict of an invalid program.
inline void require_valid(pool_batch const& batch, pool_program const& programs) {
  detail::require_true(verify(batch, programs));
}
/// Errors: `run_error` with the verdict of an invalid pair of programs.
inline void require_valid(pool_batch const& batch, pool_program const& forward, pool_program const& backward) {
  detail::require_true(verify(batch, forward, backward));
}

}  // namespace libra
