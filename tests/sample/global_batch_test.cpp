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

TEST_CASE("weights make the mean over uneven sequences the mean over tokens") {
  libra::global_batch batch;
  batch.plan.layout = {.window_tokens = 10, .dp = 3, .cp = 1, .pool = 3, .micro_steps = 1};
  batch.plan.packing.window_tokens = 10;
  std::vector<segment> const full{{document_id(0), 0, 9}, {document_id(1), 0, 1}};
  std::vector<segment> const thin{{document_id(2), 0, 2}};
  batch.plan.packing.sequences.push_row(full);
  batch.plan.packing.sequences.push_row(thin);
  batch.plan.packing.sequences.push_row({});
  batch.plan.packing.tokens = 12;
  // A loss of each target: its document's number. Eight targets of document 0, none of document 1, one of document 2.
  double sum = 0;
  std::int64_t targets = 0;
  std::int64_t tokens = 0;
  for (std::int32_t s = 0; s < 3; ++s) {
    packed_sequence const sequence = batch.sequence(libra::sequence_id(s));
    for (segment const& one : sequence.segments) {
      sum += static_cast<double>(one.document.value) * static_cast<double>(one.length - 1);
    }
    targets += sequence.targets();
    tokens += sequence.tokens();
  }
  CHECK(targets == 9);
  CHECK(batch.targets() == targets);
  CHECK(batch.tokens() == tokens);
  CHECK(sum / static_cast<double>(batch.targets()) == doctest::Approx(2.0 / 9));
}

TEST_CASE("windows beyond int32 are refused") {
  packed_sequence const s{.id = libra::sequence_id(0), .window_tokens = std::int64_t{1} << 31, .segments = {}};
  CHECK_THROWS_WITH_AS(static_cast<void>(s.cu_seqlens()),
                       "window is 2147483648 tokens, beyond the 32 bits of cu_seqlens", libra::range_error);
  CHECK_THROWS_AS(static_cast<void>(s.position_ids()), libra::range_error);
}
