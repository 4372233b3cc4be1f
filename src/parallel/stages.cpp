#include "parallel/stages.h"

#include <algorithm>
#include <cassert>

#include "model/build.h"
#include "parallel/forecast.h"

namespace tilecast {
namespace {

Seconds sum_of(const AxisTimes& times) {
  Seconds sum;
  for (const Seconds t : times) sum += t;
  return sum;
}

// The section of the forward graph that a call belongs to: a layer's gradients, or the layer that runs forward again
// before them, are still that layer's.
std::size_t forward_section(const Program& program, const KernelCall& call) {
  const int forward = program.sections[call.section].forward;
  return forward >= 0 ? static_cast<std::size_t>(forward) : call.section;
}

// Embedding and head of one table that stand on different ranks: the head's has a copy. Both ends of a V are one rank.
bool needs_copy(const ModelSpec& spec, const RankLayout& layout) {
  return (spec.tied_head || spec.ahead.heads > 0) && layout.rank_of(layout.virtual_stages() - 1) != 0;
}

// Those that learn.
Count weights_of(const Operator& op, bool untied) {
  if (op.weights.frozen) return 0;
  return op.weights.vector + (op.weights.tied && !untied ? 0 : op.weights.matrix);
}

}  // namespace

std::vector<std::vector<Count>> section_counts(const ModelSpec& spec, const RankLayout& layout, const Graph& graph) {
  const auto stages = static_cast<std::size_t>(layout.virtual_stages());
  std::vector<std::vector<Count>> counts(stages, std::vector<Count>(graph.sections.size(), 0));
  if (stages == 1) {
    for (std::size_t i = 0; i < graph.sections.size(); ++i) counts[0][i] = graph.sections[i].repeats;
    return counts;
  }
  const LayerKinds kinds = layer_kinds(spec.decoder ? *spec.decoder : *spec.encoder);
  std::size_t first_layer = 0;  // sections before it open the model, those after the layers close it
  while (first_layer < graph.sections.size() && graph.sections[first_layer].part.kind != SectionKind::layer)
    ++first_layer;
  const std::size_t end = first_layer + kinds.kinds.size();
  for (std::size_t i = 0; i < graph.sections.size(); ++i) {
    if (i < first_layer) counts.front()[i] = graph.sections[i].repeats;
    if (i >= end) counts.back()[i] = graph.sections[i].repeats;
  }
  const std::vector<int> each = layers_of_stages(layout, static_cast<Count>(kinds.order.size()));
  std::size_t layer = 0;
  for (std::size_t s = 0; s < stages; ++s)
    for (int n = 0; n < each[s]; ++n) ++counts[s][first_layer + static_cast<std::size_t>(kinds.order[layer++])];
  return counts;
}

UpdateCost update_cost(const Program& program, const ProgramForecast& step) {
  UpdateCost sum;
  for (std::size_t i = 0; i < program.calls.size(); ++i) {
    if (program.sections[program.calls[i].section].pass != Pass::optimizer) continue;
    const auto times = static_cast<double>(program.calls[i].times);
    sum.time += step.calls[i].each * times, sum.bound += step.calls[i].bound * times;
    sum.moved += step.calls[i].moved * times;
    sum.host += program.host.per_launch * times;
  }
  return sum;
}

void share_out_host(std::vector<SectionCost>& costs, const Program& program, UpdateCost& update) {
  struct Part {
    Seconds* compute;
    Seconds* host;
    double runs;
  };
  std::vector<Part> parts = {{&update.time, &update.host, 1}};
  for (std::size_t i = 0; i < costs.size(); ++i)
    for (PassCost* pass : {&costs[i].forward, &costs[i].backward})
      parts.push_back({&pass->compute, &pass->host, static_cast<double>(program.sections[i].repeats)});
  Seconds gpu, host, behind;
  for (const Part& p : parts) {
    gpu += *p.compute * p.runs, host += *p.host * p.runs;
    behind += std::max(seconds(0), *p.host - *p.compute) * p.runs;
  }
  const double waited = host > gpu && behind > seconds(0) ? (host - gpu) / behind : 0;
  for (const Part& p : parts) *p.host = *p.compute + std::max(seconds(0), *p.host - *p.compute) * waited;
  update.time = update.host;
}

// Exchanges pass while kernels wait to be launched.
void PassCost::finish(double share) {
  const Seconds hidden = sum_of(beside), stopping = sum_of(exposed);
  const Seconds busy = together(compute, hidden, share) + stopping;
  if (const Seconds slowest = std::max(host, copies); slowest > busy) compute += slowest - busy;
  const Seconds longer = together(compute, hidden, share);
  const Seconds unhidden = longer - compute;
  elapsed = longer + stopping;
  for (std::size_t a = 0; a < open.size(); ++a) {
    open[a] = exposed[a];
    if (hidden > seconds(0)) open[a] += unhidden * (beside[a] / hidden);
  }
}

std::vector<SectionCost> section_costs(const Graph& graph, const Program& program, const ProgramForecast& step) {
  std::vector<SectionCost> costs(graph.sections.size());
  for (std::size_t i = 0; i < graph.sections.size(); ++i) {
    const Section& section = graph.sections[i];
    costs[i].repeats = section.repeats;
    for (const Operator& op : section.operators)
      (op.shape.is<Moe>() ? costs[i].experts : costs[i].dense) += weights_of(op, false);
  }
  for (std::size_t c = 0; c < program.calls.size(); ++c) {
    const KernelCall& call = program.calls[c];
    const ProgramSection& section = program.sections[call.section];
    if (section.pass == Pass::optimizer) continue;
    const std::size_t forward = forward_section(program, call);
    assert(forward < costs.size() && "a pass of a section that the graph does not have");
    PassCost& cost = costs[forward].of(section.pass);
    // Of one layer: where every second one runs again, half a run.
    const double runs = static_cast<double>(call.times) / static_cast<double>(program.sections[forward].repeats);
    const Seconds time = step.calls[c].each * runs;
    const Ops work = ops(call.flops * runs);
    const Bytes moved = step.calls[c].moved * runs;
    cost.compute += time, cost.work += work, cost.moved += moved;
    cost.host += program.host.per_launch * runs;
    cost.bound += step.calls[c].bound * runs;
    if (call.weight_gradient) cost.weights += time, cost.weights_work += work, cost.weights_moved += moved;
  }
  return costs;
}

StageCost& StageCost::operator+=(const StageCost& o) {
  layers += o.layers;
  forward += o.forward, backward_input += o.backward_input, backward_weight += o.backward_weight;
  compute += o.compute, bound += o.bound;
  for (std::size_t a = 0; a < total.size(); ++a) total[a] += o.total[a], exposed[a] += o.exposed[a];
  forward_tokens += o.forward_tokens, backward_tokens += o.backward_tokens;
  dense += o.dense, experts += o.experts;
  return *this;
}

Count copied_table(const ModelSpec& spec, const RankLayout& layout, const Graph& graph) {
  if (!needs_copy(spec, layout)) return 0;
  Count table = 0;
  for (const Section& section : graph.sections)
    for (const Operator& op : section.operators)
      if (op.weights.tied && !op.weights.frozen) table += op.weights.matrix * section.repeats;
  return table;
}

std::vector<StageCost> assemble_stages(const ModelSpec& spec, const RankLayout& layout, const Graph& graph,
                                       const std::vector<SectionCost>& costs) {
  const auto counts = section_counts(spec, layout, graph);
  std::vector<StageCost> stages(counts.size());
  for (std::size_t s = 0; s < stages.size(); ++s)
    for (std::size_t i = 0; i < costs.size(); ++i) {
      const Count n = counts[s][i];
      if (n == 0) continue;
      const auto times = static_cast<double>(n);
      const SectionCost& c = costs[i];
      StageCost& out = stages[s];
      if (graph.sections[i].part.kind == SectionKind::layer) out.layers += n;
      out.forward += c.forward.elapsed * times;
      out.backward_weight += c.backward.weights * times;
      out.backward_input += (c.backward.elapsed - c.backward.weights) * times;
      out.compute += (c.forward.compute + c.backward.compute) * times;
      out.bound += (c.forward.bound + c.backward.bound) * times;
      for (std::size_t a = 0; a < out.total.size(); ++a) {
        for (const PassCost* pass : {&c.forward, &c.backward})
          out.total[a] += (pass->exposed[a] + pass->beside[a]) * times;
        out.exposed[a] += (c.forward.open[a] + c.backward.open[a]) * times;
      }
      constexpr auto kTokens = static_cast<std::size_t>(Axis::expert);
      out.forward_tokens += c.forward.open[kTokens] * times, out.backward_tokens += c.backward.open[kTokens] * times;
      out.dense += c.dense * n, out.experts += c.experts * n;
    }
  stages.back().dense += copied_table(spec, layout, graph);
  return stages;
}

std::vector<Graph> rank_parts(const ModelSpec& spec, const RankLayout& layout, const Graph& forward) {
  const auto counts = section_counts(spec, layout, forward);
  std::vector<Graph> parts(static_cast<std::size_t>(layout.pp));
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    parts[rank].name = forward.name;
    for (std::size_t i = 0; i < forward.sections.size(); ++i) {
      Count n = 0;
      for (const std::size_t v : stages_of(layout, rank)) n += counts[v][i];
      if (n == 0) continue;
      Section section = forward.sections[i];
      section.repeats = n;
      if (needs_copy(spec, layout))
        for (Operator& op : section.operators) op.weights.tied = false;
      parts[rank].sections.push_back(std::move(section));
    }
  }
  return parts;
}

}  // namespace tilecast
