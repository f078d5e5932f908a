#include <libra/host/attention_run.hpp>

#include <libra/core/error.hpp>
#include <libra/core/random.hpp>
#include <libra/host/backend.hpp>
#include <libra/host/measured_rank.hpp>
#include <libra/plan/metrics.hpp>

#include <algorithm>
#include <array>
#include <exception>
#include <limits>
#include <utility>

namespace libra::host {

namespace {

/// One rank of one pool of the micro-step.
struct member {
  std::size_t pool{};
  rank_id rank;
};

[[nodiscard]] std::vector<member> members_of(pool_plans pools) {
  std::vector<member> all;
  for (std::size_t p = 0; p < pools.size(); ++p) {
    require(pools[p] != nullptr, "plan of pool ", p, " is null");
    for (std::int32_t r = 0; r < pools[p]->batch.ranks(); ++r) {
      all.push_back({p, rank_id(r)});
    }
  }
  return all;
}

[[nodiscard]] std::size_t elements_of(pool_batch const& batch, rank_id rank, tensor t) {
  std::int64_t const channels = is_statistic(t) ? 1 : batch.shape.head_dim;
  return static_cast<std::size_t>(batch.local_tokens(rank) * heads_of(t, batch.shape) * channels);
}

}  // namespace

void fill_random_row(std::uint64_t seed, tensor what, std::int64_t document, std::int64_t token, std::int32_t head,
                     std::span<float> row) {
  std::uint64_t key = mix64(seed + static_cast<std::uint64_t>(what));
  key = mix64(key ^ static_cast<std::uint64_t>(document));
  key = mix64(key ^ static_cast<std::uint64_t>(token));
  key = mix64(key ^ static_cast<std::uint64_t>(head));
  for (float& x : row) {
    // The sum of four uniform numbers is close to normal, and the same on every platform.
    std::uint64_t const bits = mix64(key += 0x9e3779b97f4a7c15U);
    auto const sum =
        static_cast<std::int64_t>((bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48));
    x = static_cast<float>(sum - 131070) * (1.7320508F / 65536.0F);
  }
}

rank_tensors random_inputs(pool_batch const& batch, rank_id rank, std::uint64_t seed) {
  rank_tensors result;
  auto const head_dim = static_cast<std::size_t>(batch.shape.head_dim);
  for (tensor const t : {tensor::q, tensor::k, tensor::v, tensor::d_o}) {
    std::int32_t const heads = heads_of(t, batch.shape);
    result[t].assign(elements_of(batch, rank, t), 0.0F);
    for (std::size_t s = 0; s < batch.segments.size(); ++s) {
      segment const& what = batch.segments[s].what;
      batch.for_each_home(segment_id(s), {0, what.length}, [&](rank_id home, row_range tokens, std::int64_t local) {
        for (std::int64_t i = 0; home == rank && i < tokens.size() * heads; ++i) {
          auto const row = static_cast<std::size_t>(local * heads + i) * head_dim;
          fill_random_row(seed, t, what.document.value, what.offset + tokens.begin + i / heads,
                          static_cast<std::int32_t>(i % heads), std::span(result[t]).subspan(row, head_dim));
        }
      });
    }
  }
  return result;
}

attention_run combine_ranks(pool_plans pools, std::vector<measured_rank> ranks) {
  attention_run result;
  auto const seconds = [&](std::array<double, 2> measured_rank::* pass) {
    double first = std::numeric_limits<double>::infinity();
    double last = 0;
    for (measured_rank const& rank : ranks) {
      first = std::min(first, (rank.*pass)[0]);
      last = std::max(last, (rank.*pass)[1]);
    }
    return last - first;
  };
  result.forward_seconds = seconds(&measured_rank::forward);
  result.backward_seconds = seconds(&measured_rank::backward);
  std::vector<op_time> all;
  for (measured_rank& rank : ranks) {
    result.busy_seconds.push_back(rank.busy_seconds);
    all.insert(all.end(), rank.ops.begin(), rank.ops.end());
    result.ops.push_back(std::move(rank.ops));
    result.tensors.push_back(std::move(rank.tensors));
  }
  for (auto const& plan : pools) {
    result.bytes_sent += traffic_of(*plan).total_bytes_sent;
  }
  result.overlap = hidden_share(all);
  return result;
}

attention_run run_attention(pool_plans pools, attention_run_options const& options) {
  std::vector<member> const members = members_of(pools);
  if (members.empty()) {
    return {};
  }
  rank_group_options const patience{.timeout = options.timeout};
  std::vector<rank_group> groups;
  for (auto const& plan : pools) {
    groups.emplace_back(plan->batch.ranks(), patience);
  }
  std::vector<measured_rank> ranks(members.size());
  rank_group everyone(static_cast<std::int32_t>(members.size()), patience);
  auto const origin = rank_observer::clock::now();
  run_ranks(everyone, [&](rank_id number) {
    member const& self = members[number.index()];
    transport start_line(everyone, number);
    start_line.gather({}, {});  // From here on every rank has a thread that can tell the others of a failure.
    backend parts(groups[self.pool], self.rank);
    try {
      ranks[number.index()] = measure_rank(start_line, parts, pools[self.pool], options, origin);
    } catch (std::exception const& e) {
      parts.transport().abort(e.what());
      throw;
    }
  });
  return combine_ranks(pools, std::move(ranks));
}

}  // namespace libra::host
