#pragma once

#include <libra/core/error.hpp>
#include <libra/program/ops.hpp>
#include <libra/run/bindings.hpp>
#include <libra/run/concept.hpp>
#include <libra/run/timeline.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

namespace libra {

/// Runs one rank's program, call after call.
///
/// Ops run in list order, but for exchanges that can start before the list reaches them: as soon as what they wait for
/// has finished. An exchange is waited for when an op needs it, so that it travels while the ops between are computed:
/// between ops, and inside those of a `polling_kernel`. Rounds in which other ranks exchange and this one does not are
/// started empty, because all ranks of a pool start the same rounds.
///
/// `Ticket` is the transport's. The first call allocates nothing more than the constructor did.
template <std::movable Ticket>
class executor {
 public:
  /// Pre: `of` outlives the executor. Errors: `run_error` when it has no program for `rank`.
  executor(pool_program const& of, rank_id rank) : program_(&find(of, rank)) {
    for (program const& p : of.ranks) {
      for (op const& o : p.ops) {
        if (o.kind == op_kind::exchange) {
          rounds_[index(o.on)] = std::max(rounds_[index(o.on)], o.round + 1);
        }
      }
    }
    for (op const& o : program_->ops) {
      if (o.kind == op_kind::exchange) {
        exchanges_[index(o.on)].push_back(&o);
      }
    }
    sends_.resize(program_->sends.size());
    receives_.resize(program_->receives.size());
  }

  /// Runs the program once on the memory in `at`.
  ///
  /// Errors: `run_error` naming the op when the program waits for what comes later or reads what is nowhere, and what
  /// the transport and the kernel throw. Rounds may then be under way: abort the transport before freeing any memory.
  template <transport Transport, tile_kernel Kernel, op_observer Observer = no_observer>
    requires std::same_as<Ticket, typename Transport::ticket>
  void run(Transport& transport, Kernel& kernel, bindings const& at, Observer&& observer = {}) {
    started_ = {};
    launched_ = {};
    finished_ = {};
    for (auto& ticket : tickets_) {
      ticket.reset();
    }
    std::array<std::size_t, queue_count> reached{};
    for (op const& o : program_->ops) {
      if (o.kind == op_kind::exchange) {
        if (reached[index(o.on)]++ == launched_[index(o.on)]) {
          wait_for_inputs(o, transport, observer);
          start(o, transport, at, observer);
        }
      } else {
        wait_for_inputs(o, transport, observer);
        compute(o, transport, kernel, at, observer);
        poll(transport, at, observer);
      }
    }
    for (queue const q : exchange_queues) {
      finish(q, transport, observer);
      start_empty_rounds(q, rounds_[index(q)], transport);
    }
  }

 private:
  [[nodiscard]] static constexpr std::size_t index(queue q) noexcept { return static_cast<std::size_t>(q); }

  [[nodiscard]] static program const& find(pool_program const& of, rank_id rank) {
    if (rank.value < 0 || rank.index() >= of.ranks.size()) {
      throw run_error(message("no program for rank ", rank.value, " in a pool of ", of.ranks.size(), " ranks"));
    }
    return of.ranks[rank.index()];
  }

  template <class Observer>
  static void tell(Observer& observer, op const& o, op_step step) {
    if constexpr (!std::is_same_v<std::remove_cvref_t<Observer>, no_observer>) {
      observer(o, step);
    }
  }

  template <class Transport, class Observer>
  void wait_for_inputs(op const& o, Transport& transport, Observer& observer) {
    // A queue runs its ops one after another: what it has started must finish first.
    finish(o.on, transport, observer);
    for (queue const q : all_queues) {
      if (q == o.on || finished_[index(q)] >= o.after[index(q)]) {
        continue;
      }
      finish(q, transport, observer);
      if (finished_[index(q)] < o.after[index(q)]) {
        throw run_error(message("op ", &o - program_->ops.data(), " (", name_of(o.kind), ") waits for ",
                                o.after[index(q)], " ops of queue ", name_of(q), ", of which ", finished_[index(q)],
                                " come before it"));
      }
    }
  }

