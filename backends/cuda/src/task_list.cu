#include "task_list.hpp"

#include "attention_tiles.hpp"

#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/transform_scan.h>

#ifdef __CUDACC__
#define LIBRA_ON_DEVICE __device__
#else
#define LIBRA_ON_DEVICE
#endif

namespace libra::cuda {

namespace {

struct units_of {
  LIBRA_ON_DEVICE std::int64_t operator()(tile_task const& t) const {
    std::int64_t const chunks = (t.rows.end - t.rows.begin + device::own_rows - 1) / device::own_rows;
    return chunks * (t.head_end - t.head_begin);
  }
  LIBRA_ON_DEVICE std::int64_t operator()(key_group const& g) const {
    std::int64_t const first = g.keys.begin / device::own_rows;
    std::int64_t const last = (g.keys.end + device::own_rows - 1) / device::own_rows;
    return g.keys.end > g.keys.begin ? last - first : 0;
  }
  LIBRA_ON_DEVICE std::int64_t operator()(region_task const& t) const {
    return t.what.tokens.end - t.what.tokens.begin;
  }
  LIBRA_ON_DEVICE std::int64_t operator()(dot_task const& t) const { return t.what.tokens.end - t.what.tokens.begin; }
  LIBRA_ON_DEVICE std::int64_t operator()(reduce_task const& t) const {
    return t.what.tokens.end - t.what.tokens.begin;
  }
  LIBRA_ON_DEVICE std::int64_t operator()(row_move const& m) const { return m.rows; }
};

template <class Item>
void scan(Item const* items, std::int64_t count, std::int64_t* ends, [[maybe_unused]] stream_ref in) {
#ifdef __CUDACC__
  auto const where = thrust::cuda::par.on(in.get());
#else
  auto const where = thrust::device;
#endif
  thrust::transform_inclusive_scan(where, items, items + count, ends, units_of{}, thrust::plus<std::int64_t>{});
}

}  // namespace

void count_units(tile_task const* items, std::int64_t count, std::int64_t* ends, stream_ref in) {
  scan(items, count, ends, in);
}
void count_units(key_group const* items, std::int64_t count, std::int64_t* ends, stream_ref in) {
  scan(items, count, ends, in);
}
void count_units(region_task const* items, std::int64_t count, std::int64_t* ends, stream_ref in) {
  scan(items, count, ends, in);
}
void count_units(dot_task const* items, std::int64_t count, std::int64_t* ends, stream_ref in) {
  scan(items, count, ends, in);
}
void count_units(reduce_task const* items, std::int64_t count, std::int64_t* ends, stream_ref in) {
  scan(items, count, ends, in);
}
void count_units(row_move const* items, std::int64_t count, std::int64_t* ends, stream_ref in) {
  scan(items, count, ends, in);
}

}  // namespace libra::cuda
