#include "support/packs.hpp"
#include "support/printing.hpp"

#include <libra/pack/fit_decreasing.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace {

using libra::document_id;
using libra::open_sequence;
using rows = libra::test::pack_rows;

/// Takes the sequence that was put last if it has room, as next fit does, and counts how often it is asked.
struct latest {
  int* asked;
  std::optional<open_sequence> last;

  std::optional<open_sequence> take(std::int64_t length) {
    ++*asked;
    return last && last->room >= length ? last : std::nullopt;
  }
  void put(open_sequence const& s) { last = s; }
};
struct without_put {
  std::optional<open_sequence> take(std::int64_t) { return {}; }
};
static_assert(libra::sequence_rooms<latest> && !libra::sequence_rooms<without_put> && !libra::sequence_rooms<int>);

TEST_CASE("a run of equal pieces goes where its first went, and is asked for once") {
  std::vector<std::int64_t> const lengths{2, 5, 2, 2, 9};
  int asked = 0;
  libra::packing const packed = libra::fit_decreasing(lengths, 10, libra::overlong::split, latest{&asked, {}});
  // 9 opens the first, 5 the second; two of 2 join it, the third opens another.
  CHECK(libra::test::rows_of(packed) == rows{{{document_id(1), 0, 5}, {document_id(0), 0, 2}, {document_id(2), 0, 2}},
                                             {{document_id(3), 0, 2}},
                                             {{document_id(4), 0, 9}}});
  CHECK(asked == 4);
}

}  // namespace
