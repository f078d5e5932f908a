#pragma once

#include <libra/mpi/backend.hpp>
#include <libra/mpi/communicator.hpp>

#include <mpi.h>

#include <cstdint>

/// The first `ranks` processes as a pool; a pool of one rank is every process's own.
class pool_of {
 public:
  explicit pool_of(std::int32_t ranks)
      : ranks_(ranks),
        part_(libra::mpi::communicator::split(MPI_COMM_WORLD, takes_part(ranks) ? 0 : -1)) {}

  [[nodiscard]] static std::int32_t world() { return libra::mpi::size_of(MPI_COMM_WORLD); }
  [[nodiscard]] static std::int32_t self() { return libra::mpi::rank_in(MPI_COMM_WORLD); }
  [[nodiscard]] static bool takes_part(std::int32_t ranks) { return ranks == 1 || self() < ranks; }

  [[nodiscard]] bool joined() const { return takes_part(ranks_); }
  [[nodiscard]] MPI_Comm get() const { return ranks_ == 1 ? MPI_COMM_SELF : part_.get(); }

 private:
  std::int32_t ranks_;
  libra::mpi::communicator part_;
};
