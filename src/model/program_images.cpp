#include "model/program_images.h"

#include <algorithm>
#include <set>

namespace tilecast {
namespace {

// What the decision asks of a convolution's filter, and its operations.
struct ImageFilter {
  bool grouped = false, shrinks = false, small = false;
  double flops = 0;
};

struct ImageGraph {
  double nodes = 1;  // with the one that returns
  std::set<int> inputs;
  std::vector<ImageFilter> filters;
};

ImageFilter image_filter_of(const OperatorView& view) {
  const ProgramLayout *filter = view.tensor("weight"), *in = view.tensor("input"), *out = view.result();
  if (!filter || !in || !out || filter->shape.size() < 3 || elements_of(*filter) == 0) return {};
  const Count first = filter->shape[0], second = filter->shape[1];
  constexpr Count kSmall = 64;
  const ProgramLayout& slid = view.truth("transposed") ? *in : *out;
  const double each = static_cast<double>(elements_of(*filter)) / static_cast<double>(first);
  return {view.whole("groups", 1) > 1 && second > 1, 2 * first <= second && filter->shape[2] > 1,
          first <= kSmall && second <= kSmall, 2 * static_cast<double>(elements_of(slid)) * each};
}

// Of inference: whether convolutions are expected to gain as a whole, by what each sort of them gained in Inductor's own benchmarks.
bool gains(const std::vector<ImageFilter>& filters) {
  constexpr double kGrouped = 1.358, kSmall = 0.783, kShrinking = 0.725, kOther = 0.823;
  double before = 0, after = 0;
  for (const ImageFilter& f : filters) {
    before += f.flops;
    after += f.flops * (f.grouped ? kGrouped : f.small ? kSmall : f.shrinks ? kShrinking : kOther);
  }
  return after <= before;
}

bool turns_images(const ImageGraph& graph, bool inference) {
  constexpr double kNodesOfConvolution = 300;  // a graph with more has too few convolutions
  const auto& filters = graph.filters;
  const double nodes = graph.nodes + static_cast<double>(graph.inputs.size());
  if (filters.empty() || nodes >= kNodesOfConvolution * static_cast<double>(filters.size())) return false;
  if (inference) return gains(filters);
  const auto any = [&](bool ImageFilter::* what) {
    return std::any_of(filters.begin(), filters.end(), [&](const ImageFilter& f) { return f.*what; });
  };
  const bool all_small = std::all_of(filters.begin(), filters.end(), [](const ImageFilter& f) { return f.small; });
  return !any(&ImageFilter::grouped) && !any(&ImageFilter::shrinks) && !all_small;
}

}  // namespace

std::vector<bool> graphs_with_images_last(const ProgramFile& program) {
  std::vector<ImageGraph> graphs;
  bool inference = true;
  for (std::size_t i = 0; i < program.calls.size(); ++i) {
    const ProgramCall& call = program.calls[i];
    inference = inference && program.phases[static_cast<std::size_t>(call.phase)] != "backward";
    if (call.graph < 0) continue;
    const auto at = static_cast<std::size_t>(call.graph);
    if (graphs.size() <= at) graphs.resize(at + 1);
    ImageGraph& graph = graphs[at];
    const ProgramOperator& op = program.operators[static_cast<std::size_t>(call.op)];
    // Each of several results is taken out by a node of its own.
    graph.nodes += 1 + (op.results.size() > 1 ? static_cast<double>(op.results.size()) : 0);
    for (const int s : call.reads) {
      const int born = program.storages[static_cast<std::size_t>(s)].born;
      if (born < 0 || program.calls[static_cast<std::size_t>(born)].graph != call.graph) graph.inputs.insert(s);
    }
    if (operator_base(op.name) == "convolution") graph.filters.push_back(image_filter_of(OperatorView(program, op)));
  }
  std::vector<bool> last;
  last.reserve(graphs.size());
  for (const ImageGraph& graph : graphs) last.push_back(turns_images(graph, inference));
  const bool somewhere = std::find(last.begin(), last.end(), true) != last.end();
  for (std::size_t i = 0; i < graphs.size(); ++i)
    if (graphs[i].filters.empty()) last[i] = somewhere;
  return last;
}

}  // namespace tilecast
