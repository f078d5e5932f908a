#include "peer_hub.hpp"

#include <libra/core/error.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace libra::cuda::detail {

namespace {

[[nodiscard]] std::string name_of_round(queue on, std::int32_t number) {
  return message(name_of(on), " round ", number);
}

void enqueue_copy(const_rows const& from, mutable_rows const& to, stream_ref in) {
  if (from.bytes() == 0) {
    return;
  }
  auto const width = static_cast<std::size_t>(from.row_bytes);
  // Of one row only the width matters, and a pitch must not be less.
  auto const pitch = [&](std::int64_t stride) { return std::max(static_cast<std::size_t>(stride), width); };
  check(cudaMemcpy2DAsync(to.data, pitch(to.stride_bytes), from.data, pitch(from.stride_bytes), width,
                          static_cast<std::size_t>(from.rows), cudaMemcpyDefault, in.get()),
        "cudaMemcpy2DAsync");
}

[[nodiscard]] std::int64_t count_to(std::span<outgoing const> sends, rank_id to) {
  return std::ranges::count(sends, to, &outgoing::to);
}
[[nodiscard]] std::int64_t count_from(std::span<incoming const> receives, rank_id from) {
  return std::ranges::count(receives, from, &incoming::from);
}

}  // namespace

peer_hub::peer_hub(std::int32_t ranks) : ranks_(ranks), seats_(static_cast<std::size_t>(ranks)) {
  auto const n = static_cast<std::size_t>(ranks);
  for (channel& c : channels_) {
    c.begun.resize(n);
    c.current.resize(n);
    c.ready.resize(n);
    c.done.resize(n * n);
  }
}

template <class Body>
auto peer_hub::guarded(rank_id rank, Body body) {
  lock held(mutex_);
  throw_if_failed(rank);
  try {
    return body(held);
  } catch (std::exception const& e) {
    fail(rank, e.what());
    throw;
  }
}

std::optional<rank_id> peer_hub::first_failed() {
  lock const held(mutex_);
  return failed_;
}

std::optional<event>& peer_hub::done(queue q, rank_id from, rank_id to) {
  return on(q).done[from.index() * static_cast<std::size_t>(ranks_) + to.index()];
}

void peer_hub::check_peers(round const& r, rank_id rank, exchange_round const& what) const {
  auto const check = [&](rank_id peer) {
    if (peer.value < 0 || peer.value >= ranks_) {
      throw run_error(message(name_of_round(r.on, r.number), ": rank ", rank.value, " exchanges with rank ", peer.value,
                              " in a group of ", ranks_));
    }
  };
  std::ranges::for_each(what.sends, check, &outgoing::to);
  std::ranges::for_each(what.receives, check, &incoming::from);
}

std::int32_t peer_hub::count_pairs(round const& r, rank_id rank) const {
  side const& mine = r.sides[rank.index()];
  std::int32_t open = 0;
  for (std::int32_t p = 0; p < ranks_; ++p) {
    bool const sends = count_to(mine.sends, rank_id(p)) > 0;
    bool const receives = count_from(mine.receives, rank_id(p)) > 0;
    open += rank_id(p) == rank ? static_cast<std::int32_t>(sends || receives)
                               : static_cast<std::int32_t>(sends) + static_cast<std::int32_t>(receives);
  }
  return open;
}

