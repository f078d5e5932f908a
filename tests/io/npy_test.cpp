#include <libra/io/npy.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

using libra::npy_array;
using namespace std::string_view_literals;

namespace {

/// A version 1 file with this header text and data.
std::string file(std::string_view header, std::string_view data, std::string_view start = "\x93NUMPY\x01\x00"sv) {
  std::string bytes(start);
  bytes += static_cast<char>(header.size() & 255);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  bytes += data;
  return bytes;
}

std::string refusal(std::string const& bytes) {
  try {
    static_cast<void>(npy_array(std::as_bytes(std::span(bytes)), "f.npy"));
  } catch (libra::input_error const& e) {
    return e.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("what is written is read") {
  std::vector<std::int64_t> const values{1, -2, INT64_MAX};
  std::string const bytes = libra::npy_file(values);
  npy_array const array(std::as_bytes(std::span(bytes)), "f.npy");
  CHECK(array.type() == "<i8");
  CHECK(array.shape() == std::vector<std::int64_t>{3});
  for (std::int64_t i = 0; i < 3; ++i) CHECK(array[i] == values[static_cast<std::size_t>(i)]);
  CHECK(array.byte_of(0) % 64 == 0);
  CHECK(bytes.find("{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }") == 10);
  CHECK(bytes[127] == '\n');
  CHECK(libra::npy_file({}).size() == 128);
}

TEST_CASE("headers as NumPy and others write them") {
  std::string const four("\1\0\0\0\xff\xff\xff\xff", 8);
  for (std::string_view const header : {
           "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }   \n"sv,
           "{'shape':(2L,),'fortran_order':False,'descr':'<i4'}"sv,
           "{\"descr\": \"<i4\", 'fortran_order': True, 'shape': (2,)}"sv,
       }) {
    std::string const bytes = file(header, four);
    npy_array const array(std::as_bytes(std::span(bytes)), "f.npy");
    CHECK(array.size() == 2);
    CHECK(array[0] == 1);
    CHECK(array[1] == -1);
  }
  std::string const unsigned_bytes = file("{'descr': '<u4', 'fortran_order': False, 'shape': (1, 2), }", four);
  npy_array const array(std::as_bytes(std::span(unsigned_bytes)), "f.npy");
  CHECK(array.shape() == std::vector<std::int64_t>{1, 2});
  CHECK(array[1] == 4294967295);
  // Version 2 has a longer length; an array without extents has one element, one with a zero extent none.
  std::string const second =
      file(std::string("\0\0", 2) + std::string("{'descr': '<i8', 'fortran_order': False, 'shape': ()}"), "12345678"sv,
           "\x93NUMPY\x02\x00"sv);
  std::string fixed = second;
  fixed[8] = static_cast<char>(second.size() - 8 - 12);
  CHECK(refusal(fixed) == "accepted");
  CHECK(refusal(file("{'descr': '<i8', 'fortran_order': False, 'shape': (0, 9223372036854775807)}", "")) == "accepted");
}

TEST_CASE("what is wrong is named with its byte") {
  std::string const good = file("{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }", "12345678");
  for (std::size_t size = 0; size < good.size(); ++size) {
    CAPTURE(size);
    CHECK(refusal(good.substr(0, size)) != "accepted");
  }
  CHECK(refusal("123456") == R"(f.npy: byte 0: magic is '123456', expected '\x93NUMPY')");
  CHECK(refusal(file("{}", "", "\x93NUMPY\x04\x00"sv)) == "f.npy: byte 6: version is 4.0, expected 1.0, 2.0 or 3.0");
  CHECK(refusal(file("{}", "", "\x93NUMPY\x01\x01"sv)) == "f.npy: byte 6: version is 1.1, expected 1.0, 2.0 or 3.0");
  CHECK(refusal(std::string("\x93NUMPY\x01\x00\xff\xff{}", 12)) ==
        "f.npy: byte 12: the file ends in its header of 65535 bytes");
  struct bad {
    std::string_view header;
    std::string_view says;
  };
  for (bad const& c : std::vector<bad>{
           {"", "where '{' should be"},
           {"{}", "a key is missing"},
           {"{'descr': '<i4'}", "a key is missing"},
           {"{'descr': '<i4', 'descr': '<i4'}", "key 'descr' is unknown or there twice"},
           {"{'color': 'red'}", "key 'color' is unknown"},
           {"{'descr': '<i4", "a text does not end"},
           {"{'descr': [('a', '<i4')]", "should be"},
           {"{'fortran_order': None", "neither True nor False"},
           {"{'shape': 2", "where '(' should be"},
           {"{'shape': (x", "an extent is no number"},
           {"{'shape': (-2", "an extent is no number"},
           {"{'shape': (99999999999999999999", "an extent exceeds 64 bits"},
           {"{'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)", "more than 32 extents"},
           {"{'descr': '<i4', 'fortran_order': False, 'shape': (2,)} x", "text follows"},
           {"{'descr': '>i4', 'fortran_order': False, 'shape': (2,)}", "elements are '>i4'"},
           {"{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}", "elements are '<f8'"},
           {"{'descr': '<i4', 'fortran_order': True, 'shape': (1, 2)}", "Fortran"},
           {"{'descr': '<i4', 'fortran_order': False, 'shape': (3,)}",
            "at least 3 elements of 4 bytes, the file has 8"},
           {"{'descr': '<i4', 'fortran_order': False, 'shape': (1,)}", "4 bytes follow the 1 elements"},
           {"{'descr': '<i4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4294967296)}", "asks for"},
       }) {
    CAPTURE(c.header);
    std::string const said = refusal(file(c.header, "12345678"));
    CAPTURE(said);
    CHECK(said.starts_with("f.npy: byte "));
    CHECK(said.find(c.says) != std::string::npos);
  }
}