  template <class Transport, class Observer>
  void start(op const& o, Transport& transport, bindings const& at, Observer& observer) {
    start_empty_rounds(o.on, o.round, transport);
    std::span const sends = std::span(sends_).subspan(o.items.begin, o.items.size());
    std::span const receives = std::span(receives_).subspan(o.receives.begin, o.receives.size());
    std::ranges::transform(program_->sends_of(o), sends.begin(),
                           [&](transfer const& t) { return outgoing{t.peer, at.read(t.what, t.at)}; });
    std::ranges::transform(program_->receives_of(o), receives.begin(),
                           [&](transfer const& t) { return incoming{t.peer, at.write(t.what, t.at)}; });
    tell(observer, o, op_step::start);
    tickets_[index(o.on)] = in_flight{&o, transport.start({o.on, o.round, sends, receives})};
    started_[index(o.on)] = o.round + 1;
    ++launched_[index(o.on)];
  }

  /// Starts the rounds before `end` of which this rank's program has no op.
  template <class Transport>
  void start_empty_rounds(queue q, std::int32_t end, Transport& transport) {
    std::int32_t& next = started_[index(q)];
    for (; next < end; ++next) {
      auto ticket = transport.start({q, next, {}, {}});
      transport.wait(ticket);
    }
  }

  template <class Transport, class Kernel, class Observer>
  void compute(op const& o, Transport& transport, Kernel& kernel, bindings const& at, Observer& observer) {
    auto meanwhile = [&] { poll(transport, at, observer); };
    tell(observer, o, op_step::start);
    switch (o.kind) {
      case op_kind::attend:
        if constexpr (polling_kernel<Kernel>) {
          kernel.attend(program_->tiles_of(o), at, progress_hook(meanwhile));
        } else {
          kernel.attend(program_->tiles_of(o), at);
        }
        break;
      case op_kind::attend_backward:
        if constexpr (polling_kernel<Kernel>) {
          kernel.attend_backward(program_->tiles_of(o), at, progress_hook(meanwhile));
        } else {
          kernel.attend_backward(program_->tiles_of(o), at);
        }
        break;
      case op_kind::row_dot:
        kernel.row_dot(program_->dots_of(o), at);
        break;
      case op_kind::clear:
        kernel.clear(program_->clears_of(o), at);
        break;
      case op_kind::reduce:
        kernel.reduce(program_->reduces_of(o), program_->partials, at);
        break;
      case op_kind::exchange:
        break;
    }
    ++finished_[index(o.on)];
    tell(observer, o, op_step::finish);
  }

  /// Lets the rounds under way progress, and starts those that wait for nothing more.
  template <class Transport, class Observer>
  void poll(Transport& transport, bindings const& at, Observer& observer) {
    for (queue const q : exchange_queues) {
      auto& flying = tickets_[index(q)];
      if (flying && transport.test(flying->ticket)) {
        landed(flying, observer);
      }
      auto const& all = exchanges_[index(q)];
      std::size_t const next = launched_[index(q)];
      if (!flying && next < all.size() && may_start(*all[next])) {
        start(*all[next], transport, at, observer);
      }
    }
  }

  [[nodiscard]] bool may_start(op const& o) const noexcept {
    for (queue const q : all_queues) {
      if (q != o.on && finished_[index(q)] < o.after[index(q)]) {
        return false;
      }
    }
    return true;
  }

  /// Waits for the round that is under way on a queue, if any.
  template <class Transport, class Observer>
  void finish(queue q, Transport& transport, Observer& observer) {
    auto& flying = tickets_[index(q)];
    if (!flying) {
      return;
    }
    tell(observer, *flying->what, op_step::wait);
    transport.wait(flying->ticket);
    landed(flying, observer);
  }

  struct in_flight {
    op const* what;
    Ticket ticket;
  };

  template <class Observer>
  void landed(std::optional<in_flight>& flying, Observer& observer) {
    tell(observer, *flying->what, op_step::finish);
    ++finished_[index(flying->what->on)];
    flying.reset();
  }

  program const* program_;
  /// Rounds of each queue in the pool.
  std::array<std::int32_t, queue_count> rounds_{};
  std::array<std::int32_t, queue_count> started_{};
  /// Exchanges of each queue, and how many of them have been started.
  std::array<std::vector<op const*>, queue_count> exchanges_{};
  std::array<std::size_t, queue_count> launched_{};
  std::array<std::int32_t, queue_count> finished_{};
  std::array<std::optional<in_flight>, queue_count> tickets_{};
  std::vector<outgoing> sends_;
  std::vector<incoming> receives_;
};

}  // namespace libra
