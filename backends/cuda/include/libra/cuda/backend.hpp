#pragma once

#include <libra/cuda/context.hpp>
#include <libra/cuda/exchange.hpp>
#include <libra/cuda/executor.hpp>
#include <libra/cuda/kernel.hpp>
#include <libra/cuda/nccl_exchange.hpp>
#include <libra/cuda/peer_exchange.hpp>
#include <libra/plan/plan.hpp>
#include <libra/run/concept.hpp>

#include <memory>
#include <utility>

namespace libra::cuda {

/// Attention on one rank's device; made and used on the rank's thread.
///
/// Calls of `pooled_attention` are enqueued: results are there when `synchronize` returns, or for whatever follows on
/// the context's compute stream. Tensors are device memory (`device_span::as_argument`).
template <stream_exchange Exchange, element Element>
class backend {
 public:
  /// Pre: the exchange was made with this context, and the context is still where it was then.
  backend(std::unique_ptr<context> in, Exchange exchange)
      : in_(std::move(in)),
        transport_(std::move(exchange)),
        kernel_(*in_) {}

  [[nodiscard]] stream_transport<Exchange>& transport() noexcept { return transport_; }
  [[nodiscard]] cuda::kernel<Element>& kernel() noexcept { return kernel_; }
  [[nodiscard]] context& in() noexcept { return *in_; }

  /// Waits for what was enqueued. Errors: `run_error` when the pool has failed, naming the round; `cuda::error` when
  /// the device has.
  void synchronize() {
    in_->compute().synchronize();
    transport_.exchange().check();
  }

  /// What `pooled_attention` runs programs with.
  class executor : public stream_executor<Exchange, Element> {
   public:
    executor(backend& parts, pool_plan const& plan, pass direction)
        : stream_executor<Exchange, Element>(parts.transport().exchange(), parts.kernel(), plan, direction) {}
  };

 private:
  std::unique_ptr<context> in_;
  stream_transport<Exchange> transport_;
  cuda::kernel<Element> kernel_;
};

/// Ranks are threads of one process, on one device or on several that reach each other's memory.
template <element Element>
class peer_backend : public backend<peer_exchange, Element> {
 public:
  /// Pre: `group` outlives the backend. Errors: as `context` and `peer_exchange`.
  peer_backend(peer_group& group, rank_id rank)
      : peer_backend(group, rank, std::make_unique<context>(group.device_of(rank))) {}

 private:
  peer_backend(peer_group& group, rank_id rank, std::unique_ptr<context> in)
      : peer_backend(peer_exchange(group, rank, *in), std::move(in)) {}
  // By reference: arguments are made in no certain order, and the exchange needs the context where it is.
  peer_backend(peer_exchange exchange, std::unique_ptr<context>&& in)
      : backend<peer_exchange, Element>(std::move(in), exchange) {}
};
static_assert(libra::backend<peer_backend<float>>);

/// Ranks are processes with a device each, or threads, joined by NCCL.
template <element Element>
class nccl_backend : public backend<nccl_exchange, Element> {
 public:
  /// The communicators join the ranks of the pool, one per direction. Errors: as `context` and `nccl_exchange`.
  nccl_backend(communicator fetch, communicator deliver, int device, communicator_options const& options = {})
      : nccl_backend(std::move(fetch), std::move(deliver), options, std::make_unique<context>(device)) {}

 private:
  nccl_backend(communicator fetch, communicator deliver, communicator_options const& options,
               std::unique_ptr<context> in)
      : nccl_backend(nccl_exchange(std::move(fetch), std::move(deliver), *in, options), std::move(in)) {}
  // By reference: arguments are made in no certain order, and the exchange needs the context where it is.
  nccl_backend(nccl_exchange exchange, std::unique_ptr<context>&& in)
      : backend<nccl_exchange, Element>(std::move(in), std::move(exchange)) {}
};
static_assert(libra::backend<nccl_backend<float>>);

}  // namespace libra::cuda
