#include "options.hpp"

#include "machine_option.hpp"
#include "registry.hpp"
#include "systems.hpp"
#include "values.hpp"

#include <libra/core/error.hpp>
#include <libra/io/file.hpp>
#include <libra/io/in_quotes.hpp>
#include <libra/io/speeds_text.hpp>
#include <libra/model/transformer.hpp>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

namespace libra::tools {
namespace {

constexpr char const* recompute_help = "none, or full: forward and its exchange run twice";
constexpr std::int64_t most_int32 = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t most_ranks = std::int64_t{1} << 24;

/// An option that takes one value, shown in the help as `--name VALUE`.
template <class Text>
CLI::Option* add(CLI::App& command, char const* group, char const* name, Text& value, char const* type,
                 std::string help) {
  CLI::Option* const option = command.add_option(name, value, std::move(help))->type_name(type)->group(group);
  if constexpr (std::is_same_v<Text, std::string>) {
    option->capture_default_str();
  }
  return option;
}

std::string listed(std::vector<std::string_view> const& names) {
  std::string text;
  for (std::string_view const name : names) {
    text += text.empty() ? "" : ", ";
    text += name;
  }
  return text;
}

std::vector<std::string_view> model_names() {
  std::vector<std::string_view> names;
  for (transformer const& model : transformers) {
    names.push_back(model.name);
  }
  return names;
}

std::int32_t parse_int32(std::string_view option, std::string_view text, std::int64_t most = most_int32) {
  return static_cast<std::int32_t>(parse_integer(option, text, {.least = 1, .most = most}));
}

layout resolve_layout(planning_options const& typed, std::int64_t shrink) {
  constexpr std::int64_t most_tokens = std::int64_t{1} << 40;
  auto const window = parse_integer("--window", typed.window, {.least = 1, .most = most_tokens, .suffixes = true});
  layout l{.window_tokens = (window - 1) / shrink + 1,
           .dp = parse_int32("--dp", typed.dp, most_ranks),
           .cp = parse_int32("--cp", typed.cp, most_ranks),
           .pool = 0,
           .micro_steps = typed.micro_steps ? parse_int32("--micro-steps", *typed.micro_steps, most_ranks) : 0};
  constexpr std::int32_t usual_pool = 8;
  l.pool = typed.pool ? parse_int32("--pool", *typed.pool, most_ranks) : std::min(usual_pool, l.dp);
  require(l.pool <= l.dp, "--pool is ", l.pool, ", expected at most --dp ", l.dp);
  require(l.ranks() <= most_ranks, "--dp ", l.dp, " x --cp ", l.cp, " is ", l.ranks(), " ranks, expected at most ",
          most_ranks);
  require(l.sequences_per_batch() <= most_ranks, "--dp ", l.dp, " x --micro-steps ", l.micro_steps, " is ",
          l.sequences_per_batch(), " sequences, expected at most ", most_ranks);
  return l;
}

/// The named model with what was given beside it; it is called "custom" then.
transformer resolve_model(planning_options const& typed) {
  transformer model = transformers.at(parse_choice("--model", typed.model, model_names()));
  auto const replace = [&](char const* option, std::optional<std::string> const& text, auto& value,
                           integer_range const& range) {
    if (text) {
      value = static_cast<std::remove_reference_t<decltype(value)>>(parse_integer(option, *text, range));
      model.name = "custom";
      model.source = "the command line";
    }
  };
  replace("--q-heads", typed.q_heads, model.shape.q_heads, {.most = 65536});
  replace("--kv-heads", typed.kv_heads, model.shape.kv_heads, {.most = 65536});
  replace("--head-dim", typed.head_dim, model.shape.head_dim, {.most = most_int32});
  replace("--layers", typed.layers, model.layers, {.most = most_int32});
  replace("--hidden", typed.hidden, model.hidden, {.most = most_int32});
  replace("--active-parameters", typed.active_parameters, model.active_parameters, {});

  attention_shape const& shape = model.shape;
  require(shape.q_heads % shape.kv_heads == 0, "--kv-heads is ", shape.kv_heads, ", expected a divisor of --q-heads ",
          shape.q_heads);
  require(shape.head_dim >= 16 && shape.head_dim <= 256 && shape.head_dim % 8 == 0, "--head-dim is ", shape.head_dim,
          ", expected 16 to 256 in steps of 8");
  model.shape.mask = parse_mask("--mask", typed.mask);
  return model;
}

/// One tensor-parallel coordinate's heads. Key/value heads that are fewer than the coordinates are replicated.
attention_shape divide_heads(attention_shape shape, std::int32_t tp) {
  require(shape.q_heads % tp == 0, "--tp is ", tp, ", expected a divisor of ", shape.q_heads, " query heads");
  require(shape.kv_heads % tp == 0 || tp % shape.kv_heads == 0, "--tp is ", tp,
          ", expected a divisor or a multiple of ", shape.kv_heads, " key/value heads");
  shape.q_heads /= tp;
  shape.kv_heads = std::max(1, shape.kv_heads / tp);
  return shape;
}

/// The speed of each rank, or none where they are not given.
std::vector<std::int32_t> resolve_speeds(std::string const& file, layout const& l) {
  if (file.empty()) {
    return {};
  }
  require(file != "-", "--speeds is '-', expected a file");
  std::vector<std::int32_t> speeds = speeds_from_text(read_file(file), file);
  require(static_cast<std::int64_t>(speeds.size()) == l.ranks(), file, ": has ", speeds.size(), " speeds, expected ",
          l.ranks(), ": one for each rank of --dp ", l.dp, " x --cp ", l.cp);
  return speeds;
}

}  // namespace

configuration resolve(planning_options const& typed, std::int64_t shrink) {
  using names = std::vector<std::string_view>;
  configuration config;
  config.layout = resolve_layout(typed, shrink);
  config.when_overlong =
      std::array{overlong::split, overlong::truncate,
                 overlong::reject}[parse_choice("--overlong", typed.overlong, names{"split", "truncate", "reject"})];
  config.order = std::array{document_order::file,
                            document_order::shuffle}[parse_choice("--order", typed.order, names{"file", "shuffle"})];
  config.seed = parse_seed("--seed", typed.seed);
  auto const policy = [](seam which, std::string_view option, std::string_view text) {
    auto const choices = policy_names(which);
    return choices[parse_choice(option, text, choices)];
  };
  config.policies = {.packer = policy(seam::packer, "--packer", typed.packer),
                     .placer = policy(seam::placer, "--placer", typed.placer),
                     .dispatcher = policy(seam::dispatcher, "--dispatcher", typed.dispatcher),
                     .cost = policy(seam::cost, "--cost", typed.cost)};
  config.planning.arrange = parse_choice("--arrange", typed.arrange, names{"on", "off"}) == 0;
  config.planning.home = std::array{
      sharding::contiguous, sharding::zigzag}[parse_choice("--home", typed.home, names{"contiguous", "zigzag"})];
  config.planning.scatter = parse_choice("--scatter", typed.scatter, names{"on", "off"}) == 0;
  config.planning.keep_inputs = parse_choice("--keep-inputs", typed.keep_inputs, names{"on", "off"}) == 0;
  resolve_machine(typed.machine, config);
  config.planning.speeds_permille = resolve_speeds(typed.speeds, config.layout);
  if (typed.max_workspace) {
    config.planning.max_workspace_bytes = parse_integer("--max-workspace", *typed.max_workspace, {.suffixes = true});
  }
  config.model = resolve_model(typed);
  config.tp = parse_int32("--tp", typed.tp);
  config.planning.shape = divide_heads(config.model.shape, config.tp);
  config.goal = {
      .sync = std::array{synchronisation::layer,
                         synchronisation::batch}[parse_choice("--sync", typed.sync, names{"layer", "batch"})],
      .stages = parse_int32("--pp", typed.pp, config.model.layers)};
  return config;
}

void add_options(CLI::App& command, input_options& options) {
  command
      .add_option("LENGTHS", options.lengths,
                  "lists of document lengths, joined in order: text with one integer a line ('#' starts a comment), "
                  "CSV, JSONL, .npy (lengths or cu_seqlens), Megatron-LM .idx; '-' is standard input")
      ->required()
      ->type_name("");
  command.add_flag("--skip-empty", options.skip_empty, "let documents of length 0 pass, counted");
  command.add_option("--column", options.column, "the column of a CSV file that holds the lengths")->type_name("NAME");
  command.add_option("--field", options.field, "the field of a JSONL file that holds the length")->type_name("NAME");
}

void add_options(CLI::App& command, output_options& options, bool with_full) {
  CLI::Option* const json = add(command, "Output", "--json", options.json, "FILE",
                                "write the results as JSON; '-' is standard output, without tables")
                                ->default_str("");
  if (with_full) {
    command.add_flag("--full", options.full, "write every segment, slot and tile too")->group("Output")->needs(json);
  }
}

void add_options(CLI::App& command, planning_options& o) {
  auto const policies = [](seam which) { return listed(policy_names(which)); };
  constexpr char const* documents = "Documents and packing";
  add(command, documents, "--window", o.window, "N", "tokens per packed sequence; K and M are 1024 and 1048576");
  add(command, documents, "--overlong", o.overlong, "HOW",
      "what happens to a document longer than the window: split, truncate, reject (in_order cuts at window edges "
      "anyway)");
  add(command, documents, "--order", o.order, "ORDER", "order of the documents: file, shuffle");
  add(command, documents, "--seed", o.seed, "N", "of the shuffled order");
  add(command, documents, "--arrange", o.arrange, "on|off",
      "order the segments inside a pack so that few short ones straddle ranks");

  constexpr char const* layout = "Layout";
  add(command, layout, "--dp", o.dp, "D", "slots: packed sequences per micro-step");
  add(command, layout, "--cp", o.cp, "C", "ranks that share one packed sequence");
  add(command, layout, "--pool", o.pool, "P",
      "slots that exchange attention work among themselves [8, or D if that is less]");
  add(command, layout, "--micro-steps", o.micro_steps, "M", "per global batch [4, or fewer when the list fills fewer]");
  add(command, layout, "--sync", o.sync, "WHO",
      "who waits for whom: layer (all ranks in every layer: experts, ZeRO-3), batch (a pool's in a layer, all at its "
      "end)");
  add(command, layout, "--pp", o.pp, "STAGES", "pipeline stages, 1F1B; micro-steps are placed to pass them quickly");
  add(command, layout, "--home", o.home, "HOW", "how a packed sequence is sharded over its ranks: contiguous, zigzag");
  add(command, layout, "--scatter", o.scatter, "on|off",
      "lay the shards of a sequence on different nodes of its pool, where that pays");
  add(command, layout, "--keep-inputs", o.keep_inputs, "on|off",
      "keep queries, keys and values on the ranks that forward brought them to, instead of bringing them again");

  constexpr char const* policy = "Policies";
  add(command, policy, "--packer", o.packer, "NAME", policies(seam::packer));
  add(command, policy, "--placer", o.placer, "NAME", policies(seam::placer));
  add(command, policy, "--dispatcher", o.dispatcher, "NAME", policies(seam::dispatcher));
  add(command, policy, "--cost", o.cost, "NAME", policies(seam::cost));

  constexpr char const* shape = "Model and machine";
  add(command, shape, "--model", o.model, "NAME",
      "whose shape is used where no option below replaces it: " + listed(model_names()));
  add(command, shape, "--q-heads", o.q_heads, "N", "query heads");
  add(command, shape, "--kv-heads", o.kv_heads, "N", "key/value heads; must divide the query heads");
  add(command, shape, "--head-dim", o.head_dim, "N", "channels per head: 16 to 256 in steps of 8");
  add(command, shape, "--layers", o.layers, "N", "layers");
  add(command, shape, "--hidden", o.hidden, "N", "width of the residual stream");
  add(command, shape, "--active-parameters", o.active_parameters, "N", "parameters that one token uses");
  add(command, shape, "--tp", o.tp, "N", "tensor parallelism: divides the heads");
  add(command, shape, "--mask", o.mask, "MASK", "inside each document: causal, full, window:N");
  add(command, shape, "--machine", o.machine, "NAME|FILE",
      "rates and links of the ranks: " + machine_names() + ", or a file ending in .json");
  add(command, shape, "--speeds", o.speeds, "FILE",
      "relative speed of each rank, one decimal a line, as 1 or 0.85; slot by slot [all 1]")
      ->default_str("");
  add(command, shape, "--max-workspace", o.max_workspace, "BYTES",
      "exchange memory of a rank; what does not fit travels in smaller pieces, or is refused [no limit]");
}

void add_options(CLI::App& command, running_options& o) {
  constexpr char const* group = "Run";
  add(command, group, "--backend", o.backend, "NAME",
      "what computes: host (ranks are threads), mpi (ranks are processes; starts itself under mpirun), "
      "cuda (ranks are threads on one GPU, or processes on as many as there are ranks)");
  add(command, group, "--shrink", o.shrink, "F", "divide all lengths and the window by F, rounding up");
  add(command, group, "--micro-step", o.micro_step, "N", "which micro-step to execute [the one with the most work]");
  add(command, group, "--compare", o.compare, "NAMES", "dispatchers to execute on the same placed sequences");
  add(command, group, "--timeout", o.timeout, "S", "seconds after which a rank that waits for another gives up");
  add(command, group, "--trace", o.trace, "FILE", "write when each rank's queues were busy, for Chrome or Perfetto")
      ->default_str("");
}

void add_options(CLI::App& command, simulating_options& o) {
  constexpr char const* group = "Simulation";
  add(command, group, "--systems", o.systems, "NAMES", "systems to compare [all]: " + listed(system_names()));
  add(command, group, "--recompute", o.recompute, "WHAT", recompute_help);
  add(command, group, "--trace", o.trace, "FILE",
      "write the slowest pool's layer of each system for Chrome or Perfetto")
      ->default_str("");
}

void add_options(CLI::App& command, advising_options& o) {
  add(command, "Simulation", "--recompute", o.recompute, "WHAT", recompute_help);
}

}  // namespace libra::tools
