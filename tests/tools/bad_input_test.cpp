#include <support/command.hpp>
#include <support/index_file.hpp>
#include <support/scratch_folder.hpp>

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

using libra::test::command_result;
using libra::test::run_libra;
using libra::test::scratch_folder;

namespace {

/// One use of the command that must be refused: its arguments, what is on standard input, and what the message must
/// say.
struct refusal {
  std::vector<std::string> arguments;
  std::string input;
  std::vector<std::string> says;
};

/// Exit code 2, one line on standard error with all that is expected in it, nothing on standard output.
void check_refused(refusal const& wrong) {
  command_result const result = run_libra(wrong.arguments, wrong.input);
  std::string line;
  for (std::string const& argument : wrong.arguments) line += argument + ' ';
  CAPTURE(line);
  CAPTURE(result.err);
  CHECK(result.exit_code == 2);
  CHECK(result.out.empty());
  CHECK(result.error_lines() == 1);
  CHECK(result.err.starts_with("libra: "));
  for (std::string const& part : wrong.says) {
    CAPTURE(part);
    CHECK(result.err.find(part) != std::string::npos);
  }
}

/// Enough documents for every layout in the tables.
std::string const& list() {
  static std::string const text = [] {
    std::string lines;
    for (int i = 0; i < 64; ++i) lines += "1000\n";
    return lines;
  }();
  return text;
}

std::vector<std::string> small_plan(std::vector<std::string> more = {}) {
  std::vector<std::string> arguments{"plan", "-", "--window", "1000", "--dp", "4", "--cp", "2", "--pool", "2"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

}  // namespace

TEST_CASE("lists that cannot be used") {
  std::string const zero_byte("5\n\0\x01\x02", 5);
  std::vector<refusal> const table{
      {small_plan(), "", {"stdin", "no lengths"}},
      {small_plan(), "# nothing here\n\n", {"stdin", "no lengths"}},
      {small_plan(), "0\n0\n", {"stdin:1", "length is 0"}},
      {small_plan({"--skip-empty"}), "0\n0\n", {"all 2 documents", "length 0"}},
      {small_plan(), "5\n-3\n", {"stdin:2", "-3", "at least 1"}},
      {small_plan(), "5\n1.5\n", {"stdin:2", "'1.5'", "one integer"}},
      {small_plan(), "5\n\nfive\n", {"stdin:3", "'five'", "one integer"}},
      {small_plan(), "9223372036854775808\n", {"stdin:1", "9223372036854775808", "64 bits"}},
      {small_plan(), "9223372036854775807\n9223372036854775807\n", {"18446744073709551614 tokens"}},
      {small_plan(), "9223372036854775807\n", {"9223372036854775807 tokens", "sequences of --window 1000"}},
      {small_plan(), zero_byte, {"stdin:2", "zero byte"}},
      {small_plan(), "\x93NUMPY\x01", {"stdin: byte 7", "version"}},
      {small_plan(), "\x1F\x8B\x08", {"stdin", "gzip", ".npy or Megatron-LM .idx"}},
      {small_plan(), "5\n", {"1 sequences", "--dp 4"}},
      {small_plan({"--micro-steps", "17"}), list(), {"64 sequences", "--micro-steps 17", "68"}},
      {small_plan({"--overlong", "reject"}), "7\n2000\n", {"document 1", "2000 tokens", "--window 1000"}},
      {{"lengths", "-"}, "x\n", {"stdin:1", "'x'"}},
      {{"lengths", "-", "--skip-empty"}, "0\n", {"length 0"}},
      {{"run", "-", "--dp", "2", "--cp", "1"}, "7\n", {"1 sequences", "--dp 2"}},
  };
  for (refusal const& wrong : table) check_refused(wrong);
}

TEST_CASE("files that cannot be read or written") {
  scratch_folder const folder;
  std::string const good = folder.write("good.len", list());
  std::string const bad = folder.write("bad.len", "5\nx\n");
  std::string const missing = folder.path("missing.len");
  std::string const cut = folder.write("cut.idx", libra::test::index_file({5}).bytes().substr(0, 50));
  std::string const csv = folder.write("table.csv", "id,n\n1,5\n");
  std::string const objects = folder.write("objects.jsonl", "{\"n\": 5}\n");
  std::string const nowhere = folder.path("no/such/folder/out.json");
  std::string const few = folder.write("few.speeds", "1\n1\n0.5\n");
  std::string const zero = folder.write("zero.speeds", "1\n\n0\n");
  std::string const fine = folder.write("fine.speeds", "0.12345\n");
  std::vector<std::string> const layout{"--window", "1000", "--dp", "4", "--cp", "2"};
  auto const with_layout = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), layout.begin(), layout.end());
    return arguments;
  };
  std::vector<refusal> const table{
      {with_layout({"plan", missing}), "", {missing, "No such file"}},
      {with_layout({"plan", good, missing}), "", {missing}},
      {with_layout({"plan", folder.path()}), "", {folder.path(), "directory"}},
      {with_layout({"plan", good, bad}), "", {bad + ":2", "'x'"}},
      {with_layout({"plan", ""}), "", {"''"}},
      {with_layout({"plan", good, "--json", nowhere}), "", {nowhere, "No such file"}},
      {with_layout({"plan", good, "--json", "/dev/full"}), "", {"/dev/full", "No space"}},
      {{"lengths", good, "--write", nowhere}, "", {nowhere}},
      {{"lengths", cut}, "", {cut + ": byte 50", "62 bytes"}},
      {{"lengths", csv}, "", {csv + ":1", "'id', 'n'", "--column"}},
      {{"lengths", csv, "--column", "m"}, "", {csv + ":1", "no column 'm'", "'id', 'n'"}},
      {{"lengths", objects}, "", {objects, "--field"}},
      {{"lengths", objects, "--field", "m"}, "", {objects + ":1", "'m' is missing"}},
      {{"policies", "--json", nowhere}, "", {nowhere}},
      {with_layout({"plan", good, "--speeds", missing}), "", {missing, "No such file"}},
      {with_layout({"plan", good, "--speeds", few}), "", {few, "3 speeds", "expected 8", "--dp 4 x --cp 2"}},
      {with_layout({"simulate", good, "--speeds", zero}), "", {zero + ":3", "'0'", "0.001 to 1000"}},
      {with_layout({"advise", good, "--speeds", fine}), "", {fine + ":1", "'0.12345'", "three places"}},
      {with_layout({"run", good, "--speeds", "-"}), "1\n", {"--speeds is '-'", "expected a file"}},
  };
  for (refusal const& wrong : table) check_refused(wrong);
}

