#include "hub.hpp"

#include <libra/core/error.hpp>
#include <libra/host/transport.hpp>

namespace libra::host {

transport::transport(rank_group& group, rank_id rank) : hub_(group.hub_.get()), rank_(rank) {
  require(rank.value >= 0 && rank.value < group.size(), "rank is ", rank.value, ", expected 0 to ", group.size() - 1);
}

std::int32_t transport::ranks() const noexcept { return hub_->ranks(); }

transport::ticket transport::start(exchange_round const& round) { return {round.channel, hub_->start(rank_, round)}; }

bool transport::test(ticket& t) {
  if (t.sequence_ >= 0 && hub_->advance(rank_, t.channel_, t.sequence_, false)) {
    t.sequence_ = -1;
  }
  return t.sequence_ < 0;
}

void transport::wait(ticket& t) {
  if (t.sequence_ >= 0) {
    hub_->advance(rank_, t.channel_, t.sequence_, true);
    t.sequence_ = -1;
  }
}

void transport::gather(std::span<std::uint64_t const> mine, std::span<std::uint64_t> all) {
  hub_->gather(rank_, mine, all);
}

void transport::abort(std::string_view reason) noexcept { hub_->abort(rank_, reason); }

}  // namespace libra::host
