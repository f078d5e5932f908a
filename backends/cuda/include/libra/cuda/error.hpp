#pragma once

#include <libra/core/error.hpp>

#include <cuda_runtime_api.h>

#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>

namespace libra::cuda {

/// A call of the CUDA runtime or of NCCL that failed. The message names the call, the error and the place in the
/// source.
class error : public run_error {
 public:
  /// `name` is the library's own for the error, for example "cudaErrorIllegalAddress"; `text` its explanation.
  error(std::string_view call, std::string_view name, std::string_view text,
        std::source_location at = std::source_location::current())
      : run_error(libra::message(call, " failed: ", name, " (", text, "), at ", file_name(at), ":", at.line())),
        name_(name) {}

  [[nodiscard]] std::string const& name() const noexcept { return name_; }

 protected:
  error(std::string const& text, std::string name) : run_error(text), name_(std::move(name)) {}

 private:
  [[nodiscard]] static std::string_view file_name(std::source_location const& at) {
    std::string_view const path = at.file_name();
    return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
  }
  std::string name_;
};

/// A device that has not so many bytes. The message names the bytes asked for, what for, and what the device has free;
/// inside a plan's calls also what the plan needs.
class out_of_memory : public error {
 public:
  // Said in full: inheriting the default argument breaks nvcc 13.
  out_of_memory(std::string_view call, std::string_view name, std::string_view text, std::source_location at)
      : error(call, name, text, at) {}
  /// The same of a rank's plan, which needs `bytes` of exchange memory.
  [[nodiscard]] out_of_memory of_plan(std::int64_t bytes) const {
    return {libra::message(what(), "; the plan needs ", bytes, " bytes of exchange memory on this rank"), name()};
  }

 private:
  out_of_memory(std::string const& text, std::string const& error_name) : error(text, error_name) {}
};

/// Errors: `cuda::error` unless the call succeeded.
inline void check(cudaError_t status, std::string_view call,
                  std::source_location at = std::source_location::current()) {
  if (status != cudaSuccess) {
    static_cast<void>(cudaGetLastError());  // the next call is not to be blamed for this one
    throw error(call, cudaGetErrorName(status), cudaGetErrorString(status), at);
  }
}

}  // namespace libra::cuda
