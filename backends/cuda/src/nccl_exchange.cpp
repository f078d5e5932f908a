#include <libra/cuda/nccl_exchange.hpp>

#include "kernels.hpp"
#include "task_list.hpp"
#include "watchdog.hpp"

#include <libra/core/error.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace libra::cuda {

namespace {

constexpr std::int64_t vector_bytes = 16;

[[nodiscard]] constexpr std::int64_t rounded_up(std::int64_t bytes) {
  return (bytes + vector_bytes - 1) / vector_bytes * vector_bytes;
}

/// What one message holds: bytes of a wire buffer.
struct message_part {
  std::int32_t peer{};
  std::int64_t offset{};
  std::int64_t bytes{};
};

/// One side of a round: the regions in a wire buffer one after another, those of one peer together and in its order.
struct wire_layout {
  std::vector<row_move> moves;
  std::vector<message_part> messages;
  std::int64_t bytes{};

  /// `move_of(i)` is region i without its place on the wire, `peer_of(i)` the rank it goes to or comes from.
  template <class MoveOf, class PeerOf>
  static wire_layout of(std::size_t regions, MoveOf move_of, PeerOf peer_of) {
    std::map<std::int32_t, std::vector<row_move>> by_peer;
    for (std::size_t i = 0; i < regions; ++i) {
      by_peer[peer_of(i).value].push_back(move_of(i));
    }
    wire_layout result;
    for (auto& [peer, moves] : by_peer) {
      std::int64_t const begin = result.bytes;
      for (row_move& m : moves) {
        m.wire_offset = result.bytes;
        result.bytes += rounded_up(m.rows * m.row_bytes);
        result.moves.push_back(m);
      }
      result.messages.push_back({peer, begin, result.bytes - begin});
    }
    return result;
  }
};

/// A region by its place in a program, whatever the addresses of a call are.
[[nodiscard]] row_move move_of(transfer const& t, attention_shape const& shape, element_bytes const& width) {
  row_move m;
  std::int64_t const head_bytes = head_row_bytes(t.what.what, shape, width);
  m.rows = t.what.tokens.size();
  m.row_bytes = static_cast<std::int32_t>(t.what.heads() * head_bytes);
  if (t.at.at_home()) {
    m.base = static_cast<std::int32_t>(t.what.what);
    m.stride_bytes = heads_of(t.what.what, shape) * head_bytes;
    m.offset = t.at.local_token() * m.stride_bytes + t.what.head_begin * head_bytes;
  } else {
    m.base = workspace_base;
    m.stride_bytes = m.row_bytes;
    m.offset = t.at.byte();
  }
  return m;
}

template <class Byte>
[[nodiscard]] row_move move_of(strided_rows<Byte> const& rows) {
  row_move m;
  m.base = absolute_base;
  m.row_bytes = static_cast<std::int32_t>(rows.row_bytes);
  m.offset = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(rows.data));
  m.rows = rows.rows;
  m.stride_bytes = rows.stride_bytes;
  return m;
}

}  // namespace

struct nccl_exchange::prepared::lists {
  task_list<row_move> gather;
  task_list<row_move> scatter;
  std::vector<message_part> sends;
  std::vector<message_part> receives;
  std::int64_t send_bytes{};
  std::int64_t receive_bytes{};

  lists(wire_layout const& out, wire_layout const& back, stream_ref in)
      : gather(std::span(out.moves), in),
        scatter(std::span(back.moves), in),
        sends(out.messages),
        receives(back.messages),
        send_bytes(out.bytes),
        receive_bytes(back.bytes) {}
};

nccl_exchange::prepared::prepared() noexcept = default;
nccl_exchange::prepared::~prepared() = default;
nccl_exchange::prepared::prepared(prepared&&) noexcept = default;
nccl_exchange::prepared& nccl_exchange::prepared::operator=(prepared&&) noexcept = default;

struct nccl_exchange::state {
  /// A channel's wire buffers, and the round that was not prepared, while it is under way.
  struct channel {
    device_buffer<std::byte> send;
    device_buffer<std::byte> receive;
    std::unique_ptr<prepared::lists> own;
  };

  context* in;
  rank_id rank;
  std::int32_t ranks;
  std::array<channel, queue_count> channels;
  watchdog dog;

  state(communicator fetch, communicator deliver, context& own, communicator_options const& options)
      : in(&own),
        rank(fetch.rank()),
        ranks(fetch.size()),
        dog(std::move(fetch), std::move(deliver), own.device(), message("rank ", rank.value), options.timeout) {}

  /// At least so many bytes; what was there may go, in the stream's order.
  std::byte* reserve(device_buffer<std::byte>& buffer, std::int64_t bytes, stream_ref stream) const {
    if (buffer.size() < static_cast<std::size_t>(bytes)) {
      buffer = in->allocating(
          [&] { return device_buffer<std::byte>(static_cast<std::size_t>(bytes), stream, "a round's messages"); });
    }
    return buffer.address();
  }

