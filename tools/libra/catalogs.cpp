#include "commands.hpp"
#include "output.hpp"
#include "text.hpp"

#include <libra/io/machine_json.hpp>
#include <libra/model/machine.hpp>
#include <libra/model/transformer.hpp>

#include <fmt/format.h>

#include <string>

namespace libra::tools {

outcome machines_command::run() const {
  deliver(
      output,
      [] {
        return document("machines", [](json_writer& json) {
          json.object("config", [] {});
          json.array("machines", [&] {
            for (machine const& m : machines) {
              json.object([&] { write_members(json, m); });
            }
          });
        });
      },
      [] {
        auto const tera = [](std::int64_t flop) { return fmt::format("{:.0f}", static_cast<double>(flop) * 1e-12); };
        auto const giga = [](std::int64_t bytes) { return fmt::format("{:.0f}", static_cast<double>(bytes) * 1e-9); };
        text_table table("<>>>>>><");
        table.row(
            {"machine", "linear TFLOP/s", "attention fwd", "bwd", "GB/s in node", "network", "ranks a node", "source"});
        for (machine const& m : machines) {
          table.row({std::string(m.name), tera(m.linear_flop_per_second), tera(m.attention.forward_flop_per_second),
                     tera(m.attention.backward_flop_per_second), giga(m.links.node_bytes_per_second),
                     giga(m.links.network_bytes_per_second), std::to_string(m.links.ranks_per_node),
                     std::string(m.source)});
        }
        return table.text();
      });
  return outcome::done;
}

outcome models_command::run() const {
  deliver(
      output,
      [] {
        return document("models", [](json_writer& json) {
          json.object("config", [] {});
          json.array("models", [&] {
            for (transformer const& t : transformers) {
              json.object([&] {
                json.member("name", t.name);
                json.member("layers", t.layers);
                json.member("hidden", t.hidden);
                json.member("q_heads", t.shape.q_heads);
                json.member("kv_heads", t.shape.kv_heads);
                json.member("head_dim", t.shape.head_dim);
                json.member("active_parameters", t.active_parameters);
                json.member("source", t.source);
              });
            }
          });
        });
      },
      [] {
        text_table table("<>>>>>><");
        table.row({"model", "layers", "hidden", "query heads", "kv heads", "head dim", "active parameters", "source"});
        for (transformer const& t : transformers) {
          table.row({std::string(t.name), std::to_string(t.layers), with_commas(t.hidden),
                     std::to_string(t.shape.q_heads), std::to_string(t.shape.kv_heads),
                     std::to_string(t.shape.head_dim), with_commas(t.active_parameters), std::string(t.source)});
        }
        return table.text();
      });
  return outcome::done;
}

}  // namespace libra::tools
