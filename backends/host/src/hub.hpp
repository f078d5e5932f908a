#pragma once

#include <libra/core/ids.hpp>
#include <libra/run/concept.hpp>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace libra::host::detail {

/// Where the transports of one group meet. One mutex guards everything but the copying itself.
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
  /// What one rank sends to another in one round: regions listed by either.
  struct pair {
    std::int32_t sends{};
    std::int32_t receives{};
    pair_state state{};
  };
  /// One rank's part in a round.
  struct side {
    bool started{};
    std::int32_t open_pairs{};
    std::span<outgoing const> sends;
    std::span<incoming const> receives;
  };
  struct round {
    queue on{};
    std::int32_t number{};
    rank_id first_rank;
    std::int32_t started{};
    std::int32_t finished{};
    std::vector<side> sides;  // [ranks]
    std::vector<pair> pairs;  // [ranks, ranks], sender first
  };
  struct channel {
    std::int64_t first_sequence{};
    std::vector<std::unique_ptr<round>> rounds;  // those that some rank has not finished
    std::vector<std::int64_t> started;           // [ranks]
    std::vector<round*> current;                 // [ranks]
  };
  struct seat {
    std::condition_variable wake;
    bool waiting{};
    bool left{};
    /// What it waits for: the round, or null for `gather`.
    round const* in{};
    /// Copies under way from or to this rank's memory.
    std::int32_t copies{};
  };
  struct copy {
    round* in{};
    rank_id from;
    rank_id to;
  };
  struct gathering {
    std::vector<std::uint64_t> words;
    std::size_t words_per_rank{};
    rank_id first_rank;
    std::int32_t arrived{};
  };

  [[nodiscard]] pair& between(round& r, rank_id from, rank_id to) const {
    return r.pairs[from.index() * static_cast<std::size_t>(ranks_) + to.index()];
  }
  [[nodiscard]] pair const& between(round const& r, rank_id from, rank_id to) const {
    return r.pairs[from.index() * static_cast<std::size_t>(ranks_) + to.index()];
  }
  [[nodiscard]] channel& on(queue q) { return channels_[static_cast<std::size_t>(q)]; }

  round& open_round(queue q, std::int64_t sequence);
  void clear(round& r) const;
  void add_side(round& r, rank_id rank, exchange_round const& what) const;
  void match(round& r, rank_id rank);
  void match_pair(round& r, rank_id from, rank_id to);
  [[nodiscard]] std::optional<copy> claim(rank_id rank);
  void perform(lock& held, rank_id rank, copy const& c);
  void close(round& r, rank_id rank);

  /// Sleeps until another rank wakes this one or the group fails, as it does when nobody is left who could wake
  /// anybody, or when the timeout has passed.
  void sleep(rank_id rank, round const* in, lock& held);
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
  std::vector<std::unique_ptr<round>> spare_;
  std::array<gathering, 2> gatherings_;
  std::int64_t gathered_{};
  std::optional<rank_id> failed_;
  std::string reason_;
};

}  // namespace libra::host::detail
