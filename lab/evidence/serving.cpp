#include "lab/evidence/serving.h"

#include <fmt/format.h>

#include <charconv>

#include "gpu/registry.h"
#include "lab/evidence/endtoend_table.h"
#include "model/library.h"

namespace tilecast {

namespace {

// All that step times depend on, and nothing that only bounds batches.
std::string key_of(const DeploymentOptions& o) {
  const Precision& p = o.engine.precision;
  const std::string spread = o.spread ? o.spread->cluster.name + text_of(o.spread->layout) : std::string();
  return fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}", o.model.name, name_of(o.engine.kind), static_cast<int>(o.engine.era),
                     o.gpu.name, spread, p.linear.name, p.experts.name, p.attention.name, static_cast<int>(p.cache));
}

}  // namespace

namespace {

// Deployments of the same model, engine, format and ranks share step times.
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

 private:
  Method method_;
  const ModelSource* weights_;
  std::map<std::string, std::shared_ptr<StepTable>> tables_;
};

Result<ServingOutcome> outcome_of(const ServingCase& one, Tables& tables) {
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
  auto outcome = simulate(one.requests, simulation);
  if (auto fine = deployment->steps->status(); !fine) return std::move(fine).error();
  if (prompts)
    if (auto fine = prompts->steps->status(); !fine) return std::move(fine).error();
  return outcome;
}

}  // namespace

Result<std::vector<EndToEndResult>> judge_serving(const std::vector<ServingCase>& cases, Method method,
                                                  const ModelSource* weights) {
  Tables tables(method, weights);
  std::vector<EndToEndResult> results;
  for (const ServingCase& one : cases) {
    auto outcome = outcome_of(one, tables);
    if (!outcome)
      return std::move(outcome).error().at(fmt::format("{} {} {}", one.label.gpu, one.label.engine, one.label.model));
    const ServingMetrics m = metrics_of(*outcome);
    const std::map<std::string, double> forecast = {{"ttft", m.ttft.mean},
                                                    {"tpot", m.tpot.mean},
                                                    {"throughput", m.output_throughput},
                                                    {"peak", static_cast<double>(m.peak_tokens)}};
    for (const auto& [figure, measured] : one.measured)
      results.push_back({one.label, figure, measured, forecast.at(figure)});
  }
  return results;
}

std::vector<EndToEndResult> left_out_of(const ServingCases& cases, const std::string& source) {
  std::vector<EndToEndResult> results;
  for (const auto& [why, runs] : cases.left_out) {
    EndToEndResult one;
    one.label.source = source + " left out", one.label.detail = why;
    one.quantity = "runs";
    one.measured = one.forecast = static_cast<double>(runs);
    results.push_back(std::move(one));
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

}  // namespace

Result<ServingCases> llmservingsim_cases(const std::string& path) {
  const auto rows = read_table(path, {"isl", "osl", "metric", "value", "notes"});
  if (!rows) return rows.error();
  ServingCase one;
  one.label = {"llmservingsim", "RTX-4090", "vllm", "Llama-3.1-8B", "serve", "300 requests, arrivals given", 0, 0};
  auto model = find_model(one.label.model);
  if (!model) return std::move(model).error();
  one.deployment.model = *std::move(model);
  one.deployment.gpu = *find_gpu(one.label.gpu);
  one.deployment.engine.kind = EngineKind::vllm;
  one.deployment.engine.precision = *precision_from("bf16");
  one.deployment.max_sequences = 256, one.deployment.max_tokens = 2048;  // as the rows say
  // Three rows a request: first token, time a token, the whole.
  std::map<Count, RequestRecord> records;
  double tpot = 0, end = 0;
  Count tokens = 0;
  for (const TableRow& row : *rows) {
    const auto arrival = named_number(row["notes"], "arrival_s="),
               delay = named_number(row["notes"], "sched_delay_ms=");
    Count id = 0;
    const std::string& notes = row["notes"];
    if (!notes.starts_with("bench-") || !arrival || !delay ||
        std::from_chars(notes.data() + 6, notes.data() + notes.size(), id).ec != std::errc())
      return Error{row.place(), "notes", "are not 'bench-N;arrival_s=...;sched_delay_ms=...'", ""};
    RequestRecord& r = records[id];
    r.input = row.count("isl"), r.output = row.count("osl");
    r.sent = seconds(*arrival), r.scheduled = seconds(*arrival + *delay * 1e-3);
    const double value = row.number("value") * 1e-3;
    if (row["metric"] == "req_ttft") r.first = seconds(*arrival + value);
    else if (row["metric"] == "req_e2e_latency") r.last = seconds(*arrival + value);
    else if (row["metric"] == "req_tpot") tpot += value;
  }
  std::vector<RequestRecord> list;
  double ttft = 0;
  for (const auto& [id, r] : records) {
    one.requests.push_back({r.sent, r.input, r.output});
    list.push_back(r);
    ttft += r.ttft().base();
    end = std::max(end, r.last.base());
    tokens += r.output;
  }
  if (list.empty()) return Error{path, "", "holds no requests", ""};
  const auto n = static_cast<double>(list.size());
  one.measured = {{"ttft", ttft / n},
                  {"tpot", tpot / n},
                  {"throughput", static_cast<double>(tokens) / (end - list.front().sent.base())},
                  {"peak", static_cast<double>(peak_tokens(list))}};
  return ServingCases{{std::move(one)}, {}};
}

}  // namespace tilecast
