#include <support/command.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>

namespace {

TEST_CASE("the README's first program is an example that is built and run") {
  std::string const readme = libra::test::content_of(libra::test::source_path("README.md"));
  std::string const program = libra::test::content_of(libra::test::source_path("examples/plan_batch.cpp"));
  REQUIRE(!program.empty());
  std::string const first = readme.substr(readme.find("```cpp\n") + 7, program.size());
  CHECK(first == program);
}

TEST_CASE("examples are short: 120 lines, and 400 for the one that trains a model") {
  int examples = 0;
  for (auto const& entry : std::filesystem::directory_iterator(libra::test::source_path("examples"))) {
    if (entry.path().extension() != ".cpp") continue;
    std::string const name = entry.path().filename().string();
    CAPTURE(name);
    std::string const program = libra::test::content_of(entry.path().string());
    CHECK(std::ranges::count(program, '\n') < (name == "train_tiny.cpp" ? 400 : 120));
    ++examples;
  }
  CHECK(examples >= 7);
}

TEST_CASE("what the README shows of a plan is what the command prints, but for times") {
  auto const without_times = [](std::string const& text) { return text.substr(0, text.find("Planned in")); };
  std::string const readme = libra::test::content_of(libra::test::source_path("README.md"));
  auto const shown = libra::test::run_libra({"plan", libra::test::source_path("data/sample/linux_files.len"),
                                             "--window", "256K", "--dp", "8", "--cp", "2", "--pool", "4"});
  REQUIRE(shown.exit_code == 0);
  CHECK(readme.find(without_times(shown.out)) != std::string::npos);
  CHECK(readme.find(shown.out.substr(shown.out.find("Fingerprint"))) != std::string::npos);
}

}  // namespace
