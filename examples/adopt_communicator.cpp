// Runs libra's attention on a communicator that a trainer already has: mpirun -n 4 adopt_communicator
#include <libra/libra.hpp>
#include <libra/mpi/backend.hpp>
#include <libra/mpi/communicator.hpp>
#include <libra/run/pooled_attention.hpp>

#include <mpi.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <vector>

namespace {

/// One attention call of one rank. `trainer` is the trainer's communicator of all data- and context-parallel ranks.
bool attend(MPI_Comm trainer) {
  // Two slots of one rank exchange work; the trainer's ranks are numbered slot by slot, as libra numbers them.
  std::int32_t const ranks = libra::mpi::size_of(trainer);
  std::int32_t const rank = libra::mpi::rank_in(trainer);
  libra::layout const layout{.window_tokens = 1024, .dp = ranks, .cp = 1, .pool = 2, .micro_steps = 1};

  // Every rank plans alike from the same lengths: some documents of a window, many short ones.
  std::vector<std::int64_t> lengths;
  for (std::int32_t i = 0; i < ranks; ++i) {
    if (i % 2 == 0) {
      lengths.push_back(1024);
    } else {
      lengths.insert(lengths.end(), 16, 64);
    }
  }
  libra::scheduler const planner{libra::best_fit_decreasing{}, libra::fixed_size{}, libra::variance_reduced{},
                                 libra::pooled{}, libra::pair_count{}};
  libra::plan_options const options{.shape = {.q_heads = 4, .kv_heads = 2, .head_dim = 64}, .width = {4, 4, 4}};
  libra::batch_plan const batch = planner.plan(lengths, layout, options);

  // A pool is a run of the trainer's ranks. The part is freed here; the trainer's communicator stays as it was.
  std::int32_t pool = 0;
  while (batch.pools.begin[static_cast<std::size_t>(pool) + 1] * layout.cp <= rank) ++pool;
  libra::mpi::communicator const part = libra::mpi::communicator::split(trainer, pool);
  auto const plan =
      std::make_shared<libra::pool_plan const>(planner.plan_pool(batch, libra::micro_step_id(0), libra::pool_id(pool)));

  libra::mpi::backend parts(part.get(), {.timeout = std::chrono::seconds(60)});
  libra::pooled_attention attention(parts, plan);
  auto const tokens = static_cast<std::size_t>(attention.local_tokens());
  // With equal scores a row's output is the mean of the values it sees: here, of ones.
  std::vector<float> q(tokens * 4 * 64), k(tokens * 2 * 64), v(k.size(), 1.0F), o(q.size()), lse(tokens * 4);
  attention.forward({.q = q, .k = k, .v = v, .o = o, .lse = lse});
  bool right = true;
  for (float const x : o) right = right && std::abs(x - 1.0F) < 1e-5F;
  return right;
}

}  // namespace

int main(int count, char** values) {
  MPI_Init(&count, &values);
  MPI_Comm trainer = MPI_COMM_NULL;  // stands for what a trainer made at its start
  MPI_Comm_dup(MPI_COMM_WORLD, &trainer);
  int wrong = attend(trainer) ? 0 : 1;
  int any_wrong = 0;
  MPI_Allreduce(&wrong, &any_wrong, 1, MPI_INT, MPI_SUM, trainer);
  if (libra::mpi::rank_in(trainer) == 0) {
    std::cout << libra::mpi::size_of(trainer) << " ranks, " << any_wrong << " of them wrong\n";
  }
  MPI_Comm_free(&trainer);
  MPI_Finalize();
  return any_wrong;
}
