// Started by mpirun with two processes: a backend on a communicator of this program's.
#include <libra/host/instruction_set.hpp>
#include <libra/mpi/backend.hpp>

#include <mpi.h>

#include <cstdint>
#include <vector>

namespace {

bool joins(MPI_Comm own) {
  libra::mpi::backend parts(own);
  std::vector<std::uint64_t> const mine{7 + static_cast<std::uint64_t>(parts.transport().rank().value)};
  std::vector<std::uint64_t> all(2);
  parts.transport().gather(mine, all);
  return parts.transport().ranks() == 2 && all == std::vector<std::uint64_t>{7, 8} &&
         parts.kernel().allocate(64).data() != nullptr && !libra::host::instruction_set().empty();
}

}  // namespace

int main(int count, char** values) {
  MPI_Init(&count, &values);
  MPI_Comm own = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  bool const right = joins(own);
  MPI_Comm_free(&own);
  MPI_Finalize();
  return right ? 0 : 1;
}
