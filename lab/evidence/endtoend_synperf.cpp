// SynPerf's end-to-end runs: one batch of requests, all prompts in one pass, then one token of each request a step.
// SGLang on one GPU and over tensor parallel ranks, requests of many lengths; vLLM over four such ranks and two stages,
// requests alike, of which only the whole time is known.
#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "cluster/registry.h"
#include "lab/evidence/endtoend.h"
#include "lab/evidence/endtoend_table.h"
#include "support/file.h"
#include "support/json.h"
#include "support/statistics.h"
#include "support/text.h"

namespace tilecast {
namespace {

// One file of runs.
struct Machine {
  const char* file;  // of e2e_real
  const char* gpu;
  int tp = 1, pp = 1;
  const char *model = "", *workload = "";  // vLLM's files name neither
};
constexpr std::array<Machine, 15> kMachines = {{
    {"e2e_A100.jsonl", "A100-SXM-80GB"},
    {"e2e_A40.jsonl", "A40"},
    {"e2e_H20.jsonl", "H20"},
    {"e2e_H800.jsonl", "H800-SXM"},
    {"e2e_L20.jsonl", "L20"},
    {"e2e_RTX_6000_Ada.jsonl", "RTX-6000-Ada"},
    {"e2e_tp2_A100.jsonl", "A100-SXM-80GB", 2},
    {"e2e_tp2_RTX_6000_Ada.jsonl", "RTX-6000-Ada", 2},
    {"e2e_tp4_A100.jsonl", "A100-SXM-80GB", 4},
    {"e2e_tp8_H20.jsonl", "H20", 8},
    {"e2e_tp8_H800.jsonl", "H800-SXM", 8},
    {"vllm_arxiv16_H20_llama70B.json", "H20", 4, 2, "Llama-3.1-70B", "vllm_arxiv16"},
    {"vllm_splitwise64_H20_llama70B.json", "H20", 4, 2, "Llama-3.1-70B", "vllm_splitwise64"},
    {"vllm_arxiv16_H800_llama70B.json", "H800-SXM", 4, 2, "Llama-3.1-70B", "vllm_arxiv16"},
    {"vllm_splitwise64_H800_llama70B.json", "H800-SXM", 4, 2, "Llama-3.1-70B", "vllm_splitwise64"},
}};
constexpr std::size_t kMostBytes = std::size_t{64} << 20;

// Runs of one case.
struct Repeats {
  std::vector<double> prefill, decode, total;  // seconds
};

using RunsByName = std::map<std::string, Repeats>;  // "model-workload"

double number_or_zero(const nlohmann::json& object, const char* field) {
  const auto found = object.find(field);
  return found != object.end() && found->is_number() ? found->get<double>() : 0.0;
}

Result<RunsByName> sglang_runs(const std::string& path, const std::string& text) {
  RunsByName runs;
  for (const std::string& line : split(text, '\n')) {
    if (line.empty()) continue;
    const auto json = parse_json_object(line, path, "one run a line");
    if (!json || !json->contains("run_name") || !(*json)["run_name"].is_string())
      return Error{path, "", "has a line that is no run", ""};
    Repeats& own = runs[(*json)["run_name"].get<std::string>()];
    own.prefill.push_back(number_or_zero(*json, "prefill_latency"));
    own.decode.push_back(number_or_zero(*json, "median_decode_latency"));
    own.total.push_back(number_or_zero(*json, "total_latency"));
  }
  return runs;
}

Result<RunsByName> vllm_runs(const std::string& path, const std::string& text, const Machine& machine) {
  const auto parsed = parse_json_object(text, path, "what vllm bench latency writes");
  if (!parsed) return parsed.error();
  const auto& json = *parsed;
  if (!json.contains("latencies") || !json["latencies"].is_array() || json["latencies"].empty())
    return Error{path, "latencies", "is missing", ""};
  Repeats own;
  for (const auto& latency : json["latencies"]) own.total.push_back(latency.is_number() ? latency.get<double>() : 0);
  return RunsByName{{std::string(machine.model) + "-" + machine.workload, std::move(own)}};
}

Result<RunsByName> read_runs(const std::string& path, const Machine& machine) {
  const auto text = read_text_file(path, kMostBytes);
  if (!text) return text.error();
  return machine.pp > 1 ? vllm_runs(path, *text, machine) : sglang_runs(path, *text);
}

struct Prompts {
  std::vector<Count> lengths;
  Count output = 0;  // tokens of each answer
};
Result<Prompts> read_prompts(const std::string& path) {
  const auto rows = read_table(path, {"num_prefill_tokens", "output_tokens"});
  if (!rows) return rows.error();
  Prompts prompts;
  for (const TableRow& row : *rows) {
    prompts.lengths.push_back(row.count("num_prefill_tokens"));
    prompts.output = std::max(prompts.output, row.count("output_tokens"));
  }
  return prompts;
}

// Each request's prompt, or one token after its prompt and `grown` more.
Workload workload_of(Mode mode, const std::vector<Count>& prompts, Count grown) {
  Workload w;
  w.mode = mode;
  for (const Count prompt : prompts)
    w.requests.push_back(mode == Mode::prefill ? Requests{1, prompt, 0} : Requests{1, 1, prompt + grown});
  return w;
}

Result<std::optional<OverGpus>> spread_of(const Machine& machine) {
  if (machine.tp * machine.pp == 1) return std::optional<OverGpus>();
  const Cluster* cluster = built_in_cluster_of(machine.gpu);
  if (!cluster) return Error{machine.gpu, "", "is in no cluster", ""};
  OverGpus over{{}, *cluster};
  over.layout.tp = machine.tp, over.layout.pp = machine.pp;
  over.links = "synperf";
  return std::optional(std::move(over));
}

Result<EndToEndCase> case_of(const std::string& name, const Repeats& runs, const Machine& machine,
                             const std::string& folder) {
  const auto dash = name.rfind('-');
  const std::string model = name.substr(0, dash), workload = name.substr(dash + 1);
  const auto prompts = read_prompts(folder + "/workload/" + workload + ".csv");
  if (!prompts) return prompts.error();
  auto spread = spread_of(machine);
  if (!spread) return std::move(spread).error();
  const EngineKind engine = machine.pp > 1 ? EngineKind::vllm : EngineKind::sglang;
  EndToEndCase one;
  one.label = {"synperf",
               machine.gpu,
               std::string(name_of(engine)),
               model,
               "generate",
               workload,
               static_cast<Count>(prompts->lengths.size()),
               prompts->output};
  one.spread = *std::move(spread);
  if (one.spread) one.label.detail += ", " + text_of(one.spread->layout);
  const auto add = [&](Workload w) -> Status {
    auto run = run_of(model, engine, "bf16", std::move(w));
    if (!run) return std::move(run).error();
    one.runs.push_back(*std::move(run));
    return Ok{};
  };
  if (auto added = add(workload_of(Mode::prefill, prompts->lengths, 0)); !added) return std::move(added).error();
  Figure total{"total", median(runs.total), {{0, 1, Part::step}}};
  std::size_t middle = 0;
  for (const ContextPoint& point : context_points(0, std::max<Count>(1, prompts->output - 1))) {
    if (auto added = add(workload_of(Mode::decode, prompts->lengths, point.context)); !added)
      return std::move(added).error();
    total.terms.push_back({one.runs.size() - 1, point.steps, Part::step});
    if (2 * point.context <= prompts->output) middle = one.runs.size() - 1;
  }
  if (!runs.prefill.empty())
    one.figures = {{"prefill", median(runs.prefill), {{0, 1, Part::step}}},
                   {"decode", median(runs.decode), {{middle, 1, Part::step}}}};
  one.figures.push_back(std::move(total));
  return one;
}

}  // namespace

Result<std::vector<EndToEndCase>> synperf_cases(const std::string& folder) {
  std::vector<EndToEndCase> cases;
  for (const Machine& machine : kMachines) {
    const auto runs = read_runs(folder + "/e2e_real/" + machine.file, machine);
    if (!runs) return runs.error();
    for (const auto& [name, repeats] : *runs) {
      auto one = case_of(name, repeats, machine, folder);
      if (!one) return std::move(one).error();
      cases.push_back(*std::move(one));
    }
  }
  return cases;
}

}  // namespace tilecast
