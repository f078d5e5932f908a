#pragma once

#include <libra/pack/concept.hpp>
#include <libra/pack/pieces.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace libra {

/// Concatenates the documents and cuts the stream at window edges. No padding but in the last sequence.
///
/// A document that crosses an edge is split there; `when_overlong` decides about documents longer than the window only.
/// Complexity: linear.
struct in_order {
  static constexpr std::string_view name = "in_order";

  overlong when_overlong{overlong::split};

  [[nodiscard]] packing operator()(std::span<std::int64_t const> lengths, std::int64_t window_tokens) const {
    require(window_tokens >= 1, "window is ", window_tokens, " tokens, expected at least 1");
    packing packed;
    packed.window_tokens = window_tokens;
    std::int64_t room = window_tokens;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      std::int64_t const length = packed_tokens(lengths, i, window_tokens, when_overlong);
      count_tokens(packed, lengths[i], length);
      packed.split_documents += length > room ? 1 : 0;
      for (std::int64_t offset = 0; offset < length;) {
        std::int64_t const part = std::min(room, length - offset);
        packed.sequences.push_back({document_id(i), offset, part});
        offset += part;
        room -= part;
        if (room == 0) {
          packed.sequences.close_row();
          room = window_tokens;
        }
      }
    }
    if (room < window_tokens) {
      packed.sequences.close_row();
    }
    return packed;
  }
};
static_assert(packer<in_order>);

}  // namespace libra
