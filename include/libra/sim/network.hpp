#pragma once

#include <libra/core/checked.hpp>
#include <libra/model/pool_batch.hpp>
#include <libra/model/topology.hpp>
#include <libra/program/ops.hpp>
#include <libra/sim/flows.hpp>
#include <libra/sim/shared_port.hpp>
#include <libra/sim/timing.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace libra::sim {

/// The ports of a pool's ranks, and the flows of its programs on their way through them.
///
/// A flow starts when the exchanges at both of its ends are ready, shares a sending port with what else that rank
/// sends and a receiving port with what else the other receives, and ends when both have served it. The sender may run
/// ahead of the receiver, so that a slow receiver does not hold up what its senders send to others.
class pool_network {
 public:
  /// Port p of rank r has this number.
  [[nodiscard]] static constexpr std::uint32_t number(std::int32_t rank, port p) noexcept {
    return static_cast<std::uint32_t>(rank) * std::uint32_t{port_count} + static_cast<std::uint32_t>(p);
  }

  /// Reads the flows of a pool's programs; none is under way. Errors: those of `pool_flows`.
  void prepare(pool_batch const& batch, pool_program const& programs, topology const& links) {
    links_ = links;
    flows_.collect(batch, programs, links.ranks_per_node);
    exchanges_.assign(flows_.ops(), {});
    unserved_ends_.assign(flows_.all().size(), 2);
    ports_.resize(programs.ranks.size() * port_count);
    bytes_.assign(ports_.size(), 0);
    for (shared_port& p : ports_) {
      p.reset();
    }
    for (flow const& f : flows_.all()) {
      for (op_index const o : {f.from, f.to}) {
        ++exchanges_[o].open_flows;
        exchanges_[o].network = exchanges_[o].network || f.network;
      }
      bytes_[send_port(f)] += f.bytes;
      bytes_[receive_port(f)] += f.bytes;
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

  /// A port's next flow ends there. Calls `ended(op)` for each exchange whose last flow that was.
  template <class Ended>
  void serve(std::uint32_t port_number, std::int64_t now_ps, Ended ended) {
    ports_[port_number].finish(now_ps, [&](std::uint32_t f) {
      if (--unserved_ends_[f] == 0) {
        for (op_index const o : {flows_[f].from, flows_[f].to}) {
          if (--exchanges_[o].open_flows == 0) {
            ended(o);
          }
        }
      }
    });
    changed_.push_back(port_number);
  }

  /// Calls `changed(port_number, next_ps)` for each port whose next end may have moved since the last call.
  template <class Changed>
  void take_changes(Changed changed) {
    for (std::uint32_t const p : changed_) {
      changed(p, ports_[p].next_ps());
    }
    changed_.clear();
  }

  [[nodiscard]] port_use use_of(std::uint32_t port_number) const noexcept {
    return {bytes_[port_number], ports_[port_number].busy_ps()};
  }

 private:
  struct exchange_state {
    std::uint32_t open_flows{};
    bool ready{};
    bool network{};  ///< has a peer in another node
  };

  [[nodiscard]] static constexpr std::uint32_t send_port(flow const& f) noexcept {
    return number(f.from_rank, f.network ? port::network_send : port::node_send);
  }
  [[nodiscard]] static constexpr std::uint32_t receive_port(flow const& f) noexcept {
    return number(f.to_rank, f.network ? port::network_receive : port::node_receive);
  }

  void start(std::uint32_t f, std::int64_t now_ps) {
    flow const& what = flows_[f];
    std::int64_t const rate = what.network ? links_.network_bytes_per_second : links_.node_bytes_per_second;
    std::int64_t const alone_ps =
        checked_int64(ceil_div(static_cast<int128>(what.bytes) * 1'000'000'000'000, rate), "a transfer's picoseconds");
    for (std::uint32_t const p : {send_port(what), receive_port(what)}) {
      ports_[p].add(now_ps, alone_ps, f);
      if (changed_.empty() || changed_.back() != p) {
        changed_.push_back(p);
      }
    }
  }

  topology links_;
  pool_flows flows_;
  /// Shape: `[ops]`.
  std::vector<exchange_state> exchanges_;
  /// Shape: `[flows]`.
  std::vector<std::uint8_t> unserved_ends_;
  /// Shape: `[ranks * port_count]` each.
  std::vector<shared_port> ports_;
  std::vector<std::int64_t> bytes_;
  std::vector<std::uint32_t> changed_;
};

}  // namespace libra::sim
