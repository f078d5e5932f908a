#pragma once

#include <libra/io/json_writer.hpp>
#include <libra/model/layout.hpp>
#include <libra/model/machine.hpp>
#include <libra/model/packing.hpp>
#include <libra/model/transformer.hpp>
#include <libra/place/levels.hpp>
#include <libra/plan/plan.hpp>

#include <cstdint>
#include <memory>
#include <string_view>

namespace libra {
class machine_file;
}

namespace libra::tools {

enum class document_order : std::uint8_t { file, shuffle };

/// The policy chosen for each seam, by name. Names point into the registry.
struct policy_choice {
  std::string_view packer;
  std::string_view placer;
  std::string_view dispatcher;
  std::string_view cost;
};

/// Everything that decides about a plan beside the lengths, as resolved from the command line.
struct configuration {
  /// `micro_steps` is 0 until the list is packed, unless it was given: it depends on how many sequences there are.
  libra::layout layout;
  plan_options planning;
  policy_choice policies;
  /// Of `usp`; 0 lets it choose.
  std::int32_t usp_head_ranks{0};
  overlong when_overlong{overlong::split};
  document_order order{document_order::file};
  std::uint64_t seed{};
  placement_goal goal;
  libra::transformer model;
  std::int32_t tp{1};
  libra::machine machine;
  /// Keeps the texts of a machine that came from a file.
  std::shared_ptr<machine_file const> machine_texts;
};

[[nodiscard]] constexpr std::string_view name_of(document_order order) noexcept {
  return order == document_order::file ? "file" : "shuffle";
}

/// Writes every option as resolved into the object that is open.
void write_members(json_writer& json, configuration const& config);

}  // namespace libra::tools
