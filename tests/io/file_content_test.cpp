#include <libra/io/file_content.hpp>

#include <support/scratch_folder.hpp>

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <fstream>
#include <string>
#include <thread>
#include <utility>

using libra::file_content;

TEST_CASE("a regular file is mapped, and stays where it is when its owner moves") {
  libra::test::scratch_folder const folder;
  std::string const text("a\0b\xff", 4);
  file_content content(folder.write("x", text));
  CHECK(content.is_mapped());
  CHECK(content.text() == text);
  auto const* const before = content.bytes().data();
  file_content moved(std::move(content));
  CHECK(moved.bytes().data() == before);
  file_content assigned(folder.write("y", "yy"));
  assigned = std::move(moved);
  CHECK(assigned.text() == text);
  assigned.drop_pages();
  CHECK(assigned.text() == text);
}

TEST_CASE("what cannot be mapped is read") {
  libra::test::scratch_folder const folder;
  file_content const empty(folder.write("empty", ""));
  CHECK(!empty.is_mapped());
  CHECK(empty.bytes().empty());
  empty.drop_pages();

  std::string const pipe = folder.path("pipe");
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  std::jthread const writer([&] { std::ofstream(pipe) << "through a pipe"; });
  CHECK(file_content(pipe).text() == "through a pipe");
}

TEST_CASE("what cannot be read is named with the reason") {
  libra::test::scratch_folder const folder;
  CHECK_THROWS_WITH_AS(static_cast<void>(file_content(folder.path("missing"))),
                       ("cannot read '" + folder.path("missing") + "': No such file or directory").c_str(),
                       libra::input_error);
  CHECK_THROWS_WITH_AS(static_cast<void>(file_content(folder.path())),
                       ("cannot read '" + folder.path() + "': Is a directory").c_str(), libra::input_error);
}
