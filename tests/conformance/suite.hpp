#pragma once

// The tests that every backend must pass. A backend brings a type `Ranks` with
//
//   - `backend`: its type;
//   - `most_ranks()`: how many ranks a pool may have;
//   - `cases`: how many random pools to run (a quarter of them under sanitizers; LIBRA_CASES overrides it);
//   - `tolerance`: the largest error of outputs and of gradients, over the largest value of the tensor or 1. In 16 bits
//     a backward call is given rounded outputs. Kernels that make up for it say `corrects_delta`, where they see whole
//     rows, and rings that keep their outputs need not; everywhere else gradients are compared to those of the outputs
//     that were given;
//   - `operator()(ranks, body)`: calls `body(backend&)` as every rank of a new pool of so many, and throws what the
//     first rank to fail threw; where ranks are processes, each calls it as its own, and a pool of one rank is every
//     process's own;
//   - `here(ranks, rank)`: whether this process calls it as that rank.
//
// and then writes `LIBRA_CONFORMANCE(Ranks)`.

#include "conformance/pool_case.hpp"

#include <libra/core/error.hpp>
#include <libra/dispatch/pooled.hpp>
#include <libra/dispatch/ulysses.hpp>
#include <libra/dispatch/usp.hpp>
#include <libra/dispatch/zigzag_ring.hpp>
#include <libra/run/concept.hpp>
#include <libra/run/pooled_attention.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace conformance {

struct tolerance {
  double output{};
  double gradient{};

  [[nodiscard]] double of(tensor t) const { return t == tensor::o || t == tensor::lse ? output : gradient; }
};

/// What storing a result in 16 bits may cost by itself, relative to it; nothing that matters in fp32.
template <class Element>
inline constexpr double unit_roundoff = 0.0;

template <class Ranks>
using kernel_of = libra::kernel_of<typename Ranks::backend>;
template <class Ranks>
using element_of = typename kernel_of<Ranks>::element;

/// One rank's call: random inputs, and results that are not numbers until they are written.
template <class Element>
struct call {
  home_tensors<Element> tensors;
  std::vector<float> lse;

  call(pool_batch const& batch, rank_id rank) {
    libra::host::rank_tensors const random = libra::host::random_inputs(batch, rank, seed);
    for (tensor const t : inputs) {
      std::ranges::transform(random[t], std::back_inserter(of(tensors, t)),
                             [](float x) { return static_cast<Element>(x); });
    }
    for (tensor const t : {tensor::o, tensor::dq, tensor::dk, tensor::dv}) {
      of(tensors, t).assign(elements(batch, rank, t), static_cast<Element>(std::numeric_limits<float>::quiet_NaN()));
    }
    lse.assign(elements(batch, rank, tensor::lse), std::numeric_limits<float>::quiet_NaN());
  }

  [[nodiscard]] libra::forward_tensors<Element> forward() {
    return {.q = of(tensors, tensor::q),
            .k = of(tensors, tensor::k),
            .v = of(tensors, tensor::v),
            .o = of(tensors, tensor::o),
            .lse = lse};
  }
  [[nodiscard]] libra::backward_tensors<Element> backward() {
    return {.q = of(tensors, tensor::q),
            .k = of(tensors, tensor::k),
            .v = of(tensors, tensor::v),
            .o = of(tensors, tensor::o),
            .lse = lse,
            .d_o = of(tensors, tensor::d_o),
            .dq = of(tensors, tensor::dq),
            .dk = of(tensors, tensor::dk),
            .dv = of(tensors, tensor::dv)};
  }
  [[nodiscard]] home_tensors<float> results_as_float() const {
    home_tensors<float> all;
    for (tensor const t : results) {
      auto const& values = of(tensors, t);
      std::ranges::transform(values, std::back_inserter(of(all, t)), [](Element x) { return static_cast<float>(x); });
    }
    of(all, tensor::lse) = lse;
    return all;
  }
};

/// A call's tensors where the backend's kernels can read them: its own memory, or `Ranks::device_call`, which copies.
template <class Ranks>
struct placed_call {
  call<element_of<Ranks>> host;

