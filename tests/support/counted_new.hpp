#pragma once

// Counts what a program allocates. One file of a program includes it: it replaces the operators `new` and `delete`.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace libra::test {

/// Allocations of the whole process while it counts.
inline std::atomic<bool> counting_allocations{false};
inline std::atomic<std::int64_t> counted_allocations{0};

inline void* counted_allocate(std::size_t bytes, std::size_t alignment) {
  if (counting_allocations) {
    ++counted_allocations;
  }
  std::size_t const rounded = (bytes + alignment - 1) / alignment * alignment;
  if (void* const p = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded)) {
    return p;
  }
  throw std::bad_alloc();
}

}  // namespace libra::test

// All forms: a sanitizer's own would not match the deletes below.
void* operator new(std::size_t bytes) { return libra::test::counted_allocate(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return libra::test::counted_allocate(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, std::nothrow_t const&) noexcept {
  try {
    return operator new(bytes);
  } catch (std::bad_alloc const&) {
    return nullptr;
  }
}
void operator delete(void* p, std::nothrow_t const&) noexcept { std::free(p); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
