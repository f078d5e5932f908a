// The sampler: documents shuffled, packed and placed per second, and the memory that a list of 100 million takes.

#include <libra/cost/pair_count.hpp>
#include <libra/dispatch/pooled.hpp>
#include <libra/io/mapped_lengths.hpp>
#include <libra/pack/best_fit_decreasing.hpp>
#include <libra/place/variance_reduced.hpp>
#include <libra/plan/scheduler.hpp>
#include <libra/pool/fixed_size.hpp>
#include <libra/sample/index_permutation.hpp>
#include <libra/sample/sampler.hpp>

#include <benchmark/benchmark.h>

#include "support/long_tailed.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

constexpr libra::layout layout{.window_tokens = 262144, .dp = 64, .cp = 8, .pool = 8, .micro_steps = 4};

auto planner() {
  return libra::scheduler{libra::best_fit_decreasing{}, libra::fixed_size{}, libra::variance_reduced{}, libra::pooled{},
                          libra::pair_count{}};
}

void shuffle(benchmark::State& state) {
  libra::index_permutation const order(state.range(0), 1);
  std::int64_t position = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(order[position]);
    position = position + 1 == order.size() ? 0 : position + 1;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(shuffle)->Arg(1'000'000)->Arg(1'000'000'000);

void epoch(benchmark::State& state) {
  auto const lengths = bench::long_tailed(static_cast<std::size_t>(state.range(0)));
  std::int64_t expected = 0;
  for (std::int64_t const length : lengths) expected += length;
  std::int64_t batches = 0;
  for (auto _ : state) {
    libra::sampler samples(libra::span_lengths(lengths), planner(), layout);
    std::int64_t tokens = 0;
    batches = 0;
    while (auto const batch = samples.next()) {
      tokens += batch->tokens();
      ++batches;
    }
    if (tokens != expected) {
      state.SkipWithError("tokens were lost");
      return;
    }
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["batches"] = static_cast<double>(batches);
}
BENCHMARK(epoch)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

/// A line of /proc/self/status, in MiB.
double status_mib(char const* name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name)) return std::strtod(line.c_str() + std::string_view(name).size() + 1, nullptr) / 1024;
  }
  return 0;
}

/// Lets the largest resident memory count from here on.
void reset_peak() { std::ofstream("/proc/self/clear_refs") << 5; }

/// An octave is twice as rare as the one below it, from 512 tokens on.
std::int32_t length_of(std::int64_t document) noexcept {
  std::uint64_t const bits = libra::mix64(static_cast<std::uint64_t>(document) + 1);
  int const octave = 9 + std::countr_zero(bits | std::uint64_t{1} << 10);
  return static_cast<std::int32_t>((std::uint64_t{1} << octave) + (bits >> 20) % (std::uint64_t{1} << octave));
}

void up_to_100m_documents(benchmark::internal::Benchmark* lists) {
  lists->Arg(1'000'000)->Arg(10'000'000)->Arg(100'000'000)->Iterations(1)->Unit(benchmark::kSecond);
}

/// One epoch of a list. Its memory must not grow with the list. `after_batch` is called after each batch.
template <class Samples, class AfterBatch>
void stream(benchmark::State& state, Samples& samples, AfterBatch after_batch) {
  double anonymous = 0;
  std::int64_t batches = 0;
  while (samples.next()) {
    if (++batches % 64 == 0) anonymous = std::max(anonymous, status_mib("RssAnon"));
    after_batch();
  }
  if (samples.position().consumed_samples != state.range(0)) state.SkipWithError("documents were lost");
  state.counters["batches"] = static_cast<double>(batches);
  state.counters["peak_rss_MiB"] = status_mib("VmHWM");
  state.counters["peak_anonymous_MiB"] = anonymous;
  state.SetItemsProcessed(state.range(0));
}

/// Lengths that a function answers: all memory is the sampler's.
void stream_computed_list(benchmark::State& state) {
  reset_peak();
  for (auto _ : state) {
    libra::sampler samples(libra::computed_lengths(state.range(0), length_of), planner(), layout);
    stream(state, samples, [] {});
  }
}
BENCHMARK(stream_computed_list)->Apply(up_to_100m_documents);

/// An .npy of int32 lengths with a long tail, removed at the end.
class list_file {
 public:
  explicit list_file(std::int64_t documents) {
    std::string name = (std::filesystem::temp_directory_path() / "libra_bench_XXXXXX").string();
    int const file = mkstemp(name.data());
    path_ = name;
    std::FILE* const out = fdopen(file, "wb");
    std::string header = "{'descr': '<i4', 'fortran_order': False, 'shape': (" + std::to_string(documents) + ",), }";
    header.append(117 - header.size(), ' ');
    std::fputs("\x93NUMPY\x01", out);
    std::fputc(0, out);
    std::fputc(118, out);
    std::fputc(0, out);
    std::fputs((header + '\n').c_str(), out);
    std::vector<std::int32_t> block;
    for (std::int64_t i = 0; i < documents; ++i) {
      block.push_back(length_of(i));
      if (block.size() == 65536 || i + 1 == documents) {
        std::fwrite(block.data(), sizeof(std::int32_t), block.size(), out);
        block.clear();
      }
    }
    std::fclose(out);
  }
  ~list_file() { std::remove(path_.c_str()); }
  list_file(list_file const&) = delete;
  list_file& operator=(list_file const&) = delete;
  [[nodiscard]] std::string const& path() const noexcept { return path_; }

 private:
  std::string path_;
};

/// Lengths of a mapped file, in its order; the pages of each batch are given back after it.
void stream_mapped_list(benchmark::State& state) {
  list_file const file(state.range(0));
  reset_peak();
  for (auto _ : state) {
    libra::sampler samples(libra::mapped_lengths(file.path()), planner(), layout, {.documents = {.shuffle = false}});
    stream(state, samples, [&] { samples.source().drop_pages(); });
  }
}
BENCHMARK(stream_mapped_list)->Apply(up_to_100m_documents);

/// The same, shuffled: reads touch pages all over the file, which count as resident until the system wants them back;
/// what is anonymous is the process's own.
void stream_mapped_list_shuffled(benchmark::State& state) {
  list_file const file(state.range(0));
  reset_peak();
  for (auto _ : state) {
    libra::sampler samples(libra::mapped_lengths(file.path()), planner(), layout);
    stream(state, samples, [] {});
  }
}
BENCHMARK(stream_mapped_list_shuffled)->Apply(up_to_100m_documents);

/// Shuffled, and each length read from the file by a system call: for processes whose resident memory is limited.
void stream_read_list_shuffled(benchmark::State& state) {
  list_file const file(state.range(0));
  int const descriptor = open(file.path().c_str(), O_RDONLY | O_CLOEXEC);
  auto const read = [&](std::int64_t document) {
    std::int32_t length = -1;  // refused, if it stays
    static_cast<void>(pread(descriptor, &length, sizeof length, 128 + 4 * document));
    return length;
  };
  reset_peak();
  for (auto _ : state) {
    libra::sampler samples(libra::computed_lengths(state.range(0), read), planner(), layout);
    stream(state, samples, [] {});
  }
  close(descriptor);
}
BENCHMARK(stream_read_list_shuffled)->Apply(up_to_100m_documents);

}  // namespace
