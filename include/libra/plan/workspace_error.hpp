#pragma once

#include <libra/core/error.hpp>

#include <cstdint>
#include <string>

namespace libra {

/// A limit of exchange memory that a plan cannot keep to; it carries the least that works for what was planned.
class workspace_error : public input_error {
 public:
  workspace_error(std::string const& text, std::int64_t least_bytes) : input_error(text), least_bytes_(least_bytes) {}

  /// The least limit under which the same call succeeds. Units: bytes of one rank.
  [[nodiscard]] std::int64_t least_bytes() const noexcept { return least_bytes_; }

 private:
  std::int64_t least_bytes_;
};

}  // namespace libra
