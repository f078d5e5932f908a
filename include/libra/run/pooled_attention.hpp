#pragma once

#include <libra/core/error.hpp>
#include <libra/plan/plan.hpp>
#include <libra/program/ops.hpp>
#include <libra/run/agreement.hpp>
#include <libra/run/attention_options.hpp>
#include <libra/run/bindings.hpp>
#include <libra/run/concept.hpp>
#include <libra/run/exchange_memory.hpp>
#include <libra/run/executor.hpp>
#include <libra/run/timeline.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace libra {

/// The tensors of a forward call on one rank.
///
/// Shape: `q`, `o` are `[local_tokens, q_heads, head_dim]`, `k`, `v` `[local_tokens, kv_heads, head_dim]`, `lse` is
/// `[local_tokens, q_heads]`; row-major. `lse` is the natural logarithm of the row's sum of `exp(softmax_scale * q.k)`.
template <class Element>
struct forward_tensors {
  std::span<Element const> q;
  std::span<Element const> k;
  std::span<Element const> v;
  std::span<Element> o;
  std::span<float> lse;
};

/// The tensors of a backward call on one rank: `o` and `lse` as the forward call left them, `d_o` the gradient of `o`.
///
/// Shape: gradients are like what they are gradients of.
template <class Element>
struct backward_tensors {
  std::span<Element const> q;
  std::span<Element const> k;
  std::span<Element const> v;
  std::span<Element const> o;
  std::span<float const> lse;
  std::span<Element const> d_o;
  std::span<Element> dq;
  std::span<Element> dk;
  std::span<Element> dv;
};

namespace detail {

/// A backend may bring its own way to run a rank's program: `Backend::executor(backend, plan, pass)` with
/// `run(transport, kernel, bindings, observer)`. `libra::executor` serves the others.
template <class Backend>
concept has_executor =
    backend<Backend> && std::constructible_from<typename Backend::executor, Backend&, pool_plan const&, pass>;

template <backend Backend>
class rank_executor : public executor<typename transport_of<Backend>::ticket> {
 public:
  rank_executor(Backend& parts, pool_plan const& plan, pass direction)
      : executor<typename transport_of<Backend>::ticket>(plan.of(direction), std::as_const(parts.transport()).rank()) {}
};
template <has_executor Backend>
class rank_executor<Backend> : public Backend::executor {
 public:
  using Backend::executor::executor;
};

}  // namespace detail

/// Attention over the packed sequences of one pool: what a training step calls in place of its own attention.
///
/// Every rank of the pool has one, and all call `forward` and `backward` in the same order. Each passes the rows it
/// holds outside attention and gets back the same rows' results; which rank computed them is the plan's affair. Rows of
/// padding come out as zeros.
///
/// Where the plan keeps inputs (`plan_options::keep_inputs`), a backward call uses what the operator's last forward
/// call left in its workspace: one operator per forward call whose backward call is still to come, as many as a stage
/// has layers.
///
/// The first call compares the ranks' plans; it and the constructor allocate, later calls with the same plan do not.
/// Errors: a rank that throws makes the other ranks of the pool throw `run_error` with its message; the transport is of
/// no use afterwards. Determinism: the same plan and backend give the same bits.
template <backend Backend>
class pooled_attention {
 public:
  using element = typename kernel_of<Backend>::element;

  /// The backend's transport joins the ranks of the pool, numbered as in the plan.
  ///
  /// Pre: `parts` outlives the operator. Errors: `input_error` when the plan is null or made for another number of
  /// ranks or another element type, and for an option that is not supported.
  pooled_attention(Backend& parts, std::shared_ptr<pool_plan const> plan, attention_options const& options = {}) try
      : parts_(&parts),
        plan_(checked(std::move(plan), parts)),
        scale_(checked(options, plan_->batch.shape)),
        forward_(parts, *plan_, pass::forward),
        backward_(parts, *plan_, pass::backward),
        workspace_(parts.kernel().allocate(workspace_bytes())),
        delta_(parts.kernel().allocate(delta_bytes())),
        keeps_(keeps_inputs(plan_->backward)) {
  } catch (std::exception const& e) {
    // The other ranks may be on their way to an exchange with this one.
    parts.transport().abort(e.what());
  }

  [[nodiscard]] rank_id rank() const noexcept { return std::as_const(parts_->transport()).rank(); }
  [[nodiscard]] std::int64_t local_tokens() const noexcept { return plan_->batch.local_tokens(rank()); }
  [[nodiscard]] pool_plan const& plan() const noexcept { return *plan_; }
  /// Memory that this rank keeps for exchanges.
  [[nodiscard]] std::int64_t workspace_bytes() const noexcept {
    return exchange_memory_of(*plan_, rank()).workspace_bytes;
  }

  /// Compares the ranks' plans now instead of in the first call. Errors: `run_error` naming two ranks and a field, or
  /// their softmax scales.
  void agree() {
    guarded([&] { agree_once(); });
  }

