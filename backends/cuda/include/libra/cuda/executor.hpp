#pragma once

#include <libra/core/error.hpp>
#include <libra/cuda/context.hpp>
#include <libra/cuda/exchange.hpp>
#include <libra/cuda/kernel.hpp>
#include <libra/plan/plan.hpp>
#include <libra/program/ops.hpp>
#include <libra/run/bindings.hpp>
#include <libra/run/concept.hpp>
#include <libra/run/exchange_memory.hpp>
#include <libra/run/timeline.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace libra::cuda {

/// Runs one rank's program on a stream for each queue, call after call: what an op waits for is an event.
///
/// All of a call is enqueued without waiting for the device; it begins and ends in order on the context's compute
/// stream. The constructor puts every op's items on the device; calls differ by a parameter block only.
template <stream_exchange Exchange, element Element>
class stream_executor {
 public:
  /// Pre: all outlive the executor. Errors: what preparing throws, before anything of the program runs.
  stream_executor(Exchange& exchange, kernel<Element>& compute, pool_plan const& plan, pass direction)
      : in_(&exchange.in()),
        program_(&plan.of(direction).ranks[exchange.rank().index()]),
        parameters_(exchange.in()) {
    for (program const& p : plan.of(direction).ranks) {
      for (op const& o : p.ops) {
        if (o.kind == op_kind::exchange) {
          rounds_[index(o.on)] = std::max(rounds_[index(o.on)], o.round + 1);
        }
      }
    }
    sends_.resize(program_->sends.size());
    receives_.resize(program_->receives.size());
    in_->expect_plan(exchange_memory_of(plan, exchange.rank()).bytes());
    for (op const& o : program_->ops) {
      in_->allocating([&] {
        batches_.push_back(compute.prepare(o, *program_, plan.batch.shape));
        rounds_ready_.push_back(exchange.prepare(o, *program_, plan.batch.shape, kernel<Element>::width));
      });
      done_[index(o.on)].emplace_back();
    }
  }

  /// Enqueues the program on the memory in `at`.
  ///
  /// Errors: as `libra::executor`, and when the pool has failed. Abort the transport before freeing any memory.
  template <op_observer Observer = no_observer>
  void run(stream_transport<Exchange>& transport, kernel<Element>& compute, bindings const& at,
           Observer&& observer = {}) {
    Exchange& exchange = transport.exchange();
    exchange.check();
    if (!checked_) {
      for (op const& o : program_->ops) {
        check_regions(o, *program_, at);
      }
      checked_ = true;
    }
    begin(at);
    for (std::size_t n = 0; n < program_->ops.size(); ++n) {
      op const& o = program_->ops[n];
      follow(o, exchange, observer);
      observer(o, op_step::start);
      if (o.kind == op_kind::exchange) {
        start(o, rounds_ready_[n], exchange, at);
      } else {
        compute.run(batches_[n], parameters_, o.on);
        finished(o, observer);
      }
    }
    for (queue const q : exchange_queues) {
      finish(q, exchange, observer);
      start_empty_rounds(q, rounds_[index(q)], exchange);
    }
    for (queue const q : beside_compute) {
      in_->on(q).record(end_[index(q)]);
      in_->compute().wait(end_[index(q)]);
    }
  }

 private:
  static constexpr std::array beside_compute{queue::fetch, queue::deliver, queue::combine};
  [[nodiscard]] static constexpr std::size_t index(queue q) noexcept { return static_cast<std::size_t>(q); }

  /// What is enqueued on any stream from now on comes after what the compute stream holds.
  void begin(bindings const& at) {
    started_ = {};
    ran_ = {};
    open_ = {};
    parameters_.set(at);
    in_->compute().record(begin_);
    for (queue const q : beside_compute) {
      in_->on(q).wait(begin_);
    }
  }

  /// Makes the op's stream wait for what the op waits for.
  template <class Observer>
  void follow(op const& o, Exchange& exchange, Observer& observer) {
    finish(o.on, exchange, observer);
    for (queue const q : all_queues) {
      std::int32_t const needed = o.after[index(q)];
      if (q == o.on || needed == 0) {
        continue;
      }
      if (ran_[index(q)] < needed) {
        finish(q, exchange, observer);
      }
      if (ran_[index(q)] < needed) {
        throw run_error(message("op ", &o - program_->ops.data(), " (", name_of(o.kind), ") waits for ", needed,
                                " ops of queue ", name_of(q), ", of which ", ran_[index(q)], " come before it"));
      }
      in_->on(o.on).wait(done_[index(q)][static_cast<std::size_t>(needed) - 1]);
    }
  }

  void start(op const& o, typename Exchange::prepared const& ready, Exchange& exchange, bindings const& at) {
    start_empty_rounds(o.on, o.round, exchange);
    std::span const sends = std::span(sends_).subspan(o.items.begin, o.items.size());
    std::span const receives = std::span(receives_).subspan(o.receives.begin, o.receives.size());
    std::ranges::transform(program_->sends_of(o), sends.begin(),
                           [&](transfer const& t) { return outgoing{t.peer, at.read(t.what, t.at)}; });
    std::ranges::transform(program_->receives_of(o), receives.begin(),
                           [&](transfer const& t) { return incoming{t.peer, at.write(t.what, t.at)}; });
    exchange.enqueue({o.on, o.round, sends, receives}, &ready, &parameters_);
    open_[index(o.on)] = &o;
    started_[index(o.on)] = o.round + 1;
  }

  /// Rounds in which other ranks exchange and this one does not: all ranks of a pool start the same rounds.
  void start_empty_rounds(queue q, std::int32_t end, Exchange& exchange) {
    for (std::int32_t& next = started_[index(q)]; next < end; ++next) {
      exchange.enqueue({q, next, {}, {}}, nullptr, nullptr);
      exchange.finish(q, true);
    }
  }

  /// What is enqueued after this on the queue's stream finds its round finished.
  template <class Observer>
  void finish(queue q, Exchange& exchange, Observer& observer) {
    if (op const* const round = std::exchange(open_[index(q)], nullptr)) {
      exchange.finish(q, true);
      finished(*round, observer);
    }
  }

  /// Marks the end of an op in its stream, and tells the observer, who may leave a mark of its own.
  template <class Observer>
  void finished(op const& o, Observer& observer) {
    in_->on(o.on).record(done_[index(o.on)][static_cast<std::size_t>(ran_[index(o.on)]++)]);
    observer(o, op_step::finish);
  }

  context* in_;
  program const* program_;
  parameter_block parameters_;
  std::vector<device_batch> batches_;                      // [ops]
  std::vector<typename Exchange::prepared> rounds_ready_;  // [ops]
  event begin_;
  std::array<event, queue_count> end_;
  std::array<std::vector<event>, queue_count> done_;
  /// Rounds of each queue in the pool.
  std::array<std::int32_t, queue_count> rounds_{};
  std::array<std::int32_t, queue_count> started_{};
  std::array<std::int32_t, queue_count> ran_{};
  /// The round that is under way on each queue.
  std::array<op const*, queue_count> open_{};
  std::vector<outgoing> sends_;
  std::vector<incoming> receives_;
  bool checked_{};
};

}  // namespace libra::cuda
