// Steps drawn, and written out for simulators of networks.
#include <algorithm>

#include "api/step_values.h"
#include "cluster/comm_constants.h"
#include "parallel/chakra.h"
#include "parallel/planned_step.h"
#include "support/chrome_trace.h"

namespace tilecast {
namespace {

constexpr int kSections = 1, kKernels = 2;  // threads of a process

// Every repetition of a section is drawn, kernels back to back. Returns when the last ends.
Seconds draw_section(ChromeTrace& trace, int process, const StepForecast& step, std::size_t first, std::size_t end,
                     Seconds now) {
  const StepSection& section = step.sections[step.kernels[first].section];
  for (Count repeat = 0; repeat < section.repeats; ++repeat) {
    const Seconds start = now;
    for (std::size_t i = first; i < end; ++i) {
      const StepKernel& k = step.kernels[i];
      const Count runs = k.times / std::max<Count>(1, section.repeats);
      const Seconds duration = k.each * static_cast<double>(runs);
      const std::string kernel = k.family + " " + k.shape;
      trace.span(process, kKernels, {k.name, k.op_class, now, duration},
                 {{"kernel", kernel}, {"limited_by", name_of(k.limited_by)}});
      now += duration;
    }
    std::string name = section.name;
    if (section.repeats > 1) name += " " + std::to_string(repeat + 1);
    trace.span(process, kSections, {name, section.pass, start, now - start});
  }
  return now;
}

void draw_kernels(ChromeTrace& trace, int process, const StepForecast& step) {
  trace.process(process, step.setting.gpu + " " + std::string(name_of(step.setting.engine)));
  Seconds now;
  for (std::size_t first = 0; first < step.kernels.size();) {
    std::size_t end = first;
    while (end < step.kernels.size() && step.kernels[end].section == step.kernels[first].section) ++end;
    now = draw_section(trace, process, step, first, end, now);
    first = end;
  }
}

// A graph that ranks repeat has no tasks to tell apart.
Status check_drawn(const StepForecast& step) {
  if (step.detail && step.setting.given_shapes)
    return error("a graph with given shapes is not drawn over ranks",
                 "draw it on one GPU, or give the model's configuration");
  return Ok{};
}

}  // namespace

Result<std::string> chrome_trace(std::span<const StepForecast> steps) {
  const auto spread =
      std::count_if(steps.begin(), steps.end(), [](const StepForecast& s) { return s.detail != nullptr; });
  if (spread == 0) {
    ChromeTrace trace;
    int process = 0;
    for (const StepForecast& step : steps) draw_kernels(trace, ++process, step);
    return trace.text();
  }
  std::vector<StepLanes> all;
  for (const StepForecast& step : steps) {
    if (!step.detail)
      return error("steps of one GPU and of many are not drawn together", "draw them one after the other");
    if (auto fine = check_drawn(step); !fine) return std::move(fine).error();
    auto lanes = step_lanes(step.detail->run, step.detail->forecast, step.detail->cluster, shipped_comm_constants());
    if (!lanes) return std::move(lanes).error();
    all.push_back(*std::move(lanes));
  }
  return lanes_json(all);
}

namespace {

// A pipeline of thousands of micro-batches repeats itself: its beginning and its end say all.
void keep_both_ends(StepTimeline& timeline) {
  constexpr std::size_t kEachEnd = 2000;
  std::vector<StepTask>& tasks = timeline.tasks;
  if (tasks.size() <= 2 * kEachEnd) return;
  timeline.left_out = static_cast<Count>(tasks.size() - 2 * kEachEnd);
  tasks.erase(tasks.begin() + kEachEnd, tasks.end() - kEachEnd);
}

}  // namespace

Result<StepTimeline> timeline_of(const StepForecast& step) {
  if (!step.detail)
    return field_error("list-tasks", "has no effect on one GPU", "give a cluster, or tp, pp, dp, ep or cp");
  if (auto fine = check_drawn(step); !fine) return std::move(fine).error();
  const auto lanes =
      step_lanes(step.detail->run, step.detail->forecast, step.detail->cluster, shipped_comm_constants());
  if (!lanes) return lanes.error();
  StepTimeline timeline;
  timeline.ranks = static_cast<int>(lanes->timeline.busy.size()), timeline.alike = lanes->alike;
  for (const PipelineTask& t : lanes->timeline.tasks)
    timeline.tasks.push_back({t.rank, std::string(name_of(t.phase)), t.micro_batch, t.chunk, t.begin, t.end, false});
  for (const LaneSpan& s : lanes->spans) timeline.tasks.push_back({s.rank, s.name, -1, 0, s.begin, s.end, s.beside});
  std::stable_sort(timeline.tasks.begin(), timeline.tasks.end(),
                   [](const StepTask& a, const StepTask& b) { return a.begin < b.begin; });
  keep_both_ends(timeline);
  return timeline;
}

Result<ChakraTraces> chakra_traces(const StepForecast& step) {
  if (!step.detail || step.setting.gpus == 1)
    return field_error("layout", "a step of one GPU exchanges nothing", "give tp, pp, dp or cp");
  if (auto fine = check_drawn(step); !fine) return std::move(fine).error();
  auto nodes = step_nodes(step.detail->run, step.detail->forecast, step.detail->cluster, shipped_comm_constants());
  if (!nodes) return std::move(nodes).error();
  if (auto fine = check_chakra_groups(nodes->groups); !fine) return std::move(fine).error();
  ChakraTraces traces;
  traces.ranks = nodes->ranks, traces.merged = nodes->merged, traces.groups = chakra_groups(nodes->groups);
  traces.beside = [cluster = step.detail->cluster, groups = nodes->groups,
                   ranks = nodes->ranks](const std::string& prefix) {
    std::vector<ChakraTraces::File> files;
    for (NamedText& file : astra_sim_files(cluster, ranks, groups, prefix))
      files.push_back({std::move(file.name), std::move(file.text)});
    return files;
  };
  // The nodes may refer to the forecast they are of.
  traces.trace = [detail = step.detail, nodes = *std::move(nodes)](int rank) {
    return chakra_trace(nodes.trace_of(rank), nodes.groups);
  };
  return traces;
}

Status write_chakra(const ChakraTraces& traces, const std::string& folder, const std::string& prefix) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  if (prefix.empty() || prefix.find_first_not_of(kPlain) != std::string::npos)
    return field_error("prefix", "must be made of letters, digits, '.', '_' and '-': a script names the files by it",
                       "for example step");
  std::vector<NamedText> beside;
  if (traces.beside)
    for (ChakraTraces::File& file : traces.beside(prefix))
      beside.push_back({std::move(file.name), std::move(file.text)});
  return write_chakra_files(folder, prefix, traces.groups, traces.ranks, traces.trace, beside);
}

}  // namespace tilecast
