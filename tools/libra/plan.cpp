#include "commands.hpp"
#include "output.hpp"
#include "prepare.hpp"
#include "progress.hpp"
#include "stopwatch.hpp"
#include "text.hpp"
#include "workspace_limit.hpp"

#include <libra/core/ids.hpp>
#include <libra/io/plan_json.hpp>
#include <libra/io/plan_report.hpp>
#include <libra/pack/bin_bound.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>

namespace libra::tools {
namespace {

/// Dispatches and lowers every pool of every micro-step.
plan_report dispatch_all(prepared_plan& plan, report_detail detail) {
  plan_report report(plan.batch, detail);
  std::int32_t const steps = plan.batch.placement.steps();
  std::int32_t const pools = plan.batch.pools.size();
  workspace_limit limit;
  progress bar("dispatching pools", std::int64_t{steps} * pools);
  for (std::int32_t m = 0; m < steps; ++m) {
    for (std::int32_t g = 0; g < pools; ++g) {
      stopwatch const time;
      pool_plan pool = limit.plan(plan.batch, plan.plan.plan_pool, micro_step_id(m), pool_id(g));
      plan.seconds.dispatch += time.seconds();
      pool_locality const locality = plan.plan.locality(pool);
      report.add(std::move(pool), locality);
      bar.advance();
    }
  }
  limit.require_kept();
  return report;
}

void describe_input(text_table& table, prepared_plan const& plan) {
  batch_plan const& batch = plan.batch;
  packing const& packed = batch.packing;
  layout const& l = batch.layout;
  auto const sequences = static_cast<std::int64_t>(packed.sequences.size());

  std::string documents = fmt::format("{} tokens", with_commas(packed.tokens));
  if (packed.split_documents > 0) documents += fmt::format(", {} split", counted(packed.split_documents, "document"));
  if (packed.truncated_tokens > 0)
    documents += fmt::format(", {} truncated", counted(packed.truncated_tokens, "token"));
  if (plan.docs.empty > 0) documents += fmt::format(", {} empty", counted(plan.docs.empty, "document"));
  double const padding = ratio(packed.padding_tokens(), static_cast<int128>(sequences) * packed.window_tokens);
  std::string placed = fmt::format("{} x {} x {} slots", counted(batch.placement.global_batches(), "global batch"),
                                   counted(l.micro_steps, "micro-step"), l.dp);
  if (batch.placement.global_batches() > 1) placed.replace(placed.find("batchs"), 6, "batches");
  if (batch.dropped_sequences() > 0) {
    placed += fmt::format("; {} left for a next batch", counted(batch.dropped_sequences(), "sequence"));
  }

  table.row({"documents", with_commas(plan.docs.given), documents});
  table.row({"sequences", with_commas(sequences),
             fmt::format("of {} tokens, {} filled; these segments need at least {}", with_commas(l.window_tokens),
                         as_percent(1 - padding), with_commas(bin_lower_bound(packed)))});
  table.row({"ranks", with_commas(l.ranks()),
             fmt::format("{} slots x {} ranks, {} of up to {} slots", l.dp, l.cp, counted(batch.pools.size(), "pool"),
                         batch.pools.largest())});
  table.row({"placed", with_commas(static_cast<std::int64_t>(batch.placement.at.size())), placed});
}

void describe_skew(text_table& table, prepared_plan const& plan, plan_report const& report) {
  placement_certificate const& proof = plan.batch.certificate;
  policy_choice const& policies = plan.config.policies;
  table.line("").line("Attention work, largest over mean");
  table.row({"  Ulysses", as_skew(proof.ulysses_over_mean()), "packed order, heads over the ranks of each sequence"});
  table.row({"  after placement", as_skew(proof.placed_over_mean()),
             fmt::format("{}; proven: none below {}", policies.placer, as_skew(proof.lower_bound_over_mean()))});
  table.row({"  after dispatch", as_skew(report.dispatched_over_mean()),
             fmt::format("{}: the largest rank of every micro-step", policies.dispatcher)});
}

void describe_exchange(text_table& table, prepared_plan const& plan, plan_report const& report) {
  table.line("").line("Exchange, one rank and layer, forward and backward");
  table.row({"  sent", as_bytes(report.max_bytes_sent()), "the rank that sends most"});
  table.row({"  received", as_bytes(report.max_bytes_received()), "the rank that receives most"});
  table.row({"  workspace", as_bytes(report.workspace_bytes()), "the largest rank's memory for it"});
  if (report.kept_bytes() > 0) {
    table.row({"  kept", as_bytes(report.kept_bytes()), "of it from each layer's forward pass to its backward pass"});
  }
  table.row({"  among", with_commas(report.max_ranks_per_exchange()), "ranks of the largest group that exchanges"});
  table.row({"  stays home", as_percent(report.local_token_share()),
             fmt::format("of the tokens, {} of the work", as_percent(report.local_work_share()))});
  if (report.idle_ranks() > 0) {
    double const share = ratio(report.idle_ranks(), int128{plan.batch.layout.ranks()} * plan.batch.placement.steps());
    table.row({"  idle", as_percent(share),
               fmt::format("of the ranks never get work: {} query heads for {} ranks per sequence",
                           plan.config.planning.shape.q_heads, plan.batch.layout.cp)});
  }
}

std::string tables(prepared_plan const& plan, plan_report const& report) {
  text_table table("<><");
  describe_input(table, plan);
  describe_skew(table, plan, report);
  describe_exchange(table, plan, report);
  plan_seconds const& s = plan.seconds;
  table.line("").line(fmt::format("Planned in {}: pack {}, place {}, dispatch {} ({} a pool)",
                                  as_seconds(s.pack + s.place + s.dispatch), as_seconds(s.pack), as_seconds(s.place),
                                  as_seconds(s.dispatch),
                                  as_seconds(s.dispatch / static_cast<double>(report.pools().size()))));
  table.line(fmt::format("Fingerprint {}", to_hex(report.fingerprint())));
  return table.text();
}

}  // namespace

outcome plan_command::run() const {
  prepared_plan plan = prepare(input, resolve(planning));
  plan_report const report = dispatch_all(plan, output.full ? report_detail::tiles : report_detail::figures);
  deliver(
      output,
      [&] {
        return document("plan", [&](json_writer& json) {
          json.object("config", [&] { write_members(json, plan.config); });
          write_members(json, report, plan.seconds, plan.docs.origin());
        });
      },
      [&] { return tables(plan, report); });
  return outcome::done;
}

}  // namespace libra::tools
