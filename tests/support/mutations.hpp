#pragma once

#include <libra/core/random.hpp>
#include <libra/program/ops.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace libra::test {

/// Changes one field of one rank's program and says which. Sometimes nothing changes: the rank has no item of the drawn
/// kind, or the new value is the old one.
class mutator {
 public:
  mutator(pool_program& programs, random_bits& bits) : programs_(programs), bits_(bits) {}

  std::string mutate() {
    auto const r = static_cast<std::size_t>(bits_.below(programs_.ranks.size()));
    program& p = programs_.ranks[r];
    std::string const what = change(p);
    return what.empty() ? what : message("rank ", r, ' ', what);
  }

 private:
  template <class T>
  T* any(std::vector<T>& all) {
    return all.empty() ? nullptr : &all[static_cast<std::size_t>(bits_.below(all.size()))];
  }
  template <class T>
  static std::string place(std::string_view name, std::vector<T> const& all, T const* one) {
    return message(name, ' ', one - all.data(), ' ');
  }

  std::string change(program& p) {
    switch (bits_.below(9)) {
      case 0:
      case 1:
        if (op* o = any(p.ops)) {
          return place("op", p.ops, o) + change(*o);
        }
        break;
      case 2:
        if (transfer* t = any(p.sends)) {
          return place("send", p.sends, t) + change(*t);
        }
        break;
      case 3:
        if (transfer* t = any(p.receives)) {
          return place("receive", p.receives, t) + change(*t);
        }
        break;
      case 4:
        if (tile_task* t = any(p.tiles)) {
          return place("tile", p.tiles, t) + change(*t);
        }
        break;
      case 5:
        if (region_task* t = any(p.clears)) {
          return place("clear", p.clears, t) + (bits_.below(3) == 0 ? change("at", t->at) : change(t->what));
        }
        break;
      case 6:
        if (dot_task* t = any(p.dots)) {
          switch (bits_.below(6)) {
            case 0:
              return place("dot", p.dots, t) + change("at", t->at);
            case 1:
              return place("dot", p.dots, t) + change("d_o", t->d_o);
            case 2:
              return place("dot", p.dots, t) + change("o", t->o);
            default:
              return place("dot", p.dots, t) + change(t->what);
          }
        }
        break;
      case 7:
        if (reduce_task* t = any(p.reduces)) {
          return place("reduce", p.reduces, t) + change(*t);
        }
        break;
      default:
        if (location* l = any(p.partials); l != nullptr && bits_.below(4) != 0) {
          return place("partial", p.partials, l) + change("at", *l);
        }
        return change("workspace_bytes", p.workspace_bytes);
    }
    return {};
  }

  template <class Integer>
  std::string change(std::string_view name, Integer& value) {
    static constexpr std::array<std::int32_t, 10> steps{1, 2, 4, 16, 32, 64, 128, 256, 1024, 1 << 20};
    Integer const before = value;
    auto const step = static_cast<Integer>(steps[static_cast<std::size_t>(bits_.below(steps.size()))]);
    value = static_cast<Integer>(bits_.below(3) == 0 ? step : bits_.below(2) == 0 ? value + step : value - step);
    if (value == before) {
      ++value;
    }
    return message(name, ' ', before, " -> ", value);
  }
  template <class Id>
  std::string change_id(std::string_view name, Id& id) {
    return change(name, id.value);
  }
  template <class Enum>
  std::string change_enum(std::string_view name, Enum& value, std::size_t count) {
    auto const before = static_cast<std::size_t>(value);
    auto const after = (before + 1 + static_cast<std::size_t>(bits_.below(count - 1))) % count;
    value = static_cast<Enum>(after);
    return message(name, ' ', before, " -> ", after);
  }

  std::string change(std::string_view name, location& at) {
    location const before = at;
    std::int64_t number = before == location::nowhere() ? 0 : before.at_home() ? before.local_token() : before.byte();
    switch (bits_.below(6)) {
      case 0:
        at = location::nowhere();
        break;
      case 1:
        at = before.at_home() ? location::workspace(number) : location::home(number);
        break;
      default:
        change("", number);
        number = std::max<std::int64_t>(number, 0);
        at = before.in_workspace() ? location::workspace(number) : location::home(number);
        break;
    }
    return message(name, ' ', before.code(), " -> ", at.code());
  }

  std::string change(row_range& rows) {
    return bits_.below(2) == 0 ? change("begin", rows.begin) : change("end", rows.end);
  }
  std::string change(region& what) {
    switch (bits_.below(5)) {
      case 0:
        return change_enum("tensor", what.what, tensor_count);
      case 1:
        return change_id("segment", what.segment);
      case 2:
        return change("head_begin", what.head_begin);
      case 3:
        return change("head_end", what.head_end);
      default:
        return "tokens " + change(what.tokens);
    }
  }
  std::string change(transfer& t) {
    switch (bits_.below(3)) {
      case 0:
        return change(t.what);
      case 1:
        return change_id("peer", t.peer);
      default:
        return change("at", t.at);
    }
  }
  std::string change(tile_task& t) {
    switch (bits_.below(8)) {
      case 7:
        return change_enum("part", t.part, 3);
      case 0:
        return change_id("segment", t.segment);
      case 1:
        return change("head_begin", t.head_begin);
      case 2:
        return change("head_end", t.head_end);
      case 3:
        return "rows " + change(t.rows);
      case 4:
        return "keys " + change(t.keys);
      default: {
        auto const x = static_cast<std::size_t>(bits_.below(tensor_count));
        return change(message("at ", name_of(static_cast<tensor>(x))), t.at[x]);
      }
    }
  }
  std::string change(reduce_task& t) {
    switch (bits_.below(4)) {
      case 0:
        return change(t.what);
      case 1:
        return change("into", t.into);
      case 2:
        return change("first", t.first);
      default:
        return change("last", t.last);
    }
  }
  std::string change(item_range& items) {
    return bits_.below(2) == 0 ? change("begin", items.begin) : change("end", items.end);
  }
  std::string change(op& o) {
    switch (bits_.below(7)) {
      case 0:
        return change_enum("kind", o.kind, 6);
      case 1:
        return change_enum("queue", o.on, queue_count);
      case 2:
        return change("round", o.round);
      case 3:
        return "items " + change(o.items);
      case 4:
        return "receives " + change(o.receives);
      default: {
        auto const q = static_cast<std::size_t>(bits_.below(queue_count));
        return change(message("after ", name_of(static_cast<queue>(q))), o.after[q]);
      }
    }
  }

  pool_program& programs_;
  random_bits& bits_;
};

}  // namespace libra::test
