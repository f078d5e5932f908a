#include <libra/sample/global_batch.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

using libra::document_id;
using libra::packed_sequence;
using libra::segment;

TEST_CASE("offsets, positions and weights of a sequence") {
  std::vector<segment> const segments{{document_id(7), 0, 3}, {document_id(2), 5, 1}, {document_id(9), 0, 4}};
  packed_sequence const s{.id = libra::sequence_id(0), .window_tokens = 10, .segments = segments};
  CHECK(s.tokens() == 8);
  CHECK(s.targets() == 5);
  CHECK(s.longest() == 4);
  CHECK(s.cu_seqlens() == std::vector<std::int32_t>{0, 3, 4, 8});
  CHECK(s.position_ids() == std::vector<std::int32_t>{0, 1, 2, 0, 0, 1, 2, 3, 0, 0});
}

TEST_CASE("an empty sequence is all padding") {
  packed_sequence const s{.id = libra::sequence_id(0), .window_tokens = 3, .segments = {}};
  CHECK(s.tokens() == 0);
  CHECK(s.targets() == 0);
  CHECK(s.cu_seqlens() == std::vector<std::int32_t>{0});
  CHECK(s.position_ids() == std::vector<std::int32_t>{0, 0, 0});
}

TEST_CASE("windows beyond int32 are refused") {
  packed_sequence const s{.id = libra::sequence_id(0), .window_tokens = std::int64_t{1} << 31, .segments = {}};
  CHECK_THROWS_WITH_AS(static_cast<void>(s.cu_seqlens()),
                       "window is 2147483648 tokens, beyond the 32 bits of cu_seqlens", libra::range_error);
  CHECK_THROWS_AS(static_cast<void>(s.position_ids()), libra::range_error);
}
