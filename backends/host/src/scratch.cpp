#include <libra/host/scratch.hpp>

#include <cstring>
#include <new>

namespace libra::host {

namespace {

// Two cache lines: what the widest vectors want, and what adjacent-line prefetchers fetch together.
constexpr std::align_val_t alignment{128};

}  // namespace

void scratch::release::operator()(std::byte* memory) const noexcept { ::operator delete[](memory, alignment); }

std::byte* scratch::reserve(std::size_t bytes) {
  if (bytes > size_) {
    memory_.reset();
    size_ = 0;
    memory_.reset(static_cast<std::byte*>(::operator new[](bytes, alignment)));
    // Kernels compute on the padding of their blocks; what they find there must be numbers.
    std::memset(memory_.get(), 0, bytes);
    size_ = bytes;
  }
  return memory_.get();
}

}  // namespace libra::host