  placed_call(typename Ranks::backend&, pool_batch const& batch, rank_id rank) : host(batch, rank) {}
  [[nodiscard]] auto forward() { return host.forward(); }
  [[nodiscard]] auto backward() { return host.backward(); }
  [[nodiscard]] home_tensors<float> results_as_float() { return host.results_as_float(); }
};
template <class Ranks>
  requires requires { typename Ranks::device_call; }
struct placed_call<Ranks> : Ranks::device_call {
  using Ranks::device_call::device_call;
};

/// Runs a plan `times` times with one operator per rank. Shape: `[ranks]`; empty for ranks of other processes.
template <class Ranks>
std::vector<home_tensors<float>> run(std::shared_ptr<pool_plan const> const& what, int times = 1) {
  std::vector<home_tensors<float>> all(static_cast<std::size_t>(what->batch.ranks()));
  Ranks{}(what->batch.ranks(), [&](typename Ranks::backend& parts) {
    libra::pooled_attention attention(parts, what);
    for (int i = 0; i < times; ++i) {
      placed_call<Ranks> c(parts, what->batch, attention.rank());
      attention.forward(c.forward());
      attention.backward(c.backward());
      all[attention.rank().index()] = c.results_as_float();
    }
  });
  return all;
}

/// The bits that no plan may change: every sequence computed by one rank, then laid out as `batch` says.
template <class Ranks>
std::vector<home_tensors<float>> baseline(pool_batch const& batch) {
  auto all = filled(batch, results, 0.0F);
  for (std::int32_t s = 0; s < batch.slots; ++s) {
    pool_batch const single = alone(batch, libra::slot_id(s));
    auto const got = run<Ranks>(plan(single, libra::ulysses{}, {.width = kernel_of<Ranks>::width}));
    std::size_t own = 0;
    for (std::size_t n = 0; n < batch.segments.size(); ++n) {
      if (batch.segments[n].slot != libra::slot_id(s)) {
        continue;
      }
      for (tensor const t : results) {
        libra::region what{t, segment_id(own), 0, heads_of(t, batch.shape), {0, batch.length(segment_id(n))}};
        std::size_t const channels = is_statistic(t) ? 1 : static_cast<std::size_t>(batch.shape.head_dim);
        std::vector<float> dense(static_cast<std::size_t>(what.tokens.size() * what.heads()) * channels);
        libra::gather_region(
            single, what, [&](rank_id) { return std::span<float const>(of(got.front(), t)); }, std::span(dense));
        what.segment = segment_id(n);
        libra::scatter_region(batch, what, std::span<float const>(dense),
                              [&](rank_id r) { return std::span(of(all[r.index()], t)); });
      }
      ++own;
    }
  }
  return all;
}

/// Compares element by element; returns what is wrong, or nothing.
template <class Wrong>
std::string first_wrong(home_tensors<float> const& got, tensor t, Wrong wrong) {
  auto const& values = of(got, t);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (wrong(i, values[i])) {
      return libra::message(name_of(t), " element ", i, " of ", values.size(), " is ", std::to_string(values[i]));
    }
  }
  return {};
}

inline double largest(std::span<home_tensors<double> const> ranks, tensor t) {
  double most = 0;
  for (auto const& r : ranks) {
    for (double const x : of(r, t)) {
      most = std::max(most, std::abs(x));
    }
  }
  return most;
}

/// The largest errors so far, over the largest value: of whole rows, and of systems that combine partial results.
/// Shape: `[2][tensor_count]`.
template <class Ranks>
inline std::array<std::array<double, libra::tensor_count>, 2> errors_seen{};

/// Prints them where LIBRA_SHOW_ERRORS is set: the figures of docs/cuda.md.
template <class Ranks>
void show_errors(char const* of) {
  if (std::getenv("LIBRA_SHOW_ERRORS") == nullptr) {
    return;
  }
  for (std::size_t parts = 0; parts < 2; ++parts) {
    for (tensor const t : results) {
      std::string const what = libra::message(of, parts == 0 ? "whole rows, " : "rings, ", name_of(t));
      MESSAGE(what, ": ", std::exchange(errors_seen<Ranks>[parts][static_cast<std::size_t>(t)], 0.0));
    }
  }
}

