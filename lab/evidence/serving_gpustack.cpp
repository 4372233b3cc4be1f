// GPUStack's performance lab: the full output of `vllm bench serve`, with the command that served in the notes.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "cluster/registry.h"
#include "lab/evidence/endtoend_columns.h"
#include "lab/evidence/serving.h"
#include "model/library.h"
#include "support/random.h"
#include "support/text.h"

namespace tilecast {
namespace gpustack {
namespace {

constexpr std::array<std::string_view, 1> kFiles = {"e2e/gpustack_performance_lab.csv.gz"};
constexpr std::array<NameRule, 1> kGpus = {{{"H100-LATENCY", "H100-SXM"}}};  // tuned for latency, on the same machines
constexpr std::array<NameRule, 3> kEngines = {{{"vLLM", "vllm"}, {"SGLang", "sglang"}, {"TensorRT-LLM", "trtllm"}}};

// What a request in a step costs the host on these machines, whose clients (`vllm bench serve`, a thousand requests at
// once) ran beside the servers: chosen on Qwen3-14B, where steps of vLLM take that much longer than its kernels; other
// models are the judge.
const Seconds kHostPerSequence = microseconds(150);

// One of its machines with H100s takes prompts in at 0.6 of the speed that others of that card have, in every engine
// and format, and decodes as fast: as a card that is held to half its power would. On it are the runs of one and two
// GPUs; Qwen3-235B's on four and eight are as fast as elsewhere. Of 350, 450 and 700 W the first is nearest on the half
// of the groups that constants are chosen on.
const Watts kSlowMachine = watts(350);
constexpr int kSlowMachineGpus = 2;

// One run: consecutive rows, one a metric.
struct MeasuredRun {
  const TableRow* row = nullptr;
  std::map<std::string, double> metrics;
};

std::vector<MeasuredRun> runs_of(const std::vector<TableRow>& rows) {
  std::vector<MeasuredRun> runs;
  for (const TableRow& row : rows) {
    const bool same = !runs.empty() && (*runs.back().row)["notes"] == row["notes"] &&
                      (*runs.back().row)["isl"] == row["isl"] && (*runs.back().row)["model"] == row["model"] &&
                      (*runs.back().row)["batch_or_concurrency"] == row["batch_or_concurrency"] &&
                      !runs.back().metrics.count(row["metric"]);
    if (!same) runs.push_back({&row, {}});
    runs.back().metrics[row["metric"]] = row.number("value");
  }
  return runs;
}

// The words of a serve command; "--flag=value" is two words.
std::vector<std::string> words_of(const std::string& notes) {
  std::string text = notes;
  for (char& c : text)
    if (c == '\\' || c == '\n' || c == '=') c = ' ';
  std::vector<std::string> words;
  for (std::string& word : split(text, ' ')) {
    if (word.starts_with("--")) std::replace(word.begin(), word.end(), '_', '-');
    if (!word.empty()) words.push_back(std::move(word));
  }
  return words;
}
constexpr double kMostRanks = 1000;  // of an axis
constexpr double kMostLimit = 1e9;   // tokens or sequences that a flag may ask for

bool has(const std::vector<std::string>& words, std::string_view flag) {
  return std::find(words.begin(), words.end(), flag) != words.end();
}
std::optional<double> value_of(const std::vector<std::string>& words, std::initializer_list<std::string_view> flags) {
  for (const std::string_view flag : flags) {
    const auto at = std::find(words.begin(), words.end(), flag);
    if (at != words.end() && at + 1 != words.end()) return to_double(*(at + 1));
  }
  return std::nullopt;
}

// The part of a model's name after its owner's.
std::string own_name(const std::string& model) { return name_key(model.substr(model.find('/') + 1)); }

// The model that ran: the one its page is about, or where the command names a quantised form of it, that. Three
// commands name another model than their page; figures are the page's.
std::string served_model(const std::vector<std::string>& words, const TableRow& row) {
  constexpr std::string_view kPages = "performance-lab/";
  std::string listed = row["model"];
  if (const auto at = row["source"].find(kPages); at != std::string::npos) {
    const std::string page = split(row["source"].substr(at + kPages.size()), '/').front();
    if (find_model(page)) listed = page;
  }
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const bool named = words[i] == "--model-path" || words[i] == "--model" || words[i] == "trtllm-serve" ||
                       (words[i] == "serve" && i > 0 && words[i - 1] == "vllm");
    if (named) return own_name(words[i + 1]).starts_with(own_name(listed)) ? words[i + 1] : listed;
  }
  return listed;
}

// Whether a step's planning overlaps the step before: vLLM's flag until its default changed in 0.14; always in the
// other engines unless switched off.
bool overlaps(const std::vector<std::string>& words, EngineKind engine) {
  if (engine == EngineKind::vllm) return has(words, "--async-scheduling");
  return !has(words, "--disable-overlap-schedule");
}

// Why a run cannot be simulated (unsupported, or not stated); empty where it can.
std::string unusable(const MeasuredRun& run, const std::vector<std::string>& words) {
  if (const auto gpu = run.row->gpu(); !gpu) return gpu.error().problem;
  for (const std::string& word : words)
    if (word.find("speculative") != std::string::npos) return "speculative decoding";
  for (const char* flag : {"--data-parallel-size", "-dp", "--dp-size", "--dp"})
    if (value_of(words, {flag}).value_or(1) != 1) return "data parallel";
  for (const char* metric : {"ttft_mean", "tpot_mean", "output_throughput", "request_throughput"})
    if (!(run.metrics.count(metric) && run.metrics.at(metric) > 0)) return "figures missing";
  if ((*run.row)["engine_version"].empty()) return "engine version not said";
  if (const auto engine = engine_name_of(kGpustackSource, (*run.row)["engine"]); !engine) return engine.error().problem;
  return "";
}

// As the command spreads the model; a table's own column says tp 1 of runs over several GPUs.
RankLayout layout_of(const std::vector<std::string>& words, const ModelSpec& model) {
  const auto size = [&](std::initializer_list<std::string_view> flags) {
    return static_cast<int>(std::clamp(value_of(words, flags).value_or(1), 1.0, kMostRanks));
  };
  RankLayout layout;
  layout.tp = size({"--tensor-parallel-size", "-tp", "--tp-size", "--tp"});
  layout.pp = size({"--pipeline-parallel-size", "-pp", "--pp-size", "--pp"});
  const bool experts = std::any_of(model.decoder->layers.begin(), model.decoder->layers.end(), [](const LayerRun& run) {
    return std::holds_alternative<MoeSpec>(run.layer.feed_forward);
  });
  if (experts) layout.ep = has(words, "--enable-expert-parallel") ? layout.tp : size({"--ep-size", "--ep"});
  return layout;
}

// Requests in flight by Little's law: what tells a closed loop from a rate that is not stated.
double in_flight(const MeasuredRun& run, double output) {
  const double latency = (run.metrics.at("ttft_mean") + run.metrics.at("tpot_mean") * (output - 1)) * 1e-3;
  return run.metrics.at("request_throughput") * latency;
}

// Random prompts have one length; recorded ones (ShareGPT) have any.
bool random_data(double input) {
  for (const double round : {128.0, 1000.0, 1024.0, 2000.0, 4000.0, 32000.0})
    if (std::abs(input / round - 1) < 0.005) return true;
  return false;
}

// A run that can be simulated, as its command asks.
struct RunAsked {
  const MeasuredRun* run;
  std::vector<std::string> words;  // of its command
  Gpu gpu;
  EngineKind engine;
  ModelSpec model;
  Count requests, concurrency;  // 0: all at once
};

Result<ServingCase> case_of(RunAsked asked, const std::vector<Request>& lengths) {
  const MeasuredRun& run = *asked.run;
  const TableRow& row = *run.row;
  const std::vector<std::string>& words = asked.words;
  const EngineKind engine = asked.engine;
  const std::string& gpu = asked.gpu.name;
  const Count concurrency = asked.concurrency;
  ServingCase one;
  one.label = {
      "gpustack",      gpu, std::string(name_of(engine)), asked.model.name, "serve", row["engine_version"], concurrency,
      row.count("isl")};
  DeploymentOptions& d = one.deployment;
  d.model = std::move(asked.model);
  d.gpu = asked.gpu;
  d.engine.kind = engine;
  d.host_per_sequence = kHostPerSequence;
  const RankLayout layout = layout_of(words, d.model);
  if (gpu == "H100-SXM" && layout.ranks() <= kSlowMachineGpus) d.gpu.power = kSlowMachine;
  if (layout.ranks() > 1) {
    const Cluster* cluster = built_in_cluster_of(gpu);
    if (!cluster) return left_out_row("several GPUs, and no cluster of " + gpu + " is known");
    d.spread = RankSpread{layout, *cluster};
    d.spread->cluster.gpu = d.gpu;
    one.label.detail += ", " + text_of(layout);
  }
  auto precision = precision_of(d.model, "", has(words, "fp8") || has(words, "fp8_e4m3") ? "fp8" : "");
  if (!precision) return unknown_name("format", d.model.quantization.empty() ? d.model.dtype : d.model.quantization);
  d.engine.precision = *std::move(precision);
  d.overlapped = overlaps(words, engine);
  const auto limit = [&](std::initializer_list<std::string_view> flags) {
    return static_cast<Count>(std::clamp(value_of(words, flags).value_or(0), 0.0, kMostLimit));
  };
  d.max_tokens = limit({"--max-num-batched-tokens", "--max-num-tokens", "--max-prefill-tokens"});
  d.max_sequences = limit({"--max-num-seqs", "--max-batch-size", "--max-running-requests"});
  d.chunk = limit({"--chunked-prefill-size"});
  d.memory_fraction =
      value_of(words, {"--gpu-memory-utilization", "--mem-fraction-static", "--kv-cache-free-gpu-memory-fraction"})
          .value_or(0);
  if (has(words, "--enable-chunked-prefill")) d.chunked_prefill = true;
  const double input = row.number("isl"), output = row.number("osl");
  WorkloadOptions w;
  w.requests = asked.requests;
  const std::vector<Request> equal = {{seconds(0), std::llround(input), std::max<Count>(1, std::llround(output))}};
  auto requests = resampled(random_data(input) ? equal : lengths, input, output, w);
  if (!requests) return std::move(requests).error();
  one.requests = *std::move(requests);
  one.concurrency = concurrency;
  one.measured = {{"ttft", run.metrics.at("ttft_mean") * 1e-3},
                  {"tpot", run.metrics.at("tpot_mean") * 1e-3},
                  {"throughput", run.metrics.at("output_throughput")}};
  return one;
}

// The model, or every request of the run, is too large for what the command leaves: flags that it does not name were
// set.
std::string unfit(const ServingCase& one) {
  const auto deployment = deploy(one.deployment, Method::roofline, nullptr);
  if (!deployment) return "does not fit as its command says";
  const PoolOptions& pool = deployment->pool;
  const bool none = std::all_of(one.requests.begin(), one.requests.end(), [&](const Request& r) {
    return pool.geometry.blocks_for(r.input + r.output) > pool.blocks;
  });
  return none ? "requests do not fit the cache as its command says" : "";
}

Result<RunAsked> run_asked(const MeasuredRun& run) {
  const TableRow& row = *run.row;
  RunAsked asked{&run, words_of(row["notes"]), {}, {}, {}, 0, 0};
  if (std::string why = unusable(run, asked.words); !why.empty()) return left_out_row(std::move(why));
  asked.gpu = *row.gpu();
  asked.engine = *engine_from(*engine_name_of(kGpustackSource, row["engine"]));
  const auto count = value_of(asked.words, {"n"});  // "n=1000"
  const std::string& load = row["batch_or_concurrency"];
  const auto limit = to_count(load);
  if (!count || *count < 1 || *count > 1e6) return left_out_row("number of requests not said");
  if (!limit && !load.starts_with("inf-rate")) return left_out_row("load not said");
  if (limit && in_flight(run, row.number("osl")) < 0.7 * std::min(*count, static_cast<double>(*limit)))
    return left_out_row("sent at a rate that is not said");
  const std::string served = served_model(asked.words, row);
  const auto name = model_name_of(kGpustackSource, served);
  if (!name) return name.error();
  auto model = find_model(*name);
  if (!model) return std::move(model).error();
  // vLLM's Marlin kernels multiply them in 16 bits; none of those was measured or modelled.
  if (asked.gpu.architecture == Architecture::ampere && model->quantization.starts_with("fp8"))
    return left_out_row("fp8 weights on a card without fp8");
  asked.model = *std::move(model);
  asked.requests = static_cast<Count>(*count), asked.concurrency = limit.value_or(0);
  return asked;
}

Result<ServingCase> fitting_case(const MeasuredRun& run, const std::vector<Request>& lengths) {
  auto asked = run_asked(run);
  if (!asked) return std::move(asked).error();
  auto one = case_of(*std::move(asked), lengths);
  if (!one) return one;
  if (std::string why = unfit(*one); !why.empty()) return left_out_row(std::move(why));
  return one;
}

}  // namespace
}  // namespace gpustack

