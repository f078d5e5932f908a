#include <libra/io/in_quotes.hpp>

#include <doctest/doctest.h>

#include <string>

using libra::in_quotes;

TEST_CASE("text in quotes is on one line, whatever it holds") {
  CHECK(in_quotes("12.5") == "'12.5'");
  CHECK(in_quotes("") == "''");
  CHECK(in_quotes(std::string("a\nb\0c", 5)) == "'a\\x0ab\\x00c'");
  CHECK(in_quotes("\xC3\xA4") == "'\\xc3\\xa4'");
}

TEST_CASE("long text is cut") {
  CHECK(in_quotes(std::string(40, 'x')) == "'" + std::string(40, 'x') + "'");
  CHECK(in_quotes(std::string(41, 'x')) == "'" + std::string(40, 'x') + "...'");
  CHECK(in_quotes("abcdef", 3) == "'abc...'");
}
