#include "cuda_double/machine.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

namespace cuda_double {

namespace {

constexpr std::align_val_t alignment{256};

}  // namespace

machine& machine::instance() {
  static machine only;
  // Of programs that are not tests themselves.
  static bool const first = [] {
    if (char const* const devices = std::getenv("LIBRA_DOUBLE_DEVICES")) {
      only.now.devices = std::atoi(devices);
    }
    return true;
  }();
  static_cast<void>(first);
  return only;
}

void machine::reset(settings const& wanted) {
  now = wanted;
  finding.clear();
  communicators_aborted = 0;
  most_ctas = 0;
  least_peer_channels = std::numeric_limits<int>::max();
  kernels_launched = 0;
  bits_ = libra::random_bits(wanted.seed);
  status_ = cudaSuccess;
  loose_work_.clear();
  std::erase_if(streams_, [](auto const& s) { return s->destroyed; });
  for (auto const& [p, a] : memory_) {
    ::operator delete(p, alignment);
  }
  memory_.clear();
}

void machine::find(std::string const& text, cudaError_t status) {
  if (finding.empty()) {
    finding = text;
    status_ = status;
  }
  wake();
}

cudaStream_t machine::make_stream(int device) {
  streams_.push_back(std::make_unique<CUstream_st>());
  streams_.back()->device = device;
  return streams_.back().get();
}

void machine::destroy(cudaStream_t stream) {
  // As the runtime does: what is enqueued still runs.
  stream->destroyed = true;
}

void machine::enqueue(cudaStream_t stream, task what) {
  stream->tasks.push_back(std::move(what));
  wake();
  // Some seeds let work run as soon as it can, some as late as it may.
  std::uint64_t const eagerness = now.seed % 4;
  for (std::uint64_t i = 0; i < eagerness && draw(2) == 0; ++i) {
    if (!step()) {
      break;
    }
  }
}

bool machine::step() {
  if (status_ != cudaSuccess) {
    return false;  // a device with a sticky error runs nothing more
  }
  std::vector<CUstream_st*> candidates;
  for (auto const& s : streams_) {
    if (!s->tasks.empty() && (!s->tasks.front().ready || s->tasks.front().ready())) {
      candidates.push_back(s.get());
    }
  }
  std::size_t const choices = candidates.size() + loose_work_.size();
  if (choices == 0) {
    return false;
  }
  std::size_t const pick = draw(choices);
  if (pick < candidates.size()) {
    auto const run = std::move(candidates[pick]->tasks.front().run);
    candidates[pick]->tasks.pop_front();
    if (run) {
      run();
    }
  } else {
    auto const at = loose_work_.begin() + static_cast<std::ptrdiff_t>(pick - candidates.size());
    auto const run = std::move(*at);
    loose_work_.erase(at);
    run();
  }
  wake();
  return true;
}

void machine::run_until(lock& held, std::function<bool()> const& done) {
  auto const began = std::chrono::steady_clock::now();
  while (!done()) {
    if (step()) {
      continue;
    }
    changed_.wait_for(held, std::chrono::milliseconds(50));
    if (std::chrono::steady_clock::now() - began > std::chrono::minutes(2)) {
      std::fputs("cuda_double: a host thread has waited two minutes for work that cannot run\n", stderr);
      std::abort();
    }
  }
}

void* machine::allocate(std::size_t bytes, int device) {
  if (bytes > free_bytes(device)) {
    return nullptr;
  }
  auto* const p = static_cast<std::byte*>(::operator new(bytes, alignment));
  // All bits set are NaN in every element type: what is read before it is written shows.
  std::memset(p, 0xff, bytes);
  memory_[p] = {bytes, device};
  return p;
}

void machine::release(void* p) {
  if (p == nullptr) {
    return;
  }
  if (memory_.erase(static_cast<std::byte*>(p)) == 0) {
    find("memory is freed that was not allocated, or twice", cudaErrorInvalidValue);
    return;
  }
  ::operator delete(p, alignment);
}

std::size_t machine::free_bytes(int device) const {
  std::size_t used = 0;
  for (auto const& [p, a] : memory_) {
    used += a.device == device ? a.bytes : 0;
  }
  return now.memory_bytes - std::min(used, now.memory_bytes);
}

bool machine::owns(void const* first, std::size_t bytes) const {
  auto const* const begin = static_cast<std::byte const*>(first);
  auto const after = memory_.upper_bound(const_cast<std::byte*>(begin));
  if (after == memory_.begin()) {
    return false;
  }
  auto const& [p, a] = *std::prev(after);
  return begin + bytes <= p + a.bytes;
}

bool machine::idle(int device) const {
  return std::ranges::all_of(streams_, [&](auto const& s) { return s->device != device || s->tasks.empty(); });
}

std::size_t machine::objects_alive() const {
  auto const streams = std::ranges::count_if(streams_, [](auto const& s) { return !s->destroyed; });
  return static_cast<std::size_t>(streams) + events.size() + memory_.size() + communicators;
}

void reset(settings const& wanted) {
  auto& m = machine::instance();
  auto const held = m.hold();
  m.reset(wanted);
}

std::string finding() {
  auto& m = machine::instance();
  auto const held = m.hold();
  return m.finding;
}

std::size_t kernels_launched() {
  auto const held = machine::instance().hold();
  return machine::instance().kernels_launched;
}

int most_ctas() {
  auto const held = machine::instance().hold();
  return machine::instance().most_ctas;
}

int least_peer_channels() {
  auto const held = machine::instance().hold();
  return machine::instance().least_peer_channels;
}

std::size_t communicators_aborted() {
  auto const held = machine::instance().hold();
  return machine::instance().communicators_aborted;
}

std::size_t objects_alive() {
  auto& m = machine::instance();
  auto const held = m.hold();
  while (m.step()) {
    // What is freed in a stream's order is freed now.
  }
  return m.objects_alive();
}

}  // namespace cuda_double
