// A long simulated annealing of placements: an upper bound on the best makespan, to judge the placers by.
//
// usage: anneal_placement LENGTHS... [--window N] [--dp D] [--cp C] [--pool P] [--micro-steps M] [--seconds S]
//                         [--packer best_fit_decreasing|balanced]
//
// Prints one line of JSON: the makespan over the mean that the placers reach, the certificate's bound, and what
// annealing reaches in S seconds of CPU time, divided evenly over the global batches. Floating point, random and slow
// on purpose: nothing here decides about a plan. Work is that of qwen3-30b-a3b on h200-sxm under `roofline`, as the
// command's defaults are.

#include <libra/core/random.hpp>
#include <libra/cost/roofline.hpp>
#include <libra/io/lengths.hpp>
#include <libra/model/machine.hpp>
#include <libra/model/transformer.hpp>
#include <libra/pack/balanced.hpp>
#include <libra/pack/best_fit_decreasing.hpp>
#include <libra/place/as_packed.hpp>
#include <libra/place/longest_first.hpp>
#include <libra/place/variance_reduced.hpp>
#include <libra/plan/certify.hpp>
#include <libra/pool/fixed_size.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using libra::int128;
using libra::sequence_id;

struct settings {
  std::vector<std::string> files;
  libra::layout layout{.micro_steps = 4};
  double seconds{60};
  bool balanced{false};
};

settings parse(std::span<char* const> words) {
  settings s;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string_view const word = words[i];
    if (!word.starts_with("--")) {
      s.files.emplace_back(word);
      continue;
    }
    libra::require(i + 1 < words.size(), word, " has no value");
    std::string const value = words[++i];
    if (word == "--packer") {
      s.balanced = value == libra::balanced::name;
      libra::require(s.balanced || value == libra::best_fit_decreasing::name, "--packer is ", value, ", expected ",
                     libra::best_fit_decreasing::name, " or ", libra::balanced::name);
      continue;
    }
    double const number = std::stod(value);
    auto const integer = static_cast<std::int32_t>(number);
    if (word == "--window")
      s.layout.window_tokens = static_cast<std::int64_t>(number);
    else if (word == "--dp")
      s.layout.dp = integer;
    else if (word == "--cp")
      s.layout.cp = integer;
    else if (word == "--pool")
      s.layout.pool = integer;
    else if (word == "--micro-steps")
      s.layout.micro_steps = integer;
    else if (word == "--seconds")
      s.seconds = number;
    else
      libra::require(false, "option ", word, " is unknown");
  }
  libra::require(!s.files.empty(), "no list of lengths is given");
  return s;
}

/// One global batch under annealing. Work is scaled so that the mean pool per slot is 1.
class annealer {
 public:
  annealer(std::span<double const> work, libra::pool_partition const& pools, std::size_t steps)
      : work_(work),
        groups_(static_cast<std::size_t>(pools.size())),
        pool_of_(work.size()),
        at_(work.size()) {
    std::size_t slot = 0;
    for (std::size_t m = 0; m < steps; ++m) {
      for (std::size_t g = 0; g < groups_; ++g) {
        per_slot_.push_back(1.0 / pools.slots(libra::pool_id(g)));
        for (std::int32_t i = 0; i < pools.slots(libra::pool_id(g)); ++i) {
          pool_of_[slot++] = m * groups_ + g;
        }
      }
    }
    first_.push_back(0);
    for (std::size_t i = 1; i <= slot; ++i) {
      if (i == slot || pool_of_[i] != pool_of_[i - 1]) first_.push_back(i);
    }
  }

  /// Anneals from `at` (sequences by slot) and leaves the best placement there. Returns its makespan.
  double run(std::span<std::size_t> at, double seconds, double hot, libra::random_bits& bits) {
    std::ranges::copy(at, at_.begin());
    load();
    double now = makespan();
    double best = now;
    std::clock_t const begin = std::clock();  // of this process: other work on the machine shall not cut it short
    double temperature = hot;
    double const cold = 2e-6;
    for (std::uint64_t tries = 0;; ++tries) {
      if (tries % 1024 == 0) {
        double const used = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC / seconds;
        if (used >= 1) break;
        temperature = hot * std::pow(cold / hot, used);
      }
      std::uint64_t const random = bits();
      std::size_t a = (random & 0xffffffff) * at_.size() >> 32;
      if ((random >> 63) != 0) {
        std::size_t const p = heaviest_[pool_of_[a] / groups_];
        a = first_[p] + a % (first_[p + 1] - first_[p]);
      }
      std::size_t const b = bits.below(at_.size());
      std::size_t const from = pool_of_[a];
      std::size_t const to = pool_of_[b];
      double const difference = work_[at_[a]] - work_[at_[b]];
      if (from == to || difference == 0) continue;
      std::size_t const m = from / groups_;
      std::size_t const n = to / groups_;
      double const before = level_[m] + (m == n ? 0 : level_[n]);
      load_[from] -= difference * per_slot_[from];
      load_[to] += difference * per_slot_[to];
      double const after = top(m) + (m == n ? 0 : top(n));
      double const worse = after - before;
      if (worse <= 0 || unit(bits) < std::exp(-worse / temperature)) {
        std::swap(at_[a], at_[b]);
        relevel(m);
        relevel(n);
        now += worse;
        if (now < best - 1e-12) {
          best = now;
          std::ranges::copy(at_, at.begin());
        }
      } else {
        load_[from] += difference * per_slot_[from];
        load_[to] -= difference * per_slot_[to];
      }
    }
    return best;
  }

 private:
  static double unit(libra::random_bits& bits) { return static_cast<double>(bits() >> 11) * 0x1p-53; }

