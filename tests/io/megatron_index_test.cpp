#include <libra/io/file_content.hpp>
#include <libra/io/megatron_index.hpp>
#include <libra/io/npy.hpp>
#include <libra/pack/in_order.hpp>
#include <libra/sample/global_batch.hpp>

#include <support/index_file.hpp>
#include <support/shared_data.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

using libra::megatron_index;
using libra::test::index_file;
using libra::test::shared_data;

namespace {

megatron_index view(std::string const& bytes) { return {std::as_bytes(std::span(bytes)), "f.idx"}; }

/// What is said of a file that is broken by `change`.
template <class Change>
std::string refusal(Change change) {
  index_file file({5, 0, 7});
  change(file);
  std::string const bytes = file.bytes();
  try {
    static_cast<void>(view(bytes));
  } catch (libra::input_error const& e) {
    return e.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("an index is read in place") {
  std::string const bytes = index_file({5, 0, 7}).bytes();
  megatron_index const index = view(bytes);
  CHECK(index.size() == 3);
  CHECK(index[0] == 5);
  CHECK(index[1] == 0);
  CHECK(index[2] == 7);
  CHECK(index.pointer(2) == 20);
  CHECK(index.documents() == 3);
  CHECK(index.document_begin(3) == 3);
  CHECK(index.token_type() == 4);
  CHECK(index.byte_of(2) == 42);
}

TEST_CASE("the bytes of an index are those that Megatron-LM writes") {
  // Written out by hand after megatron/core/datasets/indexed_dataset.py: two documents of uint16, 300 and 2 tokens.
  using namespace std::string_view_literals;
  std::string const bytes(
      "MMIDIDX\0\0"                         // magic
      "\1\0\0\0\0\0\0\0"                    // version
      "\x8"                                 // uint16
      "\2\0\0\0\0\0\0\0"                    // sequences
      "\3\0\0\0\0\0\0\0"                    // document boundaries
      "\x2c\1\0\0\2\0\0\0"                  // lengths
      "\0\0\0\0\0\0\0\0\x58\2\0\0\0\0\0\0"  // pointers
      "\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0"    // document boundaries
      "\2\0\0\0\0\0\0\0"sv);
  megatron_index const index = view(bytes);
  CHECK(index.token_type() == 8);
  CHECK(index.size() == 2);
  CHECK(index[0] == 300);
  CHECK(index[1] == 2);
  CHECK(index.pointer(1) == 600);
  CHECK(index.documents() == 2);
  CHECK(index.document_begin(2) == 2);
}

TEST_CASE("an empty index, modes of a multimodal set, documents of several sequences") {
  CHECK(view(index_file({}).bytes()).size() == 0);
  index_file file({5, 0, 7});
  file.modes = std::string(3, '\1');
  file.boundaries = {0, 2, 3};
  file.boundary_count = 3;
  std::string const bytes = file.bytes();
  CHECK(view(bytes).documents() == 2);
  CHECK(view(bytes).document_begin(1) == 2);
}

TEST_CASE("floating types may be either way around") {
  for (std::uint8_t const type : {std::uint8_t{6}, std::uint8_t{7}}) {
    for (std::int64_t const width : {4, 8}) {
      index_file file({0, 5, 7});
      file.token_type = type;
      file.pointers = {0, 0, 5 * width};
      std::string const bytes = file.bytes();
      CHECK(view(bytes).pointer(2) == 5 * width);
    }
  }
}

TEST_CASE("what is wrong is named with its byte") {
  std::string const bytes = index_file({5, 0, 7}).bytes();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    std::string const part = bytes.substr(0, size);
    CAPTURE(size);
    CHECK_THROWS_AS(static_cast<void>(view(part)), libra::input_error);
  }
  CHECK(refusal([](index_file& f) { f.magic = std::string("TNTIDX\0\0\0", 9); }) ==
        R"(f.idx: byte 0: magic is 'TNTIDX\x00\x00\x00', expected 'MMIDIDX\x00\x00')");
  CHECK(refusal([](index_file& f) { f.version = 2; }) == "f.idx: byte 9: version is 2, expected 1");
  CHECK(refusal([](index_file& f) { f.token_type = 0; }) == "f.idx: byte 17: token type is 0, expected 1 to 8");
  CHECK(refusal([](index_file& f) { f.token_type = 9; }) == "f.idx: byte 17: token type is 9, expected 1 to 8");
  CHECK(refusal([](index_file& f) { f.lengths[1] = -1; }) ==
        "f.idx: byte 38: length of sequence 1 is -1, expected at least 0");
  CHECK(refusal([](index_file& f) { f.pointers[0] = 4; }) ==
        "f.idx: byte 46: pointer of sequence 0 is 4, expected 0, the bytes of the tokens before it");
  CHECK(refusal([](index_file& f) { f.pointers[2] = 16; }) ==
        "f.idx: byte 62: pointer of sequence 2 is 16, below that of the one before");
  CHECK(refusal([](index_file& f) { f.pointers[2] = 24; }) ==
        "f.idx: byte 62: pointer of sequence 2 is 24, expected 20, the bytes of the tokens before it");
  CHECK(refusal([](index_file& f) { f.boundaries[0] = 1; }) ==
        "f.idx: byte 70: the first document begins at sequence 1, expected 0");
  CHECK(refusal([](index_file& f) { f.boundaries[2] = 0; }) ==
        "f.idx: byte 86: document 2 begins at sequence 0, expected 1 to 3");
  CHECK(refusal([](index_file& f) { f.boundaries[3] = 4; }) ==
        "f.idx: byte 94: document 3 begins at sequence 4, expected 2 to 3");
  CHECK(refusal([](index_file& f) { f.boundaries[3] = 2; }) ==
        "f.idx: byte 94: the last document ends at sequence 2, expected 3");
  CHECK(refusal([](index_file& f) { f.boundary_count = 0; }).starts_with("f.idx: byte 26: "));
  CHECK(refusal([](index_file& f) { f.modes = "x"; }) ==
        "f.idx: byte 102: 1 bytes follow, expected none, or one for each of 3 sequences");
  // Counts whose bytes exceed 64 bits.
  CHECK(refusal([](index_file& f) { f.sequence_count = UINT64_MAX; }) ==
        "f.idx: byte 102: the file ends, but 18446744073709551615 sequences and 4 document boundaries take "
        "221360928884514619446 bytes");
  CHECK(refusal([](index_file& f) { f.boundary_count = UINT64_MAX; }).starts_with("f.idx: byte 102: the file ends"));
}

TEST_CASE("genuine files read as their golden values say") {
  auto const golden_path = shared_data("megatron/golden.json");
  if (!golden_path) return;
  nlohmann::json const all = nlohmann::json::parse(std::ifstream(*golden_path));
  int files = 0;
  for (auto const& [name, golden] : all.items()) {
    if (!name.ends_with(".idx")) continue;
    CAPTURE(name);
    libra::file_content const content(*shared_data("megatron/" + name));
    megatron_index const index(content.bytes(), name);
    CHECK(content.bytes().size() == golden["bytes"]);
    CHECK(index.token_type() == golden["dtype_code"]);
    CHECK(index.size() == golden["sequence_count"]);
    CHECK(index.documents() + 1 == golden["document_index_entries"]);
    for (std::size_t i = 0; i < golden["first_lengths"].size(); ++i) {
      CHECK(index[static_cast<std::int64_t>(i)] == golden["first_lengths"][i]);
    }
    CHECK(index[index.size() - 1] == golden["last_length"]);
    for (std::size_t i = 0; i < golden["first_pointers"].size(); ++i) {
      CHECK(index.pointer(static_cast<std::int64_t>(i)) == golden["first_pointers"][i]);
    }
    CHECK(index.pointer(index.size() - 1) == golden["last_pointer"]);
    CHECK(index.document_begin(2) == golden["document_indices_head"][2]);
    CHECK(index.document_begin(index.documents()) == golden["document_indices_last"]);
    std::int64_t tokens = 0;
    std::int64_t squares = 0;
    for (std::int64_t i = 0; i < index.size(); ++i) {
      tokens += index[i];
      squares += index[i] * index[i];
    }
    CHECK(tokens == golden["tokens"]);
    CHECK(squares == golden["sum_len_sq"]);
    ++files;
  }
  CHECK(files == 4);
}

namespace {

/// The `cu_seqlens` of the first sequences when lengths are concatenated and cut at `window`.
std::vector<std::vector<std::int32_t>> first_cuts(std::vector<std::int64_t> const& lengths, std::int64_t window,
                                                  std::size_t count) {
  libra::packing const packed = libra::in_order{}(lengths, window);
  std::vector<std::vector<std::int32_t>> rows;
  for (std::size_t s = 0; s < count; ++s) {
    rows.push_back(libra::packed_sequence{libra::sequence_id(0), window, packed.sequences[s]}.cu_seqlens());
  }
  return rows;
}

}  // namespace

TEST_CASE("cu_seqlens of genuine documents, concatenated and cut") {
  // The first twenty of meg-gpt2-openwebtext_text_document.idx, at windows of 8,192.
  std::vector<std::int64_t> const first{1411, 918,  1046, 1136, 423, 2045, 312,  1052, 480, 485,
                                        424,  7390, 1590, 741,  633, 1745, 1498, 432,  684, 822};
  std::vector<std::vector<std::int32_t>> const expected{{0, 1411, 2329, 3375, 4511, 4934, 6979, 7291, 8192},
                                                        {0, 151, 631, 1116, 1540, 8192},
                                                        {0, 738, 2328, 3069, 3702, 5447, 6945, 7377, 8061, 8192}};
  CHECK(first_cuts(first, 8192, 3) == expected);

  auto const path = shared_data("megatron/meg-gpt2-openwebtext_text_document.idx");
  if (!path) return;
  libra::file_content const content(*path);
  megatron_index const index(content.bytes(), *path);
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = 0; i < index.size(); ++i) lengths.push_back(index[i]);
  CHECK(first_cuts(lengths, 8192, 3) == expected);
  nlohmann::json const all = nlohmann::json::parse(std::ifstream(*shared_data("megatron/golden.json")));
  CHECK(all["openwebtext_chop_8192_cu_seqlens_first3"] == nlohmann::json(expected));
}

namespace {

/// What Megatron-LM's GPTDataset makes of the lengths in the order of its document index: where each sample begins, as
/// (position in the document index, token). A sample has one token more than `tokens`, shared with its neighbour.
std::vector<std::int64_t> sample_index(megatron_index const& index, libra::npy_array const& order, std::int64_t tokens,
                                       std::int64_t samples) {
  std::vector<std::int64_t> begins{0, 0};
  std::int64_t position = 0;
  std::int64_t offset = 0;
  for (std::int64_t s = 0; s < samples; ++s) {
    std::int64_t needed = tokens + 1;
    while (needed > 0) {
      std::int64_t const left = index[order[position]] - offset;
      if (left >= needed) {
        offset += needed - 1;
        needed = 0;
      } else {
        needed -= left;
        offset = 0;
        ++position;
      }
    }
    begins.insert(begins.end(), {position, offset});
  }
  return begins;
}

}  // namespace

TEST_CASE("both genuine sample maps are rebuilt exactly") {
  auto const idx = shared_data("megatron/zhihu_100000_text_document.idx");
  if (!idx) return;
  libra::file_content const content(*idx);
  megatron_index const index(content.bytes(), *idx);
  for (std::string const split : {"test", "valid"}) {
    CAPTURE(split);
    std::string const prefix = "megatron/zhihu_100000_text_document_" + split + "_indexmap_768ns_2048sl_42s_";
    libra::file_content const order_file(shared_data(prefix + "doc_idx.npy").value());
    libra::file_content const sample_file(shared_data(prefix + "sample_idx.npy").value());
    libra::file_content const shuffle_file(shared_data(prefix + "shuffle_idx.npy").value());
    libra::npy_array const order(order_file.bytes(), "doc_idx");
    libra::npy_array const golden(sample_file.bytes(), "sample_idx");
    libra::npy_array const shuffle(shuffle_file.bytes(), "shuffle_idx");
    REQUIRE(golden.shape().size() == 2);
    REQUIRE(golden.shape()[1] == 2);
    CHECK(shuffle.type() == "<u4");
    CHECK(shuffle.size() == golden.shape()[0] - 1);
    auto const rebuilt = sample_index(index, order, 2048, golden.shape()[0] - 1);
    REQUIRE(static_cast<std::int64_t>(rebuilt.size()) == golden.size());
    bool equal = true;
    for (std::int64_t i = 0; i < golden.size(); ++i) equal = equal && rebuilt[static_cast<std::size_t>(i)] == golden[i];
    CHECK(equal);

    // The packer that concatenates and cuts begins its sequences where Megatron-LM begins its samples.
    std::vector<std::int64_t> lengths;
    for (std::int64_t i = 0; i < order.size(); ++i) lengths.push_back(index[order[i]]);
    libra::packing const packed = libra::in_order{}(lengths, 2048);
    REQUIRE(static_cast<std::int64_t>(packed.sequences.size()) >= golden.shape()[0]);
    for (std::int64_t s = 0; s < golden.shape()[0]; ++s) {
      libra::segment const& first = packed.sequences[static_cast<std::size_t>(s)][0];
      equal = equal && first.document.value == golden[2 * s] && first.offset == golden[2 * s + 1];
    }
    CHECK(equal);
  }
}

TEST_CASE("a sample map of few documents, by hand") {
  // Samples of 4 tokens and one that the next begins with: [0, 5) [4, 9) [8, 13) of 3 + 1 + 6 + 4 tokens.
  std::string const bytes = index_file({6, 3, 4, 1}).bytes();
  std::vector<std::int64_t> const order_of{1, 3, 0, 2};
  std::string const order_bytes = libra::npy_file(order_of);
  libra::npy_array const order(std::as_bytes(std::span(order_bytes)), "doc_idx");
  CHECK(sample_index(view(bytes), order, 4, 3) == std::vector<std::int64_t>{0, 0, 2, 0, 2, 4, 3, 2});
  libra::packing const packed = libra::in_order{}(std::vector<std::int64_t>{3, 1, 6, 4}, 4);
  REQUIRE(packed.sequences.size() == 4);
  CHECK(packed.sequences[1][0] == libra::segment{libra::document_id(2), 0, 4});
  CHECK(packed.sequences[2][0] == libra::segment{libra::document_id(2), 4, 2});
  CHECK(packed.sequences[3][0] == libra::segment{libra::document_id(3), 2, 2});
}
