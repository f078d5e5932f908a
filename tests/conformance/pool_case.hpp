#pragma once

#include <libra/core/random.hpp>
#include <libra/cost/pair_count.hpp>
#include <libra/dispatch/concept.hpp>
#include <libra/host/attention_run.hpp>
#include <libra/host/reference.hpp>
#include <libra/model/pool_batch.hpp>
#include <libra/plan/hashing.hpp>
#include <libra/plan/plan.hpp>
#include <libra/program/lowering.hpp>
#include <libra/run/bindings.hpp>
#include <libra/run/home_rows.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace conformance {

using libra::pool_batch;
using libra::pool_plan;
using libra::rank_id;
using libra::segment_id;
using libra::tensor;

inline constexpr std::array results{tensor::o, tensor::lse, tensor::dq, tensor::dk, tensor::dv};
inline constexpr std::array inputs{tensor::q, tensor::k, tensor::v, tensor::d_o};

/// The same numbers for every plan of a case.
inline constexpr std::uint64_t seed = 2026;

/// Adds segments of random lengths to one slot: many of one token, some that fill the window, often a rest of padding.
inline void fill_slot(pool_batch& batch, libra::slot_id slot, libra::random_bits& bits) {
  std::int64_t const window = batch.home.window_tokens;
  std::int64_t const padding = bits.below(2) == 0 ? 0 : bits.between(0, window - 1);
  for (std::int64_t at = 0; at < window - padding;) {
    std::int64_t const room = window - padding - at;
    std::int64_t const length = bits.below(4) == 0 ? 1 : bits.below(3) == 0 ? room : bits.between(1, room);
    auto const document = static_cast<std::int64_t>(batch.segments.size());
    batch.segments.push_back(
        {{libra::document_id(document), bits.between(0, 1000), length}, libra::sequence_id(slot.value), slot, at});
    at += length;
  }
}

/// Pool number `number` of a series: extents as unfriendly as they are allowed to be, on at most `most_ranks` ranks and
/// `most_tokens` tokens.
///
/// Masks, heads and channels take turns, so that a short series has all of them; the rest is random.
inline pool_batch random_batch(int number, libra::random_bits& bits, std::int32_t most_ranks,
                               std::int64_t most_tokens = 1200) {
  static constexpr std::array<std::array<std::int32_t, 2>, 4> heads{{{8, 2}, {6, 3}, {7, 1}, {4, 4}}};
  static constexpr std::array<std::int32_t, 4> head_dims{16, 40, 64, 128};
  auto const turn = static_cast<std::size_t>(number);
  pool_batch batch;
  batch.shape.q_heads = heads[turn % heads.size()][0];
  batch.shape.kv_heads = heads[turn % heads.size()][1];
  batch.shape.head_dim = head_dims[(turn + turn / head_dims.size()) % head_dims.size()];
  switch (turn % 3) {
    case 0:
      batch.shape.mask = libra::attention_mask::causal();
      break;
    case 1:
      batch.shape.mask = libra::attention_mask::full();
      break;
    default:
      batch.shape.mask = libra::attention_mask::window(bits.between(1, 200));
      break;
  }
  batch.home.cp = static_cast<std::int32_t>(bits.between(1, std::min(4, most_ranks)));
  batch.slots = static_cast<std::int32_t>(bits.between(1, most_ranks / batch.home.cp));
  batch.home.window_tokens = bits.between(1, std::min<std::int64_t>(most_tokens / 3, most_tokens / batch.slots));
  for (std::int32_t s = 0; s < batch.slots; ++s) {
    fill_slot(batch, libra::slot_id(s), bits);
  }
  batch.home.kind = bits.below(3) == 0 ? libra::sharding::zigzag : libra::sharding::contiguous;
  batch.number_rows();
  return batch;
}

inline std::string describe(pool_batch const& b) {
  std::string text = libra::message(
      "heads ", b.shape.q_heads, "/", b.shape.kv_heads, " of ", b.shape.head_dim, ", mask ",
      static_cast<int>(b.shape.mask.kind), " width ", b.shape.mask.width_tokens, ", window ", b.home.window_tokens,
      ", cp ", b.home.cp, b.home.kind == libra::sharding::zigzag ? " zigzag" : "", ", slots ", b.slots, ", segments");
  for (auto const& s : b.segments) {
    text += libra::message(" ", s.slot.value, ":", s.position, "+", s.what.length);
  }
  return text;
}

/// What a scheduler does with a batch that is already placed.
template <class Dispatcher>
std::shared_ptr<pool_plan const> plan(pool_batch const& batch, Dispatcher const& dispatch,
                                      libra::lowering_options options) {
  auto result = std::make_shared<pool_plan>();
  result->batch = batch;
  result->dispatch = dispatch(batch, libra::pair_count{}, libra::topology{});
  options.flow = result->dispatch.flow;
  result->forward = lower(batch, result->dispatch.forward, libra::pass::forward, options);
  result->backward = lower(batch, result->dispatch.backward, libra::pass::backward, options);
  result->fingerprint = {digest_of(batch), digest_of(result->dispatch.forward), digest_of(result->dispatch.backward),
                         digest_of(result->forward), digest_of(result->backward)};
  return result;
}

