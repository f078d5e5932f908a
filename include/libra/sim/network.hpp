#pragma once

#include <libra/core/checked.hpp>
#include <libra/model/pool_batch.hpp>
#include <libra/model/topology.hpp>
#include <libra/program/ops.hpp>
#include <libra/sim/flows.hpp>
#include <libra/sim/paced_flows.hpp>
#include <libra/sim/shared_port.hpp>
#include <libra/sim/timing.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace libra::sim {

/// The ports of a pool's ranks, and the flows of its programs on their way through them.
///
/// A flow starts when the exchanges at both of its ends are ready, shares a sending port with what else that rank
/// sends and a receiving port with what else the other receives, and ends when both have served it. The sender may run
/// ahead of the receiver, so that a slow receiver does not hold up what its senders send to others. Where a connection
/// to a rank of another node carries less than a port, no flow between nodes ends before its connection could carry it.
class pool_network {
 public:
  /// What a rank has that ends flows: its ports, then its connections to ranks of other nodes.
  static constexpr std::uint32_t lines_per_rank = port_count + 1;

  /// Port p of rank r is the line of this number.
  [[nodiscard]] static constexpr std::uint32_t number(std::int32_t rank, port p) noexcept {
    return static_cast<std::uint32_t>(rank) * lines_per_rank + static_cast<std::uint32_t>(p);
  }
  /// The line of rank r's connections.
  [[nodiscard]] static constexpr std::uint32_t connections_of(std::int32_t rank) noexcept {
    return static_cast<std::uint32_t>(rank) * lines_per_rank + std::uint32_t{port_count};
  }

  /// Reads the flows of a pool's programs; none is under way. `peer_bytes_per_second` is what one rank sends one rank
  /// of another node at most, 0 no less than a port. Errors: those of `pool_flows`.
  void prepare(pool_batch const& batch, pool_program const& programs, topology const& links,
               std::int64_t peer_bytes_per_second = 0) {
    links_ = links;
    bool const paced = peer_bytes_per_second > 0 && peer_bytes_per_second < links.network_bytes_per_second;
    peer_bytes_per_second_ = paced ? peer_bytes_per_second : 0;
    flows_.collect(batch, programs, links.ranks_per_node);
    exchanges_.assign(flows_.ops(), {});
    unserved_ends_.assign(flows_.all().size(), 2);
    lines_.resize(programs.ranks.size());
    for (rank_lines& l : lines_) {
      for (shared_port& p : l.ports) {
        p.reset();
      }
      l.connections.reset();
      l.bytes = {};
      l.noted = {};
    }
    for (std::size_t i = 0; i < flows_.all().size(); ++i) {
      flow const& f = flows_.all()[i];
      for (op_index const o : {f.from, f.to}) {
        ++exchanges_[o].open_flows;
        exchanges_[o].network = exchanges_[o].network || f.network;
      }
      unserved_ends_[i] = paced && f.network ? 3 : 2;
      lines_[static_cast<std::size_t>(f.from_rank)].bytes[static_cast<std::size_t>(sending(f))] += f.bytes;
      lines_[static_cast<std::size_t>(f.to_rank)].bytes[static_cast<std::size_t>(receiving(f))] += f.bytes;
    }
    changed_.clear();
  }

  /// True when an op's flows with other ranks, if it has any, have all ended.
  [[nodiscard]] bool ended(op_index o) const noexcept { return exchanges_[o].open_flows == 0; }
  /// From the start of an exchange until its rank is ready.
  [[nodiscard]] std::int64_t latency_ps(op_index o) const noexcept {
    return exchanges_[o].network ? links_.network_latency_ps : links_.node_latency_ps;
  }

  /// An exchange becomes ready: its flows to and from ranks that are ready too start.
  void become_ready(op_index o, std::int64_t now_ps) {
    exchanges_[o].ready = true;
    item_range const sent = flows_.sent_by(o);
    for (std::uint32_t f = sent.begin; f < sent.end; ++f) {
      if (exchanges_[flows_[f].to].ready) {
        start(f, now_ps);
      }
    }
    for (std::uint32_t const f : flows_.received_by(o)) {
      if (exchanges_[flows_[f].from].ready) {
        start(f, now_ps);
      }
    }
  }

