#pragma once

#include <libra/core/ids.hpp>
#include <libra/run/concept.hpp>

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace libra::mpi::detail {

/// Memory for messages: grows, and is reused without allocating.
class buffer {
 public:
  /// At least so many bytes; growing discards what was there. Pre: no message is under way in it.
  [[nodiscard]] std::byte* reserve(std::size_t bytes);

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::size_t size_{};
};

/// What all lanes of a rank share. Shape: vectors are `[ranks]`.
struct surroundings {
  MPI_Comm comm{MPI_COMM_NULL};
  /// Messages are counted in blocks, so that one may hold more than 2 GiB.
  MPI_Datatype block{MPI_DATATYPE_NULL};
  std::int32_t rank{};
  std::int32_t ranks{};
  std::vector<std::int32_t> regions;
  std::vector<std::int64_t> bytes;
  std::vector<std::byte*> at;
};

/// The rounds of one channel: at most one is under way.
///
/// A message is a header (the round, the number of regions, and rows and bytes of each) and the regions' rows,
/// without gaps.
class lane {
 public:
  lane(std::string name, int tag) : name_(std::move(name)), tag_(tag) {}

  /// Packs and sends, and posts the receives. Returns the round's number since the channel began.
  ///
  /// Errors: `run_error` naming the round when the last one has not finished or a peer does not exist.
  std::int64_t open(surroundings& with, std::int32_t round, std::span<outgoing const> sends,
                    std::span<incoming const> receives);
  /// Unpacks what has arrived. Returns how many messages have come or gone since the last call.
  ///
  /// Errors: `run_error` naming the round and the ranks when a send and its receive differ.
  int progress(surroundings const& with);
  [[nodiscard]] bool is_open() const noexcept { return open_; }
  [[nodiscard]] bool has_finished(std::int64_t sequence) const noexcept {
    return sequence < rounds_ - static_cast<std::int64_t>(open_);
  }
  /// "fetch round 3"
  [[nodiscard]] std::string name_of_round() const;
  /// A rank whose message has not come, or else has not gone. Pre: a round is under way.
  [[nodiscard]] std::int32_t waits_for() const;

 private:
  struct message {
    std::int32_t peer{};
    std::byte* data{};
    std::int64_t bytes{};
  };

  void post_receives(surroundings& with, std::span<incoming const> receives);
  void post_sends(surroundings& with, std::span<outgoing const> sends);
  void copy_to_itself(surroundings const& with, std::span<outgoing const> sends) const;
  void unpack(surroundings const& with, message const& from, MPI_Status const& status);

  std::string name_;
  int tag_{};
  std::int32_t round_{};
  std::int64_t rounds_{};
  bool open_{};
  std::span<incoming const> receives_;
  buffer in_;
  buffer out_;
  // Receives, then sends.
  std::vector<message> messages_;
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Status> statuses_;
  std::vector<int> indices_;
  std::size_t expected_{};  // receives among the messages
  std::size_t pending_{};
};

}  // namespace libra::mpi::detail
