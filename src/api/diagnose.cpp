#include "tilecast/diagnose.h"

#include <optional>
#include <utility>

#include "api/chosen_method.h"
#include "api/common_arguments.h"
#include "api/declare.h"
#include "diagnose/diagnose.h"
#include "gpu/registry.h"

namespace tilecast {
namespace {

constexpr double kReading = 0.8;  // of the whole time, of a long trace

// The card of the query, or the one the file names.
Result<Gpu> card_of(const DiagnoseQuery& query, const Recording& recording) {
  if (!query.gpu.empty()) {
    auto given = load_gpu(query.gpu);
    if (!given) return in_field(std::move(given).error(), "gpu");
    return given;
  }
  if (recording.gpu.empty())
    return field_error("gpu", "is missing, and " + query.trace + " does not name the card", "for example H200-SXM");
  auto found = find_gpu(recording.gpu);
  if (!found)
    return field_error("gpu", "is missing, and the file's card '" + recording.gpu + "' is not known by that name",
                       found.error().remedy);
  return found;
}

WorkForecast forecast_of(const Comparison& c) {
  WorkForecast f;
  f.family = family_of(c.kernel.shape), f.dims = dims_of(c.kernel.shape), f.dtype = c.kernel.format.name;
  f.shape_from = c.from;
  f.forecast = c.forecast, f.interval = c.interval, f.ceiling = c.ceiling, f.bound = c.bound;
  f.ceiling_from = c.ceiling_from;
  f.limited_by = c.limited_by, f.seen = c.seen;
  return f;
}

RecordedWork work_of(WorkGroup&& g) {
  RecordedWork work;
  work.per_call = g.per_call(), work.above_ceiling = g.lost(), work.underperforms = g.underperforms();
  work.name = std::move(g.name), work.full_name = std::move(g.full_name), work.op = std::move(g.op);
  work.family = name_of(g.family), work.library = g.library;
  work.calls = g.calls, work.launches = g.launches, work.total = g.total, work.bytes = g.bytes;
  if (g.counters) work.counters = {g.counters->memory_share, g.counters->compute_share, g.counters->dram};
  if (g.comparison) work.forecast = forecast_of(*g.comparison);
  return work;
}

// Takes the diagnosis apart: a file may hold a million names, and twice is once too often.
DiagnosisReport report_of(Diagnosis&& d) {
  DiagnosisReport report;
  report.trace = std::move(d.path), report.format = std::move(d.format);
  report.recorded_on = std::move(d.recorded_on), report.gpu = std::move(d.gpu);
  report.total = d.total, report.recognised = d.recognised, report.compared = d.compared, report.above_ceiling = d.lost;
  for (const FamilyTotal& f : d.families)
    report.families.push_back(
        {std::string(name_of(f.family)), std::string(describe(f.family)), f.launches, f.total, f.compared, f.lost});
  report.work.reserve(d.groups.size());
  for (WorkGroup& g : d.groups) report.work.push_back(work_of(std::move(g)));
  report.devices = std::move(d.timelines), report.host = std::move(d.host), report.advice = std::move(d.advice);
  report.notes = std::move(d.notes);
  return report;
}

}  // namespace

Result<DiagnosisReport> diagnose(const DiagnoseQuery& query, const Watch& watch) {
  if (auto fine = check_arguments(query); !fine) return std::move(fine).error();
  const auto recording = read_recording(query.trace, watch.part(0, kReading));
  if (!recording) return recording.error();
  const auto gpu = card_of(query, *recording);
  if (!gpu) return gpu.error();
  const auto chosen = chosen_method(Method::tilecast, query.weights);
  if (!chosen) return chosen.error();
  auto diagnosis = diagnose(*recording, *gpu, chosen->weights(), query.gpu, watch.part(kReading, 1));
  if (!diagnosis) return std::move(diagnosis).error();
  DiagnosisReport report = report_of(*std::move(diagnosis));
  if (!recording->gpu.empty() && !query.gpu.empty())
    if (const auto named = find_gpu(recording->gpu); named && named->name != gpu->name && gpu->built_in)
      report.notes.push_back("the file was recorded on " + named->name + ", the forecasts are for " + gpu->name);
  return report;
}

const Question& diagnose_question() {
  static const Question question{
      "diagnose",
      "a profiler's trace: where the time goes, what falls short, what to try",
      {"diagnose data/measurements/traces/h200_serving.json.gz --gpu H200-SXM --html report.html"}};
  return question;
}

std::vector<BoundArgument> arguments_of(DiagnoseQuery& q) {
  Declare list;
  list.add(q.trace, {.name = "trace",
                     .help = "PyTorch profiler trace (.json, .json.gz), nsys SQLite export, CSV of nsys stats or ncu, "
                             "or a table with columns name and duration_us",
                     .example = "trace.json.gz",
                     .required = true,
                     .positional = true,
                     .touches = Touches::file});
  list.add(q.gpu, {.name = "gpu",
                   .help = "GPU name or description file (default: the one the file names)",
                   .example = "H200-SXM",
                   .touches = Touches::gpu});
  list.add(q.weights, weights_argument());
  return list.take();
}

}  // namespace tilecast