/// Whether gradients of whole rows are free of the rounding of the outputs that they start from.
template <class Ranks>
constexpr bool corrects_delta = requires { requires Ranks::corrects_delta; };

/// A case with what must come out.
template <class Ranks>
struct expectation {
  pool_batch batch;
  std::vector<home_tensors<double>> exact;
  std::vector<home_tensors<float>> bits;

  explicit expectation(pool_batch const& b)
      : batch(b),
        exact(reference<element_of<Ranks>>(b)),
        bits(baseline<Ranks>(b)) {}

  /// What outputs that were rounded may cost a row of a gradient: one number for each, in order.
  ///
  /// dv does not read them. dq is off by what delta is off, times the scale and a mean of keys. dk adds such shares up
  /// with both signs: a unit of the largest, by experience.
  [[nodiscard]] std::vector<double> share_of_rounding(home_tensors<float> const& got, rank_id rank, tensor t,
                                                      double most) const {
    auto const dim = static_cast<std::size_t>(batch.shape.head_dim);
    std::vector<double> share(of(got, t).size() / dim, t == tensor::dv ? 0.0 : unit_roundoff<element_of<Ranks>> * most);
    if (t == tensor::dq) {
      call<element_of<Ranks>> const in(batch, rank);
      double largest_key = 0;
      for (std::int32_t r = 0; r < batch.ranks(); ++r) {
        call<element_of<Ranks>> const other(batch, rank_id(r));
        for (auto const x : of(other.tensors, tensor::k)) {
          largest_key = std::max(largest_key, std::abs(static_cast<double>(static_cast<float>(x))));
        }
      }
      double const scale = static_cast<double>(libra::default_softmax_scale(batch.shape));
      for (std::size_t row = 0; row < share.size(); ++row) {
        double off = 0;
        for (std::size_t i = row * dim; i < (row + 1) * dim; ++i) {
          off += static_cast<double>(static_cast<float>(of(in.tensors, tensor::d_o)[i])) *
                 (static_cast<double>(of(got, tensor::o)[i]) - of(exact[rank.index()], tensor::o)[i]);
        }
        share[row] = std::abs(off) * scale * largest_key;
      }
    }
    return share;
  }

  /// `bitwise`: o, lse and dq too must be those of one rank, which systems that combine partial results only reach to
  /// rounding. `unrounded`: gradients are those of outputs that were never rounded, whatever backward was given.
  void check(std::vector<home_tensors<float>> const& got, bool bitwise, bool unrounded) const {
    auto const given = unit_roundoff<element_of<Ranks>> > 0 && !unrounded ? reference<element_of<Ranks>>(batch, got)
                                                                          : std::vector<home_tensors<double>>{};
    auto const& right = given.empty() ? exact : given;
    for (std::size_t r = 0; r < got.size(); ++r) {
      for (tensor const t : results) {
        if (of(got[r], t).empty()) {
          continue;
        }
        CAPTURE(r);
        // Where every document has one token dq and dk are zero, and what is computed is rounding.
        double const most = std::max(1.0, largest(exact, t));
        double const rounding = t == tensor::lse ? 0.0 : unit_roundoff<element_of<Ranks>>;
        double& seen = errors_seen<Ranks>[bitwise ? 0 : 1][static_cast<std::size_t>(t)];
        CHECK(first_wrong(got[r], t, [&](std::size_t i, float x) {
                double const expected = of(right[r], t)[i];
                double const error =
                    (std::abs(static_cast<double>(x) - expected) - rounding * std::abs(expected)) / most;
                seen = std::max(seen, error);
                return !(error <= Ranks::tolerance.of(t));
              }) == "");
        if (!given.empty() && t != tensor::o && t != tensor::lse) {
          std::vector<double> const share = share_of_rounding(got[r], rank_id(r), t, most);
          auto const channels = static_cast<std::size_t>(batch.shape.head_dim);
          CHECK(first_wrong(got[r], t, [&](std::size_t i, float x) {
                  double const expected = of(exact[r], t)[i];
                  double const allowed = Ranks::tolerance.of(t) * most + rounding * std::abs(expected);
                  return !(std::abs(static_cast<double>(x) - expected) <= share[i / channels] + allowed);
                }) == "");
        }
        if (bitwise && t != tensor::dk && t != tensor::dv) {
          CHECK(first_wrong(got[r], t, [&](std::size_t i, float x) { return x != of(bits[r], t)[i]; }) == "");
        }
      }
    }
  }
};

