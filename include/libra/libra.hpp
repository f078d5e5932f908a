#pragma once

/// Everything of libra but io: planning, programs, the operator and the sampler. Backends and io have headers of their
/// own.

#include <libra/cost/pair_count.hpp>
#include <libra/cost/roofline.hpp>
#include <libra/dispatch/pooled.hpp>
#include <libra/dispatch/ulysses.hpp>
#include <libra/dispatch/usp.hpp>
#include <libra/dispatch/zigzag_ring.hpp>
#include <libra/model/machine.hpp>
#include <libra/model/transformer.hpp>
#include <libra/pack/best_fit_decreasing.hpp>
#include <libra/pack/in_order.hpp>
#include <libra/place/as_packed.hpp>
#include <libra/place/longest_first.hpp>
#include <libra/place/variance_reduced.hpp>
#include <libra/plan/metrics.hpp>
#include <libra/plan/plan_cache.hpp>
#include <libra/plan/scheduler.hpp>
#include <libra/pool/fixed_size.hpp>
#include <libra/program/verifier.hpp>
#include <libra/run/gather_lengths.hpp>
#include <libra/run/pooled_attention.hpp>
#include <libra/sample/prefetch.hpp>
#include <libra/sample/sampler.hpp>
#include <libra/sample/state_bytes.hpp>
#include <libra/version.hpp>
