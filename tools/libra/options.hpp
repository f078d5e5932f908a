#pragma once

#include "configuration.hpp"

#include <libra/io/length_list.hpp>

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace libra::tools {

/// Where lengths come from and where results go, as typed.
struct input_options {
  std::vector<std::string> lengths;
  bool skip_empty{false};
  std::string column;
  std::string field;

  [[nodiscard]] length_options reading() const { return {skip_empty, column, field}; }
};
struct output_options {
  std::string json;
  bool full{false};

  [[nodiscard]] bool tables() const noexcept { return json != "-"; }
};

/// The options that decide about a plan, as typed.
struct planning_options {
  std::string window{"256K"};
  std::string dp{"64"};
  std::string cp{"8"};
  std::optional<std::string> pool;
  std::optional<std::string> micro_steps;
  std::string overlong{"split"};
  std::string order{"file"};
  std::string seed{"0"};
  std::string packer{"best_fit_decreasing"};
  std::string placer{"variance_reduced"};
  std::string dispatcher{"pooled"};
  std::string cost{"roofline"};
  std::string arrange{"on"};
  std::string home{"contiguous"};
  std::string scatter{"on"};
  std::string keep_inputs{"off"};
  std::string mask{"causal"};
  std::string machine{"h200-sxm"};
  std::string model{"qwen3-30b-a3b"};
  std::optional<std::string> q_heads;
  std::optional<std::string> kv_heads;
  std::optional<std::string> head_dim;
  std::optional<std::string> layers;
  std::optional<std::string> hidden;
  std::optional<std::string> active_parameters;
  std::string tp{"1"};
  std::string sync{"layer"};
  std::string pp{"1"};
  std::string speeds;
  std::optional<std::string> max_workspace;
};

/// The rest of `run`'s options, as typed.
struct running_options {
  std::string backend{"host"};
  std::string shrink{"1"};
  std::optional<std::string> micro_step;
  std::string compare{"ulysses,pooled"};
  std::string timeout{"600"};
  std::string trace;
};

/// The rest of `simulate`'s options, as typed.
struct simulating_options {
  std::optional<std::string> systems;
  std::string recompute{"none"};
  std::string trace;
};

/// The rest of `advise`'s options, as typed.
struct advising_options {
  std::string recompute{"none"};
};

void add_options(CLI::App& command, input_options& options);
void add_options(CLI::App& command, output_options& options, bool with_full);
void add_options(CLI::App& command, planning_options& options);
void add_options(CLI::App& command, running_options& options);
void add_options(CLI::App& command, simulating_options& options);
void add_options(CLI::App& command, advising_options& options);

/// Turns what was typed into values. `shrink` divides the window, rounding up.
///
/// Errors: `input_error` naming the first option that cannot be used, its value and what was expected.
[[nodiscard]] configuration resolve(planning_options const& typed, std::int64_t shrink = 1);

}  // namespace libra::tools
