#include "targets.hpp"
#include "validate.hpp"

#include <libra/core/error.hpp>
#include <libra/host/tile_kernel.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rows.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace libra::host::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Every head_dim is a multiple of eight channels, so eight lanes at a time leave no remainder.
using eight_lanes = hn::CappedTag<float, 8>;

void row_dot_vectors(head_rows<float const> const& d_o, head_rows<float const> const& o, head_rows<float> const& delta,
                     head_extent const& extent) {
  eight_lanes const d;
  for (std::int64_t row = 0; row < extent.rows; ++row) {
    for (std::int64_t head = 0; head < extent.heads; ++head) {
      float const* const x = d_o.at(row, head);
      float const* const y = o.at(row, head);
      auto sum = hn::Zero(d);
      for (std::size_t c = 0; c < static_cast<std::size_t>(extent.head_dim); c += hn::Lanes(d)) {
        sum = hn::MulAdd(hn::LoadU(d, x + c), hn::LoadU(d, y + c), sum);
      }
      *delta.at(row, head) = hn::GetLane(hn::SumOfLanes(d, sum));
    }
  }
}

void add_rows_vectors(std::span<head_rows<float const> const> parts, head_rows<float> const& into,
                      head_extent const& extent) {
  eight_lanes const d;
  for (std::int64_t row = 0; row < extent.rows; ++row) {
    for (std::int64_t head = 0; head < extent.heads; ++head) {
      for (std::int64_t c = 0; c < extent.head_dim; c += static_cast<std::int64_t>(hn::Lanes(d))) {
        auto sum = hn::LoadU(d, parts.front().at(row, head) + c);
        for (auto const& part : parts.subspan(1)) {
          sum = hn::Add(sum, hn::LoadU(d, part.at(row, head) + c));
        }
        hn::StoreU(sum, d, into.at(row, head) + c);
      }
    }
  }
}

}  // namespace libra::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace libra::host {

namespace {

HWY_EXPORT(row_dot_vectors);
HWY_EXPORT(add_rows_vectors);

}  // namespace

void row_dot(head_rows<float const> d_o, head_rows<float const> o, head_rows<float> delta, head_extent const& extent) {
  detail::validate(extent);
  HWY_DYNAMIC_DISPATCH(row_dot_vectors)(d_o, o, delta, extent);
}

void add_rows(std::span<head_rows<float const> const> parts, head_rows<float> into, head_extent const& extent) {
  detail::validate(extent);
  require(!parts.empty(), "no partial rows to add, expected at least one");
  HWY_DYNAMIC_DISPATCH(add_rows_vectors)(parts, into, extent);
}

}  // namespace libra::host
#endif
