#pragma once

#include <libra/core/error.hpp>
#include <libra/io/file.hpp>
#include <libra/io/in_quotes.hpp>
#include <libra/io/json_writer.hpp>
#include <libra/model/machine.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace libra {

/// A machine that was read from a file, with the texts that it refers to.
class machine_file {
 public:
  machine_file(std::string name, std::string source, machine const& figures)
      : name_(std::move(name)),
        source_(std::move(source)),
        figures_(figures) {}

  /// The machine. Its texts live as long as this object.
  [[nodiscard]] machine get() const noexcept {
    machine m = figures_;
    m.name = name_;
    m.source = source_;
    return m;
  }

 private:
  std::string name_;
  std::string source_;
  machine figures_;
};

namespace detail {

/// Calls `visit(group, field, figure, least)` for each integer of a machine's file, in the order it is written.
template <class Machine, class Visit>
void for_each_figure(Machine& m, Visit visit) {
  visit("links", "ranks_per_node", m.links.ranks_per_node, 1);
  visit("links", "node_bytes_per_second", m.links.node_bytes_per_second, 1);
  visit("links", "network_bytes_per_second", m.links.network_bytes_per_second, 1);
  visit("links", "node_latency_ps", m.links.node_latency_ps, 0);
  visit("links", "network_latency_ps", m.links.network_latency_ps, 0);
  visit("attention", "forward_flop_per_second", m.attention.forward_flop_per_second, 1);
  visit("attention", "backward_flop_per_second", m.attention.backward_flop_per_second, 1);
  visit("attention", "forward_block_ps", m.attention.forward_block_ps, 0);
  visit("attention", "backward_block_ps", m.attention.backward_block_ps, 0);
  visit("attention", "forward_launch_ps", m.attention.forward_launch_ps, 0);
  visit("attention", "backward_launch_ps", m.attention.backward_launch_ps, 0);
}

/// Reads the fields of one machine file; every message begins with the file and the field.
class machine_reader {
 public:
  using json = nlohmann::ordered_json;

  machine_reader(std::string_view text, std::string_view file) : file_(file), document_(parsed(text)) {
    require(document_.is_object(), file_, ": is ", shown(document_), ", expected an object with a machine's fields");
  }

  [[nodiscard]] machine_file read() {
    machine m;
    std::string name = text("name");
    std::string source = document_.contains("source") ? text("source") : message("read from ", file_);
    for_each_figure(m, [&](char const* group, char const* field, auto& figure, std::int64_t least) {
      using integer = std::remove_reference_t<decltype(figure)>;
      figure = static_cast<integer>(
          whole(at(document_, group, "an object"), message(group, '.', field), field, least, limit<integer>()));
    });
    m.linear_flop_per_second = whole(document_, "linear_flop_per_second", "linear_flop_per_second", 1, most);
    if (document_.contains("memory_bytes_per_second")) {
      m.memory_bytes_per_second = whole(document_, "memory_bytes_per_second", "memory_bytes_per_second", 0, most);
    }
    if (document_.contains("peer_bytes_per_second")) {
      m.peer_bytes_per_second = whole(document_, "peer_bytes_per_second", "peer_bytes_per_second", 0, most);
    }
    if (document_.contains("sm_factor")) {
      m.sm_factor_permille = permille();
    }
    refuse_unknown(document_, "",
                   {"name", "source", "links", "attention", "linear_flop_per_second", "memory_bytes_per_second",
                    "peer_bytes_per_second", "sm_factor"});
    for (char const* group : {"links", "attention"}) {
      std::vector<std::string_view> known;
      for_each_figure(m, [&](std::string_view in, std::string_view field, auto const&, std::int64_t) {
        if (in == group) known.push_back(field);
      });
      refuse_unknown(document_[group], message(group, '.'), known);
    }
    return {std::move(name), std::move(source), m};
  }

 private:
  static constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  template <class Integer>
  static constexpr std::int64_t limit() noexcept {
    return std::numeric_limits<Integer>::max();
  }

  [[nodiscard]] json parsed(std::string_view text) const {
    try {
      return json::parse(text);
    } catch (json::parse_error const& e) {
      std::size_t const at = std::min(text.size(), e.byte == 0 ? 0 : e.byte - 1);
      auto const line = 1 + std::ranges::count(text.substr(0, at), '\n');
      throw input_error(message(file_, ":", line, ": is no JSON at ", in_quotes(text.substr(at, 20)),
                                ", expected an object with a machine's fields"));
    } catch (json::out_of_range const&) {  // the parser's word for 1e999
      throw input_error(message(file_, ": holds a number beyond a double's range, expected a machine's fields"));
    }
  }

