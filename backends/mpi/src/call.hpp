#pragma once

#include <string_view>

namespace libra::mpi::detail {

/// Errors: `run_error` naming the call, with MPI's text, unless `code` is MPI_SUCCESS.
void check(int code, std::string_view call);

/// True between MPI_Init and MPI_Finalize.
[[nodiscard]] bool mpi_runs() noexcept;

}  // namespace libra::mpi::detail
