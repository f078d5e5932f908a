#include <libra/io/file.hpp>

#include <support/scratch_folder.hpp>

#include <doctest/doctest.h>

#include <string>

using libra::read_file;
using libra::write_file;

TEST_CASE("what is written is read back, byte for byte") {
  libra::test::scratch_folder const folder;
  std::string const content("a\r\n\0b\xff", 6);
  write_file(folder.path("x"), content);
  CHECK(read_file(folder.path("x")) == content);
  write_file(folder.path("x"), "");
  CHECK(read_file(folder.path("x")).empty());
}

TEST_CASE("files longer than one read are read whole") {
  libra::test::scratch_folder const folder;
  std::string content;
  while (content.size() < 2'500'000) content += "0123456789\n";
  write_file(folder.path("x"), content);
  CHECK(read_file(folder.path("x")) == content);
}

TEST_CASE("what cannot be read or written is named with the reason") {
  libra::test::scratch_folder const folder;
  std::string const missing = folder.path("missing");
  CHECK_THROWS_WITH_AS(static_cast<void>(read_file(missing)),
                       ("cannot read '" + missing + "': No such file or directory").c_str(), libra::input_error);
  CHECK_THROWS_WITH_AS(static_cast<void>(read_file(folder.path())),
                       ("cannot read '" + folder.path() + "': Is a directory").c_str(), libra::input_error);
  std::string const inside = folder.path("no/such/folder");
  CHECK_THROWS_WITH_AS(write_file(inside, "x"), ("cannot write '" + inside + "': No such file or directory").c_str(),
                       libra::input_error);
  CHECK_THROWS_WITH_AS(write_file("/dev/full", "x"), "cannot write '/dev/full': No space left on device",
                       libra::input_error);
}
