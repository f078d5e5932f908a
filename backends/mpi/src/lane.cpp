#include "lane.hpp"

#include "call.hpp"

#include <libra/core/error.hpp>

#include <algorithm>
#include <climits>
#include <cstring>

namespace libra::mpi::detail {

namespace {

using word = std::int64_t;

constexpr std::int64_t block_bytes = 64;
/// Words of a header before those of its regions.
constexpr std::int64_t fixed_words = 2;

[[nodiscard]] constexpr std::int64_t header_bytes(std::int64_t regions) noexcept {
  return (fixed_words + 2 * regions) * std::int64_t{sizeof(word)};
}
[[nodiscard]] constexpr std::int64_t blocks_of(std::int64_t bytes) noexcept {
  return (bytes + block_bytes - 1) / block_bytes;
}

[[nodiscard]] int count_of(std::int64_t bytes) {
  std::int64_t const blocks = blocks_of(bytes);
  if (blocks > INT_MAX) {
    throw run_error(libra::message("a message has ", bytes, " bytes, expected at most ", INT_MAX * block_bytes));
  }
  return static_cast<int>(blocks);
}

void put_word(std::byte*& at, word value) {
  std::memcpy(at, &value, sizeof(word));
  at += sizeof(word);
}
[[nodiscard]] word get_word(std::byte const*& at) {
  word value{};
  std::memcpy(&value, at, sizeof(word));
  at += sizeof(word);
  return value;
}

void pack(const_rows const& rows, std::byte*& to) {
  for (std::int64_t r = 0; r < (rows.dense() ? 1 : rows.rows); ++r) {
    std::int64_t const bytes = rows.dense() ? rows.bytes() : rows.row_bytes;
    if (bytes > 0) {
      std::memcpy(to, rows.row(r), static_cast<std::size_t>(bytes));
    }
    to += bytes;
  }
}
void unpack_rows(std::byte const*& from, mutable_rows const& rows) {
  for (std::int64_t r = 0; r < (rows.dense() ? 1 : rows.rows); ++r) {
    std::int64_t const bytes = rows.dense() ? rows.bytes() : rows.row_bytes;
    if (bytes > 0) {
      std::memcpy(rows.row(r), from, static_cast<std::size_t>(bytes));
    }
    from += bytes;
  }
}

/// Bytes of a round's messages by peer: `with.regions` and `with.bytes` become what each has to hold.
///
/// `name_of_round()` is only called for an error: a name is an allocation.
template <class Item, class PeerOf, class NameOfRound>
void measure(surroundings& with, std::span<Item const> items, PeerOf peer_of, NameOfRound name_of_round) {
  std::ranges::fill(with.regions, 0);
  std::ranges::fill(with.bytes, 0);
  for (Item const& item : items) {
    rank_id const peer = peer_of(item);
    if (peer.value < 0 || peer.value >= with.ranks) {
      throw run_error(libra::message(name_of_round(), ": rank ", with.rank, " exchanges with rank ", peer.value,
                                     " in a group of ", with.ranks));
    }
    ++with.regions[peer.index()];
    with.bytes[peer.index()] += item.rows.bytes();
  }
  for (std::size_t p = 0; p < with.bytes.size(); ++p) {
    with.bytes[p] += header_bytes(with.regions[p]);
  }
}

/// Calls `visit(peer)` for the ranks that have a message, those after this one first: not all begin with the same.
template <class Visit>
void for_each_peer(surroundings const& with, Visit visit) {
  for (std::int32_t i = 1; i < with.ranks; ++i) {
    std::int32_t const peer = (with.rank + i) % with.ranks;
    if (with.regions[static_cast<std::size_t>(peer)] > 0) {
      visit(peer);
    }
  }
}

/// Reserves the messages of a round one after another and sets `with.at` to where each begins.
void lay_out(surroundings& with, buffer& memory) {
  std::int64_t blocks = 0;
  for_each_peer(with, [&](std::int32_t p) { blocks += blocks_of(with.bytes[static_cast<std::size_t>(p)]); });
  std::byte* at = memory.reserve(static_cast<std::size_t>(blocks * block_bytes));
  for_each_peer(with, [&](std::int32_t p) {
    with.at[static_cast<std::size_t>(p)] = at;
    at += blocks_of(with.bytes[static_cast<std::size_t>(p)]) * block_bytes;
  });
}

}  // namespace

std::byte* buffer::reserve(std::size_t bytes) {
  if (bytes > size_) {
    memory_.reset();
    size_ = 0;
    memory_ = std::make_unique<std::byte[]>(bytes);
    size_ = bytes;
  }
  return memory_.get();
}

std::string lane::name_of_round() const { return name_ == "gather" ? name_ : libra::message(name_, " round ", round_); }

std::int32_t lane::waits_for() const {
  auto const pending = std::ranges::find_if(requests_, [](MPI_Request r) { return r != MPI_REQUEST_NULL; });
  return messages_[static_cast<std::size_t>(pending - requests_.begin())].peer;
}

std::int64_t lane::open(surroundings& with, std::int32_t round, std::span<outgoing const> sends,
                        std::span<incoming const> receives) {
  if (open_) {
    throw run_error(libra::message(name_, " round ", round, ": rank ", with.rank, " has not finished round ", round_));
  }
  round_ = round;
  messages_.clear();
  requests_.clear();
  receives_ = receives;
  post_receives(with, receives);
  expected_ = messages_.size();
  post_sends(with, sends);
  copy_to_itself(with, sends);
  pending_ = messages_.size();
  statuses_.resize(pending_);
  indices_.resize(pending_);
  open_ = pending_ > 0;
  return rounds_++;
}

void lane::post_receives(surroundings& with, std::span<incoming const> receives) {
  measure(with, receives, [](incoming const& i) { return i.from; }, [&] { return name_of_round(); });
  lay_out(with, in_);
  for_each_peer(with, [&](std::int32_t peer) {
    message const m{peer, with.at[static_cast<std::size_t>(peer)], with.bytes[static_cast<std::size_t>(peer)]};
    messages_.push_back(m);
    check(MPI_Irecv(m.data, count_of(m.bytes), with.block, peer, tag_, with.comm,
                    &requests_.emplace_back(MPI_REQUEST_NULL)),
          "MPI_Irecv");
  });
}

void lane::post_sends(surroundings& with, std::span<outgoing const> sends) {
  measure(with, sends, [](outgoing const& o) { return o.to; }, [&] { return name_of_round(); });
  lay_out(with, out_);
  for_each_peer(with, [&](std::int32_t peer) {
    auto const p = static_cast<std::size_t>(peer);
    messages_.push_back({peer, with.at[p], with.bytes[p]});
    put_word(with.at[p], round_);
    put_word(with.at[p], with.regions[p]);
  });
  for (outgoing const& o : sends) {
    if (o.to.value != with.rank) {
      put_word(with.at[o.to.index()], o.rows.rows);
      put_word(with.at[o.to.index()], o.rows.row_bytes);
    }
  }
  for (outgoing const& o : sends) {
    if (o.to.value != with.rank) {
      pack(o.rows, with.at[o.to.index()]);
    }
  }
  for (std::size_t m = expected_; m < messages_.size(); ++m) {
    check(MPI_Isend(messages_[m].data, count_of(messages_[m].bytes), with.block, messages_[m].peer, tag_, with.comm,
                    &requests_.emplace_back(MPI_REQUEST_NULL)),
          "MPI_Isend");
  }
}

void lane::copy_to_itself(surroundings const& with, std::span<outgoing const> sends) const {
  auto const to = std::ranges::count(sends, with.rank, [](outgoing const& o) { return o.to.value; });
  auto const from = std::ranges::count(receives_, with.rank, [](incoming const& i) { return i.from.value; });
  if (to != from) {
    throw run_error(
        libra::message(name_of_round(), ": rank ", with.rank, " sends ", to, " regions to itself and expects ", from));
  }
  auto receive = receives_.begin();
  for (outgoing const& o : sends) {
    if (o.to.value != with.rank) {
      continue;
    }
    receive = std::find_if(receive, receives_.end(), [&](incoming const& i) { return i.from == o.to; });
    if (o.rows.rows != receive->rows.rows || o.rows.row_bytes != receive->rows.row_bytes) {
      throw run_error(libra::message(name_of_round(), ": a region of rank ", with.rank, " for itself is ", o.rows.rows,
                                     " rows of ", o.rows.row_bytes, " bytes as sent, ", receive->rows.rows, " rows of ",
                                     receive->rows.row_bytes, " bytes as received"));
    }
    for (std::int64_t r = 0; r < o.rows.rows && o.rows.row_bytes > 0; ++r) {
      std::memcpy(receive->rows.row(r), o.rows.row(r), static_cast<std::size_t>(o.rows.row_bytes));
    }
    ++receive;
  }
}

int lane::progress(surroundings const& with) {
  if (!open_) {
    return 0;
  }
  int ended = 0;
  int const code =
      MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &ended, indices_.data(), statuses_.data());
  if (code != MPI_ERR_IN_STATUS) {
    check(code, "MPI_Testsome");
  }
  for (int i = 0; i < ended; ++i) {
    auto const m = static_cast<std::size_t>(indices_[static_cast<std::size_t>(i)]);
    MPI_Status const& status = statuses_[static_cast<std::size_t>(i)];
    if (code == MPI_ERR_IN_STATUS && status.MPI_ERROR == MPI_ERR_TRUNCATE) {
      throw run_error(libra::message(name_of_round(), ": rank ", messages_[m].peer, " sends rank ", with.rank,
                                     " more than the ", messages_[m].bytes, " bytes that it expects"));
    }
    if (code == MPI_ERR_IN_STATUS) {
      check(status.MPI_ERROR, libra::message(name_of_round(), ", message of rank ", messages_[m].peer));
    }
    if (m < expected_) {
      unpack(with, messages_[m], status);
    }
    --pending_;
  }
  open_ = pending_ > 0;
  return ended;
}

