#pragma once

#include "conformance/cuda_ranks.hpp"
#include "cuda_double/control.hpp"

#include <doctest/doctest.h>

#include <cstdint>

namespace conformance {

/// Ranks on the runtime's double, each time with another order of what streams leave open.
template <class Ranks>
struct emulated : Ranks {
  template <class Body>
  void operator()(std::int32_t ranks, Body body) const {
    static std::uint64_t runs = 0;
    cuda_double::reset({.seed = ++runs});
    struct at_end {
      ~at_end() {
        CHECK(cuda_double::finding() == "");
        CHECK(cuda_double::objects_alive() == 0);
      }
    } const check;
    Ranks::operator()(ranks, body);
  }
};

}  // namespace conformance
