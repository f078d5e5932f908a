#pragma once

#include <libra/core/digest.hpp>
#include <libra/core/error.hpp>
#include <libra/model/packing.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace libra {

/// What happens at the end of an epoch to documents that fill no whole global batch.
enum class epoch_end : std::uint8_t {
  pad,    ///< a last batch with empty sequences: every document once an epoch
  drop,   ///< they are left out of this epoch
  carry,  ///< they go first into the next epoch's first batch: every document once, no empty sequences
};

/// How far a sampler is: the global sample counter, and the documents that were read and not yet yielded.
struct sample_position {
  /// The epoch that the next batch belongs to, and the batches that it has yielded.
  std::int64_t epoch{};
  std::int64_t batch{};
  /// Documents read since the beginning, over all epochs, empty ones included.
  std::int64_t consumed_samples{};
  /// Packed sequences yielded since the beginning, empty ones included: the counter of trainers whose sample is a
  /// packed sequence.
  std::int64_t consumed_sequences{};
  /// What is left of a document that a batch's end cut; no tokens if there is none.
  segment rest{};
  /// Documents and pieces that found no place in the last batch and go into the next, in the order they were read.
  std::vector<segment> carried;

  friend bool operator==(sample_position const&, sample_position const&) = default;
};

/// What a position means something for: the same position under another stream is another batch.
struct stream_identity {
  /// Documents of the data set, and the digest of their lengths.
  std::int64_t documents{};
  digest lengths{};
  std::uint64_t seed{};
  bool shuffle{true};
  std::int64_t window_tokens{};
  std::string packer;
  overlong when_overlong{overlong::split};
  epoch_end at_end{epoch_end::pad};

  friend bool operator==(stream_identity const&, stream_identity const&) = default;
};

/// A sampler's state as of the last batch that it yielded: a small value that a checkpoint keeps.
///
/// Nothing in it depends on D, C, P or M, so that a job may continue on another number of ranks. As JSON:
/// io/sampler_state_json.hpp; as bytes: sample/state_bytes.hpp.
struct sampler_state {
  /// Of this form and of the way that streams are made. A change of either raises it.
  static constexpr std::uint32_t current_version = 1;

  std::uint32_t version{current_version};
  stream_identity stream;
  sample_position position;

  friend bool operator==(sampler_state const&, sampler_state const&) = default;
};

[[nodiscard]] constexpr std::string_view name_of(epoch_end choice) noexcept {
  return choice == epoch_end::pad ? "pad" : choice == epoch_end::drop ? "drop" : "carry";
}

/// Errors: `input_error` naming the first field of a state that differs from what a sampler has, and both values.
inline void require_same_stream(sampler_state const& state, stream_identity const& here) {
  auto const same = [](std::string_view field, auto const& theirs, auto const& ours, auto shown) {
    require(theirs == ours, "sampler state: ", field, " is ", shown(theirs), ", expected ", shown(ours));
  };
  auto const as_is = [](auto const& value) { return value; };
  auto const as_number = [](auto const& value) { return static_cast<int>(value); };
  stream_identity const& there = state.stream;
  same("version", state.version, sampler_state::current_version, as_is);
  same("documents", there.documents, here.documents, as_is);
  same("digest of the lengths", there.lengths, here.lengths, [](digest d) { return to_hex(d); });
  same("seed", there.seed, here.seed, as_is);
  same("shuffle", there.shuffle, here.shuffle, as_number);
  same("window", there.window_tokens, here.window_tokens, as_is);
  same("packer", there.packer, here.packer, as_is);
  same("overlong", there.when_overlong, here.when_overlong, [](overlong o) { return name_of(o); });
  same("epoch_end", there.at_end, here.at_end, [](epoch_end e) { return name_of(e); });
}

/// Errors: `input_error` naming the first field that no sampler of `documents` documents can have.
inline void validate(sample_position const& p, stream_identity const& stream) {
  auto const counter = [](std::string_view field, std::int64_t value) {
    constexpr std::int64_t most = std::int64_t{1} << 62;  // counting on from there fits int64
    require(value >= 0, "sampler state: ", field, " is ", value, ", expected at least 0");
    require(value <= most, "sampler state: ", field, " is ", value, ", expected at most ", most);
  };
  counter("epoch", p.epoch);
  counter("batch", p.batch);
  counter("consumed_samples", p.consumed_samples);
  counter("consumed_sequences", p.consumed_sequences);
  // An epoch that was begun has read at most its own documents; earlier ones may be behind only with epoch_end::carry.
  require(p.consumed_samples / stream.documents <= p.epoch ||
              p.consumed_samples == (static_cast<int128>(p.epoch) + 1) * stream.documents,
          "sampler state: consumed_samples is ", p.consumed_samples, ", expected at most ",
          (static_cast<int128>(p.epoch) + 1) * stream.documents, ", the documents of ", p.epoch, " epochs and one");
  require(stream.at_end == epoch_end::carry || p.consumed_samples / stream.documents >= p.epoch,
          "sampler state: consumed_samples is ", p.consumed_samples, ", expected at least ",
          static_cast<int128>(p.epoch) * stream.documents, ", the documents of ", p.epoch, " epochs");
  auto const in_data_set = [&](std::string_view field, std::size_t i, segment const& s) {
    require(s.document.value >= 0 && s.document.value < stream.documents, "sampler state: ", field, " entry ", i,
            " is document ", s.document.value, ", expected 0 to ", stream.documents - 1);
    require(s.offset >= 0 && s.length >= 0, "sampler state: ", field, " entry ", i, " is ", s.length,
            " tokens from token ", s.offset, ", expected at least 0");
  };
  in_data_set("rest", 0, p.rest);
  for (std::size_t i = 0; i < p.carried.size(); ++i) {
    in_data_set("carried", i, p.carried[i]);
    require(p.carried[i].length >= 1 && p.carried[i].length <= stream.window_tokens, "sampler state: carried entry ", i,
            " has ", p.carried[i].length, " tokens, expected 1 to the window of ", stream.window_tokens);
  }
}

}  // namespace libra
