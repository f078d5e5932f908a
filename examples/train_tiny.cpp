// Trains a small language model twice, under Ulysses and under libra, and shows that the losses agree: model, optimizer
// and schedule are the same code; only the planner that the sampler and the operator are given differs.
//
//   train_tiny [STEPS [WINDOW [TIMED_WINDOW [PLOT.svg]]]]      50 steps of windows of 1,024 bytes
//
// Then a few steps of longer windows are timed (8,192 bytes; 0: none). Fails unless the losses agree to 1e-6 in the
// first step and 1e-4 in all, and libra's steps are faster.
#include <libra/host/backend.hpp>
#include <libra/host/rank_group.hpp>
#include <libra/libra.hpp>
#include <libra/run/pooled_attention.hpp>

#include <Eigen/Core>

#include "support/plot.hpp"

#include <time.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <numbers>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace {

using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using view = Eigen::Map<matrix>;

// The model: decoder-only, grouped-query attention, no position encoding (a causal mask alone tells positions apart).
constexpr int layers = 2, width = 64, q_heads = 4, kv_heads = 2, head_dim = 16, hidden = 128, vocabulary = 256;
constexpr int kv_width = kv_heads * head_dim;
constexpr int timed_steps = 4;

/// All parameters in one array, so that gradients, their sum and the optimizer are arrays alike.
class parameters {
 public:
  parameters() {
    add(vocabulary, width);
    for (int l = 0; l < layers; ++l) {
      for (auto const& [rows, columns] : {std::pair{1, width},
                                          {width, width},
                                          {width, kv_width},
                                          {width, kv_width},
                                          {width, width},
                                          {1, width},
                                          {width, hidden},
                                          {hidden, width}}) {
        add(rows, columns);
      }
    }
    add(1, width);
    values.resize(static_cast<std::size_t>(offset_));
  }
  view embedding() { return at(0); }
  view norm(int layer, int which) { return at(1 + 8 * layer + 5 * which); }
  view q(int layer) { return at(2 + 8 * layer); }
  view k(int layer) { return at(3 + 8 * layer); }
  view v(int layer) { return at(4 + 8 * layer); }
  view o(int layer) { return at(5 + 8 * layer); }
  view up(int layer) { return at(7 + 8 * layer); }
  view down(int layer) { return at(8 + 8 * layer); }
  view last_norm() { return at(1 + 8 * layers); }

  void initialise() {
    libra::random_bits bits(1);
    for (part const& p : parts_) {
      float const scale = p.rows == 1 ? 0.0F : 0.08F;  // gains of norms begin at 1
      for (int i = 0; i < p.rows * p.columns; ++i) {
        values[static_cast<std::size_t>(p.offset + i)] =
            (p.rows == 1 ? 1.0F : 0.0F) + scale * (static_cast<float>(bits.below(2001)) / 1000.0F - 1.0F);
      }
    }
  }
  std::vector<float> values;

 private:
  struct part {
    int rows, columns, offset;
  };
  void add(int rows, int columns) {
    parts_.push_back({rows, columns, offset_});
    offset_ += rows * columns;
  }
  view at(int index) {
    part const& p = parts_[static_cast<std::size_t>(index)];
    return {values.data() + p.offset, p.rows, p.columns};
  }
  std::vector<part> parts_;
  int offset_{0};
};

/// x / rms(x) * gain, and its gradient.
struct rms_norm {
  matrix x;
  Eigen::VectorXf scale;
  matrix forward(matrix const& in, view const& gain) {
    x = in;
    scale = (x.rowwise().squaredNorm().array() / width + 1e-6F).rsqrt();
    return (scale.asDiagonal() * x).array().rowwise() * gain.row(0).array();
  }
  matrix backward(matrix const& dy, view const& gain, view d_gain) const {
    matrix const normed = scale.asDiagonal() * x;
    d_gain.row(0) += (dy.array() * normed.array()).matrix().colwise().sum();
    matrix const dn = dy.array().rowwise() * gain.row(0).array();
    Eigen::VectorXf const along = (dn.array() * normed.array()).rowwise().sum() / width;
    return scale.asDiagonal() * (dn - along.asDiagonal() * normed);
  }
};

std::span<float const> in(matrix const& m) { return {m.data(), static_cast<std::size_t>(m.size())}; }
std::span<float> out(matrix& m) { return {m.data(), static_cast<std::size_t>(m.size())}; }

