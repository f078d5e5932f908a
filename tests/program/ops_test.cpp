#include <libra/program/ops.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>
#include <type_traits>

namespace {

using libra::attention_shape;
using libra::element_bytes;
using libra::location;
using libra::tensor;

static_assert(std::is_trivially_copyable_v<libra::region> && std::is_trivially_copyable_v<location>);
static_assert(std::is_trivially_copyable_v<libra::transfer> && std::is_trivially_copyable_v<libra::tile_task>);
static_assert(std::is_trivially_copyable_v<libra::region_task> && std::is_trivially_copyable_v<libra::reduce_task>);
static_assert(std::is_trivially_copyable_v<libra::op>);
static_assert(!std::is_constructible_v<location, std::int64_t>);  // home or workspace has to be said

constexpr attention_shape shape{.q_heads = 8, .kv_heads = 2, .head_dim = 64, .mask = {}};

TEST_CASE("every tensor, kind and queue has a name of its own") {
  std::set<std::string_view> names;
  for (std::size_t t = 0; t < libra::tensor_count; ++t) {
    CHECK(names.insert(name_of(static_cast<tensor>(t))).second);
  }
  for (std::size_t k = 0; k < 6; ++k) {
    CHECK(names.insert(name_of(static_cast<libra::op_kind>(k))).second);
  }
  for (std::size_t q = 0; q < libra::queue_count; ++q) {
    CHECK(names.insert(name_of(static_cast<libra::queue>(q))).second);
  }
  CHECK(name_of(tensor::q) == "q");
  CHECK(name_of(tensor::dv) == "dv");
  CHECK(name_of(libra::op_kind::reduce) == "reduce");
  CHECK(name_of(libra::queue::deliver) == "deliver");
}

TEST_CASE("heads and bytes of each tensor") {
  constexpr element_bytes width{.activation = 2, .statistic = 4, .partial = 4};
  struct row {
    tensor what;
    std::int32_t heads;
    std::int64_t bytes;
  };
  constexpr std::array<row, libra::tensor_count> rows{{{tensor::q, 8, 128},
                                                       {tensor::k, 2, 128},
                                                       {tensor::v, 2, 128},
                                                       {tensor::o, 8, 128},
                                                       {tensor::lse, 8, 4},
                                                       {tensor::d_o, 8, 128},
                                                       {tensor::delta, 8, 4},
                                                       {tensor::dq, 8, 128},
                                                       {tensor::dk, 2, 128},
                                                       {tensor::dv, 2, 128},
                                                       {tensor::o_part, 8, 256},
                                                       {tensor::dq_part, 8, 256},
                                                       {tensor::dk_part, 2, 256},
                                                       {tensor::dv_part, 2, 256}}};
  for (row const& r : rows) {
    CAPTURE(name_of(r.what));
    CHECK(heads_of(r.what, shape) == r.heads);
    CHECK(head_row_bytes(r.what, shape, width) == r.bytes);
    CHECK(has_kv_heads(r.what) == (r.heads == 2));
    CHECK(is_statistic(r.what) == (r.bytes == 4));
    CHECK(is_part(r.what) == (r.bytes == 256));
    CHECK(is_partial_sum(r.what) == (r.bytes == 256 && r.heads == 2));
    CHECK(is_row_part(r.what) == (r.bytes == 256 && r.heads == 8));
  }
}

TEST_CASE("results have a name of their own while they are parts, and the width of partial results") {
  CHECK(part_of(tensor::o) == tensor::o_part);
  CHECK(part_of(tensor::dq) == tensor::dq_part);
  CHECK(part_of(tensor::dk) == tensor::dk_part);
  CHECK(part_of(tensor::dv) == tensor::dv_part);
  for (tensor const t : {tensor::lse, tensor::k, tensor::dk_part, tensor::o_part}) {
    CHECK(part_of(t) == t);
  }
  CHECK(is_row_part(tensor::o_part));
  CHECK_FALSE(is_row_part(tensor::o));
  libra::tile_task t;
  CHECK(t.output(tensor::o) == tensor::o);
  t.part = libra::key_part::first;
  CHECK(t.output(tensor::o) == tensor::o_part);
  CHECK(t.output(tensor::dq) == tensor::dq_part);
  CHECK(t.output(tensor::lse) == tensor::lse);
}

TEST_CASE("locations are at home, in the workspace, or nowhere") {
  location const home = location::home(7);
  location const workspace = location::workspace(7);
  CHECK(home.at_home());
  CHECK_FALSE(home.in_workspace());
  CHECK(home.local_token() == 7);
  CHECK(workspace.in_workspace());
  CHECK_FALSE(workspace.at_home());
  CHECK(workspace.byte() == 7);
  CHECK(home != workspace);
  CHECK(home.code() != workspace.code());
  CHECK(location() == location::nowhere());
  CHECK_FALSE(location().at_home());
  CHECK_FALSE(location().in_workspace());
  CHECK(location::home(0).at_home());
  CHECK(location::workspace(0).in_workspace());
  constexpr std::int64_t far = std::int64_t{1} << 60;
  CHECK(location::workspace(far).byte() == far);
  CHECK(location::home(far).local_token() == far);
}

TEST_CASE("a program's ops see their slices") {
  libra::program p;
  p.sends.resize(3);
  p.receives.resize(2);
  p.tiles.resize(4);
  p.reduces.resize(1);
  p.reduces[0].first = 1;
  p.reduces[0].last = 3;
  p.partials = {location::home(0), location::home(1), location::home(2)};
  libra::op exchange;
  exchange.items = {1, 3};
  exchange.receives = {0, 2};
  CHECK(p.sends_of(exchange).size() == 2);
  CHECK(p.sends_of(exchange).data() == p.sends.data() + 1);
  CHECK(p.receives_of(exchange).size() == 2);
  libra::op attend;
  attend.items = {4, 4};
  CHECK(p.tiles_of(attend).empty());
  CHECK(p.partials_of(p.reduces[0]).size() == 2);
  CHECK(p.partials_of(p.reduces[0]).front() == location::home(1));
  CHECK(exchange.items.size() == 2);
}

TEST_CASE("a tile task knows where each tensor is") {
  libra::tile_task t;
  CHECK(t.where(tensor::dv) == location::nowhere());
  t.put(tensor::dv, location::workspace(64));
  CHECK(t.where(tensor::dv) == location::workspace(64));
  CHECK(t.where(tensor::dk) == location::nowhere());
}

TEST_CASE("elements without bytes are refused") {
  CHECK_NOTHROW(validate(element_bytes{}));
  CHECK_THROWS_WITH_AS(validate(element_bytes{0, 4, 4}), "bytes of an activation are 0, expected at least 1",
                       libra::input_error);
  CHECK_THROWS_WITH_AS(validate(element_bytes{2, -1, 4}), "bytes of a statistic are -1, expected at least 1",
                       libra::input_error);
  CHECK_THROWS_WITH_AS(validate(element_bytes{2, 4, 0}), "bytes of a partial sum are 0, expected at least 1",
                       libra::input_error);
}

}  // namespace