  [[nodiscard]] static std::string shown(json const& value) {
    return in_quotes(value.dump(-1, ' ', false, json::error_handler_t::replace));
  }

  [[nodiscard]] json const& at(json const& object, std::string const& field, std::string_view expected,
                               std::string const& path = {}) const {
    std::string const& place = path.empty() ? field : path;
    require(object.contains(field), file_, ": field '", place, "' is missing, expected ", expected);
    require(expected != "an object" || object[field].is_object(), file_, ": field '", place, "' is ",
            shown(object[field]), ", expected an object");
    return object[field];
  }

  [[nodiscard]] std::string text(std::string const& field) const {
    json const& value = at(document_, field, "a text");
    require(value.is_string() && !value.get_ref<std::string const&>().empty(), file_, ": field '", field, "' is ",
            shown(value), ", expected a text");
    return value.get<std::string>();
  }

  /// A whole number, also one written like 4e11.
  [[nodiscard]] std::int64_t whole(json const& object, std::string const& path, std::string const& field,
                                   std::int64_t least, std::int64_t largest) const {
    std::string const expected = largest == most ? message("an integer of at least ", least)
                                                 : message("an integer from ", least, " to ", largest);
    json const& value = at(object, field, expected, path);
    // Doubles hold every integer below 2^53 exactly, and 2^63 itself.
    bool const fits = value.is_number_unsigned()  ? value.get<std::uint64_t>() <= static_cast<std::uint64_t>(largest)
                      : value.is_number_integer() ? true
                      : value.is_number_float()   ? std::trunc(value.get<double>()) == value.get<double>() &&
                                                      std::abs(value.get<double>()) < 9007199254740992.0 &&
                                                      value.get<double>() <= static_cast<double>(largest)
                                                : false;
    std::int64_t const number = fits ? value.get<std::int64_t>() : 0;
    require(fits && number >= least, file_, ": field '", path, "' is ", shown(value), ", expected ", expected);
    return number;
  }

  [[nodiscard]] std::int32_t permille() const {
    json const& value = document_["sm_factor"];
    double const thousandths = value.is_number() ? value.get<double>() * 1000 : 0;
    double const rounded = std::round(thousandths);
    require(thousandths >= 1000 && thousandths <= 1'000'000 && std::abs(thousandths - rounded) < 1e-6, file_,
            ": field 'sm_factor' is ", shown(value), ", expected a number from 1 to 1000 with at most three decimals");
    return static_cast<std::int32_t>(rounded);
  }

  void refuse_unknown(json const& object, std::string const& prefix, std::vector<std::string_view> const& known) const {
    for (auto const& [key, value] : object.items()) {
      require(std::ranges::find(known, key) != known.end(), file_, ": field ", in_quotes(prefix + key),
              " is unknown, expected only a machine's fields");
    }
  }

  std::string_view file_;
  json document_;
};

}  // namespace detail

/// The machine that a JSON text describes; `file` stands for the text in messages.
///
/// Fields: `name`, `links` and `attention` with the fields of `topology` and `attention_rates`,
/// `linear_flop_per_second`; optional `source`, `memory_bytes_per_second` (nothing is charged for moving memory),
/// `peer_bytes_per_second` (as much as the network port) and `sm_factor` (1). Errors: `input_error` naming the file,
/// the field, its value and what was expected, for a field that is missing, unknown or wrong, and the line of a text
/// that is no JSON.
[[nodiscard]] inline machine_file machine_from_json(std::string_view text, std::string_view file) {
  return detail::machine_reader(text, file).read();
}

/// Reads a machine from a JSON file. Errors: those of `read_file` and `machine_from_json`.
[[nodiscard]] inline machine_file read_machine(std::string const& path) {
  return machine_from_json(read_file(path), path);
}

/// Writes a machine's members into the object that is open, as `read_machine` reads them.
inline void write_members(json_writer& json, machine const& m) {
  json.member("name", m.name);
  json.member("source", m.source);
  for (std::string_view const group : {"links", "attention"}) {
    json.object(group, [&] {
      detail::for_each_figure(m, [&](std::string_view in, std::string_view field, auto const& figure, std::int64_t) {
        if (in == group) json.member(field, figure);
      });
    });
  }
  json.member("linear_flop_per_second", m.linear_flop_per_second);
  json.member("memory_bytes_per_second", m.memory_bytes_per_second);
  if (m.peer_bytes_per_second > 0) {
    json.member("peer_bytes_per_second", m.peer_bytes_per_second);
  }
  json.member("sm_factor", m.sm_factor_permille / 1000.0);
}

}  // namespace libra