  void load() {
    load_.assign(per_slot_.size(), 0);
    for (std::size_t i = 0; i < at_.size(); ++i) load_[pool_of_[i]] += work_[at_[i]] * per_slot_[pool_of_[i]];
    level_.assign(load_.size() / groups_, 0);
    heaviest_.assign(level_.size(), 0);
    for (std::size_t m = 0; m < level_.size(); ++m) relevel(m);
  }
  [[nodiscard]] double top(std::size_t m) const {
    double most = 0;
    for (std::size_t g = 0; g < groups_; ++g) most = std::max(most, load_[m * groups_ + g]);
    return most;
  }
  void relevel(std::size_t m) {
    level_[m] = 0;
    for (std::size_t g = 0; g < groups_; ++g) {
      if (load_[m * groups_ + g] > level_[m]) {
        level_[m] = load_[m * groups_ + g];
        heaviest_[m] = m * groups_ + g;
      }
    }
  }
  [[nodiscard]] double makespan() const {
    double sum = 0;
    for (double const l : level_) sum += l;
    return sum;
  }

  std::span<double const> work_;
  std::size_t groups_;
  std::vector<std::size_t> pool_of_;  // by slot
  std::vector<std::size_t> first_;    // slots of pool p: [first_[p], first_[p + 1])
  std::vector<double> per_slot_;      // by pool
  std::vector<std::size_t> at_;
  std::vector<double> load_;
  std::vector<double> level_;
  std::vector<std::size_t> heaviest_;
};

/// The sequences' work: attention of all heads, forward and backward.
std::vector<int128> work_of(libra::packing const& packed) {
  libra::transformer const& model = libra::transformers[0];
  libra::roofline const cost(libra::h200_sxm.attention);
  std::vector<int128> work;
  for (std::size_t s = 0; s < packed.sequences.size(); ++s) {
    libra::wide_work sum;
    for (libra::segment const& piece : packed.sequences[s]) {
      libra::tile_shape const whole{0, piece.length, piece.length, model.shape.group(), model.shape.head_dim, {}};
      sum += scaled(cost(whole), model.shape.kv_heads);
    }
    work.push_back(sum.total());
  }
  return work;
}

/// Anneals each global batch of a placement.
void anneal(libra::placement& placed, std::span<int128 const> work, libra::layout const& l,
            libra::pool_partition const& pools, double seconds) {
  auto const per_batch = static_cast<std::size_t>(l.sequences_per_batch());
  libra::random_bits bits(2026);
  double const share = seconds / static_cast<double>(placed.at.size() / per_batch);
  for (std::size_t first = 0; first < placed.at.size(); first += per_batch) {
    std::span<sequence_id> const batch = std::span(placed.at).subspan(first, per_batch);
    double total = 0;
    for (sequence_id const s : batch) total += static_cast<double>(work[s.index()]);
    std::vector<double> scaled;
    std::vector<std::size_t> at;
    for (sequence_id const s : batch) {
      at.push_back(scaled.size());
      scaled.push_back(static_cast<double>(work[s.index()]) * static_cast<double>(l.sequences_per_batch()) / total);
    }
    annealer search(scaled, pools, static_cast<std::size_t>(l.micro_steps));
    // From cold to hot starts: the first repairs the placer's result, the last forgets it.
    std::vector<std::size_t> best = at;
    double least = search.run(best, share * 0.1, 0.003, bits);
    for (auto const& [part, hot] : {std::pair{0.2, 0.02}, {0.3, 0.1}, {0.4, 0.4}}) {
      std::vector<std::size_t> trial = best;
      double const got = search.run(trial, share * part, hot, bits);
      if (got < least) {
        least = got;
        best = trial;
      }
    }
    std::vector<sequence_id> const before(batch.begin(), batch.end());
    for (std::size_t i = 0; i < batch.size(); ++i) batch[i] = before[best[i]];
  }
}

int run(settings const& s) {
  std::vector<std::int64_t> const lengths = libra::read_lengths(s.files).lengths;
  libra::layout const& l = s.layout;
  libra::packing const packed =
      s.balanced ? libra::balanced{}(lengths, l.window_tokens) : libra::best_fit_decreasing{}(lengths, l.window_tokens);
  std::vector<int128> const work = work_of(packed);
  libra::pool_partition const pools = libra::fixed_size{}(l, libra::h200_sxm.links);
  auto const over_mean = [&](libra::placement const& placed) {
    return certify(work, l, pools, placed).placed_over_mean();
  };
  auto const clock = [] { return std::chrono::steady_clock::now(); };
  auto const begin = clock();
  libra::placement placed = libra::variance_reduced{}(work, l, pools);
  double const ms = std::chrono::duration<double, std::milli>(clock() - begin).count();
  double const reached = over_mean(placed);
  double const unrefined = over_mean(libra::variance_reduced{.refine_moves = 0}(work, l, pools));
  double const bound = certify(work, l, pools, placed).lower_bound_over_mean();
  if (s.seconds > 0) anneal(placed, work, l, pools, s.seconds);
  fmt::print(
      "{{\"sequences\": {}, \"bound\": {:.5f}, \"unrefined\": {:.5f}, \"placed\": {:.5f}, \"annealed\": {:.5f}, "
      "\"place_ms\": {:.2f}}}\n",
      work.size(), bound, unrefined, reached, over_mean(placed), ms);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    return run(parse(std::span(words, static_cast<std::size_t>(count)).subspan(1)));
  } catch (std::exception const& error) {
    fmt::print(stderr, "anneal_placement: {}\n", error.what());
    return 2;
  }
}
