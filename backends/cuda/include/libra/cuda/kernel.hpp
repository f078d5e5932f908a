#pragma once

#include <libra/cuda/context.hpp>
#include <libra/cuda/element.hpp>
#include <libra/cuda/memory.hpp>
#include <libra/program/ops.hpp>
#include <libra/run/bindings.hpp>
#include <libra/run/concept.hpp>

#include <cstdint>
#include <memory>
#include <span>

namespace libra::cuda {

struct call_parameters;

/// Where a call's memory is, on the device: what a plan's kernels read to find their operands.
///
/// One per rank and plan: setting it is ordered by the stream like any other work, so calls follow one another without
/// waiting.
class parameter_block {
 public:
  explicit parameter_block(context& in);
  ~parameter_block();
  parameter_block(parameter_block&&) noexcept;
  parameter_block& operator=(parameter_block&&) noexcept;
  parameter_block(parameter_block const&) = delete;
  parameter_block& operator=(parameter_block const&) = delete;

  /// What is enqueued on the compute stream from now on works on the memory in `at`.
  void set(bindings const& at);
  [[nodiscard]] call_parameters const* address() const noexcept;

 private:
  context* in_;
  device_buffer<call_parameters> block_;
};

/// The items of one op of a program as its kernels read them: on the device, with running counts of the work in each.
///
/// Built once per plan; it holds locations, not addresses, so it serves every call.
class device_batch {
 public:
  device_batch() noexcept;
  ~device_batch();
  device_batch(device_batch&&) noexcept;
  device_batch& operator=(device_batch&&) noexcept;
  device_batch(device_batch const&) = delete;
  device_batch& operator=(device_batch const&) = delete;

 private:
  template <element Element>
  friend class kernel;
  struct lists;
  explicit device_batch(std::unique_ptr<lists> made) noexcept;
  std::unique_ptr<lists> lists_;
};

/// Attention that is plain and right: what faster kernels are compared with.
///
/// Inputs are `Element`, sums fp32. Work is enqueued on the context's compute stream and follows what is there.
/// Determinism: `o`, `lse` and `dq` of a row depend on its query and the keys it sees only, whatever the tile, except
/// for tiles that work on a part of the keys; the same batch gives the same bits of `dk` and `dv`.
template <element Element>
class kernel {
 public:
  using element = Element;
  using memory = arena;
  static constexpr element_bytes width{static_cast<std::int32_t>(sizeof(Element)), 4, 4};

  /// Pre: `in` outlives the kernel and what it returns.
  explicit kernel(context& in);

  /// Errors: `out_of_memory`, naming also what the plan needs once an executor was made for it.
  [[nodiscard]] memory allocate(std::int64_t bytes) {
    return in_->allocating([&] { return arena(bytes, "a plan's exchange memory"); });
  }

  /// Puts a batch on the device and waits until it is there. Errors: `input_error` naming a shape that no kernel
  /// computes, before anything is launched; `out_of_memory`.
  [[nodiscard]] device_batch prepare(op const& what, program const& of, attention_shape const& shape);
  /// Enqueues what was prepared on the queue's stream. Pre: the batch is of this kernel.
  void run(device_batch const& batch, parameter_block const& at, queue on = queue::compute);

  // What `tile_kernel` asks for: each call prepares its batch and waits for what is on the stream.
  void attend(std::span<tile_task const> tiles, bindings const& at);
  void attend_backward(std::span<tile_task const> tiles, bindings const& at);
  void row_dot(std::span<dot_task const> dots, bindings const& at);
  void clear(std::span<region_task const> regions, bindings const& at);
  void reduce(std::span<reduce_task const> sums, std::span<location const> partials, bindings const& at);

 private:
  /// Runs the only op of a program of its own.
  void run_alone(program const& only, bindings const& at);

  context* in_;
  parameter_block own_parameters_;
  /// The batch of the last call, which may still be computed.
  device_batch last_;
};

extern template class kernel<float>;
extern template class kernel<bf16>;
extern template class kernel<fp16>;
static_assert(tile_kernel<kernel<float>>);

/// Throws what a program's regions do not fit in, so that no kernel meets it.
void check_regions(op const& what, program const& of, bindings const& at);

}  // namespace libra::cuda
