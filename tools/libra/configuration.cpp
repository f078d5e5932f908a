#include "configuration.hpp"

#include "values.hpp"

#include <libra/model/speeds.hpp>

#include <cstdint>

namespace libra::tools {

void write_members(json_writer& json, configuration const& config) {
  json.member("window", config.layout.window_tokens);
  json.member("dp", config.layout.dp);
  json.member("cp", config.layout.cp);
  json.member("pool", config.layout.pool);
  json.member("micro_steps", config.layout.micro_steps);
  json.member("overlong", name_of(config.when_overlong));
  json.member("order", name_of(config.order));
  json.member("seed", config.seed);
  json.member("packer", config.policies.packer);
  json.member("placer", config.policies.placer);
  json.member("dispatcher", config.policies.dispatcher);
  json.member("cost", config.policies.cost);
  json.member("arrange", config.planning.arrange ? "on" : "off");
  json.member("home", config.planning.home == sharding::zigzag ? "zigzag" : "contiguous");
  json.member("model", config.model.name);
  json.member("q_heads", config.planning.shape.q_heads);
  json.member("kv_heads", config.planning.shape.kv_heads);
  json.member("head_dim", config.planning.shape.head_dim);
  json.member("layers", config.model.layers);
  json.member("hidden", config.model.hidden);
  json.member("active_parameters", config.model.active_parameters);
  json.member("tp", config.tp);
  json.member("mask", to_text(config.planning.shape.mask));
  json.member("machine", config.machine.name);
  json.member("sync", config.goal.sync == synchronisation::layer ? "layer" : "batch");
  json.member("pp", config.goal.stages);
  if (config.planning.speeds_permille.empty()) {
    json.member("speeds", nullptr);
  } else {
    json.array("speeds", [&] {
      for (std::int32_t const s : config.planning.speeds_permille) json.element(s / double{unit_speed_permille});
    });
  }
  if (config.planning.max_workspace_bytes > 0) {
    json.member("max_workspace", config.planning.max_workspace_bytes);
  } else {
    json.member("max_workspace", nullptr);
  }
  json.member("keep_inputs", config.planning.keep_inputs ? "on" : "off");
  json.member("scatter", config.planning.scatter ? "on" : "off");
}

}  // namespace libra::tools
