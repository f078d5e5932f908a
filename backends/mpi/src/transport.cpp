#include <libra/mpi/transport.hpp>

#include "link.hpp"

namespace libra::mpi {

transport::transport(MPI_Comm pool, transport_options const& options) : link_(new detail::link(pool, options)) {}

rank_id transport::rank() const noexcept { return link_->rank(); }
std::int32_t transport::ranks() const noexcept { return link_->ranks(); }

transport::ticket transport::start(exchange_round const& round) { return {round.channel, link_->start(round)}; }

bool transport::test(ticket& t) {
  if (t.sequence_ >= 0 && link_->advance(t.channel_, t.sequence_, false)) {
    t.sequence_ = -1;
  }
  return t.sequence_ < 0;
}

void transport::wait(ticket& t) {
  if (t.sequence_ >= 0) {
    link_->advance(t.channel_, t.sequence_, true);
    t.sequence_ = -1;
  }
}

void transport::gather(std::span<std::uint64_t const> mine, std::span<std::uint64_t> all) { link_->gather(mine, all); }

void transport::abort(std::string_view reason) noexcept { link_->abort(reason); }

}  // namespace libra::mpi
