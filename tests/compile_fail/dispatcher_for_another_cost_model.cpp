// expect: dispatcher
#include <libra/cost/pair_count.hpp>
#include <libra/cost/roofline.hpp>
#include <libra/dispatch/concept.hpp>
#include <libra/pack/in_order.hpp>
#include <libra/place/as_packed.hpp>
#include <libra/plan/scheduler.hpp>
#include <libra/pool/fixed_size.hpp>

// A dispatcher has to work with whatever cost model the scheduler is given.
struct own_dispatcher {
#if LIBRA_FAIL
  libra::pool_dispatch operator()(libra::pool_batch const&, libra::pair_count const&, libra::topology const&) const {
    return {};
  }
#else
  template <libra::cost_model Cost>
  libra::pool_dispatch operator()(libra::pool_batch const&, Cost const&, libra::topology const&) const {
    return {};
  }
#endif
};
libra::scheduler const planner{libra::in_order{}, libra::fixed_size{}, libra::as_packed{}, own_dispatcher{},
                               libra::roofline{}};
