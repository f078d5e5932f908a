#pragma once

#include <libra/core/error.hpp>
#include <libra/model/layout.hpp>
#include <libra/model/packing.hpp>
#include <libra/pack/arrange.hpp>
#include <libra/plan/plan.hpp>
#include <libra/sample/batch_cutter.hpp>
#include <libra/sample/document_stream.hpp>
#include <libra/sample/global_batch.hpp>
#include <libra/sample/length_source.hpp>
#include <libra/sample/state.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace libra {

/// What a sampler needs of a scheduler.
template <class Planner>
concept batch_planner =
    std::copy_constructible<Planner> && requires(Planner const& planner, std::span<std::int64_t const> lengths,
                                                 packing packed, layout const& l, plan_options const& options) {
      { planner.pack(lengths, l, options) } -> std::same_as<packing>;
      { planner.place(lengths, std::move(packed), l, options) } -> std::same_as<batch_plan>;
      { planner.packer_name() } -> std::convertible_to<std::string_view>;
    };

struct sampler_options {
  /// Order and cutting of documents. What is longer than the window is decided here; the packer never sees it.
  stream_options documents{};
  epoch_end at_end{epoch_end::pad};
  plan_options planning{};
};

/// Yields one global batch after another: documents shuffled, packed and placed. The iterator of a training loop.
///
/// Every rank makes one with the same arguments and gets the same batches, each with `dp * micro_steps` sequences, so
/// no rank ever has more steps than another. Placement permutes sequences inside a global batch; which documents are in
/// it, packing alone decides, so that training is what it was without placement.
///
/// Memory: proportional to a global batch, not to the list. Determinism: the same arguments give the same batches,
/// everywhere. Example: examples/resume.cpp.
template <batch_planner Planner, length_source Source>
class sampler {
 public:
  /// Errors: `input_error` for a layout or option that cannot be used, or a source without documents.
  sampler(Source source, Planner planner, layout const& l, sampler_options const& options = {})
      : source_(std::make_unique<Source const>(std::move(source))),
        planner_(std::move(planner)),
        layout_((validate(l), l)),
        options_((validate(options.planning), validate_speeds(options.planning.speeds_permille, l.ranks()), options)),
        cutter_(cutter()) {}

  /// The next global batch, or nothing at the end of an epoch; the call after that begins the next epoch.
  ///
  /// If it throws, the state is as it was. Errors: those of packing and placing; `input_error` for a document whose
  /// length is negative or refused, and for an epoch without a batch.
  std::optional<global_batch> next() {
    sample_position const before = cutter_.position();
    std::optional<packing> packed = cutter_.next();
    if (!packed) {
      remaining_.reset();
      return std::nullopt;
    }
    try {
      return planned(std::move(*packed), before);
    } catch (...) {
      cutter_.seek(before);
      throw;
    }
  }

  /// Batches of the epoch that the next batch belongs to: those that were yielded and those that will be.
  ///
  /// Complexity: packs what is left of the epoch the first time it is asked, about a second for a million documents.
  [[nodiscard]] std::int64_t size() {
    sample_position const& at = cutter_.position();
    if (!remaining_) remaining_ = batches_until_end(at);
    return at.batch + *remaining_;
  }

  /// The state as of the last batch that was yielded.
  ///
  /// Complexity: reads all lengths the first time, for their digest.
  [[nodiscard]] sampler_state state() const {
    return {.version = sampler_state::current_version, .stream = identity(), .position = cutter_.position()};
  }
  /// How far it is: the part of the state that changes.
  [[nodiscard]] sample_position const& position() const noexcept { return cutter_.position(); }

  /// Continues from a state of the same stream, on any layout with the same window.
  ///
  /// With the same number of sequences in a global batch the batches are those that would have come; with another,
  /// every document still comes once an epoch. Errors: `input_error` naming the first field that differs, and both
  /// values, or the first that no sampler of this stream can have; the sampler is then as it was.
  void restore(sampler_state const& state) {
    require_same_stream(state, identity());
    validate(state.position, state.stream);
    require_inside_document("rest", 0, state.position.rest);
    for (std::size_t i = 0; i < state.position.carried.size(); ++i) {
      require_inside_document("carried", i, state.position.carried[i]);
    }
    cutter_.seek(state.position);
    remaining_.reset();
  }

