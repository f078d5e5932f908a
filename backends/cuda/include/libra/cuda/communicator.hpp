#pragma once

#include <libra/cuda/error.hpp>

#include <nccl.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <string_view>
#include <type_traits>

namespace libra::cuda {

/// Errors: `cuda::error` naming NCCL's call unless it succeeded or is under way.
void check(ncclResult_t result, std::string_view call, std::source_location at = std::source_location::current());

struct communicator_options {
  /// How long joining, and later any round, may take before it counts as failed.
  std::chrono::milliseconds timeout{std::chrono::minutes(10)};
  /// Blocks of a device that NCCL may take from the kernels, at most.
  std::int32_t max_ctas{8};
  /// Channels that carry what goes to one rank of another node, at most as many as `max_ctas`. NCCL's own choice suits
  /// all-to-alls: two, and one where ranks are many, which fills half a port or less when a round has few peers.
  std::int32_t peer_channels{4};
};

/// A communicator of NCCL: one that this object owns, or one that the trainer does. No call of it blocks for longer
/// than the options allow.
class communicator {
 public:
  /// What all ranks that join one communicator pass; made by one of them and brought to the others by the caller.
  [[nodiscard]] static ncclUniqueId make_id();

  communicator() = default;
  /// Joins with the other ranks on the calling thread's device. Errors: `cuda::error` when they do not come in time.
  communicator(ncclUniqueId const& id, std::int32_t ranks, std::int32_t rank, communicator_options const& options = {});

  /// The part of `world` whose ranks pass the same color, in the order of their keys: a pool's communicator out of the
  /// trainer's own. All ranks of `world` call it; a negative color takes no part and gets an empty one.
  ///
  /// Pre: `world` is a communicator that nobody has aborted. Errors: as the constructor.
  [[nodiscard]] static communicator split(ncclComm_t world, std::int32_t color, std::int32_t key,
                                          communicator_options const& options = {});

  /// The trainer's own, for as long as it lives: what goes with this object is the reference. `abort` is for good all
  /// the same, as nothing else ends what hangs: the trainer must not use a communicator whose pool has failed.
  ///
  /// Pre: made without blocking (`ncclConfig_t::blocking` is 0); NCCL would wait for ranks that have died where no
  /// watchdog reaches.
  [[nodiscard]] static communicator refer_to(ncclComm_t theirs);

  [[nodiscard]] ncclComm_t get() const noexcept { return handle_.get(); }
  [[nodiscard]] std::int32_t size() const;
  [[nodiscard]] std::int32_t rank() const;
  /// Ends what is under way on it, without waiting for other ranks. It is empty afterwards.
  void abort() noexcept;

 private:
  /// A communicator that did not come about is not kept.
  void settle_or_abort(std::string_view call, std::chrono::milliseconds timeout);

  struct release {
    bool owner;
    release() noexcept : owner(true) {}
    explicit release(bool owns) noexcept : owner(owns) {}
    void operator()(ncclComm_t c) const noexcept;
  };
  std::unique_ptr<std::remove_pointer_t<ncclComm_t>, release> handle_;
};

/// Waits until a communicator is done with what its last call began. Errors: `cuda::error`, also after `timeout`.
void settle(ncclComm_t of, std::string_view call, std::chrono::milliseconds timeout);

/// Sends and receives that begin together: they can only be made with one in hand.
class transfer_group {
 public:
  transfer_group() { check(ncclGroupStart(), "ncclGroupStart"); }
  ~transfer_group() {
    if (open_) {
      static_cast<void>(ncclGroupEnd());
    }
  }
  transfer_group(transfer_group const&) = delete;
  transfer_group& operator=(transfer_group const&) = delete;

  /// Begins all of them. Errors: `cuda::error` when one cannot be.
  void end() {
    open_ = false;
    check(ncclGroupEnd(), "ncclGroupEnd");
  }

 private:
  bool open_{true};
};

inline void send(transfer_group const&, ncclComm_t with, std::int32_t to, std::byte const* data, std::int64_t bytes,
                 cudaStream_t in) {
  check(ncclSend(data, static_cast<std::size_t>(bytes), ncclInt8, to, with, in), "ncclSend");
}
inline void receive(transfer_group const&, ncclComm_t with, std::int32_t from, std::byte* data, std::int64_t bytes,
                    cudaStream_t in) {
  check(ncclRecv(data, static_cast<std::size_t>(bytes), ncclInt8, from, with, in), "ncclRecv");
}

}  // namespace libra::cuda
