#include <libra/mpi/communicator.hpp>

#include "call.hpp"

namespace libra::mpi {

communicator::~communicator() {
  if (handle_ != MPI_COMM_NULL && detail::mpi_runs()) {
    MPI_Comm_free(&handle_);
  }
}

communicator communicator::split(MPI_Comm whole, int color) {
  MPI_Comm part = MPI_COMM_NULL;
  detail::check(MPI_Comm_split(whole, color < 0 ? MPI_UNDEFINED : color, rank_in(whole), &part), "MPI_Comm_split");
  return communicator(part);
}

int rank_in(MPI_Comm of) {
  int rank = 0;
  detail::check(MPI_Comm_rank(of, &rank), "MPI_Comm_rank");
  return rank;
}

int size_of(MPI_Comm of) {
  int size = 0;
  detail::check(MPI_Comm_size(of, &size), "MPI_Comm_size");
  return size;
}

}  // namespace libra::mpi
