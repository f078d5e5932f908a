#pragma once

#include <libra/host/kernel.hpp>
#include <libra/mpi/transport.hpp>
#include <libra/run/concept.hpp>

#include <mpi.h>

namespace libra::mpi {

/// Attention in fp32 on the processes of a communicator, each a rank, with the host's kernels.
class backend : public backend_pair<transport, host::kernel> {
 public:
  /// Errors: as `transport`.
  explicit backend(MPI_Comm pool, transport_options const& options = {})
      : backend_pair(mpi::transport(pool, options), host::kernel()) {}
};
static_assert(libra::backend<backend>);

}  // namespace libra::mpi
