// expect: dispatcher
#include <libra/cost/pair_count.hpp>
#include <libra/dispatch/ulysses.hpp>
#include <libra/pack/in_order.hpp>
#include <libra/place/as_packed.hpp>
#include <libra/plan/scheduler.hpp>
#include <libra/pool/fixed_size.hpp>

#if LIBRA_FAIL
// The cost model stands where the dispatcher belongs.
libra::scheduler const planner{libra::in_order{}, libra::fixed_size{}, libra::as_packed{}, libra::pair_count{},
                               libra::ulysses{}};
#else
libra::scheduler const planner{libra::in_order{}, libra::fixed_size{}, libra::as_packed{}, libra::ulysses{},
                               libra::pair_count{}};
#endif
