// expect: placer
#include <libra/place/concept.hpp>

// A policy has no state that planning changes, or plans would depend on what was planned before.
struct own_placer {
#if LIBRA_FAIL
  libra::placement operator()(std::span<libra::int128 const>, libra::layout const&, libra::pool_partition const&){
#else
  libra::placement operator()(std::span<libra::int128 const>, libra::layout const&,
                              libra::pool_partition const&) const {
#endif
      return {};
}
}
;
static_assert(libra::placer<own_placer>);
