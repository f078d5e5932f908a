#pragma once

#include "commands.hpp"

#include <libra/host/attention_run.hpp>
#include <libra/plan/fingerprint.hpp>

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

namespace libra::tools {

/// True when the command was built with libra::mpi.
[[nodiscard]] bool has_mpi() noexcept;
/// True in a process that mpirun started.
[[nodiscard]] bool in_mpi_job();
/// True in the one process of a job that writes: the first, or the only one.
[[nodiscard]] bool speaks_for_the_job();

/// The line that runs the command with these arguments as `ranks` processes.
[[nodiscard]] std::string mpirun_line(std::vector<std::string> const& arguments, std::int32_t ranks);

/// Starts the command again under mpirun, on this machine, and waits for it. Returns its outcome.
///
/// What standard input held is at its beginning again, for the new processes. Errors: `run_error` with the line to type
/// when mpirun cannot be started.
[[nodiscard]] outcome relaunch(std::vector<std::string> const& arguments, std::int32_t ranks);

/// Puts what is left of standard input into memory that can be read again. Errors: `input_error` with the system's
/// text.
void keep_standard_input();

/// This process's part in the job: MPI runs as long as the object lives.
class mpi_job {
 public:
  /// Errors: `input_error` unless the job has `ranks` processes, with the line to type.
  mpi_job(std::vector<std::string> const& arguments, std::int32_t ranks);
  /// Ends the job: after a failure the hard way if another process does not come to its end too.
  ~mpi_job();
  mpi_job(mpi_job const&) = delete;
  mpi_job& operator=(mpi_job const&) = delete;

  /// Errors: `run_error` naming two ranks whose placements differ.
  void agree(placement_fingerprint const& mine, host::attention_run_options const& options) const;
  /// As `mpi::run_attention`; with `devices` every process computes on a CUDA device of its own, and pools are joined
  /// by NCCL.
  [[nodiscard]] host::attention_run run(host::pool_plans pools, host::attention_run_options const& options,
                                        bool devices) const;

 private:
  int thrown_before_{std::uncaught_exceptions()};
};

}  // namespace libra::tools
