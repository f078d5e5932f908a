#include <libra/mpi/attention_run.hpp>

#include <libra/core/error.hpp>
#include <libra/host/measured_rank.hpp>
#include <libra/mpi/backend.hpp>
#include <libra/mpi/communicator.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace libra::mpi {

namespace {

using host::measured_rank;

constexpr std::array results{tensor::o, tensor::lse, tensor::dq, tensor::dk, tensor::dv};

/// The pool of each rank of the communicator.
[[nodiscard]] std::vector<std::size_t> pool_of_ranks(host::pool_plans pools) {
  std::vector<std::size_t> all;
  for (std::size_t p = 0; p < pools.size(); ++p) {
    require(pools[p] != nullptr, "plan of pool ", p, " is null");
    all.insert(all.end(), static_cast<std::size_t>(pools[p]->batch.ranks()), p);
  }
  return all;
}

/// The numbers of a measurement as words.
constexpr std::size_t number_words = 6;
[[nodiscard]] std::array<std::uint64_t, number_words> to_words(measured_rank const& m) {
  auto const word = [](double x) { return std::bit_cast<std::uint64_t>(x); };
  return {word(m.forward[0]),  word(m.forward[1]),   word(m.backward[0]),
          word(m.backward[1]), word(m.busy_seconds), m.ops.size()};
}
void from_words(std::span<std::uint64_t const> words, measured_rank& m) {
  auto const number = [&](std::size_t i) { return std::bit_cast<double>(words[i]); };
  m.forward = {number(0), number(1)};
  m.backward = {number(2), number(3)};
  m.busy_seconds = number(4);
  m.ops.resize(static_cast<std::size_t>(words[5]));
}

template <class T>
[[nodiscard]] const_rows as_row(std::vector<T> const& values) {
  auto const bytes = std::as_bytes(std::span(values));
  return {bytes.data(), 1, std::ssize(bytes), std::ssize(bytes)};
}
template <class T>
[[nodiscard]] mutable_rows as_row(std::vector<T>& values) {
  auto const bytes = std::as_writable_bytes(std::span(values));
  return {bytes.data(), 1, std::ssize(bytes), std::ssize(bytes)};
}

/// Brings every rank's measurement to the first; nothing to the others.
[[nodiscard]] std::vector<measured_rank> collect(transport& everyone, measured_rank mine, host::pool_plans pools,
                                                 std::span<std::size_t const> pool_of) {
  auto const numbers = to_words(mine);
  std::vector<std::uint64_t> all_numbers(number_words * pool_of.size());
  everyone.gather(numbers, all_numbers);

  std::vector<outgoing> sends{{rank_id(0), as_row(mine.ops)}};
  for (tensor const t : results) {
    sends.push_back({rank_id(0), as_row(std::as_const(mine.tensors[t]))});
  }
  std::vector<measured_rank> all;
  std::vector<incoming> receives;
  if (everyone.rank() == rank_id(0)) {
    all.resize(pool_of.size());
    for (std::size_t r = 0; r < all.size(); ++r) {
      from_words(std::span(all_numbers).subspan(r * number_words, number_words), all[r]);
      auto const first_of_pool = static_cast<std::size_t>(std::ranges::find(pool_of, pool_of[r]) - pool_of.begin());
      pool_batch const& batch = pools[pool_of[r]]->batch;
      receives.push_back({rank_id(r), as_row(all[r].ops)});
      for (tensor const t : results) {
        std::int64_t const channels = is_statistic(t) ? 1 : batch.shape.head_dim;
        std::int64_t const tokens = batch.local_tokens(rank_id(r - first_of_pool));
        all[r].tensors[t].resize(static_cast<std::size_t>(tokens * heads_of(t, batch.shape) * channels));
        receives.push_back({rank_id(r), as_row(all[r].tensors[t])});
      }
    }
  }
  auto ticket = everyone.start({queue::fetch, 0, sends, receives});
  everyone.wait(ticket);
  return all;
}

}  // namespace

host::attention_run run_attention(host::pool_plans pools, MPI_Comm ranks, host::attention_run_options const& options,
                                  rank_measure const& measure) {
  std::vector<std::size_t> const pool_of = pool_of_ranks(pools);
  require(static_cast<std::size_t>(size_of(ranks)) == pool_of.size(), "the plans are for ", pool_of.size(),
          " ranks, the communicator has ", size_of(ranks));
  transport everyone(ranks, {.timeout = options.timeout});
  std::size_t const own = pool_of[everyone.rank().index()];
  communicator const pool = communicator::split(ranks, static_cast<int>(own));
  try {
    everyone.gather({}, {});
    measured_rank mine = measure(everyone, pool.get(), pools[own]);
    std::vector<measured_rank> all = collect(everyone, std::move(mine), pools, pool_of);
    return all.empty() ? host::attention_run{} : host::combine_ranks(pools, std::move(all));
  } catch (std::exception const& e) {
    everyone.abort(e.what());  // ranks of other pools wait for this one too
    throw;
  }
}

host::attention_run run_attention(host::pool_plans pools, MPI_Comm ranks, host::attention_run_options const& options) {
  return run_attention(pools, ranks, options,
                       [&](transport& everyone, MPI_Comm pool, std::shared_ptr<pool_plan const> const& plan) {
                         backend parts(pool, {.timeout = options.timeout});
                         try {
                           return host::measure_rank(everyone, parts, plan, options, host::rank_observer::clock::now());
                         } catch (std::exception const& e) {
                           parts.transport().abort(e.what());
                           throw;
                         }
                       });
}

}  // namespace libra::mpi
