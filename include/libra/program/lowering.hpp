#pragma once

#include <libra/program/gather_lowering.hpp>
#include <libra/program/lowering_options.hpp>
#include <libra/program/ring_lowering.hpp>

#include <span>

namespace libra {

/// Lowers one pass of a dispatched pool to one program per rank.
///
/// Tiles whose rows and keys are all on their rank run first and in place; the others are cut into waves whose inputs
/// come from their home ranks in successive rounds and whose results go back likewise. Backward starts with `delta` at
/// home; partial dk and dv come home in the last round and are summed by rank.
///
/// Pre: the tiles cover every (row, head) once (the verifier proves it of the result). Errors: `input_error` for a tile
/// outside its segment or pool. Complexity: O(n log n) in the tiles plus linear in the transfers.
[[nodiscard]] inline pool_program lower(pool_batch const& batch, std::span<tile const> tiles, pass direction,
                                        lowering_options const& options = {}) {
  validate(options.width);
  if (options.flow == key_flow::ring) {
    return detail::ring_lowering(batch, tiles, direction, options).run();
  }
  return detail::gather_lowering(batch, tiles, direction, options).run();
}

}  // namespace libra
