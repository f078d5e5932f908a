#include "conformance/allocations.hpp"

#include <libra/host/backend.hpp>
#include <libra/host/bfloat16_kernel.hpp>

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

TEST_CASE("nor do those in bf16") { check_all<libra::host::bfloat16_kernel>(); }

}  // namespace
