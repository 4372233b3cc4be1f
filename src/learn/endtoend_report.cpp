#include "learn/endtoend_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "support/markdown.h"

namespace tilecast {
namespace {

using Results = std::vector<EndToEndResult>;

std::string percent(double share) { return fmt::format("{:.1f} %", share * 100); }
std::string signed_percent(double share) { return fmt::format("{:+.1f} %", share * 100); }

Results of_source(const Results& results, std::string_view source) {
  Results own;
  for (const EndToEndResult& r : results)
    if (r.label.source == source) own.push_back(r);
  return own;
}

// A line for every distinct set of words, in their order, with the usual figures.
using Words = std::vector<std::string>;
using Grouping = std::function<Words(const EndToEndResult&)>;
std::string table_by(const Words& titles, const Results& results, const Grouping& words_of, const char* all) {
  MarkdownTable table(titles, {"rows", "mean", "median", "p90", "bias"});
  std::map<Words, std::vector<double>> groups;
  std::vector<double> every;
  for (const EndToEndResult& r : results) {
    groups[words_of(r)].push_back(r.ratio());
    every.push_back(r.ratio());
  }
  const auto add = [&](Words words, const std::vector<double>& ratios) {
    const ErrorSummary s = summary_of_errors(ratios);
    for (const std::string& figure :
         {fmt::format("{}", s.rows), percent(s.mean), percent(s.median), percent(s.p90), signed_percent(s.bias)})
      words.push_back(figure);
    table.add(std::move(words));
  };
  for (const auto& [words, ratios] : groups) add(words, ratios);
  if (all) {
    Words words(titles.size());
    words.front() = fmt::format("**{}**", all);
    add(std::move(words), every);
  }
  return table.text();
}

// --- our own H200 ---

std::string mode_of(const EndToEndResult& r) {
  const EndToEndLabel& l = r.label;
  return l.mode + ", " + l.engine + ", " + l.detail + (r.host_bound ? ", host-bound" : "");
}

std::string h200_report(const Results& all) {
  if (all.empty()) return {};
  Results steps, phases, memory;
  for (const EndToEndResult& r : all)
    (r.quantity == "step" ? steps : r.quantity == "memory" ? memory : phases).push_back(r);
  std::string out =
      "### Our own H200\n\n"
      "Random weights under PyTorch 2.11 (data/measurements/h200_models.csv); no row was used in training. Measured is "
      "the steady state: the card is hot and at its power limit. *Host-bound* rows launch more slowly than the GPU "
      "runs, and tell of the host.\n\n";
  out += table_by(
      {"model", "mode"}, steps,
      [](const EndToEndResult& r) {
        return Words{r.label.model, mode_of(r)};
      },
      "all steps");
  if (!phases.empty())
    out += "Phases of a training step:\n\n" +
           table_by(
               {"model", "phase", "engine", "format"}, phases,
               [](const EndToEndResult& r) {
                 return Words{r.label.model, r.quantity, r.label.engine, r.label.detail};
               },
               "all");
  if (!memory.empty())
    out += "Peak memory of a training step, as PyTorch's allocator counts it:\n\n" +
           table_by(
               {"model", "format"}, memory,
               [](const EndToEndResult& r) {
                 return Words{r.label.model, r.label.detail};
               },
               "all");
  return out;
}

// --- static batches ---

std::string argonne_report(const Results& all) {
  if (all.empty()) return {};
  Results fitting;
  for (const EndToEndResult& r : all)
    if (r.fits) fitting.push_back(r);
  const auto table = [&](const char* title, const auto& word) {
    return table_by(
        {"GPU", "engine", title}, fitting,
        [&](const EndToEndResult& r) {
          return Words{r.label.gpu, r.label.engine, word(r)};
        },
        "all");
  };
  return fmt::format(
             "### Static batches: Argonne's LLM-Inference-Bench\n\n"
             "One GPU, 16-bit weights, prompts of 128 to 2048 tokens answered by as many; the time of the whole batch. "
             "{} of {} rows, the others' caches exceed the card's memory. Asked: median at most 12 %.\n\n",
             fitting.size(), all.size()) +
         table("model", [](const EndToEndResult& r) { return r.label.model; }) +
         table("batch", [](const EndToEndResult& r) { return fmt::format("{:2}", r.label.batch); });
}

std::string synperf_report(const Results& all) {
  if (all.empty()) return {};
  return "### Requests of many lengths: SynPerf's runs of SGLang\n\n"
         "One GPU, Qwen2.5-14B in bf16, the median run as truth. Asked: mean at most 8 % (SynPerf 11.3 % over all its "
         "GPUs).\n\n" +
         table_by(
             {"GPU", "what"}, all,
             [](const EndToEndResult& r) {
               return Words{r.label.gpu, r.quantity};
             },
             nullptr) +
         table_by(
             {"what"}, all, [](const EndToEndResult& r) { return Words{r.quantity}; }, "all");
}

}  // namespace

std::string end_to_end_report(const std::vector<EndToEndResult>& results) {
  if (results.empty()) return {};
  return "## Whole models\n\n" + h200_report(of_source(results, "h200")) +
         argonne_report(of_source(results, "argonne")) + synperf_report(of_source(results, "synperf"));
}

}  // namespace tilecast