  /// Continues after `consumed_sequences` packed sequences, all that a trainer's sample counter may keep.
  ///
  /// Pre: all were yielded with this number of sequences in a global batch. Complexity: packs all that came before.
  /// Errors: `input_error` unless they are whole global batches; the sampler is then as it was.
  void skip_to(std::int64_t consumed_sequences) {
    std::int64_t const per_batch = layout_.sequences_per_batch();
    require(consumed_sequences >= 0 && consumed_sequences % per_batch == 0, "consumed_sequences is ",
            consumed_sequences, ", expected a multiple of dp * micro_steps = ", per_batch);
    auto ahead = cutter();
    while (ahead.position().consumed_sequences < consumed_sequences) {
      static_cast<void>(ahead.next());
    }
    cutter_.seek(ahead.position());
    remaining_.reset();
  }

  [[nodiscard]] libra::layout const& layout() const noexcept { return layout_; }
  [[nodiscard]] Planner const& planner() const noexcept { return planner_; }
  [[nodiscard]] Source const& source() const noexcept { return *source_; }

 private:
  /// The packer alone: its result is arranged only when it is known what the batch holds.
  struct pack_only {
    Planner planner;
    libra::layout layout;
    plan_options options;
    [[nodiscard]] packing operator()(std::span<std::int64_t const> lengths) const {
      return planner.pack(lengths, layout, options);
    }
  };
  using cutter_type = batch_cutter<Source, pack_only>;

  [[nodiscard]] cutter_type cutter() const {
    plan_options unarranged = options_.planning;
    unarranged.arrange = false;
    return {*source_,
            {planner_, layout_, unarranged},
            layout_.window_tokens,
            layout_.sequences_per_batch(),
            options_.documents,
            options_.at_end};
  }

  /// A state's run of tokens is one that its document has. Empty runs stand for none.
  void require_inside_document(std::string_view field, std::size_t entry, segment const& run) const {
    if (run.length == 0) return;
    std::int64_t tokens = (*source_)[run.document.value];
    if (options_.documents.when_overlong != overlong::split) tokens = std::min(tokens, layout_.window_tokens);
    require(run.length <= tokens && run.offset <= tokens - run.length, "sampler state: ", field, " entry ", entry,
            " is ", run.length, " tokens from token ", run.offset, " of document ", run.document.value, ", which has ",
            tokens);
  }

  [[nodiscard]] std::int64_t batches_until_end(sample_position const& from) const {
    auto ahead = cutter();
    ahead.seek(from);
    std::int64_t batches = 0;
    while (ahead.next()) ++batches;
    return batches;
  }

  [[nodiscard]] global_batch planned(packing packed, sample_position const& before) {
    while (static_cast<std::int64_t>(packed.sequences.size()) < layout_.sequences_per_batch()) {
      packed.sequences.close_row();
    }
    plan_options const& planning = options_.planning;
    if (planning.arrange && planning.home == sharding::contiguous) {
      arrange_for_home(packed, {layout_.window_tokens, layout_.cp});
    }
    std::vector<std::int64_t> lengths;
    for (segment const& s : packed.sequences.values()) lengths.push_back(s.length);
    global_batch batch{.epoch = before.epoch,
                       .number = before.batch,
                       .plan = planner_.place(lengths, std::move(packed), layout_, planning)};
    if (remaining_) --*remaining_;
    return batch;
  }

  [[nodiscard]] stream_identity identity() const {
    if (!lengths_digest_) lengths_digest_ = digest_of_lengths(*source_);
    return {.documents = source_->size(),
            .lengths = *lengths_digest_,
            .seed = options_.documents.seed,
            .shuffle = options_.documents.shuffle,
            .window_tokens = layout_.window_tokens,
            .packer = std::string(planner_.packer_name()),
            .when_overlong = options_.documents.when_overlong,
            .at_end = options_.at_end};
  }

  std::unique_ptr<Source const> source_;  // the cutter refers to it, wherever the sampler moves
  Planner planner_;
  libra::layout layout_;
  sampler_options options_;
  cutter_type cutter_;
  std::optional<std::int64_t> remaining_;
  mutable std::optional<digest> lengths_digest_;
};

}  // namespace libra
