#pragma once

// A transport and a kernel that write down what they are asked for.

#include <libra/core/error.hpp>
#include <libra/run/concept.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace doubles {

using journal = std::vector<std::string>;

/// Moves nothing. A round finishes when it is waited for, or in the first test when `tests_finish`.
struct transport {
  struct ticket {
    libra::queue channel{};
    std::int32_t round{};
    bool finished{};
  };

  journal* log{};
  libra::rank_id self{};
  std::int32_t size{1};
  bool tests_finish{};
  std::vector<libra::outgoing> sends;
  std::vector<libra::incoming> receives;

  void write(std::string_view what, libra::queue channel, std::int32_t round) const {
    log->push_back(libra::message(what, " ", name_of(channel), " ", round));
  }

  [[nodiscard]] libra::rank_id rank() const noexcept { return self; }
  [[nodiscard]] std::int32_t ranks() const noexcept { return size; }
  ticket start(libra::exchange_round const& r) {
    write("start", r.channel, r.round);
    sends.insert(sends.end(), r.sends.begin(), r.sends.end());
    receives.insert(receives.end(), r.receives.begin(), r.receives.end());
    return {r.channel, r.round, false};
  }
  bool test(ticket& t) {
    t.finished = t.finished || tests_finish;
    return t.finished;
  }
  void wait(ticket& t) {
    if (!t.finished) {
      write("wait", t.channel, t.round);
    }
    t.finished = true;
  }
  /// All other ranks say what this one says.
  void gather(std::span<std::uint64_t const> mine, std::span<std::uint64_t> all) {
    log->push_back("gather");
    for (std::size_t at = 0; at < all.size(); at += mine.size()) {
      std::ranges::copy(mine, all.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
  void abort(std::string_view reason) noexcept { log->push_back(libra::message("abort: ", reason)); }
};
static_assert(libra::transport<transport>);

/// Computes nothing.
struct kernel {
  using element = float;
  static constexpr libra::element_bytes width{4, 4, 4};
  class memory {
   public:
    explicit memory(std::int64_t bytes) : bytes_(static_cast<std::size_t>(bytes)) {}
    [[nodiscard]] std::byte* data() const noexcept { return const_cast<std::byte*>(bytes_.data()); }

   private:
    std::vector<std::byte> bytes_;
  };

  journal* log{};
  float scale{};

  memory allocate(std::int64_t bytes) { return memory(bytes); }
  void attend(std::span<libra::tile_task const> t, libra::bindings const& at) {
    scale = at.softmax_scale();
    log->push_back(libra::message("attend ", t.size()));
  }
  void attend_backward(std::span<libra::tile_task const> t, libra::bindings const&) {
    log->push_back(libra::message("attend_backward ", t.size()));
  }
  void row_dot(std::span<libra::dot_task const> t, libra::bindings const&) {
    log->push_back(libra::message("row_dot ", t.size()));
  }
  void clear(std::span<libra::region_task const> t, libra::bindings const&) {
    log->push_back(libra::message("clear ", t.size()));
  }
  void reduce(std::span<libra::reduce_task const> t, std::span<libra::location const> partials,
              libra::bindings const&) {
    log->push_back(libra::message("reduce ", t.size(), " of ", partials.size()));
  }
};
static_assert(libra::tile_kernel<kernel>);

}  // namespace doubles
