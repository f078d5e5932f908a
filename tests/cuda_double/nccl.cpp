// The functions of NCCL that backends/cuda calls, between the threads of one process: sends meet receives in the order
// in which either side's stream comes by them, as soon as both have, and in an order among pairs that the seed decides.
// A communicator that is aborted leaves its peers waiting, as it may on a real machine.
#include "cuda_double/machine.hpp"

#include <libra/core/error.hpp>

#include <nccl.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using cuda_double::machine;

namespace {

struct world;

/// One rank's end of a communicator.
struct member {
  std::shared_ptr<world> in;  ///< null until all have joined
  int rank{};
  bool aborted{};
  bool splitting{};  ///< until all ranks of the world split it
  ncclResult_t error{ncclSuccess};
};

/// A send or a receive that a stream has come by.
struct posted {
  std::shared_ptr<member> of;
  std::byte* data{};
  std::size_t bytes{};
  int peer{};
  bool sends{};
  bool done{};
};

struct pair_queue {
  std::deque<std::shared_ptr<posted>> sends;
  std::deque<std::shared_ptr<posted>> receives;
};

struct split_call {
  int color{};
  int key{};
  int rank{};
  std::shared_ptr<member> of;
  std::shared_ptr<member> result;
  ncclComm_t* place{};  ///< written when all have called, as NCCL does
};

struct world {
  int size{};
  std::vector<std::shared_ptr<member>> waiting;  ///< until all have joined
  std::map<std::pair<int, int>, pair_queue> pairs;
  std::vector<split_call> splits;
};

std::map<std::string, std::shared_ptr<world>> joining;
std::uint64_t next_id = 0;
std::vector<std::weak_ptr<member>> members;

void join(std::shared_ptr<world> const& in, std::shared_ptr<member> const& self) {
  in->waiting.push_back(self);
  if (in->waiting.size() == static_cast<std::size_t>(in->size)) {
    for (auto const& each : in->waiting) {
      each->in = in;
    }
    in->waiting.clear();
  }
}

void match(machine& m, pair_queue& queue) {
  while (!queue.sends.empty() && !queue.receives.empty()) {
    auto const send = queue.sends.front();
    auto const receive = queue.receives.front();
    queue.sends.pop_front();
    queue.receives.pop_front();
    if (send->bytes != receive->bytes) {
      send->of->error = ncclInvalidUsage;
      receive->of->error = ncclInvalidUsage;
      m.finding = libra::message("rank ", send->of->rank, " sends ", send->bytes, " bytes to rank ", receive->of->rank,
                                 ", which receives ", receive->bytes);
      return;
    }
    m.loose_work().emplace_back([&m, send, receive] {
      if (send->of->aborted || receive->of->aborted) {
        return;
      }
      if (!m.owns(send->data, send->bytes) || !m.owns(receive->data, receive->bytes)) {
        m.find("a transfer reads or writes beyond device memory", cudaErrorIllegalAddress);
        return;
      }
      std::memmove(receive->data, send->data, send->bytes);
      send->done = true;
      receive->done = true;
    });
  }
}

void post(machine& m, std::shared_ptr<posted> const& what) {
  if (what->of->aborted) {
    return;
  }
  int const from = what->sends ? what->of->rank : what->peer;
  int const to = what->sends ? what->peer : what->of->rank;
  pair_queue& queue = what->of->in->pairs[{from, to}];
  (what->sends ? queue.sends : queue.receives).push_back(what);
  match(m, queue);
}

struct grouped {
  cudaStream_t stream{};
  std::shared_ptr<posted> what;
};
thread_local int depth = 0;
thread_local std::vector<grouped> group;

/// What is grouped on one stream begins together, and holds the stream until all of it is done.
void enqueue_group(machine& m) {
  std::vector<grouped> const all = std::exchange(group, {});
  std::map<cudaStream_t, std::vector<std::shared_ptr<posted>>> by_stream;
  for (grouped const& g : all) {
    by_stream[g.stream].push_back(g.what);
  }
  for (auto const& entry : by_stream) {
    cudaStream_t const stream = entry.first;
    auto const& ops = entry.second;
    m.enqueue(stream, {nullptr, [&m, ops] {
                         for (auto const& op : ops) {
                           post(m, op);
                         }
                       }});
    m.enqueue(stream,
              {[ops] { return std::ranges::all_of(ops, [](auto const& op) { return op->done || op->of->aborted; }); },
               nullptr});
  }
}

std::size_t bytes_of(std::size_t count, ncclDataType_t type) { return count * (type == ncclUint64 ? 8 : 1); }

template <class Body>
ncclResult_t guarded(Body body) {
  auto& m = machine::instance();
  auto held = m.hold();
  return body(m, held);
}

ncclResult_t add(std::shared_ptr<member> const& of, void* data, std::size_t bytes, int peer, bool sends,
                 cudaStream_t stream) {
  return guarded([&](machine& m, auto&) {
    if (of->aborted || of->in == nullptr || peer < 0 || peer >= of->in->size) {
      return ncclInvalidUsage;
    }
    group.push_back(
        {stream, std::make_shared<posted>(posted{of, static_cast<std::byte*>(data), bytes, peer, sends, false})});
    if (depth == 0) {
      enqueue_group(m);
    }
    return ncclSuccess;
  });
}

}  // namespace

