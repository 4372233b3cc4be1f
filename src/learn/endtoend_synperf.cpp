// SynPerf's end-to-end runs: SGLang, one batch of requests of many lengths, all prompts in one pass, then one token of
// each request a step.
#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "learn/endtoend.h"
#include "learn/endtoend_table.h"
#include "support/file.h"
#include "support/text.h"

namespace tilecast {
namespace {

struct Card {
  const char* file;  // e2e_<file>.jsonl: one GPU; tp2 and more have names of their own
  const char* gpu;
};
constexpr std::array<Card, 6> kCards = {{{"A100", "A100-SXM-80GB"},
                                         {"A40", "A40"},
                                         {"H20", "H20"},
                                         {"H800", "H800-SXM"},
                                         {"L20", "L20"},
                                         {"RTX_6000_Ada", "RTX-6000-Ada"}}};
constexpr std::size_t kMostBytes = std::size_t{64} << 20;

// Runs of one case.
struct Repeats {
  Count output = 0;
  std::vector<double> prefill, decode, total;  // seconds
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

Result<std::map<std::string, Repeats>> read_runs(const std::string& path) {
  const auto text = read_text_file(path, kMostBytes);
  if (!text) return text.error();
  std::map<std::string, Repeats> runs;
  for (const std::string& line : split(*text, '\n')) {
    if (line.empty()) continue;
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains("run_name")) return Error{path, "", "has a line that is no run", ""};
    Repeats& own = runs[json.value("run_name", std::string())];
    own.output = json.value("output_len", Count{0});
    own.prefill.push_back(json.value("prefill_latency", 0.0));
    own.decode.push_back(json.value("median_decode_latency", 0.0));
    own.total.push_back(json.value("total_latency", 0.0));
  }
  return runs;
}

Result<std::vector<Count>> read_prompts(const std::string& path) {
  const auto rows = read_table(path, {"num_prefill_tokens"});
  if (!rows) return rows.error();
  std::vector<Count> lengths;
  for (const TableRow& row : *rows) lengths.push_back(row.count("num_prefill_tokens"));
  return lengths;
}

// Each request with `fresh` tokens (0: its prompt's) after its prompt and `grown` more.
Workload workload_of(Mode mode, const std::vector<Count>& prompts, Count grown) {
  Workload w;
  w.mode = mode;
  for (const Count prompt : prompts)
    w.requests.push_back(mode == Mode::prefill ? Requests{1, prompt, 0} : Requests{1, 1, prompt + grown});
  return w;
}

Result<EndToEndCase> case_of(const std::string& name, const Repeats& runs, const std::string& gpu,
                             const std::string& folder) {
  const auto dash = name.rfind('-');
  const std::string model = name.substr(0, dash), workload = name.substr(dash + 1);
  const auto prompts = read_prompts(folder + "/workload/" + workload + ".csv");
  if (!prompts) return prompts.error();
  EndToEndCase one;
  one.label = {"synperf", gpu, "sglang", model, "generate", workload, static_cast<Count>(prompts->size()), runs.output};
  const auto add = [&](Workload w) -> Status {
    auto run = run_of(model, EngineKind::sglang, "bf16", std::move(w));
    if (!run) return std::move(run).error();
    one.runs.push_back(*std::move(run));
    return Ok{};
  };
  if (auto added = add(workload_of(Mode::prefill, *prompts, 0)); !added) return std::move(added).error();
  Figure total{"total", median(runs.total), {{0, 1, Part::step}}};
  std::size_t middle = 0;
  for (const ContextPoint& point : context_points(0, std::max<Count>(1, runs.output - 1))) {
    if (auto added = add(workload_of(Mode::decode, *prompts, point.context)); !added) return std::move(added).error();
    total.terms.push_back({one.runs.size() - 1, point.steps, Part::step});
    if (2 * point.context <= runs.output) middle = one.runs.size() - 1;
  }
  one.figures = {{"prefill", median(runs.prefill), {{0, 1, Part::step}}},
                 {"decode", median(runs.decode), {{middle, 1, Part::step}}},
                 std::move(total)};
  return one;
}

}  // namespace

Result<std::vector<EndToEndCase>> synperf_cases(const std::string& folder) {
  std::vector<EndToEndCase> cases;
  for (const Card& card : kCards) {
    const auto runs = read_runs(folder + "/e2e_real/e2e_" + card.file + ".jsonl");
    if (!runs) return runs.error();
    for (const auto& [name, repeats] : *runs) {
      auto one = case_of(name, repeats, card.gpu, folder);
      if (!one) return std::move(one).error();
      cases.push_back(*std::move(one));
    }
  }
  return cases;
}

}  // namespace tilecast
