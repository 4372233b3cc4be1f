#include "lab/evidence/serving.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <tuple>

#include "cluster/registry.h"
#include "gpu/registry.h"
#include "lab/evidence/endtoend_columns.h"
#include "model/library.h"
#include "serve/step_width.h"

namespace tilecast {

namespace {

// All that step times depend on, and nothing that only bounds batches.
std::string key_of(const DeploymentOptions& o) {
  const Precision& p = o.engine.precision;
  const std::string spread = o.spread ? o.spread->cluster.name + text_of(o.spread->layout) : std::string();
  const auto& fused = o.engine.fused_sums;
  const std::string told = fmt::format("{}|{}|{}|{}", fused ? std::to_string(*fused) : "", o.engine.merged_scans,
                                       static_cast<int>(o.engine.transport), o.experts_kernel.text());
  return fmt::format("{}|{}|{}|{}|{}|{}|{}|{}", o.model.name, name_of(o.engine.kind), static_cast<int>(o.engine.era),
                     o.gpu.name, spread, text_of(p) + "|" + std::string(p.attention.name), static_cast<int>(p.cache),
                     told);
}

// Deployments with the same model, engine, format and ranks share step times.
class Tables {
 public:
  Tables(Method method, const ModelSource* weights) : method_(method), weights_(weights) {}
  Result<Deployment> deploy(const DeploymentOptions& options) {
    std::shared_ptr<StepTable>& table = tables_[key_of(options)];
    auto rank = whole_model(options, method_, weights_);
    if (!rank) return std::move(rank).error();
    auto deployment = tilecast::deploy(options, *std::move(rank), table);
    if (deployment) table = deployment->steps;
    return deployment;
  }
  Result<ServingEnds> ends(const ServingCase& one, const SimulationOptions& simulation, const ServingOutcome& outcome,
                           const std::optional<CountedSpan>& counted) {
    return serving_ends(one.deployment, one.requests, simulation, outcome, {}, method_, weights_, 0, counted);
  }

