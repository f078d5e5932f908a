#include <libra/io/lengths_jsonl.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

using lengths = std::vector<std::int64_t>;

namespace {

libra::length_list read(std::string_view text, libra::length_options const& options = {.field = "n"}) {
  libra::length_list list;
  libra::append_jsonl_lengths(text, "f.jsonl", options, list);
  return list;
}

std::string refusal(std::string_view text) {
  try {
    static_cast<void>(read(text));
  } catch (libra::input_error const& e) {
    return e.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("one field of one object a line") {
  CHECK(
      read(
          "{\"n\": 5}\n\n  {\"text\": \"n: 7 \\u00e9\", \"n\":6, \"x\": [1, {\"n\": 9}, null, true, 1e3]}\r\n{\"n\":7}")
          .lengths == lengths{5, 6, 7});
  CHECK(read("{\"n\": 9223372036854775807}").lengths == lengths{INT64_MAX});
  CHECK(read("{\"big\": 99999999999999999999, \"n\": 1}").lengths == lengths{1});
  CHECK(read("").lengths.empty());
}

TEST_CASE("zeros pass only when they may") {
  libra::length_list const list = read("{\"n\": 0}\n{\"n\": 3}\n", {.skip_empty = true, .field = "n"});
  CHECK(list.lengths == lengths{0, 3});
  CHECK(list.empty_documents == 1);
}

TEST_CASE("what is wrong is named with its line") {
  CHECK(refusal("{\"n\": 1}\n{\"m\": 2}\n") == "f.jsonl:2: field 'n' is missing, expected an integer");
  CHECK(refusal("{\"n\": 1, \"n\": 2}") == "f.jsonl:1: field 'n' is there twice, expected it once");
  CHECK(refusal("{\"n\": 1.5}") == "f.jsonl:1: length is '1.5', expected an integer");
  CHECK(refusal("{\"n\": 1e3}") == "f.jsonl:1: length is '1e3', expected an integer");
  CHECK(refusal("{\"n\": \"5\"}") == "f.jsonl:1: length is '\"5\"', expected an integer");
  CHECK(refusal("{\"n\": null}") == "f.jsonl:1: length is 'null', expected an integer");
  CHECK(refusal("{\"n\": [5]}") == "f.jsonl:1: length is 'an array', expected an integer");
  CHECK(refusal("{\"n\": {\"n\": 5}}") == "f.jsonl:1: length is 'an object', expected an integer");
  CHECK(refusal("{\"n\": -1}") == "f.jsonl:1: length is -1, expected at least 1");
  CHECK(refusal("{\"n\": 0}") == "f.jsonl:1: length is 0, expected at least 1 (skip-empty lets zeros pass)");
  for (std::string const text : {"9223372036854775808", "99999999999999999999"}) {
    CHECK(refusal("{\"n\": " + text + "}") ==
          "f.jsonl:1: length is '" + text + "', beyond 64 bits; expected an integer from 1 to 9223372036854775807");
  }
  CHECK(refusal("{\"n\": 1}\n{\"n\" 2}\n") == "f.jsonl:2: is no JSON at '2}', expected one object a line");
  CHECK(refusal("{\"n\": 1} x") == "f.jsonl:1: is no JSON at 'x', expected one object a line");
  CHECK(refusal("{\n\"n\": 1}").starts_with("f.jsonl:1: is no JSON at "));
  for (std::string const text : {"[5]", "5", "\"n\"", "null", "1.5", "99999999999999999999"}) {
    CHECK(refusal(text) == "f.jsonl:1: is '" + text + "', expected one object a line");
  }
  CHECK_THROWS_WITH_AS(static_cast<void>(read("{\"n\": 5}", {})),
                       "f.jsonl: is JSONL, expected the name of the field that holds the lengths (--field)",
                       libra::input_error);
}
