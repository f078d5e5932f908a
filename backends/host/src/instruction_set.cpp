#include "targets.hpp"

#include <libra/core/error.hpp>
#include <libra/host/instruction_set.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "instruction_set.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace libra::host::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

std::int64_t target() { return HWY_TARGET; }

/// Multiplies and adds `steps` times in enough independent chains to hide the latency. Returns the flop done.
double multiply_add(std::int64_t steps, float* sink) {
  hn::ScalableTag<float> const d;
  constexpr std::size_t chains = 12;
  hn::Vec<decltype(d)> sum[chains];
  for (std::size_t i = 0; i < chains; ++i) {
    // Unlike each other, or a compiler might compute one for all.
    sum[i] = hn::Set(d, *sink + static_cast<float>(i));
  }
  auto const factor = hn::Set(d, 0.5F);
  auto const term = hn::Set(d, *sink);
  for (std::int64_t i = 0; i < steps; ++i) {
#pragma GCC unroll 16
    for (auto& s : sum) {
      s = hn::MulAdd(s, factor, term);
    }
  }
  for (auto const& s : sum) {
    *sink += hn::GetLane(s);
  }
  return 2.0 * static_cast<double>(chains * hn::Lanes(d)) * static_cast<double>(steps);
}

}  // namespace libra::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace libra::host {

namespace {

HWY_EXPORT(target);
HWY_EXPORT(multiply_add);

struct named_target {
  std::string_view name;
  std::int64_t target;
};

/// Best first. Taken once, before any of them is given up.
std::vector<named_target> const& targets() {
  static std::vector<named_target> const all = [] {
    std::vector<named_target> found;
    for (std::int64_t const target : hwy::SupportedAndGeneratedTargets()) {
      std::string_view const name = hwy::TargetName(target);
      bool const plain = name == "SCALAR" || name == "EMU128";
      found.push_back({name == "AVX3" ? "AVX-512" : plain ? "scalar" : name, target});
    }
    return found;
  }();
  return all;
}

}  // namespace

std::string_view instruction_set() {
  return std::ranges::find(targets(), HWY_DYNAMIC_DISPATCH(target)(), &named_target::target)->name;
}

std::vector<std::string_view> instruction_sets() {
  std::vector<std::string_view> names;
  for (named_target const& each : targets()) {
    names.push_back(each.name);
  }
  return names;
}

void use_instruction_set(std::string_view name) {
  auto const chosen = std::ranges::find(targets(), name, &named_target::name);
  if (chosen == targets().end()) {
    std::string known;
    for (named_target const& each : targets()) {
      known += message(known.empty() ? "" : ", ", each.name);
    }
    throw input_error(message("instruction set is \"", name, "\", expected one of ", known));
  }
  // Better targets have lower bits.
  hwy::DisableTargets(chosen->target - 1);
}

double measure_peak_flop_per_second() {
  using clock = std::chrono::steady_clock;
  double best = 0;
  // The fastest of several short runs: others may use the core in between.
  for (int run = 0; run < 10; ++run) {
    float sink = 1.0F;
    auto const begin = clock::now();
    double const flop = HWY_DYNAMIC_DISPATCH(multiply_add)(200'000, &sink);
    std::chrono::duration<double> const seconds = clock::now() - begin;
    best = std::max(best, flop / seconds.count());
  }
  return best;
}

}  // namespace libra::host
#endif
