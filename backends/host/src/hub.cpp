#include "hub.hpp"

#include <libra/core/error.hpp>

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

namespace libra::host::detail {

namespace {

/// "fetch round 3"
[[nodiscard]] std::string name_of_round(queue on, std::int32_t number) {
  return message(name_of(on), " round ", number);
}

void copy_rows(const_rows const& from, mutable_rows const& to) {
  if (from.bytes() == 0) {
    return;
  }
  if (from.dense() && to.dense()) {
    std::memcpy(to.data, from.data, static_cast<std::size_t>(from.bytes()));
    return;
  }
  for (std::int64_t r = 0; r < from.rows; ++r) {
    std::memcpy(to.row(r), from.row(r), static_cast<std::size_t>(from.row_bytes));
  }
}

/// Copies, in order, what `from` lists for `to` to where `to` lists it. Pre: as many sends as receives.
///
/// Errors: `run_error` naming the round's ranks when the sizes differ.
void copy_regions(rank_id sender, std::span<outgoing const> sends, rank_id receiver,
                  std::span<incoming const> receives) {
  auto receive = receives.begin();
  std::int32_t number = 0;
  for (outgoing const& send : sends) {
    if (send.to != receiver) {
      continue;
    }
    receive = std::find_if(receive, receives.end(), [&](incoming const& i) { return i.from == sender; });
    if (send.rows.rows != receive->rows.rows || send.rows.row_bytes != receive->rows.row_bytes) {
      throw run_error(message("region ", number, " from rank ", sender.value, " to rank ", receiver.value, " is ",
                              send.rows.rows, " rows of ", send.rows.row_bytes, " bytes as sent, ", receive->rows.rows,
                              " rows of ", receive->rows.row_bytes, " bytes as received"));
    }
    copy_rows(send.rows, receive->rows);
    ++receive;
    ++number;
  }
}

}  // namespace

hub::hub(std::int32_t ranks, std::chrono::milliseconds timeout)
    : ranks_(ranks),
      timeout_(timeout),
      seats_(static_cast<std::size_t>(ranks)) {
  for (std::size_t q = 0; q < queue_count; ++q) {
    channels_[q].name = static_cast<queue>(q);
    channels_[q].sides.resize(static_cast<std::size_t>(ranks));
    channels_[q].pairs.resize(static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks));
  }
}

template <class Body>
auto hub::guarded(rank_id rank, Body body) {
  lock held(mutex_);
  throw_if_failed(held, rank);
  try {
    return body(held);
  } catch (std::exception const& e) {
    fail(rank, e.what());
    seats_[rank.index()].wake.wait(held, [&] { return seats_[rank.index()].copies == 0; });
    throw;
  }
}

std::optional<rank_id> hub::first_failed() {
  lock const held(mutex_);
  return failed_;
}

std::string hub::name_of_round(channel const& c, rank_id rank) {
  return detail::name_of_round(c.name, c.sides[rank.index()].number);
}

std::int64_t hub::start(rank_id rank, exchange_round const& what) {
  return guarded(rank, [&](lock&) {
    channel& c = on(what.channel);
    if (side const& last = c.sides[rank.index()]; last.open) {
      throw run_error(message(detail::name_of_round(what.channel, what.round), ": rank ", rank.value,
                              " has not finished round ", last.number));
    }
    open(c, rank, what);
    match(c, rank);
    return c.sides[rank.index()].sequence;
  });
}

void hub::open(channel& c, rank_id rank, exchange_round const& what) const {
  side& own = c.sides[rank.index()];
  own = {own.sequence + 1, what.round, true, 0, what.sends, what.receives};
  for (std::int32_t p = 0; p < ranks_; ++p) {
    pair& to = between(c, rank, rank_id(p));
    to.sends = 0;
    to.state = pair_state::idle;
    pair& from = between(c, rank_id(p), rank);
    from.receives = 0;
    from.state = pair_state::idle;
  }
  auto const check = [&](rank_id peer) {
    if (peer.value < 0 || peer.value >= ranks_) {
      throw run_error(message(name_of_round(c, rank), ": rank ", rank.value, " exchanges with rank ", peer.value,
                              " in a group of ", ranks_));
    }
  };
  for (outgoing const& o : what.sends) {
    check(o.to);
    ++between(c, rank, o.to).sends;
  }
  for (incoming const& i : what.receives) {
    check(i.from);
    ++between(c, i.from, rank).receives;
  }
  for (std::int32_t p = 0; p < ranks_; ++p) {
    rank_id const peer(p);
    bool const sends = between(c, rank, peer).sends > 0;
    bool const receives = between(c, peer, rank).receives > 0;
    own.open_pairs += peer == rank ? (sends || receives) : sends + receives;
  }
}