template <class Ranks, class Dispatcher>
void check_waves(expectation<Ranks> const& expected, Dispatcher const& dispatch) {
  for (std::int32_t waves = 1; waves <= 3; ++waves) {
    CAPTURE(dispatch.name);
    CAPTURE(waves);
    expected.check(run<Ranks>(plan(expected.batch, dispatch, {.width = kernel_of<Ranks>::width, .waves = waves})), true,
                   corrects_delta<Ranks>);
  }
}

template <class Ranks, class Dispatcher>
void check_rings(expectation<Ranks> const& expected, Dispatcher const& dispatch) {
  CAPTURE(dispatch.name);
  expected.check(run<Ranks>(plan(expected.batch, dispatch, {.width = kernel_of<Ranks>::width})), false, false);
}

/// The largest sequence of a series of random pools: `Ranks::most_tokens`, or 1200 in all.
template <class Ranks>
constexpr std::int64_t most_tokens_of() {
  if constexpr (requires { Ranks::most_tokens; }) {
    return Ranks::most_tokens;
  } else {
    return 1200;
  }
}

inline bool same_bits(std::vector<home_tensors<float>> const& a, std::vector<home_tensors<float>> const& b) {
  return a == b;
}

/// A kernel that throws in its n-th batch of tiles on one rank.
template <class Kernel>
class failing_kernel : public Kernel {
 public:
  failing_kernel(Kernel base, int batches) : Kernel(std::move(base)), batches_(batches) {}

  void attend(std::span<libra::tile_task const> tiles, libra::bindings const& at) {
    count();
    Kernel::attend(tiles, at);
  }
  void attend_backward(std::span<libra::tile_task const> tiles, libra::bindings const& at) {
    count();
    Kernel::attend_backward(tiles, at);
  }

 private:
  void count() {
    if (batches_-- == 0) {
      throw std::domain_error("the planted failure");
    }
  }
  int batches_;
};

/// What each rank threw: "run: ...", "input: ...", "other: ...", or nothing. Empty for ranks of other processes.
template <class Ranks, class Body>
std::vector<std::string> what_ranks_throw(std::int32_t ranks, Body body) {
  std::vector<std::string> thrown(static_cast<std::size_t>(ranks));
  bool none_here = true;
  for (std::int32_t r = 0; r < ranks; ++r) {
    none_here = none_here && !Ranks::here(ranks, rank_id(r));
  }
  try {
    Ranks{}(ranks, [&](typename Ranks::backend& parts) {
      std::string& mine = thrown[parts.transport().rank().index()];
      try {
        body(parts);
      } catch (libra::run_error const& e) {
        mine = libra::message("run: ", e.what());
        throw;
      } catch (libra::input_error const& e) {
        mine = libra::message("input: ", e.what());
        throw;
      } catch (std::exception const& e) {
        mine = libra::message("other: ", e.what());
        throw;
      }
    });
    CHECK_MESSAGE(none_here, "nobody threw");
  } catch (std::exception const&) {
  }
  return thrown;
}

/// A pool in which every rank works for every other.
inline pool_batch busy_batch(std::int32_t ranks) {
  pool_batch batch;
  batch.shape = {8, 2, 16, {}};
  batch.home = {96, 1};
  batch.slots = ranks;
  for (std::int32_t s = 0; s < ranks; ++s) {
    batch.segments.push_back(
        {{libra::document_id(std::int64_t{s}), 0, s == 0 ? 96 : 8}, libra::sequence_id(s), libra::slot_id(s), 0});
  }
  return batch;
}

template <class Ranks>
int cases_of() {
  if (char const* const text = std::getenv("LIBRA_CASES")) {
    return std::atoi(text);
  }
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return Ranks::cases / 4;
#else
  return Ranks::cases;
#endif
}

class stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  }

 private:
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};
/// Far above what any of these tests needs, far below a hang.
inline constexpr double bounded_seconds = 60;

template <class Ranks>
void check_results() {
  libra::random_bits bits(7);
  for (int i = 0; i < cases_of<Ranks>(); ++i) {
    pool_batch const batch = random_batch(i, bits, Ranks::most_ranks(), most_tokens_of<Ranks>());
    CAPTURE(i);
    CAPTURE(describe(batch));
    expectation<Ranks> const expected(batch);
    check_waves(expected, libra::ulysses{});
    check_waves(expected, libra::pooled{});
    check_rings(expected, libra::zigzag_ring{});
    check_rings(expected, libra::usp{});
    check_rings(expected, libra::usp{batch.home.cp % 2 == 0 ? 2 : 1});
  }
  show_errors<Ranks>("");
}

/// Backward on what forward kept, also when one operator serves call after call.
template <class Ranks>
void check_kept_inputs() {
  libra::random_bits bits(13);
  for (int i = 0; i < cases_of<Ranks>() / 2; ++i) {
    pool_batch const batch = random_batch(i, bits, Ranks::most_ranks(), most_tokens_of<Ranks>());
    CAPTURE(i);
    CAPTURE(describe(batch));
    expectation<Ranks> const expected(batch);
    auto const check = [&](auto const& dispatch, std::int32_t waves, bool ring) {
      CAPTURE(dispatch.name);
      CAPTURE(waves);
      // One dispatch for both passes, as keeping demands.
      auto const alike = [&](pool_batch const& b, auto const& cost, libra::topology const& links) {
        libra::pool_dispatch chosen = dispatch(b, cost, links);
        chosen.forward = chosen.backward;
        return chosen;
      };
      auto const kept = plan(batch, alike,
                             {.width = kernel_of<Ranks>::width,
                              .waves = waves,
                              .ranks_per_node = i % 2 == 0 ? 2 : 0,
                              .keep_inputs = true});
      auto const once = run<Ranks>(kept);
      // Rings keep their outputs as they were before they were rounded.
      expected.check(once, !ring, ring || corrects_delta<Ranks>);
      CHECK(same_bits(run<Ranks>(kept, 2), once));
    };
    check(libra::ulysses{}, 1, false);
    check(libra::pooled{}, static_cast<std::int32_t>(bits.between(1, 3)), false);
    check(libra::zigzag_ring{}, 1, true);
    check(libra::usp{batch.home.cp % 2 == 0 ? 2 : 1}, 1, true);
  }
  show_errors<Ranks>("kept, ");
}

/// Backward without the forward call that keeps its inputs.
template <class Ranks>
void check_backward_alone() {
  std::int32_t const ranks = std::min(2, Ranks::most_ranks());
  pool_batch const batch = busy_batch(ranks);
  auto const kept = plan(batch, libra::ulysses{}, {.width = kernel_of<Ranks>::width, .keep_inputs = true});
  if (!keeps_inputs(kept->backward)) {
    return;
  }
  auto const thrown = what_ranks_throw<Ranks>(ranks, [&](typename Ranks::backend& parts) {
    libra::pooled_attention attention(parts, kept);
    placed_call<Ranks> c(parts, batch, attention.rank());
    attention.backward(c.backward());
  });
  for (std::int32_t r = 0; r < ranks; ++r) {
    if (Ranks::here(ranks, rank_id(r))) {
      CHECK(thrown[static_cast<std::size_t>(r)].find("no forward call came before it") != std::string::npos);
    }
  }
}

template <class Ranks>
void check_repetition() {
  libra::random_bits bits(11);
  for (int i = 0; i < cases_of<Ranks>() / 4; ++i) {
    pool_batch const batch = random_batch(i, bits, Ranks::most_ranks(), most_tokens_of<Ranks>());
    CAPTURE(describe(batch));
    auto const p = plan(batch, libra::pooled{}, {.width = kernel_of<Ranks>::width, .waves = 2});
    auto const first = run<Ranks>(p);
    CHECK(same_bits(first, run<Ranks>(p)));
    CHECK(same_bits(first, run<Ranks>(p, 3)));
  }
}

