#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <libra/mpi/communicator.hpp>

#include <mpi.h>

// Every process runs every test; only the first speaks unless something fails.
int main(int count, char** values) {
  MPI_Init(&count, &values);
  int failures = 1;
  {
    doctest::Context context(count, values);
    context.setOption("minimal", libra::mpi::rank_in(MPI_COMM_WORLD) != 0);
    failures = context.run();
  }
  MPI_Finalize();
  return failures;
}
