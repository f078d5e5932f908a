#include "conformance/pool_case.hpp"
#include "run/doubles.hpp"

#include <libra/dispatch/ulysses.hpp>
#include <libra/run/pooled_attention.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace {

using doubles::journal;
using libra::tensor;

/// Two ranks that share one sequence of 12 tokens, the last two of them padding.
libra::pool_batch shared_sequence() {
  libra::pool_batch batch;
  batch.shape = {.q_heads = 4, .kv_heads = 2, .head_dim = 16, .mask = {}};
  batch.home = {12, 2};
  batch.slots = 1;
  batch.segments = {{{libra::document_id(std::int64_t{0}), 0, 10}, libra::sequence_id(0), libra::slot_id(0), 0}};
  return batch;
}

std::shared_ptr<libra::pool_plan const> shared_plan() {
  return conformance::plan(shared_sequence(), libra::ulysses{}, {{4, 4, 4}, 1});
}

struct fixture {
  journal log;
  libra::backend_pair<doubles::transport, doubles::kernel> parts{
      {.log = &log, .self = libra::rank_id(1), .size = 2, .tests_finish = false, .sends = {}, .receives = {}},
      {.log = &log, .scale = 0}};
  std::vector<float> q = std::vector<float>(6 * 4 * 16), k = std::vector<float>(6 * 2 * 16), v = k, o = q,
                     lse = std::vector<float>(6 * 4);
  std::vector<float> d_o = q, dq = q, dk = k, dv = k;

  libra::forward_tensors<float> forward() { return {.q = q, .k = k, .v = v, .o = o, .lse = lse}; }
  libra::backward_tensors<float> backward() {
    return {.q = q, .k = k, .v = v, .o = o, .lse = lse, .d_o = d_o, .dq = dq, .dk = dk, .dv = dv};
  }
};

std::string message_of(auto call) {
  try {
    call();
  } catch (libra::input_error const& e) {
    return e.what();
  }
  return "nothing thrown";
}

TEST_CASE_FIXTURE(fixture, "plans are compared once, before the first exchange") {
  libra::pooled_attention attention(parts, shared_plan());
  attention.forward(forward());
  REQUIRE(log.size() > 1);
  CHECK(log[0] == "gather");
  log.clear();
  attention.backward(backward());
  attention.forward(forward());
  CHECK(std::ranges::count(log, "gather") == 0);
}

TEST_CASE_FIXTURE(fixture, "a tensor of other extents is named with what was expected, and the other ranks are told") {
  libra::pooled_attention attention(parts, shared_plan());
  auto const wrong_forward = [&](auto change) {
    return message_of([&] {
      auto t = forward();
      change(t);
      attention.forward(t);
    });
  };
  auto const wrong_backward = [&](auto change) {
    return message_of([&] {
      auto t = backward();
      change(t);
      attention.backward(t);
    });
  };
  CHECK(wrong_forward([](auto& t) { t.q = t.q.first(383); }) ==
        "rank 1: q has 383 elements, expected 384 = 6 tokens x 4 heads x 16");
  CHECK(log == journal{"abort: rank 1: q has 383 elements, expected 384 = 6 tokens x 4 heads x 16"});
  CHECK(wrong_forward([](auto& t) { t.k = {}; }) == "rank 1: k has 0 elements, expected 192 = 6 tokens x 2 heads x 16");
  CHECK(wrong_forward([](auto& t) { t.v = t.q; }) ==
        "rank 1: v has 384 elements, expected 192 = 6 tokens x 2 heads x 16");
  CHECK(wrong_forward([](auto& t) { t.o = t.o.first(1); }) ==
        "rank 1: o has 1 elements, expected 384 = 6 tokens x 4 heads x 16");
  CHECK(wrong_forward([](auto& t) { t.lse = t.lse.first(1); }) ==
        "rank 1: lse has 1 elements, expected 24 = 6 tokens x 4 heads x 1");
  for (auto const member : {&libra::backward_tensors<float>::dq, &libra::backward_tensors<float>::dk,
                            &libra::backward_tensors<float>::dv}) {
    CHECK(wrong_backward([&](auto& t) { t.*member = {}; }).find("has 0 elements, expected") != std::string::npos);
  }
  CHECK(wrong_backward([](auto& t) { t.d_o = t.k; }) ==
        "rank 1: d_o has 192 elements, expected 384 = 6 tokens x 4 heads x 16");
}

TEST_CASE_FIXTURE(fixture, "a plan that does not fit the backend is refused, and the other ranks are told") {
  using attention = libra::pooled_attention<decltype(parts)>;
  CHECK(message_of([&] { attention(parts, nullptr); }) == "plan is null");
  CHECK(log == journal{"abort: plan is null"});
  parts.transport().size = 3;
  CHECK(message_of([&] { attention(parts, shared_plan()); }) == "plan is for 2 ranks, the transport joins 3");
  parts.transport().size = 2;
  auto const halves = conformance::plan(shared_sequence(), libra::ulysses{}, {{2, 4, 4}, 1});
  CHECK(message_of([&] { attention(parts, halves); }) ==
        "plan is for elements of 2, 4 and 4 bytes (activations, statistics, partial sums), the kernel computes with 4, "
        "4 and 4");
}

TEST_CASE_FIXTURE(fixture, "the softmax scale is an option") {
  libra::pooled_attention standard(parts, shared_plan());
  standard.forward(forward());
  CHECK(parts.kernel().scale == 0.25F);
  libra::pooled_attention own(parts, shared_plan(), {.softmax_scale = 0.5F});
  own.forward(forward());
  CHECK(parts.kernel().scale == 0.5F);
}

TEST_CASE_FIXTURE(fixture, "an option that is not supported is refused by name, and the other ranks are told") {
  auto const refused = [&](libra::attention_options const& options, std::string const& what) {
    log.clear();
    std::string const whole = what + ": libra's attention is without it";
    CHECK(message_of([&] { libra::pooled_attention(parts, shared_plan(), options); }) == whole);
    CHECK(log == journal{"abort: " + whole});
  };
  refused({.dropout = 0.5F}, "dropout is 0.500000, expected 0");
  refused({.logit_soft_cap = 50.0F}, "logit_soft_cap is 50.000000, expected 0");
  refused({.attention_sinks = true}, "attention_sinks is true, expected false");
  refused({.alibi = true}, "alibi is true, expected false");
}

TEST_CASE_FIXTURE(fixture, "an operator keeps its plan alive and may move") {
  auto plan = shared_plan();
  libra::pooled_attention first(parts, plan);
  plan.reset();
  libra::pooled_attention second = std::move(first);
  CHECK(second.local_tokens() == 6);
  CHECK(second.plan().batch.ranks() == 2);
  CHECK_NOTHROW(second.forward(forward()));
}

}  // namespace
