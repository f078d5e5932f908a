#include <libra/cuda/peer_group.hpp>

#include "peer_hub.hpp"

#include <libra/core/error.hpp>
#include <libra/cuda/peer_exchange.hpp>
#include <libra/cuda/stream.hpp>

#include <algorithm>
#include <exception>
#include <thread>

namespace libra::cuda {

namespace {

/// Calls `body`; what it throws is kept in `thrown` and fails the rank's group.
template <class Body>
void keep_failure(detail::peer_hub& hub, rank_id rank, std::exception_ptr& thrown, Body body) noexcept {
  try {
    body();
  } catch (std::exception const& e) {
    thrown = std::current_exception();
    hub.abort(rank, e.what());
  } catch (...) {
    thrown = std::current_exception();
    hub.abort(rank, "unknown exception");
  }
}

/// Lets `from` reach `to`'s memory. Errors: `cuda::error` when the machine has no way between them.
void connect(int from, int to) {
  int can = 0;
  check(cudaDeviceCanAccessPeer(&can, from, to), "cudaDeviceCanAccessPeer");
  if (can == 0) {
    throw error("cudaDeviceCanAccessPeer", "no peer access", message("device ", from, " cannot reach device ", to));
  }
  device_scope const device(from);
  cudaError_t const status = cudaDeviceEnablePeerAccess(to, 0);
  if (status != cudaErrorPeerAccessAlreadyEnabled) {
    check(status, "cudaDeviceEnablePeerAccess");
  } else {
    static_cast<void>(cudaGetLastError());
  }
}

}  // namespace

peer_group::peer_group(std::int32_t ranks, int device) {
  require(ranks >= 1, "peer group has ", ranks, " ranks, expected at least 1");
  hub_ = std::make_unique<detail::peer_hub>(ranks);
  devices_.assign(static_cast<std::size_t>(ranks), device);
}

peer_group::peer_group(std::span<int const> devices) : devices_(devices.begin(), devices.end()) {
  require(!devices.empty(), "peer group has 0 ranks, expected at least 1");
  std::vector<int> distinct = devices_;
  std::ranges::sort(distinct);
  distinct.erase(std::ranges::unique(distinct).begin(), distinct.end());
  for (int const from : distinct) {
    for (int const to : distinct) {
      if (from != to) {
        connect(from, to);
      }
    }
  }
  hub_ = std::make_unique<detail::peer_hub>(static_cast<std::int32_t>(devices.size()));
}

peer_group::~peer_group() = default;
peer_group::peer_group(peer_group&&) noexcept = default;
peer_group& peer_group::operator=(peer_group&&) noexcept = default;

std::int32_t peer_group::size() const noexcept { return hub_->ranks(); }
int peer_group::device_of(rank_id rank) const { return devices_.at(rank.index()); }
bool peer_group::failed() const { return hub_->first_failed().has_value(); }

void run_ranks(peer_group& group, std::function<void(rank_id)> const& body) {
  detail::peer_hub& hub = *group.hub_;
  std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(group.size()));
  hub.join_all();
  {
    std::vector<std::jthread> threads;
    threads.reserve(thrown.size());
    for (std::int32_t r = 0; r < group.size(); ++r) {
      auto const run = [&, rank = rank_id(r)] {
        keep_failure(hub, rank, thrown[rank.index()], [&] {
          check(cudaSetDevice(group.device_of(rank)), "cudaSetDevice");
          body(rank);
          hub.leave(rank);
        });
      };
      // A thread that cannot be started is a rank that failed.
      keep_failure(hub, rank_id(r), thrown[static_cast<std::size_t>(r)], [&] { threads.emplace_back(run); });
    }
  }
  if (auto const first = hub.first_failed(); first && thrown[first->index()]) {
    std::rethrow_exception(thrown[first->index()]);
  }
  auto const any = std::ranges::find_if(thrown, [](auto const& e) { return e != nullptr; });
  if (any != thrown.end()) {
    std::rethrow_exception(*any);
  }
}

peer_exchange::peer_exchange(peer_group& group, rank_id rank, context& in)
    : hub_(group.hub_.get()),
      rank_(rank),
      in_(&in) {
  require(rank.value >= 0 && rank.value < group.size(), "rank is ", rank.value, ", expected 0 to ", group.size() - 1);
}

std::int32_t peer_exchange::ranks() const noexcept { return hub_->ranks(); }

void peer_exchange::enqueue(exchange_round const& round, prepared const*, parameter_block const*) {
  hub_->begin(rank_, *in_, round);
}
bool peer_exchange::finish(queue on, bool block) { return hub_->finish(rank_, on, block); }
void peer_exchange::gather(std::span<std::uint64_t const> mine, std::span<std::uint64_t> all) {
  hub_->gather(rank_, mine, all);
}
void peer_exchange::check() { hub_->check(rank_); }
void peer_exchange::abort(std::string_view reason) noexcept { hub_->abort(rank_, reason); }

}  // namespace libra::cuda