struct ncclComm {
  std::shared_ptr<member> self;
};

namespace {

/// A communicator without a limit takes as many blocks as NCCL likes.
int ctas_of(ncclConfig_t const* config) {
  return config == nullptr || config->maxCTAs == NCCL_CONFIG_UNDEF_INT ? std::numeric_limits<int>::max()
                                                                       : config->maxCTAs;
}

void note_limits(machine& m, ncclConfig_t const* config) {
  m.most_ctas = std::max(m.most_ctas, ctas_of(config));
  m.least_peer_channels = std::min(m.least_peer_channels, config == nullptr ? 1 : config->nChannelsPerNetPeer);
}

ncclComm* make_communicator(machine& m, std::shared_ptr<member> const& self) {
  ++m.communicators;
  members.push_back(self);
  return new ncclComm{self};
}

}  // namespace

namespace cuda_double {

void break_connections() {
  auto held = machine::instance().hold();
  for (auto const& each : members) {
    if (auto const self = each.lock()) {
      self->error = ncclRemoteError;
    }
  }
}

}  // namespace cuda_double

extern "C" {

char const* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclInvalidUsage:
      return "invalid usage";
    case ncclInProgress:
      return "in progress";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    default:
      return "an error that the double does not name";
  }
}
char const* ncclGetLastError(ncclComm_t) {
  static thread_local std::string text;
  text = cuda_double::finding();
  return text.c_str();
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  return guarded([&](machine&, auto&) {
    *id = {};
    ++next_id;
    std::memcpy(id->internal, &next_id, sizeof next_id);
    return ncclSuccess;
  });
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
  return guarded([&](machine& m, auto& held) {
    if (ranks < 1 || rank < 0 || rank >= ranks) {
      return ncclInvalidArgument;
    }
    std::string const name(id.internal, sizeof id.internal);
    auto& in = joining[name];
    if (!in) {
      in = std::make_shared<world>();
      in->size = ranks;
    }
    auto const self = std::make_shared<member>();
    self->rank = rank;
    auto const mine = in;
    join(mine, self);
    if (self->in) {
      joining.erase(name);
    }
    note_limits(m, config);
    *comm = make_communicator(m, self);
    m.wake();
    if (config != nullptr && config->blocking == 0) {
      return ncclInProgress;
    }
    m.run_until(held, [&] { return self->in != nullptr; });
    return ncclSuccess;
  });
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* result, ncclConfig_t* config) {
  return guarded([&](machine& m, auto&) {
    note_limits(m, config);
    if (comm->self->in == nullptr || comm->self->aborted) {
      return ncclInvalidUsage;
    }
    world& of = *comm->self->in;
    auto const self = std::make_shared<member>();
    comm->self->splitting = true;
    of.splits.push_back({color, key, comm->self->rank, comm->self, self, result});
    *result = nullptr;
    if (of.splits.size() == static_cast<std::size_t>(of.size)) {
      auto calls = std::exchange(of.splits, {});
      std::ranges::sort(calls, {}, [](split_call const& c) { return std::tuple(c.color, c.key, c.rank); });
      std::map<int, std::shared_ptr<world>> made;
      for (split_call const& c : calls) {
        auto& in = made[c.color];
        in = in ? in : std::make_shared<world>();
        c.result->rank = in->size++;
        c.of->splitting = false;
        *c.place = c.color == NCCL_SPLIT_NOCOLOR ? nullptr : make_communicator(m, c.result);
      }
      for (split_call const& c : calls) {
        join(made[c.color], c.result);
      }
    }
    m.wake();
    return ncclInProgress;
  });
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* result) {
  return guarded([&](machine&, auto&) {
    *result = comm->self->error != ncclSuccess                     ? comm->self->error
              : comm->self->in == nullptr || comm->self->splitting ? ncclInProgress
                                                                   : ncclSuccess;
    return ncclSuccess;
  });
}
ncclResult_t ncclCommCount(ncclComm_t const comm, int* count) {
  return guarded([&](machine&, auto&) {
    *count = comm->self->in->size;
    return ncclSuccess;
  });
}
ncclResult_t ncclCommUserRank(ncclComm_t const comm, int* rank) {
  return guarded([&](machine&, auto&) {
    *rank = comm->self->rank;
    return ncclSuccess;
  });
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  return guarded([&](machine& m, auto&) {
    comm->self->aborted = true;
    if (comm->self->in != nullptr) {
      auto const is_mine = [&](auto const& op) { return op->of == comm->self; };
      for (auto& [ranks, queue] : comm->self->in->pairs) {
        std::erase_if(queue.sends, is_mine);
        std::erase_if(queue.receives, is_mine);
      }
      std::erase_if(comm->self->in->splits, [&](split_call const& c) { return c.of == comm->self; });
    }
    --m.communicators;
    ++m.communicators_aborted;
    delete comm;
    m.wake();
    return ncclSuccess;
  });
}
ncclResult_t ncclCommFinalize(ncclComm_t) { return ncclSuccess; }
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  return guarded([&](machine& m, auto&) {
    --m.communicators;
    delete comm;
    return ncclSuccess;
  });
}

ncclResult_t ncclGroupStart() {
  ++depth;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  return guarded([&](machine& m, auto&) {
    if (--depth == 0) {
      enqueue_group(m);
    }
    return ncclSuccess;
  });
}
ncclResult_t ncclSend(void const* data, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return add(comm->self, const_cast<void*>(data), bytes_of(count, type), peer, true, stream);
}
ncclResult_t ncclRecv(void* data, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return add(comm->self, data, bytes_of(count, type), peer, false, stream);
}
ncclResult_t ncclAllGather(void const* from, void* to, std::size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  int ranks = 0;
  ncclCommCount(comm, &ranks);
  ncclGroupStart();
  ncclResult_t result = ncclSuccess;
  for (int r = 0; r < ranks && result == ncclSuccess; ++r) {
    result = ncclSend(from, count, type, r, comm, stream);
    if (result == ncclSuccess) {
      result = ncclRecv(static_cast<std::byte*>(to) + static_cast<std::size_t>(r) * bytes_of(count, type), count, type,
                        r, comm, stream);
    }
  }
  ncclResult_t const ended = ncclGroupEnd();
  return result != ncclSuccess ? result : ended;
}

}  // extern "C"