/// One layer: its attention is whatever operator it is given.
struct layer {
  int index;
  rms_norm norm1{}, norm2{};
  matrix n1{}, q{}, k{}, v{}, o{}, n2{}, a{}, gate{}, act{};
  std::vector<float> lse{};

  template <class Attention>
  matrix forward(matrix const& x, parameters& p, Attention& attention) {
    n1 = norm1.forward(x, p.norm(index, 0));
    q = n1 * p.q(index);
    k = n1 * p.k(index);
    v = n1 * p.v(index);
    o.resize(x.rows(), width);
    lse.resize(static_cast<std::size_t>(x.rows() * q_heads));
    attention.forward({.q = in(q), .k = in(k), .v = in(v), .o = out(o), .lse = lse});
    matrix const middle = x + o * p.o(index);
    n2 = norm2.forward(middle, p.norm(index, 1));
    a = n2 * p.up(index);
    gate = (1.0F + (-a.array()).exp()).inverse();
    act = a.array() * gate.array();
    return middle + act * p.down(index);
  }
  template <class Attention>
  matrix backward(matrix const& dy, parameters& p, parameters& g, Attention& attention) {
    matrix const d_act = dy * p.down(index).transpose();
    matrix const da = d_act.array() * gate.array() * (1.0F + a.array() * (1.0F - gate.array()));
    g.down(index) += act.transpose() * dy;
    g.up(index) += n2.transpose() * da;
    matrix const d_middle = dy + norm2.backward(da * p.up(index).transpose(), p.norm(index, 1), g.norm(index, 1));
    matrix const d_o = d_middle * p.o(index).transpose();
    g.o(index) += o.transpose() * d_middle;
    matrix dq(q.rows(), q.cols()), dk(k.rows(), k.cols()), dv(v.rows(), v.cols());
    attention.backward({.q = in(q),
                        .k = in(k),
                        .v = in(v),
                        .o = in(o),
                        .lse = lse,
                        .d_o = in(d_o),
                        .dq = out(dq),
                        .dk = out(dk),
                        .dv = out(dv)});
    g.q(index) += n1.transpose() * dq;
    g.k(index) += n1.transpose() * dk;
    g.v(index) += n1.transpose() * dv;
    matrix const dn = dq * p.q(index).transpose() + dk * p.k(index).transpose() + dv * p.v(index).transpose();
    return d_middle + norm1.backward(dn, p.norm(index, 0), g.norm(index, 0));
  }
};

/// The rows of a packed sequence that one rank holds: bytes, and what follows each (-1: nothing in its segment).
struct rows {
  std::vector<int> bytes, targets;
};

/// Forward and backward of one micro-step on one rank. Adds to `g` the gradients of loss sum / `weight`, returns the
/// sum.
template <class Attention>
double forward_backward(rows const& r, double weight, parameters& p, parameters& g, Attention& attention) {
  auto const count = static_cast<Eigen::Index>(r.bytes.size());
  matrix x(count, width);
  for (Eigen::Index i = 0; i < count; ++i) x.row(i) = p.embedding().row(r.bytes[static_cast<std::size_t>(i)]);
  std::vector<layer> stack;
  for (int l = 0; l < layers; ++l) x = stack.emplace_back(layer{l}).forward(x, p, attention);
  rms_norm last;
  matrix const n = last.forward(x, p.last_norm());
  matrix d_logits = n * p.embedding().transpose();
  double loss = 0;
  for (Eigen::Index i = 0; i < count; ++i) {
    int const target = r.targets[static_cast<std::size_t>(i)];
    auto row = d_logits.row(i);
    if (target < 0) {
      row.setZero();
      continue;
    }
    float const most = row.maxCoeff();
    float const chosen = row(target) - most;
    row = (row.array() - most).exp();
    float const sum = row.sum();
    loss += std::log(static_cast<double>(sum)) - static_cast<double>(chosen);
    row /= sum;
    row(target) -= 1.0F;
  }
  d_logits *= static_cast<float>(1.0 / weight);
  g.embedding() += d_logits.transpose() * n;
  matrix dx = last.backward(d_logits * p.embedding(), p.last_norm(), g.last_norm());
  for (int l = layers; l-- > 0;) dx = stack[static_cast<std::size_t>(l)].backward(dx, p, g, attention);
  for (Eigen::Index i = 0; i < count; ++i) g.embedding().row(r.bytes[static_cast<std::size_t>(i)]) += dx.row(i);
  return loss;
}