  /// Computes `o` and `lse`. Errors: `input_error` naming a tensor whose extents differ from the plan's.
  template <op_observer Observer = no_observer>
  void forward(forward_tensors<element> const& t, Observer&& observer = {}) {
    guarded([&] {
      bindings at = call();
      input(at, tensor::q, t.q);
      input(at, tensor::k, t.k);
      input(at, tensor::v, t.v);
      output(at, tensor::o, t.o);
      output(at, tensor::lse, t.lse);
      agree_once();
      kept_ = false;
      forward_.run(parts_->transport(), parts_->kernel(), at, observer);
      kept_ = true;
    });
  }

  /// Computes `dq`, `dk` and `dv`. Errors: as `forward`; `input_error` when the plan keeps inputs and no forward call
  /// left any.
  template <op_observer Observer = no_observer>
  void backward(backward_tensors<element> const& t, Observer&& observer = {}) {
    guarded([&] {
      bindings at = call();
      input(at, tensor::q, t.q);
      input(at, tensor::k, t.k);
      input(at, tensor::v, t.v);
      input(at, tensor::o, t.o);
      input(at, tensor::lse, t.lse);
      input(at, tensor::d_o, t.d_o);
      output(at, tensor::dq, t.dq);
      output(at, tensor::dk, t.dk);
      output(at, tensor::dv, t.dv);
      at.output(tensor::delta, delta_.data());
      require(!keeps_ || kept_,
              "backward begins with the inputs that forward keeps, and no forward call came before it");
      agree_once();
      backward_.run(parts_->transport(), parts_->kernel(), at, observer);
    });
  }

 private:
  using kernel = kernel_of<Backend>;

  [[nodiscard]] static std::shared_ptr<pool_plan const> checked(std::shared_ptr<pool_plan const> plan, Backend& parts) {
    require(plan != nullptr, "plan is null");
    std::int32_t const ranks = std::as_const(parts.transport()).ranks();
    for (pass const p : {pass::forward, pass::backward}) {
      auto const planned = plan->of(p).ranks.size();
      require(planned == static_cast<std::size_t>(ranks), "plan is for ", planned, " ranks, the transport joins ",
              ranks);
      element_bytes const& width = plan->of(p).width;
      require(width == kernel::width, "plan is for elements of ", width.activation, ", ", width.statistic, " and ",
              width.partial, " bytes (activations, statistics, partial sums), the kernel computes with ",
              kernel::width.activation, ", ", kernel::width.statistic, " and ", kernel::width.partial);
    }
    return plan;
  }

  [[nodiscard]] static float checked(attention_options const& options, attention_shape const& shape) {
    validate(options);
    return options.softmax_scale.value_or(default_softmax_scale(shape));
  }

  [[nodiscard]] std::int64_t delta_bytes() const noexcept { return exchange_memory_of(*plan_, rank()).delta_bytes; }

  [[nodiscard]] bindings call() {
    attention_shape const& shape = plan_->batch.shape;
    bindings at(shape, kernel::width, local_tokens());
    at.workspace(workspace_.data(), workspace_bytes());
    at.softmax_scale(scale_);
    return at;
  }

  template <class T>
  void input(bindings& at, tensor what, std::span<T const> rows) const {
    check(what, rows.size());
    at.input(what, std::as_bytes(rows).data());
  }
  template <class T>
  void output(bindings& at, tensor what, std::span<T> rows) const {
    check(what, rows.size());
    at.output(what, std::as_writable_bytes(rows).data());
  }

  void check(tensor what, std::size_t elements) const {
    attention_shape const& shape = plan_->batch.shape;
    std::int64_t const heads = heads_of(what, shape);
    std::int64_t const channels = is_statistic(what) ? 1 : shape.head_dim;
    auto const expected = static_cast<std::size_t>(local_tokens() * heads * channels);
    require(elements == expected, "rank ", rank().value, ": ", name_of(what), " has ", elements, " elements, expected ",
            expected, " = ", local_tokens(), " tokens x ", heads, " heads x ", channels);
  }

  void agree_once() {
    if (!agreed_) {
      libra::agree(parts_->transport(), plan_->fingerprint, scale_);
      agreed_ = true;
    }
  }

  /// Tells the other ranks before an exception leaves, so that none waits for this one.
  template <class Call>
  void guarded(Call call) {
    try {
      call();
    } catch (std::exception const& e) {
      parts_->transport().abort(e.what());
      throw;
    } catch (...) {
      parts_->transport().abort("unknown exception");
      throw;
    }
  }

  Backend* parts_;
  std::shared_ptr<pool_plan const> plan_;
  float scale_;
  detail::rank_executor<Backend> forward_;
  detail::rank_executor<Backend> backward_;
  typename kernel::memory workspace_;
  typename kernel::memory delta_;
  bool keeps_{};
  bool kept_{};
  bool agreed_{};
};

}  // namespace libra
