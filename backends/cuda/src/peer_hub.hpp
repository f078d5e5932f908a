#pragma once

#include <libra/core/ids.hpp>
#include <libra/cuda/context.hpp>
#include <libra/run/concept.hpp>

#include <array>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace libra::cuda::detail {

/// Where the ranks of one process meet to begin rounds. One lock guards it; under it work is enqueued, never waited
/// for.
class peer_hub {
 public:
  explicit peer_hub(std::int32_t ranks);

  [[nodiscard]] std::int32_t ranks() const noexcept { return ranks_; }
  /// The rank that failed first, if any.
  [[nodiscard]] std::optional<rank_id> first_failed();

  void begin(rank_id rank, context& in, exchange_round const& what);
  /// True when all of this rank's copies of the round under way are enqueued and its stream follows them.
  bool finish(rank_id rank, queue q, bool block);
  void gather(rank_id rank, std::span<std::uint64_t const> mine, std::span<std::uint64_t> all);
  void check(rank_id rank);
  /// Returns when no copy from or to this rank's memory is under way.
  void abort(rank_id rank, std::string_view reason) noexcept;

  void join_all();
  void leave(rank_id rank);

 private:
  using lock = std::unique_lock<std::mutex>;

  /// One rank's part in a round.
  struct side {
    context* in{};  ///< null until the rank has begun the round
    std::span<outgoing const> sends;
    std::span<incoming const> receives;
    std::int32_t open_pairs{};
  };
  struct round {
    queue on{};
    std::int32_t number{};
    rank_id first_rank;
    std::int32_t finished{};
    std::vector<side> sides;  // [ranks]
  };
  struct channel {
    std::map<std::int64_t, round> rounds;
    std::vector<std::int64_t> begun;          // [ranks]
    std::vector<round*> current;              // [ranks]
    std::vector<std::optional<event>> ready;  // [ranks]: what a rank sends is there
    std::vector<std::optional<event>> done;   // [ranks, ranks], sender first: the last copies are made
  };
  struct seat {
    std::function<bool()> until;  ///< what it waits for, while it does
    std::string where;
    bool left{};
  };
  struct gathering {
    std::vector<std::uint64_t> words;
    std::size_t words_per_rank{};
    rank_id first_rank;
    std::int32_t arrived{};
  };

  [[nodiscard]] channel& on(queue q) { return channels_[static_cast<std::size_t>(q)]; }
  [[nodiscard]] std::optional<event>& done(queue q, rank_id from, rank_id to);
  [[nodiscard]] std::int32_t count_pairs(round const& r, rank_id rank) const;
  void check_peers(round const& r, rank_id rank, exchange_round const& what) const;
  void enqueue_pair(round& r, rank_id from, rank_id to);

  template <class Body>
  auto guarded(rank_id rank, Body body);
  void wait(lock& held, rank_id rank, std::string where, std::function<bool()> until);
  void fail_if_stalled(rank_id rank);
  void fail(rank_id rank, std::string_view reason);
  void throw_if_failed(rank_id rank) const;

  std::int32_t ranks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<seat> seats_;
  std::array<channel, queue_count> channels_;
  std::array<gathering, 2> gatherings_;
  std::int64_t gathered_{};
  std::optional<rank_id> failed_;
  std::string reason_;
};

}  // namespace libra::cuda::detail
