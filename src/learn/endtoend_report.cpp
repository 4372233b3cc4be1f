#include "learn/endtoend_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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
  return l.mode + ", " + l.engine + ", " + l.detail;
}
bool waits_for_host(const EndToEndResult& r) { return r.label.detail.find("host-bound") != std::string::npos; }

std::string h200_report(const Results& all) {
  if (all.empty()) return {};
  Results steps, waiting, phases, memory;
  for (const EndToEndResult& r : all) {
    if (r.quantity == "memory") memory.push_back(r);
    else if (r.quantity != "step") phases.push_back(r);
    else (waits_for_host(r) ? waiting : steps).push_back(r);
  }
  std::string out =
      "### Our own H200\n\n"
      "Random weights under PyTorch 2.11 (data/measurements/h200_models.csv); no row was used in training. Measured is "
      "the steady state: the card is hot and at its power limit. Rows whose kernels take less than 0.85 of the step "
      "wait for the host and stand apart: they tell of its speed, which differs between machines and hours.\n\n";
  out += table_by(
      {"model", "mode"}, steps,
      [](const EndToEndResult& r) {
        return Words{r.label.model, mode_of(r)};
      },
      "all steps");
  if (!waiting.empty())
    out += "Waiting for the host:\n\n" + table_by(
                                             {"model", "mode"}, waiting,
                                             [](const EndToEndResult& r) {
                                               return Words{r.label.model, mode_of(r)};
                                             },
                                             "all");
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
             "{} of {} rows, the others' caches exceed the card's memory. What the engines' hosts add (releases of "
             "2024) was "
             "fitted to the A100's rows, two figures an engine; the H100's are the judge. Asked: median at most 12 "
             "%.\n\n",
             fitting.size(), all.size()) +
         table_by(
             {"GPU", "host's cost"}, fitting,
             [](const EndToEndResult& r) {
               return Words{r.label.gpu, r.label.gpu.starts_with("A100") ? "fitted to it" : "from A100"};
             },
             "all") +
         table("model", [](const EndToEndResult& r) { return r.label.model; }) +
         table("batch", [](const EndToEndResult& r) { return fmt::format("{:2}", r.label.batch); });
}

std::string synperf_report(const Results& all) {
  if (all.empty()) return {};
  const auto over_gpus = [](const EndToEndResult& r) { return r.label.detail.find(", ") != std::string::npos; };
  Results one, several;
  for (const EndToEndResult& r : all) (over_gpus(r) ? several : one).push_back(r);
  const auto what = [](const EndToEndResult& r) { return Words{r.quantity}; };
  std::string out =
      "### Requests of many lengths: SynPerf's runs of SGLang and vLLM\n\n"
      "One GPU, Qwen2.5-14B in bf16, the median run as truth. Asked: mean at most 8 % (SynPerf 11.3 % over all its\n"
      "GPUs). RTX 6000 Ada's prefill runs at 85 of 364 TFLOP/s and slows from run to run (8.0 to 9.2 s), while its\n"
      "single kernels reach 150 to 185: a hot card, which no data sheet tells. H20's products never pass what 1830 "
      "MHz\n"
      "give in the kernel tables; its description allows 1980.\n\n" +
      table_by(
          {"GPU", "what"}, one,
          [](const EndToEndResult& r) {
            return Words{r.label.gpu, r.quantity};
          },
          nullptr) +
      table_by({"what"}, one, what, "all");
  if (several.empty()) return out;
  return out +
         "Over several GPUs: Qwen3-32B and Llama-3.1-70B in bf16 under SGLang; Llama-3.1-70B over two stages of four\n"
         "GPUs under vLLM, whole times only. Collectives are those of SynPerf's own machines, nothing was fitted to "
         "these\n"
         "runs. Asked: mean at most 6 % (SynPerf 6.6 % over its own selection, with the run nearest to each "
         "forecast).\n\n" +
         table_by(
             {"GPU", "model", "workload"}, several,
             [](const EndToEndResult& r) {
               return Words{r.label.gpu, r.label.model, r.label.detail};
             },
             nullptr) +
         table_by({"what"}, several, what, "all");
}

// --- NeuSight's experiment ---

struct OtherMethod {
  const char *key, *title;
};
constexpr std::array<OtherMethod, 5> kOthers = {{{"neusight", "NeuSight"},
                                                 {"roofline", "roofline"},
                                                 {"habitat", "Habitat"},
                                                 {"micro", "Li et al."},
                                                 {"operators", "measured operators"}}};

std::string figures_text(const std::vector<double>& ratios, std::size_t rows) {
  if (ratios.empty()) return "-";
  const ErrorSummary s = summary_of_errors(ratios);
  const std::string text = fmt::format("{} / {}", percent(s.mean), percent(s.median));
  return ratios.size() == rows ? text : fmt::format("{} ({})", text, ratios.size());
}

