#pragma once

#include <libra/host/kernel.hpp>
#include <libra/host/rank_group.hpp>
#include <libra/host/transport.hpp>
#include <libra/run/concept.hpp>

namespace libra::host {

/// Attention in fp32 on the threads of one process: one backend per rank, made and used on the rank's thread.
class backend : public backend_pair<transport, kernel> {
 public:
  /// Pre: `group` outlives the backend. Errors: `input_error` when the group has no such rank.
  backend(rank_group& group, rank_id rank) : backend_pair(host::transport(group, rank), host::kernel()) {}
};
static_assert(libra::backend<backend>);

}  // namespace libra::host
