#pragma once

#include "conformance/suite.hpp"

#include <libra/cuda/backend.hpp>
#include <libra/cuda/memory.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace conformance {

template <>
inline constexpr double unit_roundoff<libra::cuda::bf16> = 0x1p-8;
template <>
inline constexpr double unit_roundoff<libra::cuda::fp16> = 0x1p-11;

/// One rank's tensors in device memory, and back on the host when they are compared.
template <class Backend>
class device_call {
 public:
  using element = typename libra::kernel_of<Backend>::element;

  device_call(Backend& parts, pool_batch const& batch, rank_id rank) : parts_(&parts), host_(batch, rank) {
    for (std::size_t t = 0; t < libra::tensor_count; ++t) {
      memory_[t] = libra::cuda::arena(static_cast<std::int64_t>(host_.tensors[t].size() * sizeof(element)));
      libra::cuda::copy(std::span<element const>(host_.tensors[t]), on_device(static_cast<tensor>(t)),
                        parts.in().compute());
    }
    lse_ = libra::cuda::arena(static_cast<std::int64_t>(host_.lse.size() * sizeof(float)));
    libra::cuda::copy(std::span<float const>(host_.lse), lse(), parts.in().compute());
  }

  [[nodiscard]] libra::forward_tensors<element> forward() {
    return {.q = argument(tensor::q),
            .k = argument(tensor::k),
            .v = argument(tensor::v),
            .o = argument(tensor::o),
            .lse = lse().as_argument()};
  }
  [[nodiscard]] libra::backward_tensors<element> backward() {
    return {.q = argument(tensor::q),
            .k = argument(tensor::k),
            .v = argument(tensor::v),
            .o = argument(tensor::o),
            .lse = lse().as_argument(),
            .d_o = argument(tensor::d_o),
            .dq = argument(tensor::dq),
            .dk = argument(tensor::dk),
            .dv = argument(tensor::dv)};
  }
  [[nodiscard]] home_tensors<float> results_as_float() {
    for (tensor const t : {tensor::o, tensor::dq, tensor::dk, tensor::dv}) {
      libra::cuda::copy<element>(on_device(t), std::span(of(host_.tensors, t)), parts_->in().compute());
    }
    libra::cuda::copy<float>(lse(), std::span(host_.lse), parts_->in().compute());
    parts_->synchronize();
    return host_.results_as_float();
  }

 private:
  [[nodiscard]] libra::cuda::device_span<element> on_device(tensor t) const {
    return memory_[static_cast<std::size_t>(t)].template as<element>(of(host_.tensors, t).size());
  }
  [[nodiscard]] libra::cuda::device_span<float> lse() const { return lse_.as<float>(host_.lse.size()); }
  [[nodiscard]] std::span<element> argument(tensor t) const { return on_device(t).as_argument(); }

  Backend* parts_;
  call<element> host_;
  std::array<libra::cuda::arena, libra::tensor_count> memory_;
  libra::cuda::arena lse_;
};

/// Ranks as threads on one device.
template <class Element>
struct peer_ranks {
  using backend = libra::cuda::peer_backend<Element>;
  using device_call = conformance::device_call<backend>;
  using rank_id = libra::rank_id;
  [[nodiscard]] static std::int32_t most_ranks() { return 8; }
  static constexpr std::int64_t most_tokens = 120;

  [[nodiscard]] static bool here(std::int32_t, libra::rank_id) { return true; }

  template <class Body>
  void operator()(std::int32_t ranks, Body body) const {
    libra::cuda::peer_group group(ranks);
    run_ranks(group, [&](rank_id rank) {
      backend parts(group, rank);
      body(parts);
    });
  }
};

/// Ranks as threads with a device each, joined by NCCL.
template <class Element>
struct nccl_ranks {
  using backend = libra::cuda::nccl_backend<Element>;
  using device_call = conformance::device_call<backend>;
  using rank_id = libra::rank_id;
  static constexpr std::int64_t most_tokens = 100;

  libra::cuda::communicator_options options{};

  [[nodiscard]] static std::int32_t most_ranks() { return 8; }
  [[nodiscard]] static bool here(std::int32_t, libra::rank_id) { return true; }

  /// What the ranks threw; null for those that did not.
  template <class Body>
  std::vector<std::exception_ptr> run_all(std::int32_t ranks, Body body) const {
    ncclUniqueId const id = libra::cuda::communicator::make_id();
    std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(ranks));
    std::vector<std::jthread> threads;
    for (std::int32_t r = 0; r < ranks; ++r) {
      threads.emplace_back([&, r] {
        try {
          libra::cuda::device_scope const device(r);
          libra::cuda::communicator fetch(id, ranks, r, options);
          // A second one for the other direction, of the same ranks.
          auto deliver = libra::cuda::communicator::split(fetch.get(), 0, r, options);
          backend parts(std::move(fetch), std::move(deliver), r, options);
          body(parts);
        } catch (...) {
          thrown[static_cast<std::size_t>(r)] = std::current_exception();
        }
      });
    }
    threads.clear();
    return thrown;
  }
  template <class Body>
  void operator()(std::int32_t ranks, Body body) const {
    for (auto const& e : run_all(ranks, body)) {
      if (e) {
        std::rethrow_exception(e);
      }
    }
  }
};

struct fp32_peer_ranks : peer_ranks<float> {
  static constexpr int cases = 8;
  static constexpr conformance::tolerance tolerance{.output = 1e-5, .gradient = 1e-5};
};
// Beyond the rounding of the results themselves.
struct bf16_peer_ranks : peer_ranks<libra::cuda::bf16> {
  static constexpr int cases = 6;
  static constexpr conformance::tolerance tolerance{.output = 1e-5, .gradient = 1e-5};
  static constexpr bool corrects_delta = true;
};
struct fp16_peer_ranks : peer_ranks<libra::cuda::fp16> {
  static constexpr int cases = 4;
  static constexpr conformance::tolerance tolerance{.output = 1e-5, .gradient = 1e-5};
  static constexpr bool corrects_delta = true;
};

struct fp32_nccl_ranks : nccl_ranks<float> {
  static constexpr int cases = 6;
  static constexpr conformance::tolerance tolerance{.output = 1e-5, .gradient = 1e-5};
};
struct bf16_nccl_ranks : nccl_ranks<libra::cuda::bf16> {
  static constexpr int cases = 4;
  static constexpr conformance::tolerance tolerance = bf16_peer_ranks::tolerance;
  static constexpr bool corrects_delta = true;
};

}  // namespace conformance
