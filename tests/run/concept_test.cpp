#include <libra/run/concept.hpp>

#include <doctest/doctest.h>

namespace {

// Every member of an archetype is needed: without one, or with another type, the concept must fail.

using libra::archetype::kernel;
using libra::archetype::transport;

struct no_ticket : transport {
 private:
  using ticket = void;
};
struct no_rank : transport {
  void rank() = delete;
};
struct plain_rank : transport {
  [[nodiscard]] int rank() const noexcept { return 0; }
};
struct throwing_rank : transport {
  [[nodiscard]] libra::rank_id rank() const { return {}; }
};
struct no_ranks : transport {
  void ranks() = delete;
};
struct no_start : transport {
  void start() = delete;
};
struct start_without_ticket : transport {
  void start(libra::exchange_round const&) {}
};
struct no_test : transport {
  void test() = delete;
};
struct no_wait : transport {
  void wait() = delete;
};
struct no_gather : transport {
  void gather() = delete;
};
struct throwing_abort : transport {
  void abort(std::string_view) {}
};
static_assert(libra::transport<transport>);
static_assert(!libra::transport<no_ticket>);
static_assert(!libra::transport<no_rank>);
static_assert(!libra::transport<plain_rank>);
static_assert(!libra::transport<throwing_rank>);
static_assert(!libra::transport<no_ranks>);
static_assert(!libra::transport<no_start>);
static_assert(!libra::transport<start_without_ticket>);
static_assert(!libra::transport<no_test>);
static_assert(!libra::transport<no_wait>);
static_assert(!libra::transport<no_gather>);
static_assert(!libra::transport<throwing_abort>);

struct no_memory : kernel {
 private:
  using memory = void;
};
struct memory_without_data : kernel {
  struct memory {};
};
struct no_element : kernel {
 private:
  using element = void;
};
struct wide_element : kernel {
  using element = double;
};
struct half_statistics : kernel {
  static constexpr libra::element_bytes width{4, 2, 4};
};
struct no_allocate : kernel {
  void allocate() = delete;
};
struct no_attend : kernel {
  void attend() = delete;
};
struct no_attend_backward : kernel {
  void attend_backward() = delete;
};
struct no_row_dot : kernel {
  void row_dot() = delete;
};
struct no_clear : kernel {
  void clear() = delete;
};
struct no_reduce : kernel {
  void reduce() = delete;
};
static_assert(libra::tile_kernel<kernel>);
static_assert(!libra::tile_kernel<no_memory>);
static_assert(!libra::tile_kernel<memory_without_data>);
static_assert(!libra::tile_kernel<no_element>);
static_assert(!libra::tile_kernel<wide_element>);
static_assert(!libra::tile_kernel<half_statistics>);
static_assert(!libra::tile_kernel<no_allocate>);
static_assert(!libra::tile_kernel<no_attend>);
static_assert(!libra::tile_kernel<no_attend_backward>);
static_assert(!libra::tile_kernel<no_row_dot>);
static_assert(!libra::tile_kernel<no_clear>);
static_assert(!libra::tile_kernel<no_reduce>);

using pair = libra::backend_pair<transport, kernel>;
struct no_transport : pair {
  void transport() = delete;
};
struct transport_by_value : pair {
  libra::archetype::transport transport() noexcept { return {}; }
};
struct no_kernel : pair {
  void kernel() = delete;
};
static_assert(libra::backend<pair>);
static_assert(!libra::backend<no_transport>);
static_assert(!libra::backend<transport_by_value>);
static_assert(!libra::backend<no_kernel>);
static_assert(!libra::backend<transport>);

TEST_CASE("a backend pair hands out the parts it was made of") {
  struct numbered : kernel {
    int number{};
  };
  numbered mine;
  mine.number = 7;
  libra::backend_pair both(transport{}, mine);
  CHECK(both.kernel().number == 7);
  both.kernel().number = 8;
  CHECK(both.kernel().number == 8);
  CHECK(both.transport().ranks() == 1);
}

}  // namespace
