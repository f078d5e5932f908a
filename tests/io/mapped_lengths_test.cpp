#include <libra/io/mapped_lengths.hpp>

#include <support/index_file.hpp>
#include <support/scratch_folder.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using libra::mapped_lengths;

TEST_CASE("both formats are read where they are") {
  libra::test::scratch_folder const folder;
  mapped_lengths index(folder.write("a.idx", libra::test::index_file({5, 0, 7}).bytes()));
  mapped_lengths const moved = std::move(index);
  CHECK(moved.size() == 3);
  CHECK(moved[0] == 5);
  CHECK(moved[1] == 0);
  moved.drop_pages();
  CHECK(moved[2] == 7);
  std::vector<std::int64_t> const cumulative{0, 5, 11};
  mapped_lengths const array(folder.write("a.npy", libra::npy_file(cumulative)));
  CHECK(array.size() == 2);
  CHECK(array[1] == 6);
}

TEST_CASE("what cannot be mapped is refused") {
  libra::test::scratch_folder const folder;
  std::string const text = folder.write("a.len", "5\n");
  CHECK_THROWS_WITH_AS(static_cast<void>(mapped_lengths(text)),
                       (text + ": is neither a Megatron-LM .idx nor an .npy, which can be mapped").c_str(),
                       libra::input_error);
  std::string const empty = folder.write("empty.idx", "");
  CHECK_THROWS_AS(static_cast<void>(mapped_lengths(empty)), libra::input_error);
  std::string const cut = folder.write("cut.idx", libra::test::index_file({5}).bytes().substr(0, 50));
  CHECK_THROWS_WITH_AS(
      static_cast<void>(mapped_lengths(cut)),
      (cut + ": byte 50: the file ends, but 1 sequences and 2 document boundaries take 62 bytes").c_str(),
      libra::input_error);
}
