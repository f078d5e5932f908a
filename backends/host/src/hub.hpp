#pragma once

#include <libra/core/ids.hpp>
#include <libra/run/concept.hpp>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace libra::host::detail {

/// Where the transports of one group meet. One mutex guards everything but the copying itself.
///
/// A rank has one round under way per channel, and only ranks that move data between them have to meet in theirs. So
/// the hub keeps one round per rank and channel, however far a rank that moves nothing runs ahead of the others: its
/// memory is that of the constructor, but for words that are gathered.
class hub {
 public:
  hub(std::int32_t ranks, std::chrono::milliseconds timeout);

  [[nodiscard]] std::int32_t ranks() const noexcept { return ranks_; }
  /// The rank that failed first, if any.
  [[nodiscard]] std::optional<rank_id> first_failed();

  /// Returns the number of the round on its channel since the group began.
  std::int64_t start(rank_id rank, exchange_round const& what);
  /// Copies what is ready; true when the round has finished. Without `block` it returns as soon as nothing is ready.
  bool advance(rank_id rank, queue in, std::int64_t sequence, bool block);
  void gather(rank_id rank, std::span<std::uint64_t const> mine, std::span<std::uint64_t> all);
  /// Returns when no other rank touches memory of this rank's rounds.
  void abort(rank_id rank, std::string_view reason) noexcept;

  /// All ranks take part from now on.
  void join_all();
  /// The rank takes part no longer: whoever waits for it from now on waits in vain.
  void leave(rank_id rank);

 private:
  using lock = std::unique_lock<std::mutex>;

  enum class pair_state : std::uint8_t { idle, ready, copying, done };
  /// What one rank sends to another: regions listed by the sender in its round, by the receiver in its own.
  struct pair {
    std::int32_t sends{};
    std::int32_t receives{};
    pair_state state{};
  };
  /// The last round that a rank has started.
  struct side {
    std::int64_t sequence{-1};  ///< rounds of the channel that the rank started before
    std::int32_t number{};
    bool open{};
    std::int32_t open_pairs{};
    std::span<outgoing const> sends;
    std::span<incoming const> receives;
  };
  struct channel {
    queue name{};
    std::vector<side> sides;  // [ranks]
    std::vector<pair> pairs;  // [ranks, ranks], sender first
  };
  struct seat {
    std::condition_variable wake;
    bool waiting{};
    bool left{};
    /// The channel whose round it waits in, or null for `gather`.
    channel const* in{};
    /// Copies under way from or to this rank's memory.
    std::int32_t copies{};
  };
  struct copy {
    channel* in{};
    rank_id from;
    rank_id to;
  };
  struct gathering {
    std::vector<std::uint64_t> words;
    std::size_t words_per_rank{};
    rank_id first_rank;
    std::int32_t arrived{};
  };

  [[nodiscard]] pair& between(channel& c, rank_id from, rank_id to) const {
    return c.pairs[from.index() * static_cast<std::size_t>(ranks_) + to.index()];
  }
  [[nodiscard]] pair const& between(channel const& c, rank_id from, rank_id to) const {
    return c.pairs[from.index() * static_cast<std::size_t>(ranks_) + to.index()];
  }
  [[nodiscard]] channel& on(queue q) { return channels_[static_cast<std::size_t>(q)]; }
  /// "fetch round 3", the last that a rank has started.
  [[nodiscard]] static std::string name_of_round(channel const& c, rank_id rank);

  void open(channel& c, rank_id rank, exchange_round const& what) const;
  void match(channel& c, rank_id rank);
  void match_pair(channel& c, rank_id from, rank_id to);
  [[nodiscard]] std::optional<copy> claim(rank_id rank);
  void perform(lock& held, rank_id rank, copy const& c);

  /// Sleeps until another rank wakes this one or the group fails, as it does when nobody is left who could wake
  /// anybody, or when the timeout has passed.
  void sleep(rank_id rank, channel const* in, lock& held);
  void wake(rank_id rank);
  void fail_if_stalled(rank_id rank);
  [[nodiscard]] std::string describe(rank_id rank) const;

  /// Records the first failure and wakes everybody.
  void fail(rank_id rank, std::string_view reason);
  void throw_if_failed(lock& held, rank_id rank);
  /// Runs `body` with the lock held; a failure inside fails the group before it is thrown on.
  template <class Body>
  auto guarded(rank_id rank, Body body);

  std::int32_t ranks_;
  std::chrono::milliseconds timeout_;
  std::mutex mutex_;
  std::deque<seat> seats_;
  std::int32_t idle_{};  // ranks that wait or have left
  std::array<channel, queue_count> channels_;
  std::array<gathering, 2> gatherings_;
  std::int64_t gathered_{};
  std::optional<rank_id> failed_;
  std::string reason_;
};

}  // namespace libra::host::detail
