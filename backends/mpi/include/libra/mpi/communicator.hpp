#pragma once

#include <mpi.h>

#include <utility>

namespace libra::mpi {

/// A communicator that is freed with the object.
///
/// Errors: `run_error` with MPI's text when a call fails.
class communicator {
 public:
  communicator() = default;
  ~communicator();
  communicator(communicator&& other) noexcept : handle_(std::exchange(other.handle_, MPI_COMM_NULL)) {}
  communicator& operator=(communicator&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  communicator(communicator const&) = delete;
  communicator& operator=(communicator const&) = delete;

  /// The ranks of `whole` with the same `color`, in the order of `whole`; empty for ranks whose color is negative.
  /// All ranks of `whole` call it.
  [[nodiscard]] static communicator split(MPI_Comm whole, int color);

  [[nodiscard]] MPI_Comm get() const noexcept { return handle_; }
  [[nodiscard]] bool empty() const noexcept { return handle_ == MPI_COMM_NULL; }

 private:
  explicit communicator(MPI_Comm handle) noexcept : handle_(handle) {}

  MPI_Comm handle_{MPI_COMM_NULL};
};

/// This process's number in a communicator.
[[nodiscard]] int rank_in(MPI_Comm of);
/// Processes of a communicator.
[[nodiscard]] int size_of(MPI_Comm of);

}  // namespace libra::mpi
