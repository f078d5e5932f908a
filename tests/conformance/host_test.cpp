#include "conformance/suite.hpp"

#include <libra/host/backend.hpp>

#include <cstring>

namespace {

struct host_ranks {
  using backend = libra::host::backend;
  [[nodiscard]] static std::int32_t most_ranks() { return 8; }
  static constexpr int cases = 24;
  static constexpr conformance::tolerance tolerance{.output = 1e-5, .gradient = 1e-4};

  [[nodiscard]] static bool here(std::int32_t, libra::rank_id) { return true; }

  template <class Body>
  void operator()(std::int32_t ranks, Body body) const {
    libra::host::rank_group group(ranks);
    run_ranks(group, [&](rank_id rank) {
      backend parts(group, rank);
      body(parts);
    });
  }
  using rank_id = libra::rank_id;
};

/// The host kernel with a workspace full of values that are not numbers: what is read before it is written shows.
class poisoned_kernel : public libra::host::kernel {
 public:
  [[nodiscard]] memory allocate(std::int64_t bytes) {
    memory result(bytes);
    std::memset(result.data(), 0xff, static_cast<std::size_t>(bytes));
    return result;
  }
};

struct poisoned_host_ranks : host_ranks {
  static constexpr int cases = 12;
  using backend = libra::backend_pair<libra::host::transport, poisoned_kernel>;

  template <class Body>
  void operator()(std::int32_t ranks, Body body) const {
    libra::host::rank_group group(ranks);
    run_ranks(group, [&](rank_id rank) {
      backend parts(libra::host::transport(group, rank), poisoned_kernel());
      body(parts);
    });
  }
};

}  // namespace

LIBRA_CONFORMANCE(host_ranks)
LIBRA_CONFORMANCE(poisoned_host_ranks)
