// expect: slot_id
#include <libra/core/ids.hpp>

// A rank is no slot.
constexpr libra::rank_id rank(3);
#if LIBRA_FAIL
constexpr libra::slot_id slot = rank;
#else
constexpr libra::slot_id slot(rank.value / 2);
#endif