/// One value per element of a rank's home tensors.
template <class T>
using home_tensors = std::array<std::vector<T>, libra::tensor_count>;

template <class T>
std::vector<T>& of(home_tensors<T>& tensors, tensor t) {
  return tensors[static_cast<std::size_t>(t)];
}
template <class T>
std::vector<T> const& of(home_tensors<T> const& tensors, tensor t) {
  return tensors[static_cast<std::size_t>(t)];
}

inline std::size_t elements(pool_batch const& batch, rank_id rank, tensor t) {
  std::int64_t const channels = is_statistic(t) ? 1 : batch.shape.head_dim;
  return static_cast<std::size_t>(batch.local_tokens(rank) * heads_of(t, batch.shape) * channels);
}

/// Tensors of all ranks of a pool, all elements `value`.
template <class T>
std::vector<home_tensors<T>> filled(pool_batch const& batch, std::span<tensor const> which, T value) {
  std::vector<home_tensors<T>> all(static_cast<std::size_t>(batch.ranks()));
  for (std::size_t r = 0; r < all.size(); ++r) {
    for (tensor const t : which) {
      of(all[r], t).assign(elements(batch, rank_id(r), t), value);
    }
  }
  return all;
}

/// Attention of the whole batch in double precision on inputs rounded to `Element`, by home; zero in rows of padding.
///
/// `stored`: gradients start from the outputs that these ranks hold, as a backward call's do. Shape: `[ranks]`; empty
/// for outputs as exact as the rest.
template <class Element>
std::vector<home_tensors<double>> reference(pool_batch const& batch, std::span<home_tensors<float> const> stored = {}) {
  auto all = filled(batch, results, 0.0);
  std::int32_t const group = batch.shape.group();
  std::int32_t const dim = batch.shape.head_dim;
  for (std::size_t s = 0; s < batch.segments.size() * static_cast<std::size_t>(batch.shape.kv_heads); ++s) {
    segment_id const segment(s / static_cast<std::size_t>(batch.shape.kv_heads));
    auto const kv_head = static_cast<std::int32_t>(s % static_cast<std::size_t>(batch.shape.kv_heads));
    std::int64_t const length = batch.length(segment);
    auto const part = [&](tensor t) {
      std::int32_t const heads = has_kv_heads(t) ? 1 : group;
      return libra::region{t, segment, kv_head * heads, (kv_head + 1) * heads, {0, length}};
    };
    std::array<std::vector<float>, inputs.size()> dense;
    std::array<libra::host::head_rows<float const>, inputs.size()> view;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      libra::region const what = part(inputs[i]);
      libra::segment const& where = batch[segment].what;
      for (std::int64_t token = 0; token < length; ++token) {
        for (std::int32_t h = what.head_begin; h < what.head_end; ++h) {
          std::vector<float> row(static_cast<std::size_t>(dim));
          libra::host::fill_random_row(seed, inputs[i], where.document.value, where.offset + token, h, row);
          std::ranges::transform(row, std::back_inserter(dense[i]),
                                 [](float x) { return static_cast<float>(static_cast<Element>(x)); });
        }
      }
      view[i] = {dense[i].data(), std::int64_t{what.heads()} * dim, dim};
    }
    std::vector<float> o;
    if (!stored.empty()) {
      o.resize(static_cast<std::size_t>(length * group * dim));
      libra::gather_region(
          batch, part(tensor::o), [&](rank_id r) { return std::span<float const>(of(stored[r.index()], tensor::o)); },
          std::span(o));
    }
    auto const solved = libra::host::reference_attention({.length = length,
                                                          .heads = group,
                                                          .head_dim = dim,
                                                          .mask = batch.shape.mask,
                                                          .scale = libra::default_softmax_scale(batch.shape),
                                                          .q = view[0],
                                                          .k = view[1],
                                                          .v = view[2],
                                                          .d_o = view[3],
                                                          .o = {o.data(), std::int64_t{group} * dim, dim}});
    std::array<std::vector<double> const*, results.size()> const got{&solved.o, &solved.lse, &solved.dq, &solved.dk,
                                                                     &solved.dv};
    for (std::size_t i = 0; i < results.size(); ++i) {
      libra::scatter_region(batch, part(results[i]), std::span<double const>(*got[i]),
                            [&](rank_id r) { return std::span(of(all[r.index()], results[i])); });
    }
  }
  return all;
}

/// One slot of a batch as a pool of its own with a single rank: the plainest plan of its sequence.
inline pool_batch alone(pool_batch const& batch, libra::slot_id slot) {
  pool_batch result = batch;
  result.slots = 1;
  result.home.cp = 1;
  result.home.kind = libra::sharding::contiguous;
  std::erase_if(result.segments, [&](libra::placed_segment const& s) { return s.slot != slot; });
  for (auto& s : result.segments) {
    s.slot = libra::slot_id(0);
  }
  return result;
}

}  // namespace conformance
