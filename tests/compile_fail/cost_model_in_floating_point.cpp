// expect: cost_model
#include <libra/cost/concept.hpp>
#include <libra/dispatch/ulysses.hpp>
#include <libra/pack/in_order.hpp>
#include <libra/place/as_packed.hpp>
#include <libra/plan/scheduler.hpp>
#include <libra/pool/fixed_size.hpp>

// A cost model counts in integers: rates in floating point would make plans depend on the compiler.
#if LIBRA_FAIL
constexpr auto cost = [](libra::tile_shape const& t) { return 0.5 * static_cast<double>(t.q_end - t.q_begin); };
#else
constexpr auto cost = [](libra::tile_shape const& t) { return libra::work{t.q_end - t.q_begin, t.q_end - t.q_begin}; };
#endif
libra::scheduler const planner{libra::in_order{}, libra::fixed_size{}, libra::as_packed{}, libra::ulysses{}, cost};