template <class Ranks>
void check_fingerprint() {
  std::int32_t const ranks = std::min(4, Ranks::most_ranks());
  if (ranks < 2) {
    return;
  }
  stopwatch const watch;
  auto const ours = plan(busy_batch(ranks), libra::pooled{}, {.width = kernel_of<Ranks>::width, .waves = 1});
  auto const other = plan(busy_batch(ranks), libra::pooled{}, {.width = kernel_of<Ranks>::width, .waves = 2});
  auto const thrown = what_ranks_throw<Ranks>(ranks, [&](typename Ranks::backend& parts) {
    bool const odd = parts.transport().rank() == rank_id(ranks - 1);
    libra::pooled_attention attention(parts, odd ? other : ours);
    placed_call<Ranks> c(parts, ours->batch, attention.rank());
    attention.forward(c.forward());
  });
  for (std::int32_t r = 0; r < ranks; ++r) {
    if (!Ranks::here(ranks, rank_id(r))) {
      continue;
    }
    std::string const& what = thrown[static_cast<std::size_t>(r)];
    CHECK(what.starts_with("run: "));
    CHECK(what.find("plans differ") != std::string::npos);
    CHECK(what.find("on rank 0") != std::string::npos);
    CHECK(what.find(libra::message("on rank ", ranks - 1)) != std::string::npos);
    CHECK(what.find("program_forward") != std::string::npos);
  }
  CHECK(watch.seconds() < bounded_seconds);
}

template <class Ranks>
void check_placement() {
  std::int32_t const ranks = std::min(4, Ranks::most_ranks());
  if (ranks < 2) {
    return;
  }
  stopwatch const watch;
  libra::placement_fingerprint const ours{{1, 2}, {3, 4}, {5, 6}, {7, 8}};
  libra::placement_fingerprint other = ours;
  other.packing.low += 1;
  auto const thrown = what_ranks_throw<Ranks>(ranks, [&](typename Ranks::backend& parts) {
    libra::agree(parts.transport(), ours);
    libra::agree(parts.transport(), parts.transport().rank() == rank_id(ranks - 1) ? other : ours);
  });
  std::string const expected =
      libra::message("run: plans differ: the placement's fingerprint is ", to_hex(ours.combined()), " on rank 0 and ",
                     to_hex(other.combined()), " on rank ", ranks - 1, ", which differ first in packing");
  for (std::int32_t r = 0; r < ranks; ++r) {
    CHECK((!Ranks::here(ranks, rank_id(r)) || thrown[static_cast<std::size_t>(r)] == expected));
  }
  CHECK(watch.seconds() < bounded_seconds);
}

template <class Ranks>
void check_refusals() {
  struct refusal {
    libra::attention_options options;
    char const* what;
  };
  std::int32_t const ranks = std::min(4, Ranks::most_ranks());
  auto const p = plan(busy_batch(ranks), libra::pooled{}, {.width = kernel_of<Ranks>::width, .waves = 1});
  for (refusal const& asked : {refusal{{.dropout = 0.5F}, "dropout is 0.500000, expected 0"},
                               refusal{{.logit_soft_cap = 50.0F}, "logit_soft_cap is 50.000000, expected 0"},
                               refusal{{.attention_sinks = true}, "attention_sinks is true, expected false"},
                               refusal{{.alibi = true}, "alibi is true, expected false"}}) {
    CAPTURE(asked.what);
    stopwatch const watch;
    auto const thrown = what_ranks_throw<Ranks>(ranks, [&](typename Ranks::backend& parts) {
      bool const asks = parts.transport().rank() == rank_id(ranks - 1);
      libra::pooled_attention attention(parts, p, asks ? asked.options : libra::attention_options{});
      attention.agree();
    });
    for (std::int32_t r = 0; r < ranks; ++r) {
      if (!Ranks::here(ranks, rank_id(r))) {
        continue;
      }
      std::string const& what = thrown[static_cast<std::size_t>(r)];
      CHECK(what == libra::message(r == ranks - 1 ? "input: " : libra::message("run: rank ", ranks - 1, " failed: "),
                                   asked.what, ": libra's attention is without it"));
    }
    CHECK(watch.seconds() < bounded_seconds);
  }
}

