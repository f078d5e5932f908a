#include "conformance/allocations.hpp"
#include "mpi/ranks.hpp"

#include <libra/mpi/backend.hpp>

namespace {

struct processes {
  using backend = libra::mpi::backend;

  template <class Body>
  void operator()(std::int32_t ranks, Body body) const {
    pool_of const pool(ranks);
    backend parts(pool.get());
    body(parts);
  }
};

TEST_CASE("calls after the first allocate nothing of libra's") {
  // What Open MPI itself allocates, it allocates in C.
  auto const what = conformance::plan(conformance::busy_batch(pool_of::world()), libra::pooled{},
                                      {.width = libra::host::kernel::width, .waves = 3});
  // So often that the names of rounds get longer than what a string holds without allocating.
  CHECK(conformance::allocations_after_first_call<processes>(what, 6).allocations == 0);
}

}  // namespace
