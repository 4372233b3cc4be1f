// Measured serving runs beside simulated ones.
#include <fmt/format.h>

#include <map>

#include "lab/evidence/endtoend_report_parts.h"
#include "lab/evidence/serving_halves.h"
#include "support/statistics.h"
#include "support/table.h"

namespace tilecast {
namespace {

std::string llmservingsim_report(const Results& all) {
  if (all.empty()) return {};
  Table table({"quantity"}, {"measured", "forecast", "error"});
  for (const EndToEndResult& r : all) {
    const bool time = r.quantity == "ttft" || r.quantity == "tpot";
    const auto text = [&](double value) {
      return time ? fmt::format("{:.4g} ms", value * 1e3)
                  : fmt::format("{:.5g} {}", value, r.quantity == "peak" ? "tokens" : "tokens/s");
    };
    table.add({r.quantity, text(r.measured), text(r.forecast), fmt::format("{:+.1f} %", (r.ratio() - 1) * 100)});
  }
  return "### vLLM serving on an RTX 4090 (LLMServingSim's run)\n\n"
         "300 requests of ShareGPT to Llama 3.1 8B under vLLM 0.19, arrivals as recorded, 24 GB: the cache overflows "
         "and "
         "requests are preempted. Means over requests; peak is the most tokens in flight, reconstructed from each "
         "request's schedule, first and last token in both. No figure was fitted to this run, but it is not a blind "
         "test: "
         "its "
         "first forecast had a cache too large by a fifth, which made us look for start-up logs of vLLM on other "
         "cards, "
         "and those set what the engine keeps for itself (serve/deployment.cpp).\n\n" +
         table.markdown();
}

// A mean of ten seconds or more is the time of a whole queue in the engine, so it is reported apart.
std::string quantity_of(const EndToEndResult& r) {
  return r.quantity == "ttft" ? r.measured < 10 ? "ttft, under 10 s" : "ttft, 10 s and more" : r.quantity;
}

// How many requests decode at once, measured beside forecast: whether the steps are off, or how many requests share
// them. Runs follow one another, with three figures each.
std::string running_table(const Results& all) {
  std::map<Words, std::pair<std::vector<double>, std::vector<double>>> groups;
  for (std::size_t i = 0; i + 2 < all.size(); ++i) {
    const EndToEndResult &rate = all[i], &token = all[i + 1];
    if (rate.quantity != "throughput" || token.quantity != "tpot") continue;
    auto& [measured, forecast] = groups[{token.label.model, token.label.gpu, token.label.engine}];
    measured.push_back(rate.measured * token.measured), forecast.push_back(rate.forecast * token.forecast);
  }
  Table table({"model", "GPU", "engine"}, {"runs", "in decode, measured", "forecast"});
  for (auto& [group, of] : groups) {
    Words cells = group;
    cells.push_back(fmt::format("{}", of.first.size()));
    cells.push_back(fmt::format("{:.0f}", median(of.first))), cells.push_back(fmt::format("{:.0f}", median(of.second)));
    table.add(cells);
  }
  return table.markdown() + "\n";
}

std::string gpustack_report(const Results& all, const Results& left_out) {
  if (all.empty()) return {};
  Table declined({"declined"}, {"runs"});
  for (const EndToEndResult& r : left_out) declined.add({r.label.detail, fmt::format("{:.0f}", r.measured)});
  return "### Serving on A100s and H100s (GPUStack's performance lab)\n\n"
         "Runs of `vllm bench serve` without speculation, parallelism as the serve command says, all requests at once. "
         "ShareGPT's lengths are gamma distributions within that client's bounds, scaled to a run's means (random data "
         "has equal ones): its many short answers wait for other prompts between two tokens, and a mean over requests "
         "weighs them like long ones. The shape of answers was chosen on the half of the groups that choices are made "
         "on, what a request in a step costs the host there (150 us) on Qwen3-14B. On its machine with one or two "
         "H100s "
         "long prompts take 1.7 times as long as on others, whatever the engine, while single answers do not; its "
         "machine with eight H100s and other tables' H100s agree with the forecast. Why is not known: forecasts of "
         "that "
         "machine hold its cards to 350 W, the nearest of 350, 450 and 700 W on the half of the groups that choices "
         "are "
         "made on. gpt-oss-120b on one card of 80 GB is short of cache: its experts lie padded, and what is left "
         "differs "
         "between releases of the engine by more than it holds. Requests in decode (tokens a second times the time of "
         "one) say which: below.\n\n" +
         running_table(all) +
         table_by(
             {"quantity"}, all, [](const EndToEndResult& r) { return Words{quantity_of(r)}; }, nullptr) +
         table_by(
             {"quantity", "GPU", "engine"}, all,
             [](const EndToEndResult& r) {
               return Words{quantity_of(r), r.label.gpu, r.label.engine};
             },
             nullptr) +
         table_by(
             {"quantity", "model"}, all,
             [](const EndToEndResult& r) {
               return Words{quantity_of(r), r.label.model};
             },
             nullptr) +
         declined.markdown();
}

// Whether a rule says that a row's runs proposed tokens (lab/evidence/serving_silicon.cpp).
std::string drafts_of(const EndToEndResult& r) {
  return r.label.detail.ends_with(", drafts") ? "proposed tokens" : "none proposed";
}

// One figure of a further token per run, and one of the first.
std::string silicon_count(const Results& all, const Results& left_out) {
  std::map<std::string, Count> judged;
  Count rows = 0;
  Count waited = 0;
  for (const EndToEndResult& r : all) {
    if (r.quantity == "tpot") ++judged[r.label.mode], ++rows, ++waited;
    if (r.quantity == "ttft") --waited;
  }
  Table table({"rows of the sample"}, {"rows"});
  for (const auto& [mode, count] : judged) table.add({"judged: " + mode, fmt::format("{}", count)});
  table.add({"of these without a first token, which waited for kernels to be compiled", fmt::format("{}", waited)});
  for (const EndToEndResult& r : left_out) {
    rows += static_cast<Count>(r.measured);
    table.add({"declined: " + r.label.detail, fmt::format("{:.0f}", r.measured)});
  }
  table.add({"**read**", fmt::format("{}", rows)});
  return table.markdown();
}

std::string silicon_report(const Results& judged, const Results& left_out) {
  if (judged.empty()) return {};
  Results all, others, wanted;
  for (const EndToEndResult& r : judged) {
    const std::string& model = r.label.model;
    (r.label.mode == "agg" ? all : others).push_back(r);
    if (r.label.mode == "agg" && (model.starts_with("Llama-3.1") || model.starts_with("Qwen3-235B")))
      wanted.push_back(r);
  }
  const Grouping of_models = [](const EndToEndResult& r) {
    const std::string& d = r.label.detail;
    return Words{r.quantity, r.label.gpu, r.label.engine, r.label.model, d.substr(0, d.find(','))};
  };
  const Grouping of_pools = [](const EndToEndResult& r) {
    return Words{r.label.mode, r.quantity, r.label.gpu, r.label.engine, r.label.model};
  };
  return "### Serving points of AIConfigurator\n\n"
         "The clean subset of its sample (aggregated, at most eight GPUs, TTFT under 10 s, copies removed); closed "
         "loop at the concurrency given; engines as InferenceX's scripts launch them, and AIConfigurator's own "
         "generator (lab/evidence/serving_silicon.cpp). Chosen on Llama 3.1 8B under TensorRT-LLM: the time of an "
         "operator "
         "outside graphs, that of a step by its requests (serve/host.cpp), and of AIConfigurator's own runs the front "
         "end (80 ms, Dynamo's, which stands before pools that are apart too) and how far answers end apart (0.3). "
         "Every "
         "other model is left out of them. Rows that are filed under two names of a model count once. A third of "
         "InferenceX's runs of SGLang on Blackwell compile kernels while the first of ten waves waits for a minute: "
         "their first tokens, told by a mean that no queue explains, are not judged.\n\n" +
         table_by(
             {"quantity", "rows of"}, wanted,
             [](const EndToEndResult& r) {
               return Words{r.quantity, r.label.model};
             },
             nullptr) +
         table_by(
             {"quantity, Llama 3.1 and Qwen3-235B"}, wanted, [](const EndToEndResult& r) { return Words{r.quantity}; },
             nullptr) +
         "All models. Rows do not say whether tokens were proposed (MTP); InferenceX's images and dates do, for "
         "TensorRT-LLM's DeepSeek and SGLang's Qwen3.5: three a step, one with data parallel attention, accepted as "
         "NVIDIA's figures of DeepSeek-R1 have it.\n\n" +
         table_by({"quantity", "GPU", "engine", "model", "dtype"}, all, of_models, nullptr) +
         table_by(
             {"quantity, all models", "MTP by the rule"}, all,
             [](const EndToEndResult& r) {
               return Words{r.quantity, drafts_of(r)};
             },
             nullptr) +
         table_by(
             {"quantity, all models"}, all, [](const EndToEndResult& r) { return Words{r.quantity}; }, nullptr) +
         "Pools apart, and data parallel attention, where the row says the layout. Flags of these runs are known in "
         "part (benchmarks/multi_node/srt-slurm-recipes); pools apart are taken to propose nothing, of which no image "
         "says otherwise, aggregated ones by the rule above:\n\n" +
         table_by({"mode", "quantity", "GPU", "engine", "model"}, others, of_pools, nullptr) +
         table_by(
             {"mode", "quantity", "half"}, others,
             [](const EndToEndResult& r) {
               return Words{r.label.mode, r.quantity, name_of(half_of(r))};
             },
             nullptr) +
         table_by(
             {"mode", "quantity"}, others,
             [](const EndToEndResult& r) {
               return Words{r.label.mode, r.quantity};
             },
             nullptr) +
         silicon_count(judged, left_out);
}

bool of_amd(const EndToEndResult& r) { return r.label.gpu.starts_with("MI"); }

std::string inferencex_report(const Results& all) {
  if (all.empty()) return {};
  Results nvidia, amd;
  for (const EndToEndResult& r : all) (of_amd(r) ? amd : nvidia).push_back(r);
  const Grouping of_groups = [](const EndToEndResult& r) {
    const std::string& d = r.label.detail;
    return Words{r.quantity, r.label.model, r.label.gpu, r.label.engine, d.substr(0, d.find(',')), name_of(half_of(r))};
  };
  const Words titles = {"quantity", "model", "GPU", "engine", "dtype", "half"};
  const Grouping of_quantity = [](const EndToEndResult& r) { return Words{r.quantity}; };
  return "### InferenceX's runs\n\n"
         "A closed loop of 4 to 128 requests, ten for each in flight, all started at once, lengths even between 0.8 "
         "and 1 "
         "of 1024/1024, 1024/8192 and 8192/1024 tokens, no prefix cache; engines as the scripts start them "
         "(lab/evidence/serving_inferencex.cpp). Medians over requests, and over the runs of a configuration; a third "
         "of "
         "the runs on B200 compile kernels while first requests wait for a minute and more: means are not judged, "
         "throughput only of runs without. The same configuration on another day differs by 0.5 % in TPOT and 3 % in "
         "TTFT.\n\n" +
         table_by(titles, nvidia, of_groups, nullptr) +
         table_by({"quantity, NVIDIA's cards"}, nvidia, of_quantity, nullptr) +
         (amd.empty() ? "" : "AMD's cards, apart:\n\n" + table_by(titles, amd, of_groups, nullptr));
}

std::string overview_report(const Results& all) {
  if (all.empty()) return {};
  // "FP8, tp 2, 1000/1000, 0.19"
  const auto layout = [](const EndToEndResult& r) {
    const std::string& d = r.label.detail;
    const auto from = d.find("tp ");
    return d.substr(from, d.find(',', from) - from);
  };
  const auto backend = [](const EndToEndResult& r) {
    const std::string release = r.label.detail.substr(r.label.detail.rfind(' ') + 1);
    const bool built = release.starts_with("0.1") && !release.starts_with("0.19");
    return std::string(built ? "0.10 to 0.17, TensorRT" : "0.19 to 1.1, PyTorch");
  };
  return "### Offline throughput: TensorRT-LLM's performance overview\n\n"
         "Output tokens a second of one server that requests without end wait for, as `simulate --engine trtllm` has "
         "them with all requests at once and its own limits; a third of the configurations, each with its newest "
         "release. Limits of the runs are not said "
         "(lab/evidence/serving_overview.cpp).\n\n" +
         table_by(
             {"half"}, all, [](const EndToEndResult& r) { return Words{name_of(half_of(r))}; }, nullptr) +
         table_by(
             {"release", "half"}, all,
             [&](const EndToEndResult& r) {
               return Words{backend(r), name_of(half_of(r))};
             },
             nullptr) +
         table_by(
             {"GPU", "layout"}, all,
             [&](const EndToEndResult& r) {
               return Words{r.label.gpu, layout(r)};
             },
             nullptr) +
         table_by(
             {"model", "half"}, all,
             [&](const EndToEndResult& r) {
               return Words{r.label.model, name_of(half_of(r))};
             },
             nullptr);
}

// All tables together; first tokens that waited in a queue of ten seconds and more are left out.
std::string halves_report(const Results& results) {
  Results pooled;
  for (const char* source : {"llmservingsim", "gpustack", "silicon", "inferencex", "overview"})
    for (const EndToEndResult& r : of_source(results, source)) {
      const bool queue = r.quantity.starts_with("ttft") && r.measured >= 10;
      if (r.quantity != "peak" && !queue) pooled.push_back(r);
    }
  if (pooled.empty()) return {};
  const auto kind = [](const EndToEndResult& r) { return r.quantity.substr(0, r.quantity.find(' ')); };
  const auto table_of = [](const EndToEndResult& r) {
    const std::string& by = r.label.measured_by;
    const bool plain = r.label.source != "silicon" || r.label.mode == "agg";
    return r.label.source + (by.empty() ? "" : " of " + by) + (plain ? "" : ", " + r.label.mode);
  };
  return "### All serving tables, in two halves\n\n"
         "Groups are a model on a card under an engine, whoever measured. What serving adds to kernels (src/serve) is "
         "chosen on one half of them and judged on the other; the half is a hash of the group's name "
         "(lab/evidence/serving_halves.h). Every table counts, pools apart and offline throughputs too; first tokens "
         "of ten seconds and more are left out.\n\n" +
         table_by(
             {"quantity", "half"}, pooled,
             [&](const EndToEndResult& r) {
               return Words{kind(r), name_of(half_of(r))};
             },
             nullptr) +
         table_by(
             {"quantity", "half", "table"}, pooled,
             [&](const EndToEndResult& r) {
               return Words{kind(r), name_of(half_of(r)), table_of(r)};
             },
             nullptr);
}

}  // namespace

std::string serving_report(const Results& results) {
  return llmservingsim_report(of_source(results, "llmservingsim")) +
         gpustack_report(of_source(results, "gpustack"), of_source(results, "gpustack left out")) +
         silicon_report(of_source(results, "silicon"), of_source(results, "silicon left out")) +
         inferencex_report(of_source(results, "inferencex")) + overview_report(of_source(results, "overview")) +
         halves_report(results);
}

}  // namespace tilecast
