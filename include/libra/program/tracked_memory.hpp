#pragma once

#include <libra/core/error.hpp>
#include <libra/program/ops.hpp>
#include <libra/program/order.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace libra::detail {

/// What a verifier found wrong; caught where the rank and op are known.
struct broken {
  std::string what;
};

[[nodiscard]] inline std::string describe(region const& r) {
  return message(name_of(r.what), " of segment ", r.segment.value, " tokens [", r.tokens.begin, ", ", r.tokens.end,
                 ") heads [", r.head_begin, ", ", r.head_end, ")");
}

/// A part of a message as text or an integer; regions are described.
template <class Part>
[[nodiscard]] decltype(auto) in_words(Part const& part) {
  if constexpr (std::is_same_v<Part, region>) {
    return describe(part);
  } else {
    return (part);
  }
}

/// Throws `broken` unless `holds`; the parts, regions among them, are only put into words on failure.
template <class... Part>
void expect(bool holds, Part const&... part) {
  if (!holds) {
    throw broken{message(in_words(part)...)};
  }
}

/// A run of tokens and the set of backward tiles that were added to it, as a sum of their random ids.
struct signed_rows {
  row_range tokens;
  std::uint64_t signature{};
};

/// A memory that holds regions instead of numbers: which rows lie at which address, who wrote and who read them.
///
/// Addresses are bytes of a workspace, or local tokens of one head of a home tensor. An access that is not ordered
/// after an earlier conflicting one is a race, even if this interpretation happened to meet them in a good order.
class tracked_memory {
 public:
  /// An op and the order of its rank's ops.
  struct access {
    std::size_t op{};
    op_order const* order{};
    std::size_t queue{};
  };

  /// Stores `what` densely at `at`, `stride` addresses per token.
  void write(access by, std::int64_t at, std::int64_t stride, region const& what, std::span<signed_rows const> rows) {
    for (signed_rows const& part : rows) {
      std::int64_t const begin = at + (part.tokens.begin - what.tokens.begin) * stride;
      std::int64_t const end = at + (part.tokens.end - what.tokens.begin) * stride;
      for_each_cell(begin, end, [&](std::int64_t, cell& c) { check_exclusive(by, c, what); });
      cells_.erase(cells_.lower_bound(begin), cells_.lower_bound(end));
      cells_.emplace(begin, cell{end, what, at - what.tokens.begin * stride, stride, part.signature, by.op, nobody()});
    }
  }

  /// Reads `what`, which must lie densely at `at`, and returns its parts.
  std::vector<signed_rows> read(access by, std::int64_t at, std::int64_t stride, region const& what) {
    std::vector<signed_rows> parts;
    visit_present(at, stride, what, [&](row_range tokens, cell& c) {
      expect(c.writer == written_before || by.order->before(c.writer, by.op), "reads ", what, ", which op ", c.writer,
             " may still be writing");
      // Queues run in order, so the latest reader of each stands for all.
      auto& reader = c.readers[by.queue];
      reader = std::max(reader, static_cast<std::int64_t>(by.op));
      parts.push_back({tokens, c.signature});
    });
    return parts;
  }

  /// Adds tile `id` to the sums `what` at `at`. Tiles of one op add in turn.
  void accumulate(access by, std::int64_t at, std::int64_t stride, region const& what, std::uint64_t id) {
    visit_present(at, stride, what, [&](row_range, cell& c) {
      if (c.writer != by.op) {
        check_exclusive(by, c, what);
      }
      c.writer = by.op;
      c.signature += id;
    });
  }

  /// The parts of a result after everything has finished; fails when some of it is missing.
  [[nodiscard]] std::vector<signed_rows> result(std::int64_t at, std::int64_t stride, region const& what) {
    std::vector<signed_rows> parts;
    visit_present(at, stride, what, [&](row_range tokens, cell& c) { parts.push_back({tokens, c.signature}); });
    return parts;
  }

  /// True when some of the addresses hold something.
  [[nodiscard]] bool holds_any(std::int64_t begin, std::int64_t end) {
    bool any = false;
    for_each_cell(begin, end, [&](std::int64_t, cell&) { any = true; });
    return any;
  }

  /// True when all of the addresses hold something.
  [[nodiscard]] bool holds_all(std::int64_t begin, std::int64_t end) {
    std::int64_t next = begin;
    for_each_cell(begin, end, [&](std::int64_t at, cell& c) { next = at == next ? c.end : next; });
    return next == end;
  }

  static constexpr std::size_t written_before = static_cast<std::size_t>(-1);

 private:
  [[nodiscard]] static constexpr std::array<std::int64_t, queue_count> nobody() {
    std::array<std::int64_t, queue_count> readers{};
    readers.fill(-1);
    return readers;
  }

  struct cell {
    std::int64_t end{};
    region what;            ///< tokens are not used: `origin` tells which row an address holds
    std::int64_t origin{};  ///< address of token 0
    std::int64_t stride{};
    std::uint64_t signature{};
    std::size_t writer{};
    std::array<std::int64_t, queue_count> readers = nobody();
  };

  /// Calls `visit` for the cells inside `[begin, end)`, cutting those that reach over its edges.
  template <class Visit>
  void for_each_cell(std::int64_t begin, std::int64_t end, Visit visit) {
    cut(begin);
    cut(end);
    for (auto c = cells_.lower_bound(begin); c != cells_.end() && c->first < end; ++c) {
      visit(c->first, c->second);
    }
  }

  void cut(std::int64_t at) {
    auto c = cells_.lower_bound(at);
    if (c == cells_.begin() || (c != cells_.end() && c->first == at)) {
      return;
    }
    --c;
    if (c->second.end > at) {
      cell rest = c->second;
      c->second.end = at;
      cells_.emplace(at, rest);
    }
  }

  /// Visits the cells that hold `what` and fails where they do not.
  template <class Visit>
  void visit_present(std::int64_t at, std::int64_t stride, region const& what, Visit visit) {
    std::int64_t const origin = at - what.tokens.begin * stride;
    std::int64_t next = at;
    std::int64_t const end = at + what.tokens.size() * stride;
    for_each_cell(at, end, [&](std::int64_t begin, cell& c) {
      expect(begin == next, "uses ", what, " before token ", (next - origin) / stride, " is there");
      bool const same = c.what.what == what.what && c.what.segment == what.segment &&
                        c.what.head_begin == what.head_begin && c.what.head_end == what.head_end &&
                        c.origin == origin && c.stride == stride;
      expect(same, "uses ", what, " where ", c.what, " lies");
      next = c.end;
      visit(row_range{(begin - origin) / stride, (c.end - origin) / stride}, c);
    });
    expect(next == end, "uses ", what, " before token ", (next - origin) / stride, " is there");
  }

  static void check_exclusive(access by, cell const& c, region const& what) {
    expect(c.writer == written_before || by.order->before(c.writer, by.op), "writes ", what, " where op ", c.writer,
           " writes ", c.what, " at the same time");
    for (std::int64_t const reader : c.readers) {
      expect(reader < 0 || by.order->before(static_cast<std::size_t>(reader), by.op), "writes ", what, " where op ",
             reader, " may still read ", c.what);
    }
  }

  std::map<std::int64_t, cell> cells_;
};

}  // namespace libra::detail
