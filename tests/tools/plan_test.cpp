#include <support/command.hpp>
#include <support/scratch_folder.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

using json = nlohmann::ordered_json;
using libra::test::command_result;
using libra::test::run_libra;
using libra::test::scratch_folder;
using words = std::vector<std::string>;

namespace {

words keys_of(json const& object) {
  words keys;
  for (auto const& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

words operator+(words left, words const& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

/// The document that a plan of `input` writes, with every option that is not given small enough for short lists.
json plan(std::string_view input, words const& options) {
  command_result const result = run_libra(words{"plan", "-", "--json", "-"} + options, input);
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  return json::parse(result.out);
}

/// Lengths that fill some sequences of 1000 tokens, one document of two windows and a half among them.
std::string lines(std::vector<std::int64_t> const& lengths) {
  std::string text;
  for (std::int64_t const length : lengths) text += std::to_string(length) + '\n';
  return text;
}
std::vector<std::int64_t> const mixed{700, 300, 2500, 900, 80, 450, 1000, 999, 610, 20, 500, 500, 333, 667, 870, 640};
words const small{"--window", "1000", "--dp", "4", "--cp", "2", "--pool", "2"};

}  // namespace

TEST_CASE("the document has the contract's members in its order") {
  json const figures = plan(lines(mixed), small);
  CHECK(keys_of(figures) ==
        words{"libra", "command", "config", "packing", "placement", "dispatch", "seconds", "fingerprint"});
  CHECK(figures["command"] == "plan");
  CHECK(keys_of(figures["packing"]) == words{"documents", "tokens", "sequences", "padding_tokens", "split_documents",
                                             "truncated_tokens", "dropped_sequences", "efficiency", "empty_documents",
                                             "least_sequences"});
  CHECK(keys_of(figures["placement"]) == words{"global_batches", "micro_steps", "pools_per_step", "ulysses_over_mean",
                                               "placed_over_mean", "lower_bound_over_mean"});
  CHECK(keys_of(figures["dispatch"]) == words{"dispatched_over_mean", "local_token_share", "local_work_share",
                                              "max_bytes_sent", "max_bytes_received", "max_ranks_per_exchange",
                                              "workspace_bytes", "pools", "idle_ranks", "kept_bytes"});
  CHECK(keys_of(figures["dispatch"]["pools"][0]) ==
        words{"micro_step", "pool", "makespan", "lower_bound", "gap", "stride"});
  CHECK(keys_of(figures["seconds"]) == words{"pack", "place", "dispatch"});
  CHECK(figures["fingerprint"].get<std::string>().size() == 32);

  json const full = plan(lines(mixed), small + words{"--full"});
  CHECK(full["packing"].contains("segments"));
  CHECK(full["placement"].contains("work"));
  CHECK(full["placement"].contains("slots"));
  CHECK(full["dispatch"]["pools"][0].contains("tiles"));
  CHECK(full["fingerprint"] == figures["fingerprint"]);
}

TEST_CASE("the configuration shows every option as resolved") {
  json const config = plan(lines(mixed), words{"--window", "1K", "--dp", "3"})["config"];
  CHECK(
      config.dump() ==
      R"({"window":1024,"dp":3,"cp":8,"pool":3,"micro_steps":4,"overlong":"split","order":"file","seed":0,)"
      R"("packer":"best_fit_decreasing","placer":"variance_reduced","dispatcher":"pooled","cost":"roofline","arrange":"on",)"
      R"("home":"contiguous","model":"qwen3-30b-a3b","q_heads":32,"kv_heads":4,"head_dim":128,"layers":48,"hidden":2048,)"
      R"("active_parameters":3300000000,"tp":1,"mask":"causal","machine":"h200-sxm","sync":"layer","pp":1,"speeds":null,"max_workspace":null,"keep_inputs":"off","scatter":"on"})");

  json const other = plan(lines(mixed), small + words{"--micro-steps",
                                                      "2",
                                                      "--overlong",
                                                      "truncate",
                                                      "--order",
                                                      "shuffle",
                                                      "--seed",
                                                      "18446744073709551615",
                                                      "--packer",
                                                      "in_order",
                                                      "--placer",
                                                      "as_packed",
                                                      "--dispatcher",
                                                      "ulysses",
                                                      "--cost",
                                                      "pair_count",
                                                      "--arrange",
                                                      "off",
                                                      "--scatter",
                                                      "off",
                                                      "--q-heads",
                                                      "28",
                                                      "--kv-heads",
                                                      "4",
                                                      "--head-dim",
                                                      "64",
                                                      "--layers",
                                                      "2",
                                                      "--hidden",
                                                      "512",
                                                      "--tp",
                                                      "2",
                                                      "--mask",
                                                      "window:1K",
                                                      "--machine",
                                                      "h100-sxm",
                                                      "--active-parameters",
                                                      "7"})["config"];
  CHECK(
      other.dump() ==
      R"({"window":1000,"dp":4,"cp":2,"pool":2,"micro_steps":2,"overlong":"truncate","order":"shuffle",)"
      R"("seed":18446744073709551615,"packer":"in_order","placer":"as_packed","dispatcher":"ulysses","cost":"pair_count",)"
      R"("arrange":"off","home":"contiguous","model":"custom","q_heads":14,"kv_heads":2,"head_dim":64,"layers":2,)"
      R"("hidden":512,"active_parameters":7,"tp":2,"mask":"window:1024","machine":"h100-sxm","sync":"layer","pp":1,"speeds":null,"max_workspace":null,"keep_inputs":"off","scatter":"off"})");
}

TEST_CASE("sizes take K and M") {
  std::string const list = lines({3'000'000, 3'000'000});
  CHECK(plan(list, {"--window", "2M", "--dp", "2", "--cp", "1"})["config"]["window"] == 2097152);
  CHECK(plan(list, {"--window", "3k", "--dp", "2", "--cp", "1"})["config"]["window"] == 3072);
}

TEST_CASE("defaults fit the list: fewer micro-steps, smaller pools") {
  json const document = plan(lines({1000, 1000, 1000, 1000, 1000}), {"--window", "1000", "--dp", "2", "--cp", "1"});
  CHECK(document["config"]["micro_steps"] == 2);
  CHECK(document["config"]["pool"] == 2);
  CHECK(document["placement"]["global_batches"] == 1);
  CHECK(document["packing"]["dropped_sequences"] == 1);
}

TEST_CASE("key/value heads fewer than tensor-parallel ranks are replicated") {
  json const config = plan(lines(mixed), small + words{"--tp", "8"})["config"];
  CHECK(config["q_heads"] == 4);
  CHECK(config["kv_heads"] == 1);
}

TEST_CASE("layouts that do not divide evenly are planned") {
  for (words const& layout :
       std::vector<words>{{"--dp", "5", "--cp", "3", "--pool", "3"},
                          {"--dp", "4", "--cp", "7", "--pool", "3", "--q-heads", "4", "--kv-heads", "4"},
                          {"--dp", "1", "--cp", "1"}}) {
    json const document = plan(lines(mixed), words{"--window", "1000"} + layout);
    double const placed = document["placement"]["placed_over_mean"];
    CHECK(document["placement"]["lower_bound_over_mean"].get<double>() <= placed * (1 + 1e-12));
  }
  // One document is enough for one slot.
  CHECK(plan("5\n", {"--dp", "1", "--cp", "4"})["packing"]["sequences"] == 1);
}

TEST_CASE("a document longer than the window goes the way that was chosen") {
  json const split = plan(lines(mixed), small)["packing"];
  CHECK(split["split_documents"] == 1);
  CHECK(split["truncated_tokens"] == 0);
  json const cut = plan(lines(mixed), small + words{"--overlong", "truncate"})["packing"];
  CHECK(cut["truncated_tokens"] == 1500);
  CHECK(cut["split_documents"] == 0);
  CHECK(cut["tokens"].get<std::int64_t>() + 1500 == split["tokens"]);
}

TEST_CASE("every token and every tile is in the full document, whatever the order") {
  for (words const& order : std::vector<words>{{}, {"--order", "shuffle", "--seed", "7"}, {"--packer", "in_order"}}) {
    json const document = plan(lines(mixed), small + words{"--full", "--q-heads", "4", "--kv-heads", "2"} + order);
    std::map<std::int64_t, std::int64_t> tokens;
    for (json const& row : document["packing"]["segments"]) tokens[row[1]] += row[3].get<std::int64_t>();
    for (std::size_t d = 0; d < mixed.size(); ++d) CHECK(tokens[static_cast<std::int64_t>(d)] == mixed[d]);
    CHECK(tokens.size() == mixed.size());

    std::set<std::int64_t> placed;
    for (json const& row : document["placement"]["slots"]) placed.insert(row[0].get<std::int64_t>());
    std::int64_t expected = 0;
    for (json const& row : document["packing"]["segments"]) {
      expected += placed.contains(row[0]) ? row[3].get<std::int64_t>() * 4 : 0;
    }
    std::int64_t computed = 0;
    for (json const& pool : document["dispatch"]["pools"]) {
      for (json const& t : pool["tiles"]) {
        computed += (t[3].get<std::int64_t>() - t[2].get<std::int64_t>()) *
                    (t[5].get<std::int64_t>() - t[4].get<std::int64_t>());
      }
    }
    CHECK(computed == expected);
  }
}

TEST_CASE("ranks are numbered by slot and shard, on whatever node a shard lies") {
  // Four sequences of longer documents, four of short ones, each in a node of its own unless shards are scattered.
  std::vector<std::int64_t> lengths(128, 8192);
  lengths.resize(128 + 2048, 512);
  words const layout{"--window", "256K", "--dp", "8", "--cp", "8", "--pool", "8"};
  for (std::string const scatter : {"off", "on"}) {
    int const stride = scatter == "on" ? 1 : 0;
    CHECK(plan(lines(lengths), layout + words{"--scatter", scatter})["dispatch"]["pools"][0]["stride"] == stride);
    json const figures = plan(lines(lengths), layout + words{"--full", "--scatter", scatter});
    json const& pool = figures["dispatch"]["pools"][0];
    CHECK(pool["stride"] == stride);
    std::map<std::int64_t, std::int64_t> slot_of;
    for (json const& row : figures["placement"]["slots"]) slot_of[row[0]] = row[3];
    std::map<std::int64_t, std::int64_t> home;  // of each document, all of which lie inside a shard
    std::map<std::int64_t, std::int64_t> filled;
    for (json const& s : figures["packing"]["segments"]) {
      std::int64_t& position = filled[s[0]];
      home[s[1]] = slot_of[s[0]] * 8 + position / 32768;
      position += s[3].get<std::int64_t>();
    }
    std::int64_t at_home = 0;
    for (json const& tile : pool["tiles"]) at_home += home[tile[1]] == tile[6] ? 1 : 0;
    CHECK(2 * at_home > static_cast<std::int64_t>(pool["tiles"].size()));
  }
}

TEST_CASE("empty documents are counted and keep the others' indices") {
  json const document =
      plan("0\n1000\n0\n1000\n", {"--window", "1000", "--dp", "2", "--cp", "1", "--skip-empty", "--full"});
  CHECK(document["packing"]["documents"] == 4);
  CHECK(document["packing"]["empty_documents"] == 2);
  CHECK(document["packing"]["segments"].dump() == "[[0,1,0,1000],[1,3,0,1000]]");
}

TEST_CASE("a shuffled order depends on the seed and nothing else") {
  auto const first_document = [](std::string const& seed) {
    return plan(lines(mixed), small + words{"--full", "--order", "shuffle", "--seed", seed, "--packer",
                                            "in_order"})["packing"]["segments"];
  };
  CHECK(first_document("1") == first_document("1"));
  CHECK(first_document("1") != first_document("2"));
  CHECK(plan(lines(mixed), small)["fingerprint"] !=
        plan(lines(mixed), small + words{"--order", "shuffle"})["fingerprint"]);
}

TEST_CASE("work beyond 64 bits is written as plain digits") {
  // 64 heads of a million tokens in picoseconds, a few hundred of them.
  std::string list;
  for (int i = 0; i < 4; ++i) list += "1000000000\n";
  command_result const result = run_libra({"plan", "-", "--window", "1000000000", "--dp", "2", "--cp", "1", "--q-heads",
                                           "64", "--kv-heads", "64", "--cost", "pair_count", "--full", "--json", "-"},
                                          list);
  CHECK(result.exit_code == 0);
  // 7 x 64 x (n + 1) n / 2 per sequence.
  CHECK(result.out.find("224000000224000000000") != std::string::npos);
}

TEST_CASE("the same list from a file, from two files and from standard input") {
  scratch_folder const folder;
  std::string const all = folder.write("all", lines(mixed));
  std::size_t const half = lines({mixed.begin(), mixed.begin() + 8}).size();
  std::string const head = folder.write("head", lines(mixed).substr(0, half));
  std::string const tail = folder.write("tail", "# the rest\r\n" + lines(mixed).substr(half));
  auto const fingerprint = [](words const& arguments, std::string_view input = {}) {
    return json::parse(run_libra(words{"plan"} + arguments + words{"--json", "-"} + small, input).out)["fingerprint"];
  };
  json const expected = fingerprint({"-"}, lines(mixed));
  CHECK(fingerprint({all}) == expected);
  CHECK(fingerprint({head, tail}) == expected);
  CHECK(fingerprint({head, "-"}, lines(mixed).substr(half)) == expected);
}

TEST_CASE("a machine can come from a file") {
  scratch_folder const folder;
  std::string const slow = folder.write("slow.json", R"({"name": "slow", "linear_flop_per_second": 1e12,
    "links": {"ranks_per_node": 4, "node_bytes_per_second": 1000000000, "network_bytes_per_second": 1000000000,
              "node_latency_ps": 0, "network_latency_ps": 0},
    "attention": {"forward_flop_per_second": 1e9, "backward_flop_per_second": 1e9, "forward_block_ps": 0,
                  "backward_block_ps": 0, "forward_launch_ps": 0, "backward_launch_ps": 0}})");
  json const document = plan(lines(mixed), small + words{"--machine", slow, "--full"});
  CHECK(document["config"]["machine"] == "slow");
  // A flop takes a nanosecond, half a million times as long as on the built-in machine.
  json const usual = plan(lines(mixed), small + words{"--full"});
  CHECK(document["placement"]["work"][0].get<double>() > 1e5 * usual["placement"]["work"][0].get<double>());
}

TEST_CASE("tables are for people, the document goes beside or instead of them") {
  scratch_folder const folder;
  command_result const both = run_libra(words{"plan", "-", "--json", folder.path("plan.json")} + small, lines(mixed));
  CHECK(both.exit_code == 0);
  CHECK(both.err.empty());
  CHECK(both.out.find("after placement") != std::string::npos);
  json const document = json::parse(libra::test::content_of(folder.path("plan.json")));
  CHECK(both.out.find(document["fingerprint"].get<std::string>()) != std::string::npos);

  command_result const idle = run_libra({"plan", "-", "--window", "1000", "--dp", "4", "--cp", "8", "--q-heads", "4",
                                         "--kv-heads", "4", "--dispatcher", "ulysses"},
                                        lines(mixed));
  CHECK(idle.exit_code == 0);
  CHECK(idle.out.find("50.0 %  of the ranks never get work: 4 query heads for 8 ranks per sequence") !=
        std::string::npos);
}

TEST_CASE("ranks of unequal speed: work in proportion, figures in time, the speeds in the configuration") {
  scratch_folder const folder;
  std::string const ones = folder.write("ones", "1\n1.0\n1\n1\n1\n1\n1\n1.000\n");
  std::string const slow = folder.write("slow", "# rank 3 is throttled\n1\n1\n1\n0.5\n1\n1\n1\n1\n");
  words const pairs = small + words{"--cost", "pair_count", "--full"};
  json const usual = plan(lines(mixed), pairs);
  json const equal = plan(lines(mixed), pairs + words{"--speeds", ones});
  CHECK(usual["config"]["speeds"].is_null());
  CHECK(equal["config"]["speeds"].size() == 8);
  CHECK(equal["fingerprint"] == usual["fingerprint"]);
  CHECK(equal["dispatch"] == usual["dispatch"]);

  json const uneven = plan(lines(mixed), pairs + words{"--speeds", slow});
  CHECK(uneven["config"]["speeds"].dump() == "[1.0,1.0,1.0,0.5,1.0,1.0,1.0,1.0]");
  CHECK(uneven["placement"] == usual["placement"]);
  CHECK(uneven["fingerprint"] != usual["fingerprint"]);
  // Rank 3 is in the first pool of two slots, the other's plan is the same.
  for (std::size_t p = 0; p < usual["dispatch"]["pools"].size(); ++p) {
    json const& before = usual["dispatch"]["pools"][p];
    json const& after = uneven["dispatch"]["pools"][p];
    CHECK((after == before) == (before["pool"] == 1));
    if (before["pool"] == 0) {
      CHECK(after["lower_bound"][0].get<double>() ==
            doctest::Approx(before["lower_bound"][0].get<double>() * 4 / 3.5).epsilon(0.001));
    }
  }
  // Ulysses cannot adapt: the slow rank takes twice as long.
  words const ulysses = pairs + words{"--dispatcher", "ulysses", "--speeds"};
  CHECK(plan(lines(mixed), ulysses + words{slow})["dispatch"]["dispatched_over_mean"].get<double>() >
        1.3 * plan(lines(mixed), ulysses + words{ones})["dispatch"]["dispatched_over_mean"].get<double>());
}

TEST_CASE("exchange memory: kept to, or refused with the least that works for the whole run") {
  words const options = small + words{"--q-heads", "8", "--kv-heads", "2", "--head-dim", "64"};
  json const usual = plan(lines(mixed), options);
  std::int64_t const needed = usual["dispatch"]["workspace_bytes"];
  json const same = plan(lines(mixed), options + words{"--max-workspace", std::to_string(needed)});
  CHECK(same["config"]["max_workspace"] == needed);
  CHECK(same["dispatch"] == usual["dispatch"]);

  auto const limited = [&](std::int64_t bytes, std::string const& command = "plan") {
    words arguments{command, "-", "--json", "-", "--max-workspace", std::to_string(bytes)};
    return run_libra(arguments + options, lines(mixed));
  };
  auto const least_of = [](command_result const& refused) {
    CAPTURE(refused.err);
    CHECK(refused.exit_code == 2);
    CHECK(refused.out.empty());
    CHECK(refused.error_lines() == 1);
    std::string const words_before = "expected at least ";
    std::size_t const at = refused.err.find(words_before);
    REQUIRE(at != std::string::npos);
    return std::int64_t{std::stoll(refused.err.substr(at + words_before.size()))};
  };
  for (std::string const command : {"plan", "simulate", "run", "advise"}) {
    CAPTURE(command);
    command_result const refused = limited(1, command);
    CHECK(refused.err.find("--max-workspace is 1,") != std::string::npos);
    std::int64_t const least = least_of(refused);
    CHECK(least > 1);
    command_result const kept = limited(least, command);
    CAPTURE(kept.err);
    REQUIRE(kept.exit_code == 0);
    CHECK(json::parse(kept.out)["config"]["max_workspace"] == least);
    if (command == "plan") CHECK(json::parse(kept.out)["dispatch"]["workspace_bytes"] == least);
    CHECK(least_of(limited(least - 1, command)) == least);
  }
}