void lane::unpack(surroundings const& with, message const& from, MPI_Status const& status) {
  std::byte const* at = from.data;
  word const round = get_word(at);
  word const regions = get_word(at);
  if (round != round_) {
    throw run_error(libra::message("rank ", with.rank, " is in ", name_of_round(), " where rank ", from.peer,
                                   " sends what belongs to round ", round));
  }
  rank_id const sender(from.peer);
  auto const expected = std::ranges::count(receives_, sender, &incoming::from);
  if (regions != expected) {
    throw run_error(libra::message(name_of_round(), ": rank ", from.peer, " sends ", regions, " regions to rank ",
                                   with.rank, ", which expects ", expected));
  }
  std::byte const* rows_at = from.data + header_bytes(regions);
  word number = 0;
  for (incoming const& i : receives_) {
    if (i.from != sender) {
      continue;
    }
    word const rows = get_word(at);
    word const row_bytes = get_word(at);
    if (rows != i.rows.rows || row_bytes != i.rows.row_bytes) {
      throw run_error(libra::message(name_of_round(), ": region ", number, " from rank ", from.peer, " to rank ",
                                     with.rank, " is ", rows, " rows of ", row_bytes, " bytes as sent, ", i.rows.rows,
                                     " rows of ", i.rows.row_bytes, " bytes as received"));
    }
    unpack_rows(rows_at, i.rows);
    ++number;
  }
  int blocks = 0;
  check(MPI_Get_count(&status, with.block, &blocks), "MPI_Get_count");
  if (blocks != count_of(from.bytes)) {
    throw run_error(libra::message(name_of_round(), ": the message of rank ", from.peer, " to rank ", with.rank,
                                   " has ", blocks, " blocks of ", block_bytes, " bytes, expected ",
                                   count_of(from.bytes)));
  }
}

}  // namespace libra::mpi::detail
