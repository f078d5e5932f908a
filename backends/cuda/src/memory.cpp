#include <libra/cuda/memory.hpp>

#include <libra/core/error.hpp>

#include <algorithm>

namespace libra::cuda {

void detail::throw_out_of_memory(cudaError_t status, std::string_view call, std::size_t bytes, std::string_view purpose,
                                 std::source_location at) {
  static_cast<void>(cudaGetLastError());
  std::size_t free = 0;
  std::size_t total = 0;
  std::string left;
  if (cudaMemGetInfo(&free, &total) == cudaSuccess) {
    left = message(", of ", total, " the device has ", free, " free");
  }
  throw out_of_memory(message(call, " of ", bytes, " bytes for ", purpose, left), cudaGetErrorName(status),
                      cudaGetErrorString(status), at);
}

arena::arena(std::int64_t bytes, std::string_view purpose, std::source_location at) : bytes_(bytes) {
  require(bytes >= 0, "an allocation for ", purpose, " is of ", bytes, " bytes, expected at least 0");
  void* made = nullptr;
  auto const asked = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
  cudaError_t const status = cudaMalloc(&made, asked);
  if (status != cudaSuccess) {
    detail::throw_out_of_memory(status, "cudaMalloc", asked, purpose, at);
  }
  first_.reset(static_cast<std::byte*>(made));
}

}  // namespace libra::cuda
