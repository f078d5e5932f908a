#include <libra/io/machine_json.hpp>

#include <libra/core/error.hpp>
#include <libra/io/json_writer.hpp>

#include <support/scratch_folder.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <utility>

using libra::machine;
using libra::machine_file;
using libra::machine_from_json;
using json = nlohmann::ordered_json;

namespace {

std::string written(machine const& m) {
  std::string text;
  libra::json_writer out(text);
  out.object([&] { write_members(out, m); });
  return text;
}

/// A machine's file after a change to its document.
template <class Change>
std::string changed(Change change) {
  json document = json::parse(written(libra::h200_sxm));
  change(document);
  return document.dump();
}

void refused(std::string const& text, char const* why) {
  CHECK_THROWS_WITH_AS(static_cast<void>(machine_from_json(text, "m.json")), why, libra::input_error);
}

}  // namespace

TEST_CASE("every machine that is built in survives being written and read") {
  for (machine const& m : libra::machines) {
    CAPTURE(m.name);
    machine_file const file = machine_from_json(written(m), "m.json");
    CHECK(file.get().name == m.name);
    CHECK(file.get().source == m.source);
    CHECK(written(file.get()) == written(m));
    CHECK(file.get().attention == m.attention);
    CHECK(file.get().links == m.links);
  }
}

TEST_CASE("a file is read by path, and its texts live in the result") {
  libra::test::scratch_folder const folder;
  std::string const path =
      folder.write("cluster.json", changed([](json& d) { d["name"] = "our cluster, second hall"; }));
  machine_file first = libra::read_machine(path);
  machine_file const moved = std::move(first);
  CHECK(moved.get().name == "our cluster, second hall");
  CHECK_THROWS_AS(static_cast<void>(libra::read_machine(folder.path("missing.json"))), libra::input_error);
}

TEST_CASE("what is optional has a default") {
  machine_file const file = machine_from_json(changed([](json& d) {
                                                d.erase("source");
                                                d.erase("memory_bytes_per_second");
                                                d.erase("sm_factor");
                                              }),
                                              "m.json");
  CHECK(file.get().source == "read from m.json");
  CHECK(file.get().memory_bytes_per_second == 0);
  CHECK(file.get().peer_bytes_per_second == 0);
  CHECK(file.get().sm_factor_permille == 1000);
}

TEST_CASE("what a peer gets is written where it is limited, and read back") {
  CHECK(written(libra::h200_sxm).find("peer_bytes_per_second") == std::string::npos);
  machine limited = libra::h200_sxm;
  limited.peer_bytes_per_second = 20'000'000'000;
  CHECK(machine_from_json(written(limited), "m.json").get().peer_bytes_per_second == 20'000'000'000);
}

TEST_CASE("numbers may be written with an exponent, and sm_factor with decimals") {
  machine_file const file = machine_from_json(changed([](json& d) {
                                                d["linear_flop_per_second"] = 4.5e14;
                                                d["sm_factor"] = 1.06;
                                              }),
                                              "m.json");
  CHECK(file.get().linear_flop_per_second == 450'000'000'000'000);
  CHECK(file.get().sm_factor_permille == 1060);
}

TEST_CASE("a missing field is named with what was expected") {
  refused(changed([](json& d) { d.erase("name"); }), "m.json: field 'name' is missing, expected a text");
  refused(changed([](json& d) { d.erase("links"); }), "m.json: field 'links' is missing, expected an object");
  refused(changed([](json& d) { d["links"].erase("network_latency_ps"); }),
          "m.json: field 'links.network_latency_ps' is missing, expected an integer of at least 0");
  refused(changed([](json& d) { d.erase("linear_flop_per_second"); }),
          "m.json: field 'linear_flop_per_second' is missing, expected an integer of at least 1");
}

TEST_CASE("a wrong value is named with its field and what was expected") {
  refused(changed([](json& d) { d["name"] = 7; }), "m.json: field 'name' is '7', expected a text");
  refused(changed([](json& d) { d["links"] = "fast"; }), "m.json: field 'links' is '\"fast\"', expected an object");
  refused(changed([](json& d) { d["links"]["ranks_per_node"] = 0; }),
          "m.json: field 'links.ranks_per_node' is '0', expected an integer from 1 to 2147483647");
  refused(changed([](json& d) { d["links"]["ranks_per_node"] = 3'000'000'000; }),
          "m.json: field 'links.ranks_per_node' is '3000000000', expected an integer from 1 to 2147483647");
  refused(changed([](json& d) { d["attention"]["forward_block_ps"] = -1; }),
          "m.json: field 'attention.forward_block_ps' is '-1', expected an integer of at least 0");
  refused(changed([](json& d) { d["attention"]["forward_launch_ps"] = 1.5; }),
          "m.json: field 'attention.forward_launch_ps' is '1.5', expected an integer of at least 0");
  refused(changed([](json& d) { d["linear_flop_per_second"] = "4e14"; }),
          "m.json: field 'linear_flop_per_second' is '\"4e14\"', expected an integer of at least 1");
  refused(changed([](json& d) { d["linear_flop_per_second"] = 18446744073709551615U; }),
          "m.json: field 'linear_flop_per_second' is '18446744073709551615', expected an integer of at least 1");
  refused(changed([](json& d) { d["memory_bytes_per_second"] = nullptr; }),
          "m.json: field 'memory_bytes_per_second' is 'null', expected an integer of at least 0");
  refused(changed([](json& d) { d["peer_bytes_per_second"] = -3; }),
          "m.json: field 'peer_bytes_per_second' is '-3', expected an integer of at least 0");
  for (json const& factor : {json(0.9), json(1.0005), json("1"), json(1e9)}) {
    CHECK_THROWS_AS(static_cast<void>(machine_from_json(changed([&](json& d) { d["sm_factor"] = factor; }), "m.json")),
                    libra::input_error);
  }
}

TEST_CASE("a field that no machine has is refused: it may be a slip") {
  refused(changed([](json& d) { d["sm-factor"] = 1; }),
          "m.json: field 'sm-factor' is unknown, expected only a machine's fields");
  refused(changed([](json& d) { d["links"]["node_latency_us"] = 10; }),
          "m.json: field 'links.node_latency_us' is unknown, expected only a machine's fields");
}

TEST_CASE("a text that is no JSON object is refused with its line") {
  refused("{\n \"name\": \"x\",\n \"links\": }\n",
          "m.json:3: is no JSON at '}\\x0a', expected an object with a machine's fields");
  refused("[1, 2]", "m.json: is '[1,2]', expected an object with a machine's fields");
  CHECK_THROWS_AS(static_cast<void>(machine_from_json("", "m.json")), libra::input_error);
}

TEST_CASE("a number that no double holds is refused like any other") {
  CHECK_THROWS_WITH_AS(static_cast<void>(libra::machine_from_json("{\"sm_factor\": 1e999}", "m.json")),
                       "m.json: holds a number beyond a double's range, expected a machine's fields",
                       libra::input_error);
}
