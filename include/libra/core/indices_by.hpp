#pragma once

#include <libra/core/ragged.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace libra {

/// Groups the indices `[0, count)`: row g has those of which `group_of` says g, in rising order (a counting sort).
///
/// Shape: `[groups]` rows, `count` values. Pre: `group_of(i) < groups`, and gives the same each time; `count` is below
/// 2^32. Complexity: linear.
template <class GroupOf>
[[nodiscard]] ragged<std::uint32_t> indices_by(std::size_t count, std::size_t groups, GroupOf group_of) {
  std::vector<std::size_t> offsets(groups + 1, 0);
  for (std::size_t i = 0; i < count; ++i) {
    ++offsets[group_of(i)];
  }
  std::size_t sum = 0;
  for (std::size_t& offset : offsets) {
    offset = std::exchange(sum, sum + offset);
  }
  std::vector<std::uint32_t> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[offsets[group_of(i)]++] = static_cast<std::uint32_t>(i);
  }
  // Each offset has become the next row's.
  for (std::size_t g = groups; g > 0; --g) {
    offsets[g] = offsets[g - 1];
  }
  offsets[0] = 0;
  return {std::move(values), std::move(offsets)};
}

/// Sorts `all` by group, stable. Pre and complexity: as `indices_by`.
template <class T, class GroupOf>
void sort_by_group(std::vector<T>& all, std::size_t groups, GroupOf group_of) {
  auto const order = indices_by(all.size(), groups, [&](std::size_t i) { return group_of(all[i]); });
  std::vector<T> sorted;
  sorted.reserve(all.size());
  for (std::uint32_t const i : order.values()) {
    sorted.push_back(all[i]);
  }
  all = std::move(sorted);
}

}  // namespace libra
