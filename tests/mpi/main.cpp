#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <libra/mpi/communicator.hpp>

#include <mpi.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

// Every process runs every test; only the first speaks unless something fails.
int main(int count, char** values) {
  MPI_Init(&count, &values);
  int failures = 1;
  {
    doctest::Context context(count, values);
    context.setOption("minimal", libra::mpi::rank_in(MPI_COMM_WORLD) != 0);
    failures = context.run();
  }
#if defined(__SANITIZE_ADDRESS__)
  // Later the plugins of Open MPI are unloaded, and their leaks can no longer be told from ours.
  __lsan_do_leak_check();
#endif
  MPI_Finalize();
  return failures;
}
