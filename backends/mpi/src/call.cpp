#include "call.hpp"

#include <libra/core/error.hpp>

#include <mpi.h>

#include <array>
#include <cstddef>

namespace libra::mpi::detail {

void check(int code, std::string_view call) {
  if (code == MPI_SUCCESS) {
    return;
  }
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw run_error(message(call, ": ", std::string_view(text.data(), static_cast<std::size_t>(length))));
}

bool mpi_runs() noexcept {
  int begun = 0;
  int ended = 0;
  return MPI_Initialized(&begun) == MPI_SUCCESS && MPI_Finalized(&ended) == MPI_SUCCESS && begun != 0 && ended == 0;
}

}  // namespace libra::mpi::detail
