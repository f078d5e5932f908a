#include "conformance/cuda_emulated.hpp"

using fp32_nccl_ranks = conformance::emulated<conformance::fp32_nccl_ranks>;
using bf16_nccl_ranks = conformance::emulated<conformance::bf16_nccl_ranks>;

// What a rank throws does not travel by NCCL, so the suite's cases of failure are not its own:
// tests/cuda/nccl_test.cpp.
TEST_CASE("fp32_nccl_ranks: results equal the reference; o, lse and dq to the bit whatever the plan") {
  conformance::check_results<fp32_nccl_ranks>();
}
TEST_CASE("bf16_nccl_ranks: results equal the reference; o, lse and dq to the bit whatever the plan") {
  conformance::check_results<bf16_nccl_ranks>();
}
TEST_CASE("fp32_nccl_ranks: the same plan gives the same bits again") {
  conformance::check_repetition<fp32_nccl_ranks>();
}
TEST_CASE("fp32_nccl_ranks: ranks whose plans differ all say so") { conformance::check_fingerprint<fp32_nccl_ranks>(); }
