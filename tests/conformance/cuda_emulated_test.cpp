#include "conformance/cuda_emulated.hpp"

using fp32_peer_ranks = conformance::emulated<conformance::fp32_peer_ranks>;
using bf16_peer_ranks = conformance::emulated<conformance::bf16_peer_ranks>;
using fp16_peer_ranks = conformance::emulated<conformance::fp16_peer_ranks>;

LIBRA_CONFORMANCE(fp32_peer_ranks)
LIBRA_CONFORMANCE(bf16_peer_ranks)
LIBRA_CONFORMANCE(fp16_peer_ranks)