void hub::match(channel& c, rank_id rank) {
  side const& own = c.sides[rank.index()];
  for (std::int32_t p = 0; p < ranks_; ++p) {
    rank_id const peer(p);
    side const& theirs = c.sides[peer.index()];
    if (theirs.sequence < own.sequence) {
      continue;
    }
    if (theirs.sequence == own.sequence && theirs.number != own.number) {
      throw run_error(message("rank ", rank.value, " starts ", name_of_round(c, rank), " where rank ", peer.value,
                              " started round ", theirs.number));
    }
    match_pair(c, rank, peer);
    if (peer != rank) {
      match_pair(c, peer, rank);
    }
  }
}

void hub::match_pair(channel& c, rank_id from, rank_id to) {
  side const& sender = c.sides[from.index()];
  side const& receiver = c.sides[to.index()];
  std::int64_t const sequence = std::min(sender.sequence, receiver.sequence);
  pair& p = between(c, from, to);
  // A rank that is beyond this round has finished it without the other, and so moved nothing with it.
  std::int32_t const sends = sender.sequence == sequence ? p.sends : 0;
  std::int32_t const receives = receiver.sequence == sequence ? p.receives : 0;
  if (sends != receives) {
    throw run_error(message(name_of_round(c, sender.sequence == sequence ? from : to), ": rank ", from.value, " sends ",
                            sends, " regions to rank ", to.value, ", which expects ", receives));
  }
  if (sends > 0) {
    p.state = pair_state::ready;
    wake(from);
    wake(to);
  }
}

bool hub::advance(rank_id rank, queue in, std::int64_t sequence, bool block) {
  return guarded(rank, [&](lock& held) {
    channel& c = on(in);
    side& own = c.sides[rank.index()];
    if (own.sequence != sequence) {
      throw run_error(message("rank ", rank.value, " waits for a round of ", name_of(in), " that it has finished"));
    }
    for (;;) {
      if (own.open_pairs == 0) {
        own.open = false;
        return true;
      }
      if (auto const ready = claim(rank)) {
        perform(held, rank, *ready);
      } else if (block) {
        sleep(rank, &c, held);
        throw_if_failed(held, rank);
      } else {
        return false;
      }
    }
  });
}

std::optional<hub::copy> hub::claim(rank_id rank) {
  for (channel& c : channels_) {
    bool const open = c.sides[rank.index()].open;
    for (std::int32_t p = 0; open && p < ranks_; ++p) {
      for (auto const& [from, to] : {std::pair(rank_id(p), rank), std::pair(rank, rank_id(p))}) {
        if (pair& ready = between(c, from, to); ready.state == pair_state::ready) {
          ready.state = pair_state::copying;
          return copy{&c, from, to};
        }
      }
    }
  }
  return std::nullopt;
}

void hub::perform(lock& held, rank_id rank, copy const& c) {
  side& sender = c.in->sides[c.from.index()];
  side& receiver = c.in->sides[c.to.index()];
  auto const ended = [&] {
    for (rank_id const r : {c.from, c.to}) {
      // A rank that failed may wait for the last copy before its memory goes.
      if (--seats_[r.index()].copies == 0 && failed_) {
        seats_[r.index()].wake.notify_all();
      }
    }
  };
  ++seats_[c.from.index()].copies;
  ++seats_[c.to.index()].copies;
  held.unlock();
  try {
    copy_regions(c.from, sender.sends, c.to, receiver.receives);
  } catch (run_error const& e) {
    held.lock();
    ended();
    throw run_error(message(name_of_round(*c.in, rank), ": ", e.what()));
  }
  held.lock();
  ended();
  between(*c.in, c.from, c.to).state = pair_state::done;
  --sender.open_pairs;
  if (c.from != c.to) {
    --receiver.open_pairs;
  }
  rank_id const other = c.from == rank ? c.to : c.from;
  wake(other);
  throw_if_failed(held, rank);
}