TEST_CASE("options that cannot be used") {
  struct option_case {
    std::vector<std::string> options;
    std::vector<std::string> says;
  };
  std::vector<option_case> const table{
      {{"--window", "0"}, {"--window", "'0'", "from 1"}},
      {{"--window", "-1K"}, {"--window", "'-1K'"}},
      {{"--window", "1G"}, {"--window", "'1G'"}},
      {{"--window", "1.5K"}, {"--window", "'1.5K'"}},
      {{"--window", "K"}, {"--window", "'K'"}},
      {{"--window", ""}, {"--window", "''"}},
      {{"--window", "9999999999999M"}, {"--window"}},
      {{"--dp", "0"}, {"--dp", "'0'"}},
      {{"--dp", "-4"}, {"--dp", "'-4'"}},
      {{"--dp", "4.0"}, {"--dp", "'4.0'"}},
      {{"--dp", "four"}, {"--dp", "'four'"}},
      {{"--dp", "99999999999999999999"}, {"--dp", "99999999999999999999"}},
      {{"--cp", "0"}, {"--cp", "'0'"}},
      {{"--pool", "0"}, {"--pool", "'0'"}},
      {{"--pool", "5"}, {"--pool is 5", "--dp 4"}},
      {{"--micro-steps", "0"}, {"--micro-steps", "'0'"}},
      {{"--cp", "16777216"}, {"--dp 4 x --cp 16777216", "ranks"}},
      {{"--overlong", "drop"}, {"--overlong", "'drop'", "split, truncate, reject"}},
      {{"--order", "random"}, {"--order", "'random'", "file, shuffle"}},
      {{"--seed", "-1"}, {"--seed", "'-1'"}},
      {{"--seed", "18446744073709551616"}, {"--seed"}},
      {{"--arrange", "yes"}, {"--arrange", "'yes'", "on, off"}},
      {{"--home", "spiral"}, {"--home", "'spiral'", "contiguous"}},
      {{"--keep-inputs", "some"}, {"--keep-inputs", "'some'", "on"}},
      {{"--packer", "worst_fit"}, {"--packer", "'worst_fit'", "in_order, best_fit_decreasing"}},
      {{"--placer", "random"},
       {"--placer", "'random'", "as_packed, snake, longest_first, karmarkar_karp, variance_reduced"}},
      {{"--dispatcher", "ring"}, {"--dispatcher", "'ring'", "ulysses, zigzag_ring, usp, pooled"}},
      {{"--cost", "flops"}, {"--cost", "'flops'", "pair_count, roofline"}},
      {{"--mask", "sliding"}, {"--mask", "'sliding'", "window:N"}},
      {{"--mask", "window:0"}, {"--mask", "'window:0'"}},
      {{"--mask", "window:"}, {"--mask", "'window:'"}},
      {{"--model", "gpt"}, {"--model", "'gpt'", "qwen3-30b-a3b"}},
      {{"--machine", "tpu"}, {"--machine", "'tpu'", "h200-sxm"}},
      {{"--machine", "missing.json"}, {"missing.json", "No such file"}},
      {{"--max-workspace", "0"}, {"--max-workspace", "'0'", "at least 1"}},
      {{"--max-workspace", "lots"}, {"--max-workspace", "'lots'"}},
      {{"--max-workspace", "1"}, {"--max-workspace is 1,", "bytes, which pool", "of micro-step"}},
      {{"--kv-heads", "5"}, {"--kv-heads is 5", "divisor of --q-heads 32"}},
      {{"--kv-heads", "64"}, {"--kv-heads is 64"}},
      {{"--q-heads", "0"}, {"--q-heads"}},
      {{"--head-dim", "100"}, {"--head-dim is 100", "16 to 256 in steps of 8"}},
      {{"--head-dim", "8"}, {"--head-dim is 8"}},
      {{"--head-dim", "264"}, {"--head-dim is 264"}},
      {{"--tp", "3"}, {"--tp is 3", "32 query heads"}},
      {{"--layers", "0"}, {"--layers"}},
      {{"--active-parameters", "3.3B"}, {"--active-parameters", "'3.3B'"}},
      {{"--full"}, {"--full", "--json"}},
      {{"--dp"}, {"--dp"}},
      {{"--window", "8", "--window", "9"}, {"--window"}},
      {{"--unknown"}, {"--unknown", "plan"}},
      {{"--systems", "ulysses"}, {"--systems"}},
      {{"--dp", "two\nlines"}, {"--dp", "two\\x0alines"}},
  };
  for (option_case const& c : table) {
    std::vector<std::string> arguments{"plan", "-"};
    std::vector<std::string> const usual{"--window", "1000", "--dp", "4", "--cp", "2"};
    for (std::size_t i = 0; i < usual.size(); i += 2) {
      if (std::ranges::find(c.options, usual[i]) == c.options.end()) {
        arguments.insert(arguments.end(), {usual[i], usual[i + 1]});
      }
    }
    arguments.insert(arguments.end(), c.options.begin(), c.options.end());
    check_refused({arguments, list(), c.says});
  }
}

