#include "conformance/suite.hpp"

#include <libra/host/bfloat16_kernel.hpp>
#include <libra/host/transport.hpp>

namespace {

struct bfloat16_ranks {
  using backend = libra::backend_pair<libra::host::transport, libra::host::bfloat16_kernel>;
  [[nodiscard]] static std::int32_t most_ranks() { return 8; }
  static constexpr int cases = 12;
  // A bf16 value is off by up to 2^-9, and rings round their rows at every step; gradients see the error of the
  // outputs, and key gradients one rounding per tile.
  static constexpr conformance::tolerance tolerance{.output = 1.5e-2, .gradient = 2e-2};

  [[nodiscard]] static bool here(std::int32_t, libra::rank_id) { return true; }

  template <class Body>
  void operator()(std::int32_t ranks, Body body) const {
    libra::host::rank_group group(ranks);
    run_ranks(group, [&](libra::rank_id rank) {
      backend parts(libra::host::transport(group, rank), libra::host::bfloat16_kernel());
      body(parts);
    });
  }
};

}  // namespace

LIBRA_CONFORMANCE(bfloat16_ranks)