void peer_hub::begin(rank_id rank, context& in, exchange_round const& what) {
  guarded(rank, [&](lock&) {
    channel& c = on(what.channel);
    if (c.current[rank.index()] != nullptr) {
      throw run_error(message(name_of_round(what.channel, what.round), ": rank ", rank.value,
                              " has not finished round ", c.current[rank.index()]->number));
    }
    auto const [at, first] = c.rounds.try_emplace(c.begun[rank.index()]++);
    round& r = at->second;
    if (first) {
      r = {what.channel, what.round, rank, 0, std::vector<side>(static_cast<std::size_t>(ranks_))};
    } else if (r.number != what.round) {
      throw run_error(message("rank ", rank.value, " starts ", name_of_round(what.channel, what.round), " where rank ",
                              r.first_rank.value, " started round ", r.number));
    }
    check_peers(r, rank, what);
    c.current[rank.index()] = &r;
    side& mine = r.sides[rank.index()];
    mine = {&in, what.sends, what.receives, 0};
    mine.open_pairs = count_pairs(r, rank);
    if (!c.ready[rank.index()]) {
      c.ready[rank.index()].emplace();
    }
    in.on(what.channel).record(*c.ready[rank.index()]);
    for (std::int32_t p = 0; p < ranks_; ++p) {
      rank_id const peer(p);
      if (r.sides[peer.index()].in != nullptr) {
        enqueue_pair(r, rank, peer);
        if (peer != rank) {
          enqueue_pair(r, peer, rank);
        }
      }
    }
    changed_.notify_all();
  });
}

void peer_hub::enqueue_pair(round& r, rank_id from, rank_id to) {
  side& sender = r.sides[from.index()];
  side& receiver = r.sides[to.index()];
  auto const sends = count_to(sender.sends, to);
  auto const receives = count_from(receiver.receives, from);
  if (sends != receives) {
    throw run_error(message(name_of_round(r.on, r.number), ": rank ", from.value, " sends ", sends, " regions to rank ",
                            to.value, ", which expects ", receives));
  }
  if (sends == 0) {
    return;
  }
  device_scope const device(receiver.in->device());
  stream_ref const in = receiver.in->on(r.on);
  in.wait(*on(r.on).ready[from.index()]);
  auto receive = receiver.receives.begin();
  std::int32_t number = 0;
  for (outgoing const& send : sender.sends) {
    if (send.to != to) {
      continue;
    }
    receive = std::ranges::find(receive, receiver.receives.end(), from, &incoming::from);
    if (send.rows.rows != receive->rows.rows || send.rows.row_bytes != receive->rows.row_bytes) {
      throw run_error(message(name_of_round(r.on, r.number), ": region ", number, " from rank ", from.value,
                              " to rank ", to.value, " is ", send.rows.rows, " rows of ", send.rows.row_bytes,
                              " bytes as sent, ", receive->rows.rows, " rows of ", receive->rows.row_bytes,
                              " bytes as received"));
    }
    enqueue_copy(send.rows, receive->rows, in);
    ++receive;
    ++number;
  }
  auto& made = done(r.on, from, to);
  if (!made) {
    made.emplace();
  }
  in.record(*made);
  --sender.open_pairs;
  if (from != to) {
    --receiver.open_pairs;
  }
}

bool peer_hub::finish(rank_id rank, queue q, bool block) {
  return guarded(rank, [&](lock& held) {
    channel& c = on(q);
    round* const r = c.current[rank.index()];
    if (r == nullptr) {
      return true;
    }
    side& mine = r->sides[rank.index()];
    auto const enqueued = [&] { return mine.open_pairs == 0; };
    if (!enqueued()) {
      if (!block) {
        return false;
      }
      wait(held, rank, name_of_round(q, r->number), enqueued);
    }
    // What it received came by its own stream.
    for (std::int32_t p = 0; p < ranks_; ++p) {
      if (rank_id(p) != rank && count_to(mine.sends, rank_id(p)) > 0) {
        mine.in->on(q).wait(*done(q, rank, rank_id(p)));
      }
    }
    // Ranks that begin later have nothing to do with this one, whose lists may be gone by then.
    mine.sends = {};
    mine.receives = {};
    c.current[rank.index()] = nullptr;
    ++r->finished;
    while (!c.rounds.empty() && c.rounds.begin()->second.finished == ranks_) {
      c.rounds.erase(c.rounds.begin());
    }
    return true;
  });
}