/// AdamW with a warm-up and a cosine decay.
class adamw {
 public:
  explicit adamw(std::size_t size, int steps) : m_(size), v_(size), steps_(steps) {}
  void step(std::vector<float>& values, std::vector<double> const& gradient) {
    ++t_;
    double const progress = static_cast<double>(t_) / steps_;
    double const rate = 3e-3 * std::min(1.0, t_ / 10.0) * (0.55 + 0.45 * std::cos(progress * std::numbers::pi));
    for (std::size_t i = 0; i < values.size(); ++i) {
      m_[i] = 0.9 * m_[i] + 0.1 * gradient[i];
      v_[i] = 0.95 * v_[i] + 0.05 * gradient[i] * gradient[i];
      double const mean = m_[i] / (1 - std::pow(0.9, t_));
      double const deviation = std::sqrt(v_[i] / (1 - std::pow(0.95, t_)));
      values[i] = static_cast<float>(values[i] * (1 - rate * 0.01) - rate * mean / (deviation + 1e-6));
    }
  }

 private:
  std::vector<double> m_, v_;
  int steps_;
  int t_{0};
};

/// Documents: runs of one text. One in 97 fills a window, the others are a 32nd of one, as long-tailed corpora are.
struct corpus {
  std::string text;
  std::vector<std::size_t> begins;
  std::vector<std::int64_t> lengths;

  explicit corpus(std::int64_t window) {
    for (std::string_view const name : {"GPL-3", "LGPL-2.1", "MPL-2.0", "Apache-2.0", "GFDL-1.3", "GPL-2"}) {
      std::ifstream file("/usr/share/common-licenses/" + std::string(name), std::ios::binary);
      text.append(std::istreambuf_iterator<char>(file), {});
    }
    for (int i = 0; text.size() < 100000; ++i)
      text += "Line " + std::to_string(i) + " of a text for want of licences.\n";
    std::size_t at = 0;
    for (std::size_t i = 0;; ++i) {
      std::int64_t const length = i % 97 == 0 ? window : window / 32;
      if (at + static_cast<std::size_t>(length) > text.size()) break;
      begins.push_back(at);
      lengths.push_back(length);
      at += static_cast<std::size_t>(length);
    }
  }
  [[nodiscard]] int byte(libra::segment const& s, std::int64_t i) const {
    return static_cast<unsigned char>(text[begins[s.document.index()] + static_cast<std::size_t>(s.offset + i)]);
  }
  /// Bytes and targets of positions `[first, last)` of a sequence; padding has byte 0 and no target.
  [[nodiscard]] rows load(libra::packed_sequence const& sequence, std::int64_t first, std::int64_t last) const {
    rows r{std::vector<int>(static_cast<std::size_t>(last - first)), {}};
    r.targets.assign(r.bytes.size(), -1);
    std::int64_t position = 0;
    for (libra::segment const& s : sequence.segments) {
      for (std::int64_t i = std::max<std::int64_t>(0, first - position); i < s.length && position + i < last; ++i) {
        auto const row = static_cast<std::size_t>(position + i - first);
        r.bytes[row] = byte(s, i);
        if (i + 1 < s.length) r.targets[row] = byte(s, i + 1);
      }
      position += s.length;
    }
    return r;
  }
};

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct history {
  std::string_view name;
  std::vector<double> loss;
  double wall_seconds{};
  double busiest_seconds{};  ///< processor time of each micro-step's busiest rank: the step, had each rank its own core
};