constexpr SourceMapping kGpustackSource{
    .name = "gpustack",
    .from = "github.com/gpustack/gpustack, performance lab",
    .licence = "Apache-2.0",
    .files = gpustack::kFiles,
    .columns = kWholeModelColumns,
    .gpus = gpustack::kGpus,
    .engines = gpustack::kEngines,
    .protocol = {"`vllm bench serve` against engines that the command in the notes serves; means over requests"}};

// The file itself is not among our data: gamma distributions within the bounds of vllm/benchmarks/datasets.py
// (is_valid_sequence). Of 0.7, 1 and 1.5 the shape of answers is the nearest on the half of the groups that choices are
// made on, which hardly tells them apart; the requests of LLMServingSim's run, drawn from the same file, are those with
// long answers alone, and of one length once they are scaled.
std::vector<Request> sharegpt_lengths() {
  constexpr Count kDrawn = 4000, kLeast = 4, kMostPrompt = 1024, kMostTotal = 2048;
  constexpr double kPrompt = 215, kAnswer = 200, kPromptShape = 0.5, kAnswerShape = 1.5;
  Random random(0);
  std::vector<Request> lengths;
  while (static_cast<Count>(lengths.size()) < kDrawn) {
    const auto input = static_cast<Count>(std::llround(kPrompt * random.gamma(kPromptShape) / kPromptShape));
    const auto output = static_cast<Count>(std::llround(kAnswer * random.gamma(kAnswerShape) / kAnswerShape));
    if (input >= kLeast && output >= kLeast && input <= kMostPrompt && input + output <= kMostTotal)
      lengths.push_back({seconds(0), input, output});
  }
  return lengths;
}

Result<ServingCases> gpustack_cases(const std::string& path, const std::vector<Request>& lengths) {
  auto table = read_table(kGpustackSource, path);
  if (!table) return std::move(table).error();
  ServingCases read;
  read.left_out = std::move(table->left_out);
  std::map<std::map<std::string, double>, std::string>
      seen;  // figures, and the GPU whose page gpustack::has them first
  for (const gpustack::MeasuredRun& run : gpustack::runs_of(table->rows)) {
    const std::string& page = (*run.row)["gpu"];
    if (seen.try_emplace(run.metrics, page).first->second != page)
      leave_out(read.left_out, "figures of another GPU's page");
    else read.add(gpustack::fitting_case(run, lengths));
  }
  return read;
}

}  // namespace tilecast