// Mean / median error of every method over the rows of each group; how many rows, where a method has not all.
std::string methods_table(const Words& titles, const Results& results, const Grouping& words_of, bool operators) {
  std::map<Words, Results> groups;
  for (const EndToEndResult& r : results) groups[words_of(r)].push_back(r);
  Words numbers = {"rows", "tilecast"};
  for (const OtherMethod& other : kOthers)
    if (operators || other.key != std::string_view("operators")) numbers.emplace_back(other.title);
  MarkdownTable table(titles, numbers);
  for (const auto& [words, own] : groups) {
    Words line = words;
    line.push_back(fmt::format("{}", own.size()));
    line.push_back(figures_text(ratios_of(own, [](const EndToEndResult&) { return true; }), own.size()));
    for (const OtherMethod& other : kOthers) {
      if (!operators && other.key == std::string_view("operators")) continue;
      std::vector<double> ratios;
      for (const EndToEndResult& r : own)
        if (const double theirs = r.other(other.key); theirs >= 0) ratios.push_back(theirs / r.measured);
      line.push_back(figures_text(ratios, own.size()));
    }
    table.add(std::move(line));
  }
  return table.text();
}

std::string kind_of(const EndToEndResult& r) {
  if (r.label.engine == "compile") return "torch.compile";
  if (r.label.engine == "megatron") return r.label.mode;
  return r.quantity == "total" ? "steps" : "training, " + r.quantity;
}

std::string neusight_report(const Results& all, const Results& operators) {
  if (all.empty()) return {};
  Results totals;
  for (const EndToEndResult& r : all)
    if (r.quantity == "total" && r.label.engine == "pytorch") totals.push_back(r);
  std::string out =
      "### NeuSight's experiment\n\n"
      "fp32 models of Hugging Face under PyTorch 2.1, mean / median error. Tilecast is trained on NeuSight's\n"
      "kernels_train rows of NVIDIA cards alone (A100 80 GB unseen); for AMD on AMD's rows of its train and test "
      "tables,\n"
      "since the train tables hold no products. Those rows were timed one by one with eager launches, which a model's\n"
      "kernels do not wait for: what the smallest pointwise kernels and the intercept of larger ones show of it is "
      "taken\n"
      "off. Asked of the 50 steps on NVIDIA cards: median at most 6 %, mean at most 8 %. A number in brackets: rows "
      "that a\n"
      "method has figures of.\n\n"
      "What is missed lies in the labels as much as in the forecasts: seven of the ten forward passes of A100 80 GB "
      "took a\n"
      "third longer than their own operators together, the other three did not; T4's and P4's products ran at other "
      "rates\n"
      "in the training rows (0.39 and 0.20 of the peak) than in the models (about 0.55 and 0.5).\n\n"
      "dp 4, tp 4 and pp 4: Megatron on four A100 40 GB, a batch of four (the pipeline takes it as one micro-batch);\n"
      "kernels by the same weights, collectives as of other A100s (NeuSight has no rows of them). That Megatron's bias "
      "and\n"
      "GELU are one kernel was put in after a first look at these three rows: with Hugging Face's pieces in its place "
      "they "
      "erred\n"
      "by 3.2, 5.4 and 9.4 %.\n\n";
  out += methods_table(
      {"vendor", "what"}, all,
      [](const EndToEndResult& r) {
        return Words{r.label.detail, kind_of(r)};
      },
      true);
  out += methods_table(
      {"GPU", "mode"}, totals,
      [](const EndToEndResult& r) {
        return Words{r.label.gpu, r.label.mode};
      },
      true);
  if (operators.empty()) return out;
  return out +
         "Single operators of these models, timed alone (e2e_perop); the same forecasts with their eager launch:\n\n" +
         methods_table(
             {"vendor", "operator", "pass"}, operators,
             [](const EndToEndResult& r) {
               return Words{r.label.gpu.starts_with("MI") ? "AMD" : "NVIDIA", r.label.detail, r.quantity};
             },
             false);
}

// --- training on many GPUs ---

std::string gpus_of(const EndToEndResult& r) {
  return fmt::format("{:>4}", r.label.detail.substr(0, r.label.detail.find(' ')));
}
bool is_bf16(const EndToEndResult& r) { return r.label.detail.find("bf16") != std::string::npos; }

std::size_t not_fitting(const Results& results) {
  return static_cast<std::size_t>(
      std::count_if(results.begin(), results.end(), [](const EndToEndResult& r) { return !r.fits; }));
}

