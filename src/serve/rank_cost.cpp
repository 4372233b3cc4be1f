#include "serve/rank_cost.h"

#include <algorithm>

#include "cluster/comm_constants.h"
#include "parallel/exchange.h"
#include "parallel/split.h"

namespace tilecast {
namespace {

Count layers_of(const ModelSpec& model) { return model.decoder ? model.decoder->layer_count() : 0; }

// The SMs have next to nothing to do, and no clock makes it faster.
PowerWork resting(Seconds time) { return {0, 0, seconds(0), time}; }

// What ranks exchange in a step as calls beside the kernels. Kernels for the exchange of experts differ between prompts
// and answers, so their names do: a table must not take one for the other.
Status add_exchanges(const Graph& graph, const ExchangeSetting& setting, const Cluster& cluster,
                     const CallWanted& wanted, std::vector<CallTime>& calls) {
  const CommConstants& links = shipped_comm_constants();
  for (const Exchange& e : layer_exchanges(graph, setting)) {
    const Section& section = graph.sections[e.section];
    const std::string name = e.experts ? e.name + " " + std::string(name_of(setting.workload.mode)) : e.name;
    CallTime& call = calls.emplace_back(CallTime{section.name, name});
    call.part = section.part.kind;
    if (wanted && !wanted(call)) continue;
    const auto timed =
        e.experts ? forecast_exchange(*e.experts, cluster, links) : forecast_collective(e.call, cluster, links);
    if (!timed) return timed.error();
    call.cool = timed->latency * (e.times * static_cast<double>(section.repeats));
    call.work = resting(call.cool);
  }
  if (setting.layout.pp > 1) {
    CallTime& call = calls.emplace_back(CallTime{graph.sections.front().name, "stage send"});
    if (wanted && !wanted(call)) return Ok{};
    const auto timed = forecast_collective(stage_send(setting), cluster, links);
    if (!timed) return timed.error();
    call.cool = timed->latency * static_cast<double>(setting.layout.pp - 1);
    call.work = resting(call.cool);
  }
  return Ok{};
}

}  // namespace

StepPricer price_over(ModelSpec model, EngineOptions engine, RankSpread spread, Method method,
                      const ModelSource* weights, const KernelSource& experts_kernel,
                      std::shared_ptr<KnownCosts> known) {
  StepPricer pricer = price_on(model, engine, spread.cluster.gpu, method, weights);  // its power
  pricer.calls = [run = Run{model, {}, std::move(engine), {}}, model, spread = std::move(spread), method, weights,
                  experts_kernel,
                  known](const Workload& workload, const CallWanted& wanted) mutable -> Result<std::vector<CallTime>> {
    run.workload = workload;
    auto graph = rank_graph(model, spread.layout, workload);
    if (!graph) return std::move(graph).error();
    auto prepared = prepare(run, *graph);
    if (!prepared) return std::move(prepared).error();
    as_served(prepared->program, run.engine.kind, spread.cluster.gpu.architecture, spread.layout.tp, experts_kernel,
              run.engine.fused_sums.value_or(fuses_sums(model, run.engine.kind)));
    if (auto fine = spread_copies(prepared->program, spread.variants.redundant, run.engine.routing); !fine)
      return std::move(fine).error();
    share_keys(prepared->program, spread.variants.decode_cp);
    auto calls = call_times(std::move(prepared->program), spread.cluster.gpu, method, weights, known.get(), wanted);
    if (!calls) return calls;
    const ExchangeSetting setting{model,      spread.layout, workload,
                                  run.engine, run.training,  spread.cluster.gpus_per_node};
    if (auto added = add_exchanges(*graph, setting, spread.cluster, wanted, *calls); !added)
      return std::move(added).error();
    if (auto added = add_key_exchanges(*graph, setting, spread.variants.decode_cp, spread.cluster, *calls); !added)
      return std::move(added).error();
    return calls;
  };
  return pricer;
}

double largest_stage(const ModelSpec& model, const RankLayout& layout) {
  const Count layers = layers_of(model);
  if (layout.pp == 1 || layers == 0) return 1;
  const std::vector<int> each = layers_of_stages(layout, layers);
  return static_cast<double>(*std::max_element(each.begin(), each.end())) / static_cast<double>(layers);
}

}  // namespace tilecast