template <class Ranks>
void check_arguments() {
  std::int32_t const ranks = std::min(4, Ranks::most_ranks());
  stopwatch const watch;
  auto const p = plan(busy_batch(ranks), libra::pooled{}, {.width = kernel_of<Ranks>::width, .waves = 1});
  auto const thrown = what_ranks_throw<Ranks>(ranks, [&](typename Ranks::backend& parts) {
    libra::pooled_attention attention(parts, p);
    placed_call<Ranks> c(parts, p->batch, attention.rank());
    auto arguments = c.forward();
    if (attention.rank() == rank_id(ranks - 1)) {
      arguments.k = arguments.k.first(5);
    }
    attention.forward(arguments);
  });
  for (std::int32_t r = 0; r < ranks; ++r) {
    if (!Ranks::here(ranks, rank_id(r))) {
      continue;
    }
    std::string const& what = thrown[static_cast<std::size_t>(r)];
    CHECK(what.starts_with(r == ranks - 1 ? "input: " : "run: "));
    CHECK(what.find("k has 5 elements, expected 3072 = 96 tokens x 2 heads x 16") != std::string::npos);
  }
  CHECK(watch.seconds() < bounded_seconds);
}

template <class Ranks>
void check_failure() {
  std::int32_t const ranks = std::min(4, Ranks::most_ranks());
  auto const p = plan(busy_batch(ranks), libra::pooled{}, {.width = kernel_of<Ranks>::width, .waves = 2});
  for (int batches = 0; batches < 3; ++batches) {
    CAPTURE(batches);
    stopwatch const watch;
    auto const thrown = what_ranks_throw<Ranks>(ranks, [&](typename Ranks::backend& parts) {
      bool const fails = parts.transport().rank() == rank_id(0);
      libra::backend_pair own(
          std::move(parts.transport()),
          failing_kernel(std::move(parts.kernel()), fails ? batches : std::numeric_limits<int>::max()));
      libra::pooled_attention attention(own, p);
      for (;;) {
        placed_call<Ranks> c(parts, p->batch, attention.rank());
        attention.forward(c.forward());
        attention.backward(c.backward());
      }
    });
    for (std::int32_t r = 0; r < ranks; ++r) {
      if (!Ranks::here(ranks, rank_id(r))) {
        continue;
      }
      std::string const& what = thrown[static_cast<std::size_t>(r)];
      CHECK(what.starts_with(r == 0 ? "other: " : "run: rank 0 failed: "));
      CHECK(what.find("the planted failure") != std::string::npos);
    }
    CHECK(watch.seconds() < bounded_seconds);
  }
}

}  // namespace conformance

// clang-format off
/// Defines the suite's test cases for a backend.
#define LIBRA_CONFORMANCE(Ranks) \
  TEST_CASE(#Ranks ": results equal the reference; o, lse and dq to the bit whatever the plan") { conformance::check_results<Ranks>(); } \
  TEST_CASE(#Ranks ": inputs that stay between the passes: o, lse and dq to the bit, gradients as ever") { conformance::check_kept_inputs<Ranks>(); } \
  TEST_CASE(#Ranks ": backward without the forward call that keeps its inputs is refused") { conformance::check_backward_alone<Ranks>(); } \
  TEST_CASE(#Ranks ": the same plan gives the same bits again") { conformance::check_repetition<Ranks>(); } \
  TEST_CASE(#Ranks ": ranks whose plans differ all say so") { conformance::check_fingerprint<Ranks>(); } \
  TEST_CASE(#Ranks ": ranks whose placements differ all say so") { conformance::check_placement<Ranks>(); } \
  TEST_CASE(#Ranks ": what is not supported is refused by name, and every rank hears of it") { conformance::check_refusals<Ranks>(); } \
  TEST_CASE(#Ranks ": a rank with wrong arguments makes every rank throw") { conformance::check_arguments<Ranks>(); } \
  TEST_CASE(#Ranks ": a kernel that throws makes every rank throw its message") { conformance::check_failure<Ranks>(); }
// clang-format on
