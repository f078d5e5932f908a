#pragma once

#include "options.hpp"

#include <string>
#include <vector>

namespace libra::tools {

/// Exit codes of the command.
enum class outcome : int {
  done = 0,
  check_failed = 1,  ///< the run's own check failed
  bad_input = 2,     ///< bad usage or bad input: one line on stderr, nothing written
};

/// Each command writes to standard output and files only after everything that can fail on bad input has passed.
struct plan_command {
  input_options input;
  planning_options planning;
  output_options output;

  [[nodiscard]] outcome run() const;
};

struct run_command {
  /// The command's arguments as typed, to start it again with.
  std::vector<std::string> typed;
  input_options input;
  planning_options planning;
  running_options running;
  output_options output;

  [[nodiscard]] outcome run() const;
};

struct simulate_command {
  input_options input;
  planning_options planning;
  simulating_options simulating;
  output_options output;

  [[nodiscard]] outcome run() const;
};

struct advise_command {
  input_options input;
  planning_options planning;
  advising_options advising;
  output_options output;

  [[nodiscard]] outcome run() const;
};

struct lengths_command {
  input_options input;
  std::string write;
  output_options output;

  [[nodiscard]] outcome run() const;
};

struct policies_command {
  output_options output;

  [[nodiscard]] outcome run() const;
};

struct machines_command {
  output_options output;

  [[nodiscard]] outcome run() const;
};

struct models_command {
  output_options output;

  [[nodiscard]] outcome run() const;
};

}  // namespace libra::tools
