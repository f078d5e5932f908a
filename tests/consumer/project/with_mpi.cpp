// Started by mpirun: the ranks compute one sequence together, on a communicator of this program's.
#include <libra/libra.hpp>
#include <libra/mpi/backend.hpp>
#include <libra/run/pooled_attention.hpp>

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace {

bool computes(MPI_Comm own) {
  libra::mpi::backend parts(own);
  std::vector<std::int64_t> const lengths{64};
  libra::layout const layout{.window_tokens = 64, .dp = 1, .cp = parts.transport().ranks(), .pool = 1};
  libra::plan_options const options{.shape = {.q_heads = 4, .kv_heads = 2, .head_dim = 16},
                                    .width = libra::host::kernel::width};
  libra::scheduler const planner{libra::best_fit_decreasing{}, libra::fixed_size{}, libra::variance_reduced{},
                                 libra::pooled{}, libra::pair_count{}};
  libra::pooled_attention attention(
      parts, std::make_shared<libra::pool_plan const>(planner.plan_pool(planner.plan(lengths, layout, options),
                                                                        libra::micro_step_id(0), libra::pool_id(0))));
  auto const tokens = static_cast<std::size_t>(attention.local_tokens());
  // With equal scores a row's output is the mean of the values it sees.
  std::vector<float> const q(tokens * 4 * 16), k(tokens * 2 * 16), v(k.size(), 1.5F);
  std::vector<float> o(q.size()), lse(tokens * 4);
  attention.forward({.q = q, .k = k, .v = v, .o = o, .lse = lse});
  return parts.transport().ranks() == 2 && o == std::vector<float>(o.size(), 1.5F);
}

}  // namespace

int main(int count, char** values) {
  MPI_Init(&count, &values);
  MPI_Comm own = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  bool const right = computes(own);
  MPI_Comm_free(&own);
  MPI_Finalize();
  return right ? 0 : 1;
}
