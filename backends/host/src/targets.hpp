#pragma once

// Included before anything of Highway: which instruction sets the kernels are compiled for.
// Left out are those that add nothing for fp32 (AVX3_DL, SSSE3) and vectors of unknown length (SVE, RVV), which
// register blocks cannot hold.
#define HWY_DISABLED_TARGETS (HWY_AVX3_DL | HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
