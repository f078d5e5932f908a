#pragma once

#include <cstddef>
#include <memory>

namespace libra::host {

/// Working memory of the kernels, one per thread: grows at the first use, then is reused without allocating.
class scratch {
 public:
  /// At least `bytes` bytes, aligned to 128. Growing discards what was there; new memory is zero.
  [[nodiscard]] std::byte* reserve(std::size_t bytes);

 private:
  struct release {
    void operator()(std::byte* memory) const noexcept;
  };

  std::unique_ptr<std::byte[], release> memory_;
  std::size_t size_{};
};

}  // namespace libra::host
