#include <libra/io/json_writer.hpp>

#include <libra/core/wide.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

using libra::int128;
using libra::json_writer;
using json = nlohmann::ordered_json;

namespace {

/// The text of an array with one element.
template <class T>
std::string element(T const& value) {
  std::string text;
  json_writer out(text);
  out.array([&] { out.element(value); });
  return text;
}

}  // namespace

TEST_CASE("members keep the order of the calls") {
  std::string text;
  json_writer out(text);
  out.object([&] {
    out.member("z", 1);
    out.member("a", "two");
    out.object("inner", [&] { out.member("m", true); });
    out.array("empty", [] {});
    out.object("nothing", [] {});
  });
  CHECK(text ==
        "{\n \"z\": 1,\n \"a\": \"two\",\n \"inner\": {\n  \"m\": true\n },\n \"empty\": [],\n \"nothing\": {}\n}\n");
  CHECK(json::parse(text).dump() == R"({"z":1,"a":"two","inner":{"m":true},"empty":[],"nothing":{}})");
}

TEST_CASE("rows take a line each, scalars share one") {
  std::string text;
  json_writer out(text);
  out.object([&] {
    out.array("rows", [&] {
      out.row(1, 2);
      out.row(3, -4, 0.5);
      out.row();
    });
    out.array("scalars", [&] {
      out.element(1);
      out.element(2);
    });
    out.row_member("pair", 1, "x");
    out.array("objects", [&] {
      out.object([&] { out.member("a", 1); });
      out.array([&] { out.element(nullptr); });
    });
  });
  CHECK(text == R"({
 "rows": [
  [1,2],
  [3,-4,0.5],
  []
 ],
 "scalars": [1, 2],
 "pair": [1,"x"],
 "objects": [
  {
   "a": 1
  },
  [null]
 ]
}
)");
}

TEST_CASE("integers of any width are plain digits") {
  CHECK(element(std::int8_t{-5}) == "[-5]\n");
  CHECK(element(std::numeric_limits<std::int64_t>::min()) == "[-9223372036854775808]\n");
  CHECK(element(std::numeric_limits<std::uint64_t>::max()) == "[18446744073709551615]\n");
  CHECK(element(static_cast<int128>(std::numeric_limits<std::uint64_t>::max()) * 1000) ==
        "[18446744073709551615000]\n");
  CHECK(element(libra::int128_max) == "[170141183460469231731687303715884105727]\n");
  CHECK(element(libra::int128_min) == "[-170141183460469231731687303715884105728]\n");
}

TEST_CASE("doubles come back as they were") {
  for (double const value :
       {0.1, 1.0 / 3, 1e-300, 1.7976931348623157e308, 5e-324, -2.5, 6.02214076e23, 123456789.125}) {
    CHECK(json::parse(element(value))[0].get<double>() == value);
  }
  CHECK(element(1.0) == "[1.0]\n");
  CHECK(element(1e22) == "[1e+22]\n");
  CHECK(element(std::numeric_limits<double>::infinity()) == "[null]\n");
  CHECK(element(std::numeric_limits<double>::quiet_NaN()) == "[null]\n");
}

TEST_CASE("text is escaped") {
  std::string const text("quote \" slash \\ line \n nul \0 umlaut \xC3\xA4", 38);
  CHECK(json::parse(element(text))[0].get<std::string>() == text);
  CHECK(json::parse(element(std::string_view("plain")))[0].get<std::string>() == "plain");
}