  [[nodiscard]] static std::string name_of_round(exchange_round const& round, prepared::lists const& l) {
    std::string text = message(name_of(round.channel), " round ", round.round);
    std::vector<std::int32_t> peers;
    for (auto const* const side : {&l.sends, &l.receives}) {
      std::ranges::transform(*side, std::back_inserter(peers), &message_part::peer);
    }
    std::ranges::sort(peers);
    peers.erase(std::ranges::unique(peers).begin(), peers.end());
    for (std::size_t i = 0; i < peers.size(); ++i) {
      text += message(i == 0 ? " with ranks " : ", ", peers[i]);
    }
    return text;
  }
};

nccl_exchange::nccl_exchange(communicator fetch, communicator deliver, context& in,
                             communicator_options const& options) {
  require(fetch.size() == deliver.size() && fetch.rank() == deliver.rank(), "the communicators' ranks are ",
          fetch.rank(), " of ", fetch.size(), " and ", deliver.rank(), " of ", deliver.size(), ", expected equal ones");
  state_ = std::make_unique<state>(std::move(fetch), std::move(deliver), in, options);
}
nccl_exchange::~nccl_exchange() = default;
nccl_exchange::nccl_exchange(nccl_exchange&&) noexcept = default;
nccl_exchange& nccl_exchange::operator=(nccl_exchange&&) noexcept = default;

rank_id nccl_exchange::rank() const noexcept { return state_->rank; }
std::int32_t nccl_exchange::ranks() const noexcept { return state_->ranks; }
context& nccl_exchange::in() noexcept { return *state_->in; }

nccl_exchange::prepared nccl_exchange::prepare(op const& what, program const& of, attention_shape const& shape,
                                               element_bytes const& width) {
  prepared result;
  if (what.kind == op_kind::exchange) {
    auto const layout = [&](std::span<transfer const> regions) {
      return wire_layout::of(
          regions.size(), [&](std::size_t i) { return move_of(regions[i], shape, width); },
          [&](std::size_t i) { return regions[i].peer; });
    };
    result.lists_ = std::make_unique<prepared::lists>(layout(of.sends_of(what)), layout(of.receives_of(what)),
                                                      state_->in->on(what.on));
  }
  return result;
}

void nccl_exchange::enqueue(exchange_round const& round, prepared const* ready, parameter_block const* at) {
  state& s = *state_;
  s.dog.check();
  if (round.sends.empty() && round.receives.empty()) {
    return;
  }
  stream_ref const in = s.in->on(round.channel);
  auto& channel = s.channels[static_cast<std::size_t>(round.channel)];
  if (ready == nullptr) {
    channel.own = std::make_unique<prepared::lists>(
        wire_layout::of(
            round.sends.size(), [&](std::size_t i) { return move_of(round.sends[i].rows); },
            [&](std::size_t i) { return round.sends[i].to; }),
        wire_layout::of(
            round.receives.size(), [&](std::size_t i) { return move_of(round.receives[i].rows); },
            [&](std::size_t i) { return round.receives[i].from; }),
        in);
  }
  prepared::lists const& l = ready == nullptr ? *channel.own : *ready->lists_;
  call_parameters const* const call = at == nullptr ? nullptr : at->address();
  std::string const name = state::name_of_round(round, l);

  std::byte* const outbound = s.reserve(channel.send, l.send_bytes, in);
  std::byte* const inbound = s.reserve(channel.receive, l.receive_bytes, in);
  launch_gather(call, l.gather, outbound, in);
  s.dog.with(round.channel, name, [&](ncclComm_t with) {
    transfer_group group;
    for (message_part const& m : l.sends) {
      send(group, with, m.peer, outbound + m.offset, m.bytes, in.get());
    }
    for (message_part const& m : l.receives) {
      receive(group, with, m.peer, inbound + m.offset, m.bytes, in.get());
    }
    group.end();
  });
  launch_scatter(call, l.scatter, inbound, in);
  s.dog.watch(round.channel, name, in);
}

bool nccl_exchange::finish(queue, bool) {
  // Sends and receives are in the channel's stream, so what follows in it finds them finished.
  state_->dog.check();
  return true;
}

void nccl_exchange::gather(std::span<std::uint64_t const> mine, std::span<std::uint64_t> all) {
  state& s = *state_;
  require(all.size() == mine.size() * static_cast<std::size_t>(s.ranks), "gather into ", all.size(),
          " words, expected ", mine.size(), " of each of ", s.ranks, " ranks");
  if (mine.empty()) {
    return;
  }
  stream_ref const in = s.in->on(queue::fetch);
  device_buffer<std::uint64_t> const words(mine.size() + all.size(), in);
  std::uint64_t* const own = words.address();
  copy(mine, words.span().subspan(0, mine.size()), in);
  s.dog.with(queue::fetch, "gather", [&](ncclComm_t with) {
    cuda::check(ncclAllGather(own, own + mine.size(), mine.size(), ncclUint64, with, in.get()), "ncclAllGather");
  });
  copy<std::uint64_t>(words.span().subspan(mine.size(), all.size()), all, in);
  s.dog.watch(queue::fetch, "gather", in);
  in.synchronize();
  s.dog.check();
}

void nccl_exchange::check() { state_->dog.check(); }
void nccl_exchange::abort(std::string_view reason) noexcept { state_->dog.abort(reason); }

}  // namespace libra::cuda
