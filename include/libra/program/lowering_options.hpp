#pragma once

#include <libra/model/pool_batch.hpp>
#include <libra/program/ops.hpp>

#include <cstdint>

namespace libra {

struct lowering_options {
  element_bytes width{};
  /// Batches that a rank's remote tiles are cut into; the inputs of one travel while another is computed. A ring has as
  /// many as it has members.
  std::int32_t waves{1};
  key_flow flow{key_flow::gather};
};

}  // namespace libra