TEST_CASE("options of run that cannot be used") {
  auto const with = [](std::vector<std::string> more) {
    std::vector<std::string> arguments{"run", "-", "--window", "1000", "--dp", "2", "--cp", "1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  };
  std::vector<refusal> const table{
      {with({"--backend", "abacus"}), list(), {"--backend", "'abacus'", "host"}},
      {with({"--shrink", "0"}), list(), {"--shrink", "'0'"}},
      {with({"--shrink", "1.5"}), list(), {"--shrink", "'1.5'"}},
      {with({"--compare", "ulysses,magic"}), list(), {"--compare", "'magic'", "ulysses, zigzag_ring, usp, pooled"}},
      {with({"--compare", ""}), list(), {"--compare", "''"}},
      {with({"--compare", "ulysses,"}), list(), {"--compare", "''"}},
      {with({"--compare", "pooled,pooled"}), list(), {"--compare", "'pooled'", "twice"}},
      {with({"--micro-step", "32"}), list(), {"--micro-step", "'32'", "0 to 31"}},
      {with({"--micro-step", "-1"}), list(), {"--micro-step", "'-1'"}},
      {{"run", "-", "--window", "1M", "--dp", "64"}, "100000000\n", {"memory", "--shrink"}},
  };
  for (refusal const& wrong : table) check_refused(wrong);
}

TEST_CASE("run on CUDA where there is no device") {
  if (std::filesystem::exists("/dev/nvidiactl")) {
    return;  // there may be one
  }
  check_refused({{"run", "-", "--backend", "cuda"}, "100\n", {"--backend", "cuda", "expected host"}});
}

TEST_CASE("commands that do not exist") {
  for (refusal const& wrong : std::vector<refusal>{
           {{}, "", {"plan, run, simulate, advise, lengths, policies, machines, models"}},
           {{"advice"}, "", {"'advice'", "plan, run, simulate, advise, lengths, policies, machines, models"}},
           {{"--window", "5"}, "", {"'--window'"}},
           {{"plan"}, "", {"LENGTHS"}},
           {{"lengths"}, "", {"LENGTHS"}},
           {{"policies", "extra"}, "", {"'extra'"}},
           {{"plan", "a", "run", "b"}, "", {"a"}},
       }) {
    check_refused(wrong);
  }
}

TEST_CASE("a refused run leaves no file behind") {
  scratch_folder const folder;
  command_result const result = run_libra({"plan", "-", "--json", folder.path("out.json")}, "x\n");
  CHECK(result.exit_code == 2);
  CHECK(folder.empty());
}
