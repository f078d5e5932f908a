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
  /// How many waves' inputs and results a rank's workspace holds at a time; at least 4, since inputs travel in so many
  /// steps; two more, so that no step waits for computing.
  std::int32_t alive_waves{6};
  key_flow flow{key_flow::gather};
  /// Ranks that share a node, as `topology` numbers them: what several of them need crosses to it once and is passed on
  /// inside. 0: every rank is sent what it needs from home.
  std::int32_t ranks_per_node{0};
  /// By how many bytes of a round a rank's network port has to exceed the mean of its node before neighbours carry the
  /// surplus, and by how many all ports of a node have to be relieved before other nodes share what they get from it.
  std::int64_t spread_bytes{std::int64_t{1} << 20};
  /// Queries, keys and values that the forward pass brings to a tile's rank stay in its workspace, and the backward
  /// pass brings only gradients and statistics. Rings whose elements are narrower than partial sums also keep their
  /// outputs as they were before they were rounded. Both passes must be lowered from the same tiles, with this set
  /// alike.
  bool keep_inputs{false};
  /// Nothing may pass through a rank of another group.
  bool groups_apart{false};
};

}  // namespace libra
