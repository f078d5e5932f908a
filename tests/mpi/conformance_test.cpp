#include "conformance/suite.hpp"
#include "mpi/ranks.hpp"

#include <libra/mpi/backend.hpp>

#include <algorithm>

namespace {

struct mpi_ranks {
  using backend = libra::mpi::backend;
  using rank_id = libra::rank_id;
  static constexpr int cases = 8;
  static constexpr conformance::tolerance tolerance{.output = 1e-5, .gradient = 1e-4};
  [[nodiscard]] static std::int32_t most_ranks() { return std::min(8, pool_of::world()); }

  [[nodiscard]] static bool here(std::int32_t ranks, rank_id rank) {
    return pool_of::takes_part(ranks) && (ranks == 1 || rank.value == pool_of::self());
  }

  template <class Body>
  void operator()(std::int32_t ranks, Body body) const {
    pool_of const pool(ranks);
    if (pool.joined()) {
      backend parts(pool.get());
      body(parts);
    }
  }
};

}  // namespace

LIBRA_CONFORMANCE(mpi_ranks)
