#include <libra/io/speeds_text.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string_view>
#include <vector>

using libra::speeds_from_text;
using speeds = std::vector<std::int32_t>;

namespace {

void check_speeds_refused(std::string_view text, std::string_view message) {
  CHECK_THROWS_WITH_AS(static_cast<void>(speeds_from_text(text, "f.speeds")), message.data(), libra::input_error);
}

}  // namespace

TEST_CASE("one decimal a line, in thousandths") {
  CHECK(speeds_from_text("1\n0.85\n1.5\n0.001\n1000\n", "f") == speeds{1000, 850, 1500, 1, 1'000'000});
  CHECK(speeds_from_text("1.0\n1.000\n01\n0.125", "f") == speeds{1000, 1000, 1000, 125});
  CHECK(speeds_from_text("", "f").empty());
}

TEST_CASE("comments, blank lines, spaces, CRLF and a byte order mark pass in lists of speeds") {
  CHECK(speeds_from_text("# a node\n\n 1 \n\t0.5 # throttled\r\n1\r\n#2", "f") == speeds{1000, 500, 1000});
  CHECK(speeds_from_text("\xEF\xBB\xBF"
                         "0.7\n",
                         "f") == speeds{700});
}

TEST_CASE("what is no speed is named with its line") {
  check_speeds_refused("1\n\n0\n",
                       "f.speeds:3: speed is '0', expected one decimal a line from 0.001 to 1000, with at most three "
                       "places");
  for (std::string_view const text :
       {"-1",  "+1",  "0.0004", "0.000", "0.9999", "1.0000", "1000.001", "1001", "10000000000000000000000",
        ".5",  "5.",  ".",      "1e0",   "1,5",    "fast",   "1 1",      "0x1",  "1.2.3",
        "nan", "\x01"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(static_cast<void>(speeds_from_text(text, "f.speeds")), libra::input_error);
  }
}
