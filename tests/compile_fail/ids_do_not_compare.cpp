// expect: operator==
#include <libra/core/ids.hpp>

// The numbers may be equal, what they number is not.
#if LIBRA_FAIL
constexpr bool same = libra::pool_id(1) == libra::slot_id(1);
#else
constexpr bool same = libra::pool_id(1) == libra::pool_id(1);
#endif
