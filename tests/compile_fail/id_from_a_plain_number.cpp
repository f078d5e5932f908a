// expect: micro_step_id
#include <libra/plan/batch_of.hpp>

// Which micro-step and which pool is meant has to be said.
libra::pool_batch first(libra::batch_plan const& plan) {
#if LIBRA_FAIL
  return batch_of(plan, 0, 1);
#else
  return batch_of(plan, libra::micro_step_id(0), libra::pool_id(1));
#endif
}
