// Iterates over global batches, stops, and goes on from a checkpoint with another number of ranks.
#include <libra/libra.hpp>

#include <cstdint>
#include <iostream>
#include <span>
#include <string>
#include <vector>

namespace {

auto make_sampler(std::span<std::int64_t const> lengths, libra::layout const& layout) {
  libra::scheduler const planner{libra::best_fit_decreasing{}, libra::fixed_size{}, libra::variance_reduced{},
                                 libra::pooled{}, libra::pair_count{}};
  return libra::sampler(libra::span_lengths(lengths), planner, layout, {.documents = {.seed = 17}});
}

/// The documents that a batch trains on, as one number.
std::uint64_t fingerprint(libra::global_batch const& batch) {
  libra::hasher hash;
  for (libra::segment const& s : batch.plan.packing.sequences.values()) {
    hash.add(s.document.value).add(s.offset).add(s.length);
  }
  return hash.finish().low;
}

}  // namespace

int main() {
  libra::random_bits bits(4);
  std::vector<std::int64_t> lengths;
  for (int i = 0; i < 5000; ++i) {
    lengths.push_back(1 + bits.between(0, 1 << bits.between(6, 15)));
  }
  // Both make global batches of 16 sequences.
  libra::layout const before{.window_tokens = 32768, .dp = 8, .cp = 1, .pool = 4, .micro_steps = 2};
  libra::layout const after{.window_tokens = 32768, .dp = 4, .cp = 1, .pool = 2, .micro_steps = 4};

  auto whole = make_sampler(lengths, before);
  std::cout << whole.size() << " global batches an epoch\n";

  std::string checkpoint;
  {
    // Planning runs ahead on a thread; the state is that of the last batch that was yielded.
    libra::prefetch batches(make_sampler(lengths, before));
    for (int step = 0; step < 5; ++step) {
      libra::global_batch const batch = *batches.next();
      for (std::int32_t micro_step = 0; micro_step < before.micro_steps; ++micro_step) {
        libra::packed_sequence const mine = batch.at(micro_step, 0);  // slot 0 loads these tokens
        std::cout << (micro_step == 0 ? "step " + std::to_string(step) + ", slot 0:" : ",") << ' '
                  << mine.segments.size() << " segments, " << mine.cu_seqlens().back() << " tokens";
      }
      std::cout << '\n';
    }
    checkpoint = to_bytes(batches.state());
  }

  auto resumed = make_sampler(lengths, after);
  resumed.restore(libra::state_from_bytes(std::as_bytes(std::span(checkpoint))));
  for (int step = 0; step < 5; ++step) {
    static_cast<void>(whole.next());
  }
  int equal = 0;
  int batches = 0;
  while (auto const batch = resumed.next()) {
    ++batches;
    equal += fingerprint(*batch) == fingerprint(*whole.next()) ? 1 : 0;
  }
  std::cout << "a checkpoint of " << checkpoint.size() << " bytes; of the " << batches << " batches after it, " << equal
            << " hold what an uninterrupted run's hold\n";
  return equal == batches && batches > 0 ? 0 : 1;
}
