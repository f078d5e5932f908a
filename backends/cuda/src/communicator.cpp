#include <libra/cuda/communicator.hpp>

#include <libra/core/error.hpp>

#include <algorithm>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace libra::cuda {

namespace {

[[nodiscard]] ncclConfig_t configure(communicator_options const& options) {
  require(options.max_ctas >= 1, "max_ctas is ", options.max_ctas, ", expected at least 1");
  require(options.peer_channels >= 1, "peer_channels is ", options.peer_channels, ", expected at least 1");
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  config.minCTAs = 1;
  config.maxCTAs = options.max_ctas;
  config.nChannelsPerNetPeer = std::min(options.peer_channels, options.max_ctas);
  return config;
}

/// NCCL writes where it was told to even when nobody waits any more.
void keep_for_good(std::shared_ptr<ncclComm_t> place) {
  static std::mutex guard;
  static std::vector<std::shared_ptr<ncclComm_t>> all;
  std::lock_guard const held(guard);
  all.push_back(std::move(place));
}

}  // namespace

void check(ncclResult_t result, std::string_view call, std::source_location at) {
  if (result != ncclSuccess && result != ncclInProgress) {
    throw error(call, ncclGetErrorString(result), ncclGetLastError(nullptr), at);
  }
}

void settle(ncclComm_t of, std::string_view call, std::chrono::milliseconds timeout) {
  auto const end = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    ncclResult_t state = ncclSuccess;
    check(ncclCommGetAsyncError(of, &state), "ncclCommGetAsyncError");
    check(state, call);
    if (state == ncclSuccess) {
      return;
    }
    if (std::chrono::steady_clock::now() > end) {
      throw error(call, "no answer", message("other ranks did not come within ", timeout.count(), " ms"));
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

ncclUniqueId communicator::make_id() {
  ncclUniqueId id{};
  check(ncclGetUniqueId(&id), "ncclGetUniqueId");
  return id;
}

communicator::communicator(ncclUniqueId const& id, std::int32_t ranks, std::int32_t rank,
                           communicator_options const& options) {
  require(ranks >= 1 && rank >= 0 && rank < ranks, "rank is ", rank, " of ", ranks, ", expected 0 to ", ranks - 1);
  ncclConfig_t config = configure(options);
  ncclComm_t made = nullptr;
  check(ncclCommInitRankConfig(&made, ranks, id, rank, &config), "ncclCommInitRankConfig");
  handle_.reset(made);
  settle_or_abort("ncclCommInitRankConfig", options.timeout);
}

void communicator::settle_or_abort(std::string_view call, std::chrono::milliseconds timeout) {
  try {
    settle(get(), call, timeout);
  } catch (...) {
    abort();
    throw;
  }
}

communicator communicator::split(ncclComm_t world, std::int32_t color, std::int32_t key,
                                 communicator_options const& options) {
  require(world != nullptr, "the communicator to split is null");
  ncclConfig_t config = configure(options);
  auto made = std::make_shared<ncclComm_t>(nullptr);
  communicator result;
  try {
    check(ncclCommSplit(world, color < 0 ? NCCL_SPLIT_NOCOLOR : color, key, made.get(), &config), "ncclCommSplit");
    settle(world, "ncclCommSplit", options.timeout);
  } catch (...) {
    keep_for_good(std::move(made));
    throw;
  }
  if (*made != nullptr) {
    result.handle_.reset(*made);
    result.settle_or_abort("ncclCommSplit", options.timeout);
  }
  return result;
}

communicator communicator::refer_to(ncclComm_t theirs) {
  require(theirs != nullptr, "the communicator to refer to is null");
  communicator result;
  result.handle_ = {theirs, release(false)};
  return result;
}

std::int32_t communicator::size() const {
  int count = 0;
  check(ncclCommCount(get(), &count), "ncclCommCount");
  return count;
}
std::int32_t communicator::rank() const {
  int number = 0;
  check(ncclCommUserRank(get(), &number), "ncclCommUserRank");
  return number;
}

void communicator::abort() noexcept {
  if (auto* const mine = handle_.release(); mine != nullptr) {
    static_cast<void>(ncclCommAbort(mine));
  }
}

void communicator::release::operator()(ncclComm_t c) const noexcept {
  if (!owner) {
    return;
  }
  // Nothing is under way when an owner goes without a failure; should it be, nobody waits for it for long.
  constexpr auto patience = std::chrono::seconds(5);
  auto const end = std::chrono::steady_clock::now() + patience;
  static_cast<void>(ncclCommFinalize(c));
  ncclResult_t state = ncclInProgress;
  while (ncclCommGetAsyncError(c, &state) == ncclSuccess && state == ncclInProgress &&
         std::chrono::steady_clock::now() < end) {
    std::this_thread::yield();
  }
  static_cast<void>(state == ncclSuccess ? ncclCommDestroy(c) : ncclCommAbort(c));
}

}  // namespace libra::cuda
