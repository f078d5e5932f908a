#pragma once

#include <string_view>
#include <vector>

namespace libra::host {

/// The instruction set that the kernels use on this processor, for example "AVX-512".
[[nodiscard]] std::string_view instruction_set();

/// The instruction sets that this build and this processor can use, best first.
[[nodiscard]] std::vector<std::string_view> instruction_sets();

/// Makes the kernels of this process, and whatever else in it dispatches through Highway, use this instruction set.
///
/// Results are bit-identical on one instruction set only: a job on unlike processors names the one they share.
/// Pre: no kernel is running. Errors: `input_error` unless `name` is one of `instruction_sets()`.
void use_instruction_set(std::string_view name);

/// Measures how fast one core multiplies and adds fp32 vectors that are in registers, over a few milliseconds.
///
/// Units: flop per second; one fused multiply-add is two flop.
[[nodiscard]] double measure_peak_flop_per_second();

}  // namespace libra::host
