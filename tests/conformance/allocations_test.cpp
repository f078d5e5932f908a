#include "conformance/allocations.hpp"

#include <libra/host/backend.hpp>
#include <libra/host/bfloat16_kernel.hpp>

#include <latch>

namespace {

template <class Kernel>
struct threads {
  using backend = libra::backend_pair<libra::host::transport, Kernel>;

  template <class Body>
  void operator()(std::int32_t ranks, Body body) const {
    libra::host::rank_group group(ranks);
    run_ranks(group, [&](libra::rank_id rank) {
      backend parts(libra::host::transport(group, rank), Kernel());
      body(parts);
    });
  }
};

/// Long enough that a rank's exchanges come and go while it computes.
libra::pool_batch long_batch(libra::attention_mask mask) {
  libra::pool_batch batch;
  batch.shape = {8, 2, 64, mask};
  batch.home = {768, 1};
  batch.slots = 2;
  batch.segments = {{{libra::document_id(0), 0, 768}, libra::sequence_id(0), libra::slot_id(0), 0},
                    {{libra::document_id(1), 0, 300}, libra::sequence_id(1), libra::slot_id(1), 0},
                    {{libra::document_id(2), 0, 1}, libra::sequence_id(1), libra::slot_id(1), 300}};
  return batch;
}

template <class Kernel, class Dispatcher>
std::int64_t check(Dispatcher const& dispatch, libra::attention_mask mask) {
  CAPTURE(dispatch.name);
  auto const got = conformance::allocations_after_first_call<threads<Kernel>>(
      conformance::plan(long_batch(mask), dispatch, {.width = Kernel::width, .waves = 3}), 6);
  CHECK(got.allocations == 0);
  return got.overlaps;
}

template <class Kernel>
void check_all() {
  auto const causal = libra::attention_mask::causal();
  CHECK(check<Kernel>(libra::pooled{}, causal) > 0);
  check<Kernel>(libra::pooled{}, libra::attention_mask::window(100));
  check<Kernel>(libra::ulysses{}, libra::attention_mask::full());
  check<Kernel>(libra::zigzag_ring{}, causal);
}

TEST_CASE("calls after the first allocate nothing, also where exchanges travel meanwhile") {
  check_all<libra::host::kernel>();
}

/// Two groups of two: a document in one, nothing in the other.
libra::pool_batch half_empty_batch() {
  libra::pool_batch batch;
  batch.shape = {4, 2, 16, {}};
  batch.home = {64, 2, libra::sharding::zigzag};
  batch.slots = 2;
  batch.segments = {{{libra::document_id(0), 0, 64}, libra::sequence_id(0), libra::slot_id(0), 0}};
  batch.number_rows();
  return batch;
}

TEST_CASE("nor where ranks that exchange nothing are hundreds of rounds ahead of the others") {
  using ranks = threads<libra::host::kernel>;
  auto const plan = conformance::plan(half_empty_batch(), libra::zigzag_ring{}, {.width = libra::host::kernel::width});
  constexpr int calls = 100;
  std::latch far_ahead(2);
  libra::test::counted_allocations = 0;
  ranks{}(4, [&](ranks::backend& parts) {
    bool const idle = parts.transport().rank().value >= 2;
    libra::pooled_attention attention(parts, plan);
    conformance::placed_call<ranks> c(parts, plan->batch, attention.rank());
    std::vector<std::uint64_t> words(4);
    auto const meet = [&] { parts.transport().gather({words.data(), 1}, words); };
    auto const both = [&] {
      attention.forward(c.forward());
      attention.backward(c.backward());
    };
    both();
    meet();
    meet();
    libra::test::counting_allocations = true;
    meet();
    if (!idle) {
      far_ahead.wait();
    }
    for (int i = 0; i < calls; ++i) {
      both();
    }
    if (idle) {
      far_ahead.count_down();
    }
    meet();
    libra::test::counting_allocations = false;
    meet();
  });
  REQUIRE(plan->backward.ranks[0].ops.size() > 4);
  CHECK(libra::test::counted_allocations == 0);
}

TEST_CASE("nor do those in bf16") { check_all<libra::host::bfloat16_kernel>(); }

}  // namespace
