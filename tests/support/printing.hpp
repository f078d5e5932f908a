#pragma once

#include <libra/core/digest.hpp>
#include <libra/core/ids.hpp>
#include <libra/core/wide.hpp>
#include <libra/model/mask.hpp>
#include <libra/model/packing.hpp>
#include <libra/model/tile.hpp>

#include <doctest/doctest.h>

#include <string>

// How doctest prints libra's values in a failed check.

namespace doctest {

template <>
struct StringMaker<libra::int128> {
  static String convert(libra::int128 value) { return libra::to_string(value).c_str(); }
};
template <class Tag, class Integer>
struct StringMaker<libra::strong_id<Tag, Integer>> {
  static String convert(libra::strong_id<Tag, Integer> id) { return libra::message("#", id.value).c_str(); }
};
template <>
struct StringMaker<libra::digest> {
  static String convert(libra::digest value) { return libra::to_hex(value).c_str(); }
};
template <>
struct StringMaker<libra::row_range> {
  static String convert(libra::row_range const& r) { return libra::message("[", r.begin, ", ", r.end, ")").c_str(); }
};
template <>
struct StringMaker<libra::segment> {
  static String convert(libra::segment const& s) {
    return libra::message("document ", s.document.value, " ", s.offset, "+", s.length).c_str();
  }
};
template <>
struct StringMaker<libra::tile> {
  static String convert(libra::tile const& t) {
    return libra::message("segment ", t.segment.value, " rank ", t.rank.value, " heads [", t.head_begin, ", ",
                          t.head_end, ") rows [", t.q_begin, ", ", t.q_end, ")")
        .c_str();
  }
};

}  // namespace doctest
