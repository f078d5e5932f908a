#include "validate.hpp"

#include <libra/host/tile_kernel.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace libra::host {

void combine(head_rows<float const> other_o, head_rows<float const> other_lse, head_rows<float> o, head_rows<float> lse,
             head_extent const& extent) {
  detail::validate(extent);
  for (std::int64_t row = 0; row < extent.rows; ++row) {
    for (std::int64_t head = 0; head < extent.heads; ++head) {
      float const theirs = *other_lse.at(row, head);
      float& ours = *lse.at(row, head);
      float const larger = std::max(theirs, ours);
      if (larger == -std::numeric_limits<float>::infinity()) {
        continue;  // neither has seen a key yet
      }
      float const our_weight = std::exp(ours - larger);
      float const their_weight = std::exp(theirs - larger);
      float const total = our_weight + their_weight;
      ours = larger + std::log(total);
      float const* const from = other_o.at(row, head);
      float* const to = o.at(row, head);
      for (std::int64_t c = 0; c < extent.head_dim; ++c) {
        to[c] = (to[c] * our_weight + from[c] * their_weight) / total;
      }
    }
  }
}

}  // namespace libra::host
