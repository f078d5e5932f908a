// expect: nodiscard
#include <libra/program/verifier.hpp>

#include <string>

// A verdict that nobody looks at protects nobody.
std::string check(libra::pool_batch const& batch, libra::pool_program const& programs) {
#if LIBRA_FAIL
#pragma GCC diagnostic error "-Wunused-result"
  libra::verify(batch, programs);
  return {};
#else
  return libra::verify(batch, programs).what;
#endif
}