void peer_hub::gather(rank_id rank, std::span<std::uint64_t const> mine, std::span<std::uint64_t> all) {
  guarded(rank, [&](lock& held) {
    require(all.size() == mine.size() * static_cast<std::size_t>(ranks_), "gather into ", all.size(),
            " words, expected ", mine.size(), " of each of ", ranks_, " ranks");
    // Two buffers in turn: a rank may begin the next gathering before the others have read this one.
    std::int64_t const turn = gathered_;
    gathering& g = gatherings_[static_cast<std::size_t>(turn % 2)];
    if (g.arrived == 0) {
      g.words_per_rank = mine.size();
      g.first_rank = rank;
      g.words.resize(all.size());
    } else if (g.words_per_rank != mine.size()) {
      throw run_error(message("rank ", rank.value, " gathers ", mine.size(), " words where rank ", g.first_rank.value,
                              " gathers ", g.words_per_rank));
    }
    std::ranges::copy(mine, g.words.begin() + static_cast<std::ptrdiff_t>(rank.index() * mine.size()));
    if (++g.arrived == ranks_) {
      g.arrived = 0;
      ++gathered_;
      changed_.notify_all();
    }
    wait(held, rank, "gather", [&] { return gathered_ != turn; });
    std::ranges::copy(g.words, all.begin());
  });
}

void peer_hub::wait(lock& held, rank_id rank, std::string where, std::function<bool()> until) {
  seat& s = seats_[rank.index()];
  s.until = std::move(until);
  s.where = std::move(where);
  fail_if_stalled(rank);
  changed_.wait(held, [&] { return failed_ || s.until(); });
  bool const reached = s.until();
  s.until = nullptr;
  if (!reached) {
    throw_if_failed(rank);
  }
}

void peer_hub::fail_if_stalled(rank_id rank) {
  if (failed_ || !std::ranges::all_of(seats_, [](seat const& s) { return s.left || (s.until && !s.until()); })) {
    return;
  }
  constexpr std::size_t most = 8;
  std::string text = "no rank can go on";
  for (std::size_t r = 0; r < std::min(seats_.size(), most); ++r) {
    text += message(r == 0 ? ": " : "; ", "rank ", r,
                    seats_[r].left ? std::string(" has returned") : message(" waits in ", seats_[r].where));
  }
  if (seats_.size() > most) {
    text += message("; and ", seats_.size() - most, " more");
  }
  fail(rank, text);
}

void peer_hub::join_all() {
  lock const held(mutex_);
  for (seat& s : seats_) {
    s.left = false;
  }
}

void peer_hub::leave(rank_id rank) {
  lock const held(mutex_);
  seats_[rank.index()].left = true;
  auto const waiting = std::ranges::find_if(seats_, [](seat const& s) { return static_cast<bool>(s.until); });
  if (waiting != seats_.end()) {
    fail_if_stalled(rank_id(static_cast<std::size_t>(waiting - seats_.begin())));
  }
}

void peer_hub::check(rank_id rank) {
  lock const held(mutex_);
  throw_if_failed(rank);
}

void peer_hub::abort(rank_id rank, std::string_view reason) noexcept {
  lock const held(mutex_);
  fail(rank, reason);
  // What is enqueued waits for nothing that is not, so these end.
  for (std::size_t q = 0; q < queue_count; ++q) {
    for (std::int32_t p = 0; p < ranks_; ++p) {
      for (auto* const made :
           {&done(static_cast<queue>(q), rank, rank_id(p)), &done(static_cast<queue>(q), rank_id(p), rank)}) {
        if (*made) {
          static_cast<void>(cudaEventSynchronize((*made)->get()));
        }
      }
    }
  }
}

void peer_hub::fail(rank_id rank, std::string_view reason) {
  if (failed_) {
    return;
  }
  failed_ = rank;
  try {
    reason_ = reason;
  } catch (std::exception const&) {
    reason_.clear();  // Out of memory: that it failed matters more than why.
  }
  changed_.notify_all();
}

void peer_hub::throw_if_failed(rank_id rank) const {
  if (failed_) {
    throw run_error(*failed_ == rank ? reason_ : message("rank ", failed_->value, " failed: ", reason_));
  }
}

}  // namespace libra::cuda::detail