  /// A line's next flow ends there. Calls `ended(op)` for each exchange whose last flow that was.
  template <class Ended>
  void serve(std::uint32_t line, std::int64_t now_ps, Ended ended) {
    auto const served = [&](std::uint32_t f) {
      if (--unserved_ends_[f] == 0) {
        for (op_index const o : {flows_[f].from, flows_[f].to}) {
          if (--exchanges_[o].open_flows == 0) {
            ended(o);
          }
        }
      }
    };
    rank_lines& rank = lines_[line / lines_per_rank];
    if (std::uint32_t const which = line % lines_per_rank; which < port_count) {
      rank.ports[which].finish(now_ps, served);
    } else {
      rank.connections.finish(now_ps, served);
    }
    note(line);
  }

  /// Calls `changed(line, next_ps)` once for each line whose next end may have moved since the last call.
  template <class Changed>
  void take_changes(Changed changed) {
    for (std::uint32_t const line : changed_) {
      rank_lines& rank = lines_[line / lines_per_rank];
      std::uint32_t const which = line % lines_per_rank;
      rank.noted[which] = false;
      changed(line, which < port_count ? rank.ports[which].next_ps() : rank.connections.next_ps());
    }
    changed_.clear();
  }

  [[nodiscard]] port_use use_of(std::size_t rank, port p) const noexcept {
    rank_lines const& l = lines_[rank];
    return {l.bytes[static_cast<std::size_t>(p)], l.ports[static_cast<std::size_t>(p)].busy_ps()};
  }

 private:
  struct exchange_state {
    std::uint32_t open_flows{};
    bool ready{};
    bool network{};  ///< has a peer in another node
  };

  struct rank_lines {
    std::array<shared_port, port_count> ports;
    /// Those over which this rank sends to other nodes.
    paced_flows connections;
    std::array<std::int64_t, port_count> bytes{};
    /// Which lines are among the changed ones.
    std::array<bool, lines_per_rank> noted{};
  };

  [[nodiscard]] static constexpr port sending(flow const& f) noexcept {
    return f.network ? port::network_send : port::node_send;
  }
  [[nodiscard]] static constexpr port receiving(flow const& f) noexcept {
    return f.network ? port::network_receive : port::node_receive;
  }
  [[nodiscard]] static std::int64_t time_ps(std::int64_t bytes, std::int64_t bytes_per_second) {
    return checked_int64(ceil_div(static_cast<int128>(bytes) * 1'000'000'000'000, bytes_per_second),
                         "a transfer's picoseconds");
  }

  void start(std::uint32_t f, std::int64_t now_ps) {
    flow const& what = flows_[f];
    std::int64_t const alone_ps =
        time_ps(what.bytes, what.network ? links_.network_bytes_per_second : links_.node_bytes_per_second);
    auto const enter = [&](std::int32_t rank, port p) {
      lines_[static_cast<std::size_t>(rank)].ports[static_cast<std::size_t>(p)].add(now_ps, alone_ps, f);
      note(number(rank, p));
    };
    enter(what.from_rank, sending(what));
    enter(what.to_rank, receiving(what));
    if (what.network && peer_bytes_per_second_ > 0) {
      lines_[static_cast<std::size_t>(what.from_rank)].connections.add(
          now_ps + time_ps(what.bytes, peer_bytes_per_second_), f);
      note(connections_of(what.from_rank));
    }
  }

  void note(std::uint32_t line) {
    bool& noted = lines_[line / lines_per_rank].noted[line % lines_per_rank];
    if (!noted) {
      noted = true;
      changed_.push_back(line);
    }
  }

  topology links_;
  std::int64_t peer_bytes_per_second_{};  ///< 0: connections pace nothing
  pool_flows flows_;
  /// Shape: `[ops]`.
  std::vector<exchange_state> exchanges_;
  /// Shape: `[flows]`. Two ports, and a connection that paces the flow.
  std::vector<std::uint8_t> unserved_ends_;
  /// Shape: `[ranks]`.
  std::vector<rank_lines> lines_;
  std::vector<std::uint32_t> changed_;
};

}  // namespace libra::sim
