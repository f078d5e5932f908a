#pragma once

#include <libra/core/ids.hpp>
#include <libra/run/concept.hpp>

#include <array>
#include <condition_variable>
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
  explicit hub(std::int32_t ranks);

  [[nodiscard]] std::int32_t ranks() const noexcept { return ranks_; }
  [[nodiscard]] bool failed();
  /// The rank that failed first.
  [[nodiscard]] std::optional<rank_id> first_failed();

  /// Returns the round's number since the group began.
  std::int64_t start(rank_id rank, exchange_round const& round);
  /// Copies what is ready; true when the round has finished. Without `block` returns as soon as nothing is ready.
  bool advance(rank_id rank, queue channel, std::int64_t sequence, bool block);
  void gather(rank_id rank, std::span<std::uint64_t const> mine, std::span<std::uint64_t> all);
  /// Returns when no other rank touches memory of this rank's rounds.
  void abort(rank_id rank, std::string_view reason) noexcept;

  /// All ranks are expected to take part from now on.
  void join_all();
  /// The rank takes part no longer: whoever waits for it from now on waits in vain.
  void leave(rank_id rank);

 private:
  using lock = std::unique_lock<std::mutex>;

  enum class pair_state : std::uint8_t { idle, ready, copying, done };
  /// What one rank sends to another in one round.
  struct pair {
    std::int32_t sends{};
    std::int32_t receives{};
    pair_state state{};
  };
  struct side {
    bool started{};
    std::span<outgoing const> sends;
    std::span<incoming const> receives;
    std::int32_t open_pairs{};
  };
  struct round {
    std::int32_t number{};
    rank_id first_rank;
    std::int32_t started{};
    std::int32_t finished{};
    std::vector<side> sides;   // [ranks]
    std::vector<pair> pairs;   // [ranks, ranks], sender first
  };
  struct channel {
    std::int64_t first_sequence{};
    std::deque<std::unique_ptr<round>> rounds;  // that some rank has not finished
    std::vector<std::int64_t> next;             // [ranks]
    std::vector<std::int64_t> current;          // [ranks]; negative when none is under way
  };
  struct seat {
    std::condition_variable wake;
    bool waiting{};
    bool left{};
    /// Copies under way from or to this rank's memory.
    std::int32_t copies{};
    /// What it waits for, for messages.
    std::string what;
  };
  struct copy {
    queue on{};
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
  [[nodiscard]] channel& on(queue q) { return channels_[static_cast<std::size_t>(q)]; }
  [[nodiscard]] round& round_of(channel& c, std::int64_t sequence) {
    return *c.rounds[static_cast<std::size_t>(sequence - c.first_sequence)];
  }

  round& open_round(channel& c, std::int64_t sequence);
  void add_sides(rank_id rank, exchange_round const& what, round& r);
  void match(rank_id rank, queue q, round& r);
  void match_pair(queue q, round& r, rank_id from, rank_id to);
  [[nodiscard]] std::optional<copy> claim(rank_id rank);
  void perform(lock& held, rank_id rank, copy const& c);
  void move_rows(copy const& c) const;
  void finish(rank_id rank, channel& c, std::int64_t sequence, round& r);

  /// Sleeps until another rank wakes this one. Errors: `run_error` when nobody is left who could.
  void sleep(lock& held, rank_id rank);
  void wake(rank_id rank);
  void throw_if_failed(lock& held, rank_id rank);
  /// Records the first failure, wakes everybody and waits until nobody touches this rank's memory.
  void fail(lock& held, rank_id rank, std::string_view reason);
  void drain(lock& held, rank_id rank);
  [[noreturn]] void fail_and_throw(lock& held, rank_id rank, std::string const& reason);

  std::int32_t ranks_;
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
