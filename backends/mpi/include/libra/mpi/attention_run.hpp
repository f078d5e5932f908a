#pragma once

#include <libra/host/attention_run.hpp>
#include <libra/host/measured_rank.hpp>
#include <libra/mpi/transport.hpp>

#include <mpi.h>

#include <functional>
#include <memory>

namespace libra::mpi {

/// Runs attention of one micro-step, forward and backward, on random inputs: all ranks of all pools at once, each a
/// process.
///
/// All processes of `ranks` call it with equal plans; rank r of the communicator is the r-th rank of the pools in
/// order. Returns what `host::run_attention` does on the first rank, whose memory must hold all results, and nothing on
/// the others.
/// Errors: `input_error` when there are not as many processes as ranks; what the first rank to fail threw, on every
/// rank.
[[nodiscard]] host::attention_run run_attention(host::pool_plans pools, MPI_Comm ranks,
                                                host::attention_run_options const& options = {});

/// How a process computes its part: `everyone` joins all ranks, `pool` those of its plan. What it throws ends the run
/// on every rank.
using rank_measure = std::function<host::measured_rank(transport& everyone, MPI_Comm pool,
                                                       std::shared_ptr<pool_plan const> const& plan)>;

/// As above, each rank computing by `measure` instead of by the host backend.
[[nodiscard]] host::attention_run run_attention(host::pool_plans pools, MPI_Comm ranks,
                                                host::attention_run_options const& options,
                                                rank_measure const& measure);

}  // namespace libra::mpi
