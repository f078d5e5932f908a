#pragma once

#include <libra/core/random.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bench {

/// Document lengths like those of long-context corpora: a mean of about 3,000 tokens, the longest near 2^19, most of
/// the squared length in a few. The same for every run.
inline std::vector<std::int64_t> long_tailed(std::size_t documents, std::int64_t longest = 1 << 19) {
  libra::random_bits bits(7);
  std::vector<std::int64_t> lengths(documents);
  for (std::int64_t& length : lengths) {
    // An octave is twice as rare as the one below it, from 1K tokens on.
    std::int64_t top = 1024;
    while (top < longest && bits.below(2) == 0) {
      top *= 2;
    }
    length = bits.between(top / 16, top);
  }
  return lengths;
}

}  // namespace bench