 private:
  Method method_;
  const ModelSource* weights_;
  std::map<std::string, std::shared_ptr<StepTable>> tables_;
};

// A run as forecast, at the ends of its pace, and with all steps at the ends of their own intervals: how much of those
// is left over a run is fitted (kServedScale).
struct JudgedRun {
  ServingMetrics middle;
  ServingEnds ends;
  ServingMetrics fast_steps, slow_steps;
};

// From the first request after those that only warm the server up.
std::optional<CountedSpan> counted_of(const ServingCase& one, const ServingOutcome& outcome) {
  if (one.warm_up == 0) return std::nullopt;
  return CountedSpan{outcome.requests[static_cast<std::size_t>(one.warm_up)].sent, outcome.end + seconds(1)};
}

Result<JudgedRun> judged_run(const ServingCase& one, Tables& tables) {
  const auto deployment = tables.deploy(one.deployment);
  if (!deployment) return deployment.error();
  SimulationOptions simulation;
  simulation.pool = deployment->pool;
  simulation.concurrency = one.concurrency;
  simulation.context_limit = one.context_limit;
  std::optional<Deployment> prompts;
  if (one.prefill) {
    auto pool = tables.deploy(*one.prefill);
    if (!pool) return std::move(pool).error();
    prompts = *std::move(pool);
    simulation.prefill = prompts->pool;
    simulation.link = one.link;
  }
  const auto outcome = simulate(one.requests, simulation);
  if (auto fine = deployment->steps->status(); !fine) return std::move(fine).error();
  if (prompts)
    if (auto fine = prompts->steps->status(); !fine) return std::move(fine).error();
  if (!outcome) return outcome.error();
  const auto counted = counted_of(one, *outcome);
  auto ends = tables.ends(one, simulation, *outcome, counted);
  if (!ends) return std::move(ends).error();
  JudgedRun judged{metrics_of(*outcome, {}, {}, counted), *std::move(ends), {}, {}};
  for (const bool slow : {false, true}) {
    auto run = simulate_scaled(one.requests, simulation, judged.ends.widths, slow);
    if (!run) return std::move(run).error();
    (slow ? judged.slow_steps : judged.fast_steps) = metrics_of(*std::move(run), {}, {}, counted);
  }
  return judged;
}

std::map<std::string, double> figures_of(const ServingMetrics& m) {
  return {{"ttft", m.ttft.mean},
          {"tpot", m.tpot.mean},
          {"ttft median", m.ttft.median},
          {"tpot median", m.tpot.median},
          {"e2e median", m.e2el.median},
          {"throughput", m.output_throughput},
          {"peak", static_cast<double>(m.peak_tokens)}};
}

// Of requests and rates: those of the medians of first tokens and of the tokens after them.
std::string kind_of(std::string_view figure, bool queued) {
  return fmt::format("{}serving, {}", queued ? "queued " : "",
                     figure == "ttft median"   ? "median first token"
                     : figure == "ttft"        ? "first token"
                     : figure == "tpot median" ? "median token"
                     : figure == "tpot"        ? "a token"
                                               : "requests");
}

RequestShares shares_of(std::string_view figure, const JudgedRun& run) {
  if (figure.starts_with("ttft")) return {1, 0};
  if (figure.starts_with("tpot")) return {0, 1};
  if (figure.starts_with("e2e")) return shares_of_request(run.middle.ttft.median, run.middle.e2el.median);
  return shares_of_rate(run.ends, run.middle);
}

}  // namespace

Result<ServedOn> served_on(const SourceMapping& source, const TableRow& row, const std::string& engine_column) {
  const auto gpu = row.gpu();
  if (!gpu) return gpu.error();
  const auto name = row.model();
  if (!name) return name.error();
  auto model = find_model(*name);
  if (!model) return std::move(model).error();
  const auto engine = engine_name_of(source, row[engine_column]);
  if (!engine) return engine.error();
  const Cluster* cluster = built_in_cluster_of(gpu->name);
  if (!cluster) return left_out_row("no cluster of " + gpu->name + " is known");
  return ServedOn{*std::move(model), *engine_from(*engine), cluster};
}

Result<std::vector<EndToEndResult>> judge_serving(const std::vector<ServingCase>& cases, Method method,
                                                  const ModelSource* weights, LeftOutRows* without) {
  Tables tables(method, weights);
  std::vector<EndToEndResult> results;
  for (const ServingCase& one : cases) {
    auto run = judged_run(one, tables);
    if (!run && without) {
      leave_out(*without, kNoForecast + run.error().problem);
      continue;
    }
    if (!run)
      return std::move(run).error().at(fmt::format("{} {} {}", one.label.gpu, one.label.engine, one.label.model));
    const ServingEnds whole = of_whole_run(run->ends, run->middle);
    const auto forecast = figures_of(run->middle);
    const std::array<std::map<std::string, double>, 4> ends = {
        figures_of(whole.fast), figures_of(whole.slow), figures_of(run->fast_steps), figures_of(run->slow_steps)};
    for (const auto& [figure, measured] : one.measured) {
      EndToEndResult& r = results.emplace_back();
      r.label = one.label, r.quantity = figure, r.measured = measured, r.forecast = forecast.at(figure);
      if (figure == "peak") continue;  // of tokens in flight: no interval is given
      r.kind = kind_of(figure, run->ends.queued), r.steps_kind = "serving";
      const RequestShares shares = shares_of(figure, *run);
      r.of_first = shares.first, r.of_further = shares.further;
      std::tie(r.low, r.high) = std::minmax({ends[0].at(figure), r.forecast, ends[1].at(figure)});
      std::tie(r.parts_low, r.parts_high) = std::minmax({ends[2].at(figure), r.forecast, ends[3].at(figure)});
    }
  }
  return results;
}

namespace {

// "...;arrival_s=0.2651;sched_delay_ms=0.010": the number after a name.
std::optional<double> named_number(std::string_view notes, std::string_view name) {
  const auto at = notes.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  notes.remove_prefix(at + name.size());
  return to_double(notes.substr(0, notes.find(';')));
}

constexpr std::array<std::string_view, 1> kFiles = {"e2e/llmservingsim_vllm_bench_requests.csv.gz"};
constexpr std::array<NameRule, 1> kFormats = {{{"bfloat16", "bf16"}}};
constexpr std::array<NameRule, 1> kEngines = {{{"vLLM", "vllm"}}};

// Three rows a request: first token, time a token, the whole.
struct RecordedRun {
  Gpu gpu;
  std::string model, format;
  std::map<Count, RequestRecord> records;
  double tpot = 0;
  Count rows = 0;
};

Status add_row(const TableRow& row, std::map<std::string, RecordedRun>& runs) {
  const auto of = row.names();
  if (!of) return of.error();
  if (const auto engine = engine_name_of(kLlmservingsimSource, row["engine"]); !engine) return engine.error();
  const std::string& notes = row["notes"];
  const auto arrival = named_number(notes, "arrival_s="), delay = named_number(notes, "sched_delay_ms=");
  Count id = 0;
  if (!notes.starts_with("bench-") || !arrival || !delay ||
      std::from_chars(notes.data() + 6, notes.data() + notes.size(), id).ec != std::errc())
    return left_out_row("notes are not 'bench-N;arrival_s=...;sched_delay_ms=...'");
  RecordedRun& run = runs[of->gpu.name + "|" + of->model + "|" + std::string(of->format.name)];
  run.gpu = of->gpu, run.model = of->model, run.format = of->format.name;
  RequestRecord& r = run.records[id];
  r.input = row.count("isl"), r.output = row.count("osl");
  r.sent = seconds(*arrival), r.scheduled = seconds(*arrival + *delay * 1e-3);
  const double value = row.number("value") * 1e-3;
  if (row["metric"] == "req_ttft") r.first = seconds(*arrival + value);
  else if (row["metric"] == "req_e2e_latency") r.last = seconds(*arrival + value);
  else if (row["metric"] == "req_tpot") run.tpot += value;
  ++run.rows;
  return Ok{};
}

Result<ServingCase> case_of(const RecordedRun& run) {
  auto model = find_model(run.model);
  if (!model) return std::move(model).error();
  auto precision = precision_from(run.format);
  if (!precision) return std::move(precision).error();
  ServingCase one;
  one.label = {"llmservingsim",
               run.gpu.name,
               "vllm",
               model->name,
               "serve",
               fmt::format("{} requests, arrivals given", run.records.size()),
               0,
               0};
  one.deployment.model = *std::move(model);
  one.deployment.gpu = run.gpu;
  one.deployment.engine.kind = EngineKind::vllm;
  one.deployment.engine.precision = *std::move(precision);
  one.deployment.max_sequences = 256, one.deployment.max_tokens = 2048;  // as the rows say
  std::vector<RequestRecord> list;
  double ttft = 0, end = 0;
  Count tokens = 0;
  for (const auto& [id, r] : run.records) {
    one.requests.push_back({r.sent, r.input, r.output});
    list.push_back(r);
    ttft += r.ttft().base();
    end = std::max(end, r.last.base());
    tokens += r.output;
  }
  const auto n = static_cast<double>(list.size());
  one.measured = {{"ttft", ttft / n},
                  {"tpot", run.tpot / n},
                  {"throughput", static_cast<double>(tokens) / (end - list.front().sent.base())},
                  {"peak", static_cast<double>(peak_tokens(list))}};
  return one;
}

}  // namespace

constexpr SourceMapping kLlmservingsimSource{
    .name = "llmservingsim",
    .from = "github.com/casys-kaist/LLMServingSim",
    .licence = "MIT",
    .files = kFiles,
    .columns = kWholeModelColumns,
    .formats = kFormats,
    .engines = kEngines,
    .protocol = {"recorded requests, with the times of arrival, first and last token of each"}};

Result<ServingCases> llmservingsim_cases(const std::string& path) {
  auto table = read_table(kLlmservingsimSource, path);
  if (!table) return std::move(table).error();
  ServingCases read;
  read.left_out = std::move(table->left_out);
  std::map<std::string, RecordedRun> runs;
  for (const TableRow& row : table->rows)
    if (auto added = add_row(row, runs); !added) leave_out(read.left_out, added.error().problem);
  for (const auto& [name, run] : runs) read.add(case_of(run), run.rows);
  return read;
}

}  // namespace tilecast
