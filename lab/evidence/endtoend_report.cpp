#include "lab/evidence/endtoend_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>

#include "lab/evidence/endtoend_report_parts.h"
#include "support/table.h"

namespace tilecast {
namespace {

std::string percent(double share) { return fmt::format("{:.1f} %", share * 100); }
std::string signed_percent(double share) { return fmt::format("{:+.1f} %", share * 100); }

}  // namespace

Results of_source(const Results& results, std::string_view source) {
  Results own;
  for (const EndToEndResult& r : results)
    if (r.label.source == source) own.push_back(r);
  return own;
}

std::string table_by(const Words& titles, const Results& results, const Grouping& words_of, const char* all) {
  Table table(titles, {"rows", "mean", "median", "p90", "bias"});
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
  return table.markdown();
}

namespace {

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
      "wait for the host and stand apart. How fast it was is read off the other steps of the same model on the same "
      "card: "
      "the time it took to issue them to an idle card. It differs between machines and hours, and between one step and "
      "the next by a factor of two.\n\n";
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

// --- our own steps as programs run them ---

std::string half_by_detail(const EndToEndResult& r) {
  if (r.label.detail.find("untouched") != std::string::npos) return "untouched";
  return r.label.detail.find("chosen on") != std::string::npos ? "chosen on" : "judged";
}

// Training steps of decoders that do not wait for the host, by what a step holds.
std::string training_by_length(const Results& steps) {
  Results training;
  for (const EndToEndResult& r : steps)
    if (r.label.mode == "training, decoders") training.push_back(r);
  if (training.empty()) return {};
  return "Training of decoders, by the tokens of a sequence:\n\n" +
         table_by(
             {"engine", "models", "tokens"}, training,
             [](const EndToEndResult& r) {
               return Words{r.label.engine, half_by_detail(r), fmt::format("{:>5}", r.label.length)};
             },
             nullptr);
}

std::string steps_report(const Results& all) {
  if (all.empty()) return {};
  Results steps, waiting, masked;
  for (const EndToEndResult& r : all) {
    if (r.label.detail.find("explicit mask") != std::string::npos) masked.push_back(r);
    else (waits_for_host(r) ? waiting : steps).push_back(r);
  }
  const auto by_half = [](const EndToEndResult& r) { return Words{half_by_detail(r)}; };
  const auto by_group = [](const EndToEndResult& r) { return Words{half_by_detail(r), r.label.mode, r.label.engine}; };
  const auto by_model = [](const EndToEndResult& r) { return Words{half_by_detail(r), r.label.model, r.label.engine}; };
  std::string out =
      "### Steps as PyTorch programs run them, on our own H200\n\n"
      "Plain decoders (written in three styles), vision, speech, encoder-decoder models and training under PyTorch "
      "2.11 "
      "(data/measurements/h200_steps.csv.gz), steps back to back. Constants and code were chosen with half of the "
      "models at hand; the other half is the judge. *Untouched* are models and sizes that were measured and first "
      "judged when all of it stood (h200_fresh_steps.csv.gz), and have been looked at since. No step was used in "
      "training; kernels of the same "
      "card were. "
      "Swin, ConvNeXt, ResNet, wav2vec 2.0 and Whisper's decoder alone have no "
      "description here. SigLIP stands as a ViT of its size, without its pooling by attention.\n\n" +
      table_by({"models"}, steps, by_half, "all") + table_by({"models", "what", "engine"}, steps, by_group, nullptr) +
      training_by_length(steps);
  if (!waiting.empty())
    out +=
        "Waiting for the host (kernels take less than 0.85 of the step), which is as fast as an addition right after "
        "the step says:\n\n" +
        table_by({"models"}, waiting, by_half, "all") +
        table_by({"models", "model", "engine"}, waiting, by_model, nullptr);
  if (!masked.empty())
    out += "Graphs in which transformers hands attention a mask, so that PyTorch's slowest form runs:\n\n" +
           table_by({"models", "model", "engine"}, masked, by_model, "all");
  return out;
}

// --- static batches ---

// Static batches over several GPUs, from either source.
std::string spread_report(const Results& all) {
  Results fitting;
  for (const EndToEndResult& r : all)
    if (r.fits) fitting.push_back(r);
  if (fitting.empty()) return {};
  const auto table = [&](const char* title, const auto& word) {
    return table_by(
        {"what", "GPU", "engine", title}, fitting,
        [&](const EndToEndResult& r) {
          return Words{r.quantity, r.label.gpu, r.label.engine, word(r)};
        },
        nullptr);
  };
  return table("layout", [](const EndToEndResult& r) { return r.label.detail; }) +
         table("model", [](const EndToEndResult& r) { return r.label.model; }) +
         table_by(
             {"what"}, fitting, [](const EndToEndResult& r) { return Words{r.quantity}; }, nullptr);
}

// Rows that src/constants/engine.h and attention.h name as fitted to.
bool is_fitted_mi300x(const EndToEndLabel& label) {
  constexpr std::array<std::string_view, 3> kModels = {"Llama-2-7b", "Llama-3-70B", "Mixtral"};
  return label.gpu == "MI300X" && std::any_of(kModels.begin(), kModels.end(), [&](std::string_view model) {
           return label.model.find(model) != std::string::npos;
         });
}

std::string argonne_report(const Results& whole) {
  if (whole.empty()) return {};
  Results all, spread, fitting, others;
  for (const EndToEndResult& r : whole) {
    const bool studied = r.label.gpu.starts_with("A100") || r.label.gpu.starts_with("H100");
    if (!studied && r.fits) others.push_back(r);
    if (studied) (r.label.detail.find(", tp") == std::string::npos ? all : spread).push_back(r);
  }
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
             "fitted to the A100's rows, two figures per engine; the H100's are the judge.\n\n",
             fitting.size(), all.size()) +
         table_by(
             {"GPU", "host's cost"}, fitting,
             [](const EndToEndResult& r) {
               return Words{r.label.gpu, r.label.gpu.starts_with("A100") ? "fitted to it" : "from A100"};
             },
             "all") +
         table("model", [](const EndToEndResult& r) { return r.label.model; }) +
         table("batch", [](const EndToEndResult& r) { return fmt::format("{:2}", r.label.batch); }) +
         (spread.empty()
              ? ""
              : "The same over several GPUs, tensor parallel; 0.8 ms a step were fitted to the A100s' rows:\n\n") +
         spread_report(spread) +
         (others.empty()
              ? ""
              : "Other cards, one GPU and several. vLLM of 2024 on MI300X has figures of its own (paged "
                "attention, untuned products, gaps in its graphs, its host, RCCL), fitted to three models and "
                "judged on the others; the form of the rules was found with all of them in sight.\n\n" +
                    table_by(
                        {"GPU", "engine", "model", "its figures"}, others,
                        [](const EndToEndResult& r) {
                          return Words{r.label.gpu, r.label.engine, r.label.model,
                                       is_fitted_mi300x(r.label) ? "fitted to it" : "from others"};
                        },
                        "all"));
}

std::string trtllm_report(const Results& all) {
  if (all.empty()) return {};
  return "### Static batches: NVIDIA's own figures of TensorRT-LLM 0.5 to 0.9\n\n"
         "gptSessionBenchmark: the time of a whole batch, from its throughput; and the first token of one request. "
         "Releases "
         "of one configuration differ by a median of 1.11 times. Nothing was fitted to these rows.\n\n" +
         spread_report(all);
}

std::string synperf_report(const Results& all) {
  if (all.empty()) return {};
  const auto over_gpus = [](const EndToEndResult& r) { return r.label.detail.find(", ") != std::string::npos; };
  Results one, several;
  for (const EndToEndResult& r : all) (over_gpus(r) ? several : one).push_back(r);
  const auto what = [](const EndToEndResult& r) { return Words{r.quantity}; };
  std::string out =
      "### Requests of many lengths: SynPerf's runs of SGLang and vLLM\n\n"
      "One GPU, Qwen2.5-14B in bf16, the median run as truth; SynPerf errs by 11.3 % over all its\n"
      "GPUs. RTX 6000 Ada's prefill runs at 85 of 364 TFLOP/s and slows from run to run (8.0 to 9.2 s), while its\n"
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
         "runs. SynPerf errs by 6.6 % over its own selection, with the run nearest to each forecast.\n\n" +
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
  bool of_operators = true;  // has figures of single operators, too
};
constexpr std::array<OtherMethod, 6> kOthers = {{{"shipped", "as shipped", false},
                                                 {"neusight", "NeuSight"},
                                                 {"roofline", "roofline"},
                                                 {"habitat", "Habitat"},
                                                 {"micro", "Li et al."},
                                                 {"operators", "measured operators", false}}};

std::string figures_text(const std::vector<double>& ratios, std::size_t rows) {
  if (ratios.empty()) return "-";
  const ErrorSummary s = summary_of_errors(ratios);
  const std::string text = fmt::format("{} / {}", percent(s.mean), percent(s.median));
  return ratios.size() == rows ? text : fmt::format("{} ({})", text, ratios.size());
}

// Mean / median error of every method over the rows of each group; how many rows, where a method has not all.
std::string methods_table(const Words& titles, const Results& results, const Grouping& words_of, bool models) {
  std::map<Words, Results> groups;
  for (const EndToEndResult& r : results) groups[words_of(r)].push_back(r);
  Words numbers = {"rows", "tilecast"};
  for (const OtherMethod& other : kOthers)
    if (models || other.of_operators) numbers.emplace_back(other.title);
  Table table(titles, numbers);
  for (const auto& [words, own] : groups) {
    Words line = words;
    line.push_back(fmt::format("{}", own.size()));
    line.push_back(figures_text(ratios_of(own, [](const EndToEndResult&) { return true; }), own.size()));
    for (const OtherMethod& other : kOthers) {
      if (!models && !other.of_operators) continue;
      std::vector<double> ratios;
      for (const EndToEndResult& r : own)
        if (const double theirs = r.other(other.key); theirs >= 0) ratios.push_back(theirs / r.measured);
      line.push_back(figures_text(ratios, own.size()));
    }
    table.add(std::move(line));
  }
  return table.markdown();
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
      "kernels do not wait for: the floor that training finds in them is no part of a model's kernels. A number in\n"
      "brackets: rows that a method has figures of. As shipped: by the weights that users have, which NeuSight's test\n"
      "rows of the same cards trained, too; no label trained or fitted anything.\n\n"
      "What is missed lies in the labels as much as in the forecasts: seven of the ten forward passes of A100 80 GB "
      "took a\n"
      "third longer than their own operators together, the other three did not; T4's and P4's products ran at other "
      "rates\n"
      "in the training rows (0.39 and 0.20 of the peak) than in the models (about 0.55 and 0.5), and P4's BERT takes "
      "2.3\n"
      "times as long for twice the sequences.\n\n"
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

// --- rows ---

std::string rows_report(const Results& all) {
  constexpr std::string_view kJudged = " judged", kLeftOut = " left out";
  Table table(Words{"source", "rows"}, {"number"});
  bool any = false;
  for (const EndToEndResult& r : all) {
    const std::string& source = r.label.source;
    const bool judged = source.ends_with(kJudged);
    if (!judged && !source.ends_with(kLeftOut)) continue;
    const std::string_view name =
        std::string_view(source).substr(0, source.size() - (judged ? kJudged : kLeftOut).size());
    any = true;
    table.add(
        {std::string(name), judged ? "judged" : "left out: " + r.label.detail, fmt::format("{:.0f}", r.measured)});
  }
  if (!any) return {};
  return "### Rows read\n\n"
         "Every row of the tables above, judged or left out by name; of GPUStack, SynPerf and our own a case is "
         "several "
         "rows.\n\n" +
         table.markdown();
}

}  // namespace

std::string end_to_end_report(const std::vector<EndToEndResult>& results) {
  if (results.empty()) return {};
  return "## Whole models\n\n" + h200_report(of_source(results, "h200")) +
         steps_report(of_source(results, "h200-steps")) + argonne_report(of_source(results, "argonne")) +
         trtllm_report(of_source(results, "trtllm")) + synperf_report(of_source(results, "synperf")) +
         training_report(results) +
         neusight_report(of_source(results, "neusight"), of_source(results, "neusight-operators")) +
         serving_report(results) + rows_report(results);
}

}  // namespace tilecast