void hub::gather(rank_id rank, std::span<std::uint64_t const> mine, std::span<std::uint64_t> all) {
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
      for (std::int32_t p = 0; p < ranks_; ++p) {
        wake(rank_id(p));
      }
    }
    while (gathered_ == turn) {
      throw_if_failed(held, rank);
      sleep(rank, nullptr, held);
    }
    std::ranges::copy(g.words, all.begin());
  });
}

void hub::sleep(rank_id rank, channel const* in, lock& held) {
  seat& s = seats_[rank.index()];
  s.waiting = true;
  s.in = in;
  ++idle_;
  fail_if_stalled(rank);
  if (!s.wake.wait_for(held, timeout_, [&] { return !s.waiting; })) {
    fail(rank, message(describe(rank), ", and has waited ", timeout_.count(), " ms"));
  }
}

void hub::wake(rank_id rank) {
  if (seat& s = seats_[rank.index()]; s.waiting) {
    s.waiting = false;
    --idle_;
    s.wake.notify_all();
  }
}

void hub::fail_if_stalled(rank_id rank) {
  if (idle_ < ranks_) {
    return;
  }
  constexpr std::int32_t most = 8;
  std::string text = "no rank can go on";
  for (std::int32_t r = 0; r < std::min(ranks_, most); ++r) {
    text += message(r == 0 ? ": " : "; ", describe(rank_id(r)));
  }
  if (ranks_ > most) {
    text += message("; and ", ranks_ - most, " more");
  }
  fail(rank, text);
}

std::string hub::describe(rank_id rank) const {
  seat const& s = seats_[rank.index()];
  if (s.left) {
    return message("rank ", rank.value, " has returned");
  }
  std::string text =
      message("rank ", rank.value, " waits in ", s.in == nullptr ? "gather" : name_of_round(*s.in, rank));
  if (s.in != nullptr) {
    std::int64_t const sequence = s.in->sides[rank.index()].sequence;
    for (std::int32_t p = 0; p < ranks_; ++p) {
      rank_id const peer(p);
      if (s.in->sides[peer.index()].sequence < sequence &&
          (between(*s.in, rank, peer).sends > 0 || between(*s.in, peer, rank).receives > 0)) {
        return message(text, " for rank ", p);
      }
    }
  }
  return text;
}

void hub::join_all() {
  lock const held(mutex_);
  for (seat& s : seats_) {
    idle_ -= s.left;
    s.left = false;
  }
}

void hub::leave(rank_id rank) {
  lock const held(mutex_);
  seats_[rank.index()].left = true;
  ++idle_;
  auto const waiting = std::ranges::find_if(seats_, &seat::waiting);
  if (waiting != seats_.end()) {
    fail_if_stalled(rank_id(static_cast<std::size_t>(waiting - seats_.begin())));
  }
}

void hub::abort(rank_id rank, std::string_view reason) noexcept {
  lock held(mutex_);
  fail(rank, reason);
  seat& s = seats_[rank.index()];
  s.wake.wait(held, [&] { return s.copies == 0; });
}

void hub::fail(rank_id rank, std::string_view reason) {
  if (failed_) {
    return;
  }
  failed_ = rank;
  try {
    reason_ = reason;
  } catch (std::exception const&) {
    reason_.clear();  // Out of memory: that it failed matters more than why.
  }
  for (std::int32_t p = 0; p < ranks_; ++p) {
    wake(rank_id(p));
  }
}

void hub::throw_if_failed(lock& held, rank_id rank) {
  if (!failed_) {
    return;
  }
  seat& s = seats_[rank.index()];
  s.wake.wait(held, [&] { return s.copies == 0; });
  throw run_error(*failed_ == rank ? reason_ : message("rank ", failed_->value, " failed: ", reason_));
}

}  // namespace libra::host::detail
