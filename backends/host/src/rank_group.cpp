#include "hub.hpp"

#include <libra/core/error.hpp>
#include <libra/host/rank_group.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace libra::host {

namespace {

/// Calls `body`; what it throws is kept in `thrown` and fails the rank's group.
template <class Body>
void keep_failure(detail::hub& hub, rank_id rank, std::exception_ptr& thrown, Body body) noexcept {
  try {
    body();
  } catch (std::exception const& e) {
    thrown = std::current_exception();
    hub.abort(rank, e.what());
  } catch (...) {
    thrown = std::current_exception();
    hub.abort(rank, "unknown exception");
  }
}

}  // namespace

rank_group::rank_group(std::int32_t ranks, rank_group_options const& options) {
  require(ranks >= 1, "rank group has ", ranks, " ranks, expected at least 1");
  require(options.timeout.count() >= 1, "timeout is ", options.timeout.count(), " ms, expected at least 1");
  hub_ = std::make_unique<detail::hub>(ranks, options.timeout);
}
rank_group::~rank_group() = default;
rank_group::rank_group(rank_group&&) noexcept = default;
rank_group& rank_group::operator=(rank_group&&) noexcept = default;

std::int32_t rank_group::size() const noexcept { return hub_->ranks(); }
bool rank_group::failed() const { return hub_->first_failed().has_value(); }

void run_ranks(rank_group& group, std::function<void(rank_id)> const& body) {
  detail::hub& hub = *group.hub_;
  std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(group.size()));
  hub.join_all();
  {
    std::vector<std::jthread> threads;
    threads.reserve(thrown.size());
    for (std::int32_t r = 0; r < group.size(); ++r) {
      auto const run = [&, rank = rank_id(r)] {
        keep_failure(hub, rank, thrown[rank.index()], [&] {
          body(rank);
          hub.leave(rank);
        });
      };
      // A thread that cannot be started is a rank that failed.
      keep_failure(hub, rank_id(r), thrown[static_cast<std::size_t>(r)], [&] { threads.emplace_back(run); });
    }
  }
  if (auto const first = hub.first_failed(); first && thrown[first->index()]) {
    std::rethrow_exception(thrown[first->index()]);
  }
  auto const any = std::ranges::find_if(thrown, [](auto const& e) { return e != nullptr; });
  if (any != thrown.end()) {
    std::rethrow_exception(*any);
  }
}

}  // namespace libra::host
