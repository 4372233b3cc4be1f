// Forecasts for many GPUs, for people and for programs.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/views/memory_json.h"
#include "cli/commands/parallel_command.h"
#include "cli/terminal/units_text.h"
#include "support/json.h"
#include "support/table.h"
#include "support/text.h"

namespace tilecast {
namespace {

using Json = nlohmann::ordered_json;

std::string size_of(const Cluster& cluster, int ranks) {
  const int nodes = static_cast<int>(ceil_div(ranks, cluster.gpus_per_node));
  return fmt::format("{} GPU{} of {}{}", ranks, ranks == 1 ? "" : "s", cluster.name,
                     nodes > 1 ? fmt::format(" ({} nodes)", nodes) : "");
}

Bytes fullest(const ParallelForecast& f) {
  Bytes most;
  for (const StageForecast& s : f.stages) most = std::max(most, s.memory.total());
  return most;
}

std::string batch_text(const ParallelRun& run, const ParallelForecast& f) {
  if (run.run.workload.mode != Mode::train) return describe(run.run);
  return fmt::format("{}, {} micro-batch{} a rank", describe(run.run), f.micro_batches,
                     f.micro_batches == 1 ? "" : "es");
}

double ms(Seconds t) { return t.base() * 1e3; }

Json layout_json(const RankLayout& l) {
  return Json{{"tp", l.tp},
              {"cp", l.cp},
              {"dp", l.dp},
              {"pp", l.pp},
              {"ep", l.ep},
              {"expert_tp", l.expert_width()},
              {"sequence_parallel", l.sequence_parallel},
              {"context", name_of(l.context)},
              {"schedule", name_of(l.schedule)},
              {"chunks", l.chunks},
              {"sharding", name_of(l.sharding)},
              {"shard_group", l.shard_group},
              {"overlap", l.overlap}};
}

Json variant_json(const ParallelVariant& v) {
  if (v.refused)
    return Json{{"model", name_of(v.run.run.model)},
                {"cluster", v.cluster.name},
                {"gpu", v.cluster.gpu.name},
                {"mode", name_of(v.run.run.workload.mode)},
                {"engine", name_of(v.run.run.engine.kind)},
                {"dtype", v.run.run.engine.precision.linear.name},
                {"error", v.refused->line()}};
  const ParallelForecast& f = v.forecast;
  Json axes = Json::object(), stages = Json::array(), exchanges = Json::array();
  for (std::size_t a = 0; a < f.axes.size(); ++a)
    if (f.axes[a].total > seconds(0))
      axes[std::string(kAxisNames[a])] = {{"total_ms", ms(f.axes[a].total)}, {"exposed_ms", ms(f.axes[a].exposed)}};
  for (const StageForecast& s : f.stages)
    stages.push_back({{"layers", s.layers},
                      {"forward_ms", ms(s.forward)},
                      {"backward_ms", ms(s.backward)},
                      {"memory_bytes", memory_json(s.memory)},
                      {"usable_bytes", s.usable.base()},
                      {"cache_room_tokens", s.cache_tokens}});
  for (std::size_t i = 0; i < f.exchanges.size(); ++i) {
    const Exchange& e = f.exchanges[i];
    exchanges.push_back({{"name", e.name},
                         {"axis", name_of(e.axis)},
                         {"pass", name_of(e.pass)},
                         {"op", name_of(e.call.op)},
                         {"bytes", e.call.bytes.base()},
                         {"ranks", e.call.ranks},
                         {"times", e.times},
                         {"beside_compute", e.beside},
                         {"latency_us", in_microseconds(f.exchange_times[i].latency)},
                         {"algorithm", f.exchange_times[i].algorithm}});
  }
  return Json{{"model", name_of(v.run.run.model)},
              {"cluster", v.cluster.name},
              {"gpu", v.cluster.gpu.name},
              {"gpus", v.run.layout.ranks()},
              {"layout", layout_json(v.run.layout)},
              {"mode", name_of(v.run.run.workload.mode)},
              {"engine", name_of(v.run.run.engine.kind)},
              {"dtype", v.run.run.engine.precision.linear.name},
              {"micro_batches", f.micro_batches},
              {"step_ms", ms(f.step)},
              {"interval_ms", {ms(f.interval.low), ms(f.interval.high)}},
              {"bound_ms", ms(f.bound)},
              {"tokens_per_second", f.tokens_per_second},
              {"tokens_per_second_per_gpu", f.tokens_per_second / v.run.layout.ranks()},
              {"mfu", f.utilisation},
              {"compute_ms", ms(f.compute)},
              {"bubble_ms", ms(f.bubble)},
              {"optimizer_ms", ms(f.optimizer)},
              {"exposed_ms", ms(f.exposed())},
              {"axes", axes},
              {"stages", stages},
              {"usable_bytes", f.usable.base()},
              {"fits", f.fits()},
              {"seen", f.seen()},
              {"exchanges", exchanges}};
}

}  // namespace

namespace {

const ParallelVariant& first_that_runs(const std::vector<ParallelVariant>& variants) {
  return *std::find_if(variants.begin(), variants.end(), [](const ParallelVariant& v) { return !v.refused; });
}

// Names, then as many dashes as it takes, then why.
std::vector<std::string> refused_cells(std::vector<std::string> names, const ParallelVariant& v, std::size_t dashes) {
  names.insert(names.end(), dashes, "–");
  names.push_back("cannot run: " + v.refused->problem);
  return names;
}

}  // namespace

std::string parallel_memory_table(const std::vector<ParallelVariant>& variants) {
  const ParallelVariant& first = first_that_runs(variants);
  Table table({{"on", Align::left},
               {"dtype", Align::left},
               {"stage"},
               {"weights"},
               {"gradients"},
               {"optimizer"},
               {"activations"},
               {"KV cache"},
               {"workspace"},
               {"total"},
               {"usable"},
               {"KV tokens"},
               {"fits", Align::left}});
  for (const ParallelVariant& v : variants) {
    const std::vector<std::string> names = {size_of(v.cluster, v.run.layout.ranks()),
                                            std::string(v.run.run.engine.precision.linear.name)};
    if (v.refused) {
      table.add(refused_cells(names, v, 10));
      continue;
    }
    for (std::size_t i = 0; i < v.forecast.stages.size(); ++i) {
      const StageForecast& s = v.forecast.stages[i];
      const MemoryNeed& m = s.memory;
      table.add({names[0], names[1], fmt::format("{}", i), text_of(m.weights), text_of(m.gradients),
                 text_of(m.optimizer), text_of(m.activations), text_of(m.cache), text_of(m.workspace),
                 text_of(m.total()), text_of(s.usable), s.cache_tokens > 0 ? grouped(s.cache_tokens) : "–",
                 m.total() <= s.usable ? "yes" : "no"});
    }
  }
  return fmt::format("{}, {}, {}: memory of each rank\n\n{}", name_of(first.run.run.model),
                     name_of(first.run.run.workload.mode), text_of(first.run.layout), table.text());
}

std::string parallel_table(const std::vector<ParallelVariant>& variants) {
  const ParallelVariant& first = first_that_runs(variants);
  std::string out = fmt::format("{}, {}\n{}\n\n", name_of(first.run.run.model), batch_text(first.run, first.forecast),
                                text_of(first.run.layout));
  Table table({{"on", Align::left},
               {"engine", Align::left},
               {"dtype", Align::left},
               {"step"},
               {"80 % interval"},
               {"tokens/s/GPU"},
               {"MFU"},
               {"bubble"},
               {"exposed"},
               {"memory"},
               {"fits", Align::left},
               {"seen", Align::left}});
  for (const ParallelVariant& v : variants) {
    const ParallelForecast& f = v.forecast;
    if (v.refused) {
      table.add(refused_cells({size_of(v.cluster, v.run.layout.ranks()), std::string(name_of(v.run.run.engine.kind)),
                               std::string(v.run.run.engine.precision.linear.name)},
                              v, 8));
      continue;
    }
    table.add({size_of(v.cluster, v.run.layout.ranks()), std::string(name_of(v.run.run.engine.kind)),
               std::string(v.run.run.engine.precision.linear.name), text_of(f.step),
               text_of(f.interval.low) + " – " + text_of(f.interval.high),
               grouped(static_cast<Count>(f.tokens_per_second / v.run.layout.ranks())), percent(f.utilisation),
               percent(f.bubble / f.step), percent(f.exposed() / f.step),
               fmt::format("{:.1f} of {:.0f} GiB", in_gibibytes(fullest(f)), in_gibibytes(v.cluster.gpu.dram.size)),
               f.fits() ? "yes" : "no", f.seen() ? "yes" : "no"});
  }
  return out + table.text();
}

std::string parallel_breakdown(const ParallelVariant& v) {
  const ParallelForecast& f = v.forecast;
  std::string out = fmt::format("Where a step goes on the busiest rank of {}{}\n\n", v.cluster.name,
                                f.host_bound ? " (the host launches slower than the GPU computes)" : "");
  Table parts({{"part", Align::left}, {"time"}, {"share"}, {"hidden"}});
  const auto add = [&](const std::string& name, Seconds t, Seconds hidden) {
    if (t > seconds(0) || hidden > seconds(0))
      parts.add({name, text_of(t), percent(t / f.step), hidden > seconds(0) ? text_of(hidden) : "–"});
  };
  add("computing", f.compute, {});
  for (std::size_t a = 0; a < f.axes.size(); ++a)
    add(std::string(kAxisNames[a]) + " exchange", f.axes[a].exposed,
        std::max(f.axes[a].total - f.axes[a].exposed, seconds(0)));
  add("pipeline bubble", f.bubble, {});
  add("optimizer, between steps", f.optimizer, {});
  out += parts.text(2) + "\n";
  Table stages({{"stage"},
                {"layers"},
                {"forward"},
                {"backward"},
                {"weights"},
                {"gradients"},
                {"optimizer"},
                {"activations"},
                {"KV cache"},
                {"total"},
                {"of usable"}});
  const auto same = [](const StageForecast& a, const StageForecast& b) {
    return a.layers == b.layers && a.forward == b.forward && a.backward == b.backward &&
           a.memory.total() == b.memory.total();
  };
  for (std::size_t i = 0; i < f.stages.size();) {
    std::size_t last = i;
    while (last + 1 < f.stages.size() && same(f.stages[last + 1], f.stages[i])) ++last;
    const StageForecast& s = f.stages[i];
    const MemoryNeed& m = s.memory;
    stages.add({last > i ? fmt::format("{}–{}", i, last) : fmt::format("{}", i), fmt::format("{}", s.layers),
                text_of(s.forward), s.backward > seconds(0) ? text_of(s.backward) : "–", text_of(m.weights),
                text_of(m.gradients), text_of(m.optimizer), text_of(m.activations), text_of(m.cache),
                text_of(m.total()), percent(m.total() / s.usable)});
    i = last + 1;
  }
  return out + "  One micro-batch and the memory of a rank, by pipeline stage\n\n" + stages.text(2);
}

std::string parallel_json(const std::vector<ParallelVariant>& variants) {
  Json list = Json::array();
  for (const ParallelVariant& v : variants) list.push_back(variant_json(v));
  return json_text(list);
}

}  // namespace tilecast
