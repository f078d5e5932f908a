#pragma once

#include <libra/core/error.hpp>
#include <libra/core/ids.hpp>
#include <libra/model/mask.hpp>
#include <libra/model/shape.hpp>
#include <libra/model/work.hpp>

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace libra {

/// The tensors of an attention call. `d_o` is the gradient of `o`; `delta` is rowsum(d_o * o). `o_part` and `dq_part`
/// are what some of their keys have made of rows of `o` and `dq`: they lie in workspaces only, and never travel.
/// `dk_part` and `dv_part` are what some queries have made of rows of `dk` and `dv`; they lie in workspaces and travel.
enum class tensor : std::uint8_t { q, k, v, o, lse, d_o, delta, dq, dk, dv, o_part, dq_part, dk_part, dv_part };
inline constexpr std::size_t tensor_count = 14;

[[nodiscard]] constexpr std::string_view name_of(tensor t) noexcept {
  constexpr std::array<std::string_view, tensor_count> names{
      "q", "k", "v", "o", "lse", "d_o", "delta", "dq", "dk", "dv", "o_part", "dq_part", "dk_part", "dv_part"};
  return names[static_cast<std::size_t>(t)];
}
/// True for the sums over query rows that several ranks may contribute to, while contributions are missing.
[[nodiscard]] constexpr bool is_partial_sum(tensor t) noexcept { return t == tensor::dk_part || t == tensor::dv_part; }
/// True for gradients of keys and values, whole or not.
[[nodiscard]] constexpr bool is_key_gradient(tensor t) noexcept {
  return t == tensor::dk || t == tensor::dv || is_partial_sum(t);
}
/// True for tensors with one head per key/value head.
[[nodiscard]] constexpr bool has_kv_heads(tensor t) noexcept {
  return t == tensor::k || t == tensor::v || is_key_gradient(t);
}
/// True for tensors with one value per (row, head).
[[nodiscard]] constexpr bool is_statistic(tensor t) noexcept { return t == tensor::lse || t == tensor::delta; }
/// True for what some keys have made of a row.
[[nodiscard]] constexpr bool is_row_part(tensor t) noexcept { return t == tensor::o_part || t == tensor::dq_part; }
[[nodiscard]] constexpr bool is_part(tensor t) noexcept { return is_row_part(t) || is_partial_sum(t); }
/// What a tensor is called while parts of it are still missing.
[[nodiscard]] constexpr tensor part_of(tensor t) noexcept {
  switch (t) {
    case tensor::o:
      return tensor::o_part;
    case tensor::dq:
      return tensor::dq_part;
    case tensor::dk:
      return tensor::dk_part;
    case tensor::dv:
      return tensor::dv_part;
    default:
      return t;
  }
}

/// Bytes of one element, by role.
struct element_bytes {
  std::int32_t activation{2};  ///< q, k, v, o, d_o, dq, dk, dv
  std::int32_t statistic{4};   ///< lse, delta
  std::int32_t partial{4};     ///< o_part, dq_part, dk_part, dv_part

  friend constexpr bool operator==(element_bytes const&, element_bytes const&) = default;
};

/// Errors: `input_error` naming an element without bytes.
constexpr void validate(element_bytes const& width) {
  require(width.activation >= 1, "bytes of an activation are ", width.activation, ", expected at least 1");
  require(width.statistic >= 1, "bytes of a statistic are ", width.statistic, ", expected at least 1");
  require(width.partial >= 1, "bytes of a partial sum are ", width.partial, ", expected at least 1");
}

/// Heads of a tensor.
[[nodiscard]] constexpr std::int32_t heads_of(tensor t, attention_shape const& shape) noexcept {
  return has_kv_heads(t) ? shape.kv_heads : shape.q_heads;
}
/// Bytes of one (row, head) of a tensor.
[[nodiscard]] constexpr std::int64_t head_row_bytes(tensor t, attention_shape const& shape,
                                                    element_bytes const& width) noexcept {
  return is_statistic(t) ? width.statistic
                         : std::int64_t{shape.head_dim} * (is_part(t) ? width.partial : width.activation);
}

/// A part of a tensor: tokens (counted from the segment's first) times heads (of the tensor's own kind).
struct region {
  tensor what{};
  segment_id segment;
  std::int32_t head_begin{};
  std::int32_t head_end{};
  row_range tokens;

  [[nodiscard]] constexpr std::int32_t heads() const noexcept { return head_end - head_begin; }
  friend constexpr bool operator==(region const&, region const&) = default;
};

/// Where a region's first row is: at home or in the workspace of the rank that runs the op.
///
/// Home tensors are `[local_tokens, heads, head_dim]` and a location is a local token. Workspace regions are dense
/// `[tokens, heads, head_dim]` blocks of exactly the region's heads and a location is a byte offset.
class location {
 public:
  constexpr location() = default;
  [[nodiscard]] static constexpr location home(std::int64_t local_token) noexcept { return location(local_token * 2); }
  [[nodiscard]] static constexpr location workspace(std::int64_t byte) noexcept { return location(byte * 2 + 1); }
  [[nodiscard]] static constexpr location nowhere() noexcept { return {}; }

  [[nodiscard]] constexpr bool at_home() const noexcept { return code_ >= 0 && code_ % 2 == 0; }
  [[nodiscard]] constexpr bool in_workspace() const noexcept { return code_ >= 0 && code_ % 2 == 1; }
  /// The local token. Pre: `at_home()`.
  [[nodiscard]] constexpr std::int64_t local_token() const noexcept { return code_ / 2; }
  /// The byte offset. Pre: `in_workspace()`.
  [[nodiscard]] constexpr std::int64_t byte() const noexcept { return code_ / 2; }
  [[nodiscard]] constexpr std::int64_t code() const noexcept { return code_; }

  friend constexpr bool operator==(location, location) = default;

 private:
  constexpr explicit location(std::int64_t code) noexcept : code_(code) {}
  std::int64_t code_{-1};
};

/// One region on its way between two ranks; a transfer to the rank itself is a local copy.
struct transfer {
  region what;
  rank_id peer;
  location at;

  friend constexpr bool operator==(transfer const&, transfer const&) = default;
};

/// Which of the keys that its rows see a tile works on.
enum class key_part : std::uint8_t {
  all,    ///< all of them; the result is written
  first,  ///< some; the result is written
  next,   ///< some; the result is added: `o_part` and `lse` are combined with what they hold, `dq_part` is a sum
};

/// A tile and where its operands are. `attend` uses q, k, v, o, lse; `attend_backward` all but o. A tile that works on
/// a part of the keys has `o_part` and `dq_part` in place of `o` and `dq`; one that is not alone on its keys `dk_part`
/// and `dv_part` in place of `dk` and `dv`.
///
/// k, v, dk and dv point at the row of key `keys.begin`, the others at the row of query `rows.begin`.
/// Backward adds to dk and dv, and writes dq unless it is the next part. The keys of a tile that works on all of them
/// begin at a key block; those of a part anywhere.
struct tile_task {
  segment_id segment;
  std::int32_t head_begin{};
  std::int32_t head_end{};
  row_range rows;
  row_range keys;
  key_part part{key_part::all};
  std::array<location, tensor_count> at{};

  [[nodiscard]] constexpr location where(tensor t) const noexcept { return at[static_cast<std::size_t>(t)]; }
  constexpr void put(tensor t, location l) noexcept { at[static_cast<std::size_t>(t)] = l; }
  /// What the tile writes of `o`, `dq`, `dk` or `dv`.
  [[nodiscard]] constexpr tensor output(tensor t) const noexcept {
    bool const whole = is_key_gradient(t) ? where(t) != location::nowhere() : part == key_part::all;
    return whole ? t : part_of(t);
  }
  friend constexpr bool operator==(tile_task const&, tile_task const&) = default;
};

/// A region that an op sets to zero, and where it is.
///
/// Padding rows belong to no segment: their region names `no_segment` and counts local tokens.
struct region_task {
  region what;
  location at;

  friend constexpr bool operator==(region_task const&, region_task const&) = default;
};
inline constexpr segment_id no_segment{-1};

/// Makes `delta` of rows, region `what` at `at`: the products of their `d_o` and `o`, summed over the channels.
///
/// `o` at home was rounded to the home's element type; in the workspace lies `o_part`, which was not.
struct dot_task {
  region what;
  location at;
  location d_o;
  location o;

  /// Which tensor is at `o`.
  [[nodiscard]] constexpr tensor output() const noexcept { return o.at_home() ? tensor::o : tensor::o_part; }
  friend constexpr bool operator==(dot_task const&, dot_task const&) = default;
};

/// A sum of partial results: region `what` at `into`, at home or in the workspace, becomes the sum, in order, of
/// `program::partials[first, last)`, each of `part_of(what.what)`, and is rounded once unless it is a part itself.
/// `o_part` has no sum: `o` is made of one.
struct reduce_task {
  region what;
  location into;
  std::uint32_t first{};
  std::uint32_t last{};

  friend constexpr bool operator==(reduce_task const&, reduce_task const&) = default;
};

enum class op_kind : std::uint8_t {
  exchange,         ///< one round: sends and receives of this rank
  attend,           ///< a batch of tiles, forward
  attend_backward,  ///< a batch of tiles, backward
  row_dot,          ///< delta = rowsum(d_o * o) of regions
  clear,            ///< set regions to zero
  reduce,           ///< sum partial results
};

/// What runs in order on a rank. Different queues run concurrently.
///
/// Inputs travel on `fetch` and results on `deliver`, so that neither direction waits for the other. What adds up what
/// other ranks computed runs on `combine`, so that tiles do not wait for its way.
enum class queue : std::uint8_t { fetch, compute, deliver, combine };
inline constexpr std::size_t queue_count = 4;
inline constexpr std::array all_queues{queue::fetch, queue::compute, queue::deliver, queue::combine};
/// The queues whose ops are exchanges, and nothing else.
inline constexpr std::array exchange_queues{queue::fetch, queue::deliver};
[[nodiscard]] constexpr bool exchanges(queue q) noexcept { return q == queue::fetch || q == queue::deliver; }

[[nodiscard]] constexpr std::string_view name_of(op_kind k) noexcept {
  constexpr std::array<std::string_view, 6> names{"exchange", "attend", "attend_backward",
                                                  "row_dot",  "clear",  "reduce"};
  return names[static_cast<std::size_t>(k)];
}
[[nodiscard]] constexpr std::string_view name_of(queue q) noexcept {
  constexpr std::array<std::string_view, queue_count> names{"fetch", "compute", "deliver", "combine"};
  return names[static_cast<std::size_t>(q)];
}

/// A slice of one of a program's arrays.
struct item_range {
  std::uint32_t begin{};
  std::uint32_t end{};

  [[nodiscard]] constexpr std::uint32_t size() const noexcept { return end - begin; }
  friend constexpr bool operator==(item_range const&, item_range const&) = default;
};

/// One step of a rank's program.
struct op {
  op_kind kind{};
  queue on{};
  /// Exchanges: the round's number on its queue, equal on all ranks of the pool.
  std::int32_t round{};
  /// How many ops of each queue must have finished before this one starts. Its own queue's entry is implied.
  std::array<std::int32_t, queue_count> after{};
  /// Items of the kind: tiles, clears, dots, reduces; sends of an exchange.
  item_range items;
  /// Receives of an exchange.
  item_range receives;

  friend constexpr bool operator==(op const&, op const&) = default;
};

/// What one rank does for one attention call.
///
/// `ops` is in an order in which a rank may also run them one by one: each op waits only for earlier ones.
struct program {
  std::vector<op> ops;
  std::vector<transfer> sends;
  std::vector<transfer> receives;
  std::vector<tile_task> tiles;
  std::vector<region_task> clears;
  std::vector<dot_task> dots;
  std::vector<reduce_task> reduces;
  std::vector<location> partials;
  /// The inputs of tiles, and unrounded outputs of rings, that lie in the workspace from the forward pass to the end of
  /// the backward pass: forward leaves them there, backward begins with them. Equal in both programs of a pair; empty
  /// where inputs are brought twice.
  std::vector<region_task> kept;
  /// The first bytes of the workspace, which hold `kept` and nothing else.
  std::int64_t kept_bytes{};
  std::int64_t workspace_bytes{};

  [[nodiscard]] std::span<transfer const> sends_of(op const& o) const { return slice(sends, o.items); }
  [[nodiscard]] std::span<transfer const> receives_of(op const& o) const { return slice(receives, o.receives); }
  [[nodiscard]] std::span<tile_task const> tiles_of(op const& o) const { return slice(tiles, o.items); }
  [[nodiscard]] std::span<region_task const> clears_of(op const& o) const { return slice(clears, o.items); }
  [[nodiscard]] std::span<dot_task const> dots_of(op const& o) const { return slice(dots, o.items); }
  [[nodiscard]] std::span<reduce_task const> reduces_of(op const& o) const { return slice(reduces, o.items); }
  [[nodiscard]] std::span<location const> partials_of(reduce_task const& r) const {
    return slice(partials, {r.first, r.last});
  }

  friend bool operator==(program const&, program const&) = default;

 private:
  template <class T>
  [[nodiscard]] static std::span<T const> slice(std::vector<T> const& all, item_range r) {
    return std::span(all).subspan(r.begin, r.size());
  }
};

/// The programs of all ranks of a pool for one pass.
struct pool_program {
  pass direction{};
  element_bytes width;
  /// Shape: `[ranks]`, by rank.
  std::vector<program> ranks;

  friend bool operator==(pool_program const&, pool_program const&) = default;
};

/// True when some rank's workspace carries inputs from the forward to the backward pass.
[[nodiscard]] inline bool keeps_inputs(pool_program const& programs) noexcept {
  return std::ranges::any_of(programs.ranks, [](program const& p) { return !p.kept.empty(); });
}

}  // namespace libra