std::string mosaic_report(const Results& all) {
  if (all.empty()) return {};
  Results bf16, fp8;
  for (const EndToEndResult& r : all) (is_bf16(r) ? bf16 : fp8).push_back(r);
  const auto table = [&](const char* title, const auto& word) {
    return table_by(
        {"GPU", title}, bf16,
        [&](const EndToEndResult& r) {
          return Words{r.label.gpu, word(r)};
        },
        "all");
  };
  std::string out = fmt::format(
      "### FSDP on 8 to 512 GPUs: MosaicML's llm-foundry\n\n"
      "MPT models of 125 million to 70 billion parameters under Composer (2023), tokens a second. Asked: median at "
      "most "
      "10 %. One constant was chosen, on the A100 80 GB rows alone: Triton's FlashAttention of the time takes 1.3 "
      "times "
      "as long as FlashAttention 2; A100 40 GB and H100 are the judges. Assumed: nodes of eight, 1600 Gb/s between "
      "A100 "
      "nodes (the table's own headings), 3200 between H100 ones; weights gathered in fp32 under autocast, in bf16 in "
      "\"pure\" mode, gradients in bf16; flash-attn's loss. {} of {} runs are forecast not to fit their cards, though "
      "all ran.\n\n",
      not_fitting(bf16), bf16.size());
  out += table("constants",
               [](const EndToEndResult& r) { return r.label.gpu == "A100-SXM-80GB" ? "chosen on it" : "not seen"; });
  out += table("model", [](const EndToEndResult& r) { return r.label.model; });
  out += table("tokens a sequence", [](const EndToEndResult& r) { return fmt::format("{:>5}", r.label.length); });
  out += table("GPUs", gpus_of);
  if (fp8.empty()) return out;
  return out + "Products in fp8 (Transformer Engine), apart:\n\n" +
         table_by(
             {"model"}, fp8, [](const EndToEndResult& r) { return Words{r.label.model}; }, "all");
}

std::string megatron_report(const Results& all) {
  if (all.empty()) return {};
  Results memory, steps;
  for (const EndToEndResult& r : all) (r.quantity == "memory" ? memory : steps).push_back(r);
  const Grouping by_family = [](const EndToEndResult& r) {
    const std::size_t comma = r.label.detail.find(", ");
    return Words{r.label.detail.substr(0, comma), r.label.detail.substr(comma + 2)};
  };
  return fmt::format(
             "### Memory under every parallelism: Megatron-LM's continuous tests\n\n"
             "Peak of PyTorch's allocator on the last rank (it writes the log), so of the last pipeline stage. Asked: "
             "median at most 15 %, and no completed run said not to fit: {} of {} are. Assumed where the rows are "
             "silent, as Megatron's arguments have it: dropout 0.1 and biases (none in tests of gated models), "
             "gradients summed in fp32 buffers that stay, an fp32 copy and two moments with the optimizer, the loss "
             "computed in place over fp32 logits, fused attention unless the row says otherwise; vocabularies are the "
             "tests' tokenizers', padded to a multiple of 128 tp. The table says eight GPUs of every test; the "
             "releases (15B, Mixtral, DeepSeek) ran on more, and are forecast on the fewest that their layout needs. "
             "Left out: hybrid, llava, mimo and grpo tests, whose models the rows do not describe.\n\n",
             not_fitting(memory), memory.size()) +
         table_by({"tests", "attention"}, memory, by_family, "all") +
         "Their step times, for the record: tiny models that wait for the host.\n\n" +
         table_by({"tests", "attention"}, steps, by_family, "all");
}

std::string vendor_report(const Results& bridge, const Results& nemo) {
  if (bridge.empty() && nemo.empty()) return {};
  Results all = bridge;
  all.insert(all.end(), nemo.begin(), nemo.end());
  return fmt::format(
             "### Tuned by the vendor: NVIDIA's own training tables\n\n"
             "Megatron-Bridge's and NeMo's published tokens a second, reported apart: what is recomputed, overlapped "
             "and captured in CUDA graphs is not stated. Assumed: nothing recomputed, no launch waits for the host, "
             "cuDNN's attention, MXFP8 as fast as fp8, gathers of tensor parallel ranks not hidden behind products "
             "(NeMo hides them). {} of {} rows do not fit without recomputation. Adapters, dropped tokens, layouts "
             "given in alternatives, shifted rows and models without a description here are left out.\n\n",
             not_fitting(all), all.size()) +
         table_by(
             {"table", "GPU", "format"}, all,
             [](const EndToEndResult& r) {
               const std::size_t first = r.label.detail.find(", ") + 2;
               return Words{r.label.source, r.label.gpu,
                            r.label.detail.substr(first, r.label.detail.find(", ", first) - first)};
             },
             "all");
}

}  // namespace

std::string end_to_end_report(const std::vector<EndToEndResult>& results) {
  if (results.empty()) return {};
  return "## Whole models\n\n" + h200_report(of_source(results, "h200")) +
         argonne_report(of_source(results, "argonne")) + synperf_report(of_source(results, "synperf")) +
         mosaic_report(of_source(results, "mosaic")) + megatron_report(of_source(results, "megatron")) +
         vendor_report(of_source(results, "bridge"), of_source(results, "nemo")) +
         neusight_report(of_source(results, "neusight"), of_source(results, "neusight-operators"));
}

}  // namespace tilecast
