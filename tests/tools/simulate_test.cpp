#include <support/command.hpp>
#include <support/scratch_folder.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <map>
#include <string>
#include <vector>

using json = nlohmann::ordered_json;
using libra::test::command_result;
using libra::test::run_libra;
using words = std::vector<std::string>;

namespace {

words operator+(words left, words const& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

/// A long document and many short ones, over and over.
std::string lengths() {
  std::string text;
  for (int i = 0; i < 400; ++i) {
    text += i % 40 == 0 ? "16384\n" : std::to_string(200 + 13 * (i % 37)) + "\n";
  }
  return text;
}

json simulate(words const& options, std::string const& dp = "4", std::string const& window = "16K",
              std::string const& cp = "4") {
  command_result const result = run_libra(
      words{"simulate", "-", "--window", window, "--dp", dp, "--cp", cp, "--pool", "2", "--json", "-"} + options,
      lengths());
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  return json::parse(result.out);
}

TEST_CASE("all systems, with the contract's keys and figures that fit together") {
  json const run = simulate({});
  CHECK(run.at("command") == "simulate");
  REQUIRE(run.at("systems").size() == 6);
  double const bound = run.at("bound").at("attention_seconds");
  CHECK(bound > 0);
  std::map<std::string, json> by_name;
  for (json const& s : run.at("systems")) {
    by_name[s.at("system")] = s;
    CAPTURE(std::string(s.at("system")));
    CHECK(double(s.at("attention_over_bound")) >= 1.0);
    CHECK(double(s.at("of_ceiling")) <= 1.0);
    CHECK(double(s.at("exposed_exchange_seconds")) >= 0.0);
    CHECK(double(s.at("step_seconds")) ==
          doctest::Approx(double(s.at("attention_seconds")) + double(s.at("linear_seconds")) +
                          double(s.at("bubble_seconds"))));
    CHECK(s.contains("tokens_per_second_per_rank"));
    CHECK(s.contains("worst_step_attention_seconds"));
    CHECK(s.contains("max_tokens_per_rank"));
    CHECK(s.contains("max_bytes_per_rank"));
  }
  CHECK(by_name.at("ulysses").at("speedup_over_ulysses") == 1.0);
  CHECK(by_name.at("ulysses").at("max_ranks_per_exchange") == 4);
  CHECK(by_name.at("pooled").at("max_ranks_per_exchange") == 8);
  CHECK(by_name.at("global_pool").at("max_ranks_per_exchange") == 16);
}

TEST_CASE("a pool stays as wide as it is when the job grows; the global pool does not") {
  for (int const dp : {8, 32, 128}) {
    json const run = simulate({"--systems", "global_pool,pooled", "--micro-steps", "1"}, std::to_string(dp), "2K", "2");
    CAPTURE(dp);
    CHECK(run.at("systems").at(0).at("max_ranks_per_exchange") == 2 * dp);
    CHECK(run.at("systems").at(1).at("max_ranks_per_exchange") == 4);
    CHECK(run.at("systems").at(1).at("speedup_over_ulysses").is_null());
  }
}

TEST_CASE("pipeline stages add bubbles, recomputing adds attention") {
  auto const only = [](words const& options) {
    return simulate(words{"--systems", "pooled"} + options).at("systems").at(0);
  };
  json const plain = only({});
  CHECK(plain.at("bubble_seconds") == 0.0);
  CHECK(double(only({"--pp", "4"}).at("bubble_seconds")) > 0.0);
  CHECK(double(only({"--recompute", "full"}).at("attention_seconds")) > double(plain.at("attention_seconds")));
}

TEST_CASE("a slow rank slows Ulysses more than a pool, whose bound knows of it") {
  libra::test::scratch_folder const folder;
  std::string text = "0.5\n";
  for (int r = 1; r < 16; ++r) text += "1\n";
  words const options{"--systems", "ulysses,pooled", "--micro-steps", "1"};
  json const equal = simulate(options);
  json const slow = simulate(options + words{"--speeds", folder.write("speeds", text)});
  double const bound = equal.at("bound").at("attention_seconds");
  CHECK(double(slow.at("bound").at("attention_seconds")) == doctest::Approx(bound * 16 / 15.5));
  for (std::size_t s = 0; s < 2; ++s) {
    CHECK(double(slow.at("systems").at(s).at("linear_seconds")) ==
          doctest::Approx(2 * double(equal.at("systems").at(s).at("linear_seconds"))));
  }
  double const pooled = double(slow.at("systems").at(1).at("attention_seconds"));
  CHECK(pooled < 1.25 * double(equal.at("systems").at(1).at("attention_seconds")));
  CHECK(double(slow.at("systems").at(0).at("attention_seconds")) > 1.5 * pooled);
}

TEST_CASE("pools may scatter the shards of sequences, other systems never do") {
  // Sequences of longer documents and of short ones, each in a node of its own unless shards are scattered.
  std::string text;
  for (int i = 0; i < 64; ++i) text += "8192\n";
  for (int i = 0; i < 1024; ++i) text += "512\n";
  auto const seconds = [&](std::string const& scatter) {
    command_result const result =
        run_libra(words{"simulate", "-", "--window", "256K", "--dp", "4", "--cp", "8", "--pool", "4", "--json", "-",
                        "--systems", "global_pool,pooled", "--scatter", scatter},
                  text);
    CAPTURE(result.err);
    REQUIRE(result.exit_code == 0);
    std::map<std::string, double> of;
    json const run = json::parse(result.out);
    for (json const& s : run.at("systems")) of[s.at("system")] = s.at("attention_seconds");
    return of;
  };
  auto const together = seconds("off");
  auto const scattered = seconds("on");
  CHECK(scattered.at("pooled") < 0.95 * together.at("pooled"));
  CHECK(scattered.at("global_pool") == together.at("global_pool"));
}

TEST_CASE("the trace is a document of its own") {
  libra::test::scratch_folder const folder;
  std::string const path = folder.path("trace.json");
  static_cast<void>(simulate({"--systems", "pooled", "--trace", path}));
  json const trace = json::parse(libra::test::content_of(path));
  CHECK(trace.at("traceEvents").size() > 8);
}

TEST_CASE("options that cannot be used are one line and exit 2") {
  for (words const& options : {words{"--systems", "magic"}, words{"--pp", "0"}, words{"--pp", "1000"},
                               words{"--sync", "never"}, words{"--recompute", "half"}}) {
    command_result const result =
        run_libra(words{"simulate", "-", "--window", "16K", "--dp", "4", "--cp", "4"} + options, lengths());
    CAPTURE(result.err);
    CHECK(result.exit_code == 2);
    CHECK(result.error_lines() == 1);
    CHECK(result.out.empty());
    CHECK(result.err.find(options[1]) != std::string::npos);
  }
}

TEST_CASE("machines and models are listed with their sources") {
  json const machines = json::parse(run_libra({"machines", "--json", "-"}).out);
  CHECK(machines.at("machines").size() >= 6);
  json const models = json::parse(run_libra({"models", "--json", "-"}).out);
  CHECK(models.at("models").at(0).at("name") == "qwen3-30b-a3b");
  CHECK(models.at("models").at(0).at("source") != "");
  CHECK(run_libra({"machines"}).out.find("h200-sxm") != std::string::npos);
  CHECK(run_libra({"models"}).out.find("llama3-70b") != std::string::npos);
}

}  // namespace