/// Data-parallel training over four slots of two ranks each. Nothing in it depends on which planner it is given, but
/// for two lines: the sampler, and the plan that the operator runs.
template <class Planner>
history train(std::string_view name, Planner const& planner, corpus const& data, libra::layout const& layout,
              int steps) {
  history result{.name = name, .loss = {}};
  parameters model;
  model.initialise();
  adamw optimizer(model.values.size(), steps);
  libra::plan_options const planning{.shape = {.q_heads = q_heads, .kv_heads = kv_heads, .head_dim = head_dim},
                                     .width = {4, 4, 4}};
  libra::sampler samples(libra::span_lengths(data.lengths), planner, layout,
                         {.at_end = libra::epoch_end::carry, .planning = planning});  // the first line
  auto const ranks = static_cast<std::size_t>(layout.ranks());
  libra::host::rank_group group(static_cast<std::int32_t>(ranks));
  libra::home_layout const home{layout.window_tokens, layout.cp};

  for (int step = 0; step < steps; ++step) {
    auto batch = samples.next();
    if (!batch) batch = samples.next();  // the next epoch's first
    std::vector<parameters> gradients(ranks);
    std::vector<double> losses(ranks);
    auto const began = std::chrono::steady_clock::now();
    for (std::int32_t m = 0; m < layout.micro_steps; ++m) {
      auto const plan = std::make_shared<libra::pool_plan const>(
          planner.plan_pool(batch->plan, libra::micro_step_id(m), libra::pool_id(0)));  // the second line
      std::vector<double> seconds(ranks);
      libra::host::run_ranks(group, [&](libra::rank_id rank) {
        libra::home_shard const held = plan->batch.held_by(rank);
        libra::host::backend parts(group, rank);
        libra::pooled_attention attention(parts, plan);
        double const from = thread_seconds();
        rows const mine =
            data.load(batch->at(m, held.slot.value), home.shard_begin(held.number), home.shard_begin(held.number + 1));
        auto const weight = static_cast<double>(batch->targets());
        losses[rank.index()] += forward_backward(mine, weight, model, gradients[rank.index()], attention) / weight;
        seconds[rank.index()] = thread_seconds() - from;
      });
      result.busiest_seconds += std::ranges::max(seconds);
    }
    std::vector<double> sum(model.values.size());  // the all-reduce: ranks in order
    double loss = 0;
    for (std::size_t r = 0; r < ranks; ++r) {
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<double>(gradients[r].values[i]);
      loss += losses[r];
    }
    optimizer.step(model.values, sum);
    result.loss.push_back(loss);
    result.wall_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  }
  return result;
}

/// Prints every tenth step's losses. The relative difference of the first step's, and the largest of all.
std::array<double, 2> compare(history const& plain, history const& placed) {
  double first = 0, worst = 0;
  std::cout << "step  loss: " << plain.name << "  " << placed.name << "  relative difference\n";
  for (std::size_t i = 0; i < plain.loss.size(); ++i) {
    double const difference = std::abs(plain.loss[i] - placed.loss[i]) / plain.loss[i];
    if (i == 0) first = difference;
    worst = std::max(worst, difference);
    if (i == 0 || (i + 1) % 10 == 0) {
      std::cout << i + 1 << "  " << plain.loss[i] << "  " << placed.loss[i] << "  " << difference << '\n';
    }
  }
  return {first, worst};
}

}  // namespace

int main(int count, char** values) {
  int const steps = count > 1 ? std::atoi(values[1]) : 50;
  std::int64_t const window = count > 2 ? std::atoll(values[2]) : 1024;
  std::int64_t const timed_window = count > 3 ? std::atoll(values[3]) : 8192;
  using namespace libra;
  scheduler const plain{best_fit_decreasing{}, fixed_size{}, as_packed{}, ulysses{}, pair_count{}};
  scheduler const placed{best_fit_decreasing{}, fixed_size{}, variance_reduced{}, pooled{}, pair_count{}};
  auto const both = [&](std::int64_t tokens, int how_many) {
    corpus const data(tokens);
    layout const l{.window_tokens = tokens, .dp = 4, .cp = 2, .pool = 4, .micro_steps = 1};
    return std::array{train("ulysses", plain, data, l, how_many), train("libra", placed, data, l, how_many)};
  };
  auto const runs = both(window, steps);
  auto const [first, worst] = compare(runs[0], runs[1]);
  bool right = first <= 1e-6 && worst <= 1e-4 && (steps < 50 || runs[0].loss.back() < 0.8 * runs[0].loss[0]);

  plot::svg picture;
  picture.lines("loss, nats a byte", "step",
                {{"Ulysses", "stroke='#f0a030' stroke-width='6'", runs[0].loss},
                 {"libra", "stroke='#2050c0' stroke-width='2'", runs[1].loss}});
  if (timed_window > 0) {
    // Windows long enough for attention to weigh, and few steps: each has a document of a whole window, or two.
    auto const timed = both(timed_window, timed_steps);
    for (history const& h : timed) {
      std::cout << h.name << ": a step of windows of " << timed_window << " bytes takes its busiest rank "
                << h.busiest_seconds / timed_steps << " s, the wall clock " << h.wall_seconds / timed_steps << " s\n";
    }
    std::cout << "speed-up " << timed[0].busiest_seconds / timed[1].busiest_seconds << '\n';
    right = right && timed[1].busiest_seconds < timed[0].busiest_seconds;
    picture.bars("seconds of a step's busiest rank", {{"Ulysses", "#f0a030", timed[0].busiest_seconds / timed_steps},
                                                      {"libra", "#2050c0", timed[1].busiest_seconds / timed_steps}});
  }
  if (count > 4) picture.write(values[4]);
  return right ? 0 : 1;
}
