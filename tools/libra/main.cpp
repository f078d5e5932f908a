#include "commands.hpp"
#include "mpi_job.hpp"

#include <libra/core/error.hpp>
#include <libra/io/in_quotes.hpp>
#include <libra/version.hpp>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace libra::tools {
namespace {

/// Says on one line of standard error what went wrong.
outcome fail(outcome code, std::string text) {
  if (!speaks_for_the_job()) return code;
  std::ranges::replace(text, '\n', ' ');
  std::fputs(("libra: " + text + '\n').c_str(), stderr);
  return code;
}

class command_line {
 public:
  command_line() {
    app_.name("libra");
    app_.set_version_flag("--version", std::string("libra ") + std::string(version));
    app_.require_subcommand(0, 1);
    app_.failure_message(nullptr);

    CLI::App& plan = add("plan", "Pack, place and dispatch a list; show the skew of attention work before and after.");
    add_options(plan, plan_.input);
    add_options(plan, plan_.planning);
    add_options(plan, plan_.output, true);

    CLI::App& run =
        add("run", "Plan, then execute one micro-step under each dispatcher, check the results and time them.");
    add_options(run, run_.input);
    add_options(run, run_.running);
    add_options(run, run_.planning);
    add_options(run, run_.output, false);

    CLI::App& simulate = add("simulate", "Simulate the training step of several systems on a machine model.");
    add_options(simulate, simulate_.input);
    add_options(simulate, simulate_.simulating);
    add_options(simulate, simulate_.planning);
    add_options(simulate, simulate_.output, false);

    CLI::App& advise = add("advise", "Try pool sizes: predicted and simulated skew and time, and which to take.");
    add_options(advise, advise_.input);
    add_options(advise, advise_.advising);
    add_options(advise, advise_.planning);
    add_options(advise, advise_.output, false);

    CLI::App& lengths = add("lengths", "Show statistics of a list.");
    add_options(lengths, lengths_.input);
    lengths
        .add_option("--write", lengths_.write,
                    "write the lengths: as an .npy of int64 if the name ends so, else as text, one a line")
        ->type_name("FILE")
        ->group("Output");
    add_options(lengths, lengths_.output, false);

    CLI::App& policies = add("policies", "List the policies that are built in, with their sources.");
    add_options(policies, policies_.output, false);

    CLI::App& machines = add("machines", "List the machines that are built in, with their sources.");
    add_options(machines, machines_.output, false);

    CLI::App& models = add("models", "List the models that are built in, with their sources.");
    add_options(models, models_.output, false);
  }

  outcome run(std::vector<std::string> arguments) {
    run_.typed = arguments;
    try {
      // The parser takes its arguments from the back.
      std::ranges::reverse(arguments);
      app_.parse(arguments);
    } catch (CLI::CallForHelp const&) {
      return print(app_.help());
    } catch (CLI::CallForVersion const& call) {
      return print(std::string(call.what()) + '\n');
    } catch (CLI::ExtrasError const&) {
      return usage_error(unexpected());
    } catch (CLI::ParseError const& error) {
      return usage_error(error.what());
    }
    return execute();
  }

 private:
  CLI::App& add(std::string name, std::string description) {
    return *app_.add_subcommand(std::move(name), std::move(description));
  }

  static outcome print(std::string const& text) {
    return std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0
               ? outcome::done
               : fail(outcome::bad_input, "cannot write standard output");
  }

  [[nodiscard]] std::string chosen() const {
    auto const commands = app_.get_subcommands();
    return commands.empty() ? "" : commands.front()->get_name();
  }

  outcome usage_error(std::string const& what) const {
    std::string const command = chosen();
    return fail(outcome::bad_input, what + " (see libra " + (command.empty() ? "" : command + " ") + "--help)");
  }

  [[nodiscard]] std::string unexpected() const {
    std::vector<std::string> const extra = app_.remaining(true);
    std::string const first = extra.empty() ? "" : extra.front();
    if (chosen().empty()) {
      return "command is " + in_quotes(first) +
             ", expected one of plan, run, simulate, advise, lengths, policies, machines, models";
    }
    return "option " + in_quotes(first) + " is unknown to " + chosen();
  }

  outcome execute() const {
    std::string const command = chosen();
    if (command == "plan") return plan_.run();
    if (command == "run") return run_.run();
    if (command == "lengths") return lengths_.run();
    if (command == "policies") return policies_.run();
    if (command == "simulate") return simulate_.run();
    if (command == "advise") return advise_.run();
    if (command == "machines") return machines_.run();
    if (command == "models") return models_.run();
    return usage_error("no command, expected one of plan, run, simulate, advise, lengths, policies, machines, models");
  }

  CLI::App app_{"Takes the attention skew out of long-context LLM training."};
  plan_command plan_;
  run_command run_;
  lengths_command lengths_;
  policies_command policies_;
  simulate_command simulate_;
  advise_command advise_;
  machines_command machines_;
  models_command models_;
};

outcome guarded(std::vector<std::string> arguments) {
  try {
    return command_line().run(std::move(arguments));
  } catch (run_error const& error) {
    return fail(outcome::check_failed, error.what());
  } catch (std::bad_alloc const&) {
    return fail(outcome::bad_input, "out of memory");
  } catch (std::exception const& error) {
    return fail(outcome::bad_input, error.what());
  }
}

}  // namespace
}  // namespace libra::tools

int main(int count, char** values) {
  return static_cast<int>(libra::tools::guarded({values + std::min(1, count), values + count}));
}
