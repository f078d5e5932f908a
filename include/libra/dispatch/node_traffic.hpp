#pragma once

#include <libra/model/crossing_bytes.hpp>
#include <libra/model/node_map.hpp>
#include <libra/model/pool_batch.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace libra::detail {

/// What crosses the network when nodes help each other, by node and direction. Ways to share work out are tried one
/// after another, on top of what crosses in any of them.
///
/// A node's ranks share evenly, whoever holds the rows, since neighbours carry what is too much for a port. Keys that
/// several nodes need leave home once: the others get them from one another and add their sums up there, each as much
/// as it gets.
class node_traffic {
 public:
  node_traffic(pool_batch const& batch, node_map nodes, crossing_bytes const& bytes)
      : batch_(batch),
        nodes_(std::move(nodes)),
        bytes_(bytes),
        always_(static_cast<std::size_t>(nodes_.nodes())),
        now_(always_),
        departures_(batch.segments.size() * static_cast<std::size_t>(batch.shape.kv_heads)) {}

  /// What was added so far crosses whatever is tried.
  void keep() {
    always_ = now_;
    for (departure& d : departures_) {
      d.always = d.keys;
    }
  }
  /// Forgets what was added since.
  void restart() {
    now_ = always_;
    ++attempt_;
  }

  /// Adds `rows` of so many query heads that node `helper` computes. Pre: other nodes hold them. Complexity: linear
  /// in their homes.
  void add_rows(segment_id s, row_range rows, std::int32_t heads, std::int32_t helper) {
    batch_.for_each_home(s, rows, [&](rank_id home, row_range part, std::int64_t) {
      move(nodes_.of(home), helper, part.size() * heads, bytes_.row_out, bytes_.row_back);
    });
  }

  /// Adds the keys of a head that node `helper` needs. Complexity: linear in their homes.
  void add_keys(segment_id s, std::int32_t kv_head, row_range keys, std::int32_t helper) {
    row_range& gone = departed(s, kv_head);
    batch_.for_each_home(s, keys, [&](rank_id home, row_range part, std::int64_t) {
      if (nodes_.of(home) == helper) {
        return;
      }
      std::int64_t const again =
          std::max<std::int64_t>(0, std::min(part.end, gone.end) - std::max(part.begin, gone.begin));
      move(nodes_.of(home), helper, part.size() - again, bytes_.key_out, bytes_.key_back);
      move(helper, helper, again, bytes_.key_out, bytes_.key_back);
    });
    gone = gone.size() > 0 ? row_range{std::min(gone.begin, keys.begin), std::max(gone.end, keys.end)} : keys;
  }

  /// Bytes in the direction in which a node has more.
  [[nodiscard]] std::int64_t busiest(std::size_t node) const noexcept {
    return std::max(now_[node].sent, now_[node].received);
  }

 private:
  struct traffic {
    std::int64_t sent{};
    std::int64_t received{};
  };
  /// Keys of a head that have left home.
  struct departure {
    row_range keys;
    row_range always;
    std::int32_t attempt{};
  };

  /// The keys of a head that other nodes have got in the attempt under way.
  [[nodiscard]] row_range& departed(segment_id s, std::int32_t kv_head) {
    departure& d =
        departures_[s.index() * static_cast<std::size_t>(batch_.shape.kv_heads) + static_cast<std::size_t>(kv_head)];
    if (std::exchange(d.attempt, attempt_) != attempt_) {
      d.keys = d.always;
    }
    return d.keys;
  }

  /// `count` pieces go from one node to the other, and their results back.
  void move(std::int32_t home, std::int32_t helper, std::int64_t count, std::int64_t out, std::int64_t back) {
    traffic& from = now_[static_cast<std::size_t>(home)];
    traffic& to = now_[static_cast<std::size_t>(helper)];
    from.sent += count * out;
    to.received += count * out;
    to.sent += count * back;
    from.received += count * back;
  }

  pool_batch const& batch_;
  node_map nodes_;
  crossing_bytes bytes_;
  /// Shape: `[nodes]`.
  std::vector<traffic> always_;
  std::vector<traffic> now_;
  /// Shape: `[segments, kv_heads]`.
  std::vector<departure> departures_;
  std::int32_t attempt_{};
};

}  // namespace libra::detail
