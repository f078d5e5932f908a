#pragma once

#include <cstdint>

namespace libra::detail {

/// The batches of a rank: wave 0 and the last two need nothing from elsewhere, waves 1 to `remote` do.
///
/// Wave 0 covers the first inputs' way, the last two the last results'.
struct wave_numbers {
  /// Sums of gradients go home up to so many rounds after the last wave's: they are added up in a node, between nodes,
  /// and where they enter the home's.
  static constexpr std::int32_t most_late_rounds = 3;

  std::int32_t remote{};

  /// Of waves, and of rounds that take results home: wave w's go in round w, and sums as many rounds later.
  [[nodiscard]] constexpr std::int32_t count() const noexcept { return remote + 1 + most_late_rounds; }
  [[nodiscard]] constexpr std::int32_t first_late() const noexcept { return remote + 1; }
  [[nodiscard]] constexpr std::int32_t second_late() const noexcept { return remote + 2; }
};

/// The rounds of `fetch`. What a wave needs comes in four steps: from the own node, and to where it leaves that; across
/// the network; on to other nodes; and on inside the node, a round after it got there. They share rounds with other
/// steps of the waves before and after, which mostly use other ports.
[[nodiscard]] constexpr std::int32_t near_round(std::int32_t wave) noexcept { return wave - 1; }
[[nodiscard]] constexpr std::int32_t network_round(std::int32_t wave) noexcept { return wave; }
[[nodiscard]] constexpr std::int32_t sharing_round(std::int32_t wave) noexcept { return wave + 1; }
[[nodiscard]] constexpr std::int32_t passing_round(std::int32_t wave) noexcept { return wave + 2; }
/// The last wave that a round brings something for.
[[nodiscard]] constexpr std::int32_t wave_of_round(std::int32_t round) noexcept { return round + 1; }
[[nodiscard]] constexpr std::int32_t fetch_rounds(std::int32_t waves) noexcept {
  return waves == 0 ? 0 : passing_round(waves) + 1;
}
/// Several nodes share a range of keys, going or coming back, in slices of so many rows at least.
inline constexpr std::int64_t least_slice = 16;
/// So many waves' inputs are on their way at a time.
inline constexpr std::int32_t least_alive_waves = 4;
/// Keys of other nodes come so many waves before the one that needs them: they take two steps more than rows, and the
/// first tiles of a document need most of them.
inline constexpr std::int32_t keys_ahead = 2;

}  // namespace libra::detail
