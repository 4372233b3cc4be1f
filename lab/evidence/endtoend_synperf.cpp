// SynPerf's end-to-end runs: one batch of requests, all prompts in one pass, then one token of each request per step.
// SGLang on one GPU and over tensor parallel ranks, requests of many lengths; vLLM over four such ranks and two stages,
// requests alike, of which only the whole time is known.
#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "cluster/registry.h"
#include "lab/evidence/endtoend.h"
#include "lab/evidence/endtoend_table.h"
#include "support/file.h"
#include "support/input.h"
#include "support/json.h"
#include "support/statistics.h"
#include "support/text.h"

namespace tilecast {
namespace synperf {
namespace {

constexpr std::array<std::string_view, 2> kFiles = {"synperf/e2e_real/e2e_*.jsonl", "synperf/e2e_real/vllm_*.json"};
constexpr std::array<std::string_view, 2> kBelow = {"e2e_real/e2e_*.jsonl", "e2e_real/vllm_*.json"};
constexpr std::array<NameRule, 1> kModels = {{{"llama70B", "Llama-3.1-70B"}}};

// The lists of requests beside the runs.
constexpr std::array<std::string_view, 1> kPromptFiles = {"synperf/workload/*.csv"};
constexpr std::array<SourceColumn, 2> kPromptColumns = {
    {{"num_prefill_tokens", "tokens of a prompt"}, {"output_tokens", "tokens that were decoded"}}};
constexpr SourceMapping kPrompts{.name = "synperf",
                                 .from = "SynPerf's artefact",
                                 .licence = "Apache-2.0",
                                 .files = kPromptFiles,
                                 .columns = kPromptColumns};

// One file of runs, by its name: "e2e_tp2_A100.jsonl" of SGLang, "vllm_arxiv16_H20_llama70B.json" of vLLM over two
// stages of four GPUs.
struct Machine {
  std::string path;
  Gpu gpu = {};
  int tp = 1, pp = 1;
  std::string model = {}, workload = {};  // vLLM's runs name neither
};
Result<Machine> machine_of(const std::string& path) {
  Machine machine{path};
  std::string name = std::filesystem::path(path).stem().string();
  std::vector<std::string> words = split(name, '_');
  words.erase(words.begin());
  if (name.starts_with("vllm_")) {
    if (words.size() < 3) return left_out_row("a file whose name does not say workload, GPU and model");
    auto model = model_name_of(kSynperfModelsSource, words.back());
    if (!model) return std::move(model).error();
    machine.tp = 4, machine.pp = 2;
    machine.model = *std::move(model), machine.workload = "vllm_" + words.front();
    words.erase(words.begin()), words.pop_back();
  } else if (words.front().starts_with("tp") && words.size() > 1) {
    const auto ranks = to_count(words.front().substr(2));
    if (!ranks || *ranks < 1 || *ranks > 1000) return left_out_row("a file whose name does not say how many GPUs");
    machine.tp = static_cast<int>(*ranks);
    words.erase(words.begin());
  }
  auto gpu = gpu_of(kSynperfModelsSource, join(words, "_"));
  if (!gpu) return std::move(gpu).error();
  machine.gpu = *std::move(gpu);
  return machine;
}

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
    const auto json = parse_json_object(line, path, "one run per line");
    if (!json || !json->contains("run_name") || !(*json)["run_name"].is_string())
      return Error{path, "", "has a line that is not a run",
                   "every line is an object with run_name, as SGLang's bench_one_batch writes it"};
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
    return Error{path, "latencies", "is missing", "vllm bench latency --output-json writes it"};
  Repeats own;
  for (const auto& latency : json["latencies"]) own.total.push_back(latency.is_number() ? latency.get<double>() : 0);
  return RunsByName{{machine.model + "-" + machine.workload, std::move(own)}};
}

Result<RunsByName> read_runs(const Machine& machine) {
  const auto text = read_text_file(machine.path, kMostBytes);
  if (!text) return text.error();
  return machine.pp > 1 ? vllm_runs(machine.path, *text, machine) : sglang_runs(machine.path, *text);
}

struct Prompts {
  std::vector<Count> lengths;
  Count output = 0;  // tokens of each answer
};
Result<Prompts> read_prompts(const std::string& path) {
  const auto table = read_table(kPrompts, path);
  if (!table) return table.error();
  Prompts prompts;
  for (const TableRow& row : table->rows) {
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
  const Cluster* cluster = built_in_cluster_of(machine.gpu.name);
  if (!cluster) return left_out_row("several GPUs, and no cluster of " + machine.gpu.name + " is known");
  OverGpus over{{}, *cluster};
  over.layout.tp = machine.tp, over.layout.pp = machine.pp;
  over.links = "synperf";
  return std::optional(std::move(over));
}

Result<EndToEndCase> case_of(const std::string& name, const Repeats& runs, const Machine& machine,
                             const std::string& folder) {
  const auto dash = name.rfind('-');
  if (dash == std::string::npos) return left_out_row("a run whose name does not say model and workload");
  const std::string workload = name.substr(dash + 1), list = folder + "/workload/" + workload + ".csv";
  const auto known = model_name_of(kSynperfModelsSource, name.substr(0, dash));
  if (!known) return known.error();
  const std::string& model = *known;
  if (workload.find('/') != std::string::npos || !something_at(list)) return unknown_name("workload", workload);
  const auto prompts = read_prompts(list);
  if (!prompts) return left_out_row("a list of requests that cannot be read: " + in_quotes(workload));
  if (prompts->lengths.empty()) return left_out_row("a list without requests: " + in_quotes(workload));
  auto spread = spread_of(machine);
  if (!spread) return std::move(spread).error();
  const EngineKind engine = machine.pp > 1 ? EngineKind::vllm : EngineKind::sglang;
  EndToEndCase one;
  one.label = {"synperf",
               machine.gpu.name,
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
}  // namespace synperf

constexpr SourceMapping kSynperfModelsSource{
    .name = "synperf",
    .from = "SynPerf's artefact",
    .licence = "Apache-2.0",
    .files = synperf::kFiles,
    .models = synperf::kModels,
    .protocol = {"one batch of requests in bf16, up to five runs of each case; the median run"}};

Result<EndToEndCases> synperf_cases(const std::string& folder) {
  SourceMapping below = kSynperfModelsSource;
  below.files = synperf::kBelow;
  const auto files = files_of(below, folder);
  if (!files) return files.error();
  EndToEndCases read;
  for (const std::string& path : *files) {
    const auto machine = synperf::machine_of(path);
    if (!machine) {
      leave_out(read.left_out, machine.error().problem);
      continue;
    }
    const auto runs = synperf::read_runs(*machine);
    if (!runs) return runs.error();
    for (const auto& [name, repeats] : *runs)
      read.add(synperf::case_of(name, repeats, *machine, folder), static_cast<Count>(repeats.total.size()));
  }
  return read;
}

}  // namespace tilecast
