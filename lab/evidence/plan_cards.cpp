#include "lab/evidence/plan_cards.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "cluster/prices.h"
#include "cluster/registry.h"
#include "gpu/registry.h"
#include "model/library.h"
#include "serve/plan.h"
#include "support/csv.h"
#include "support/number.h"
#include "support/statistics.h"

namespace tilecast {
namespace {

// The overview's name of a model, which checkpoint runs in which format, and our name for it.
struct Checkpoint {
  std::string_view table, precision, model, dtype, cache;
};
constexpr std::array<Checkpoint, 14> kCheckpoints = {
    {{"GPT-OSS 120B", "FP4", "gpt-oss-120b", "", ""},
     {"GPT-OSS 120B", "FP8", "gpt-oss-120b", "", ""},  // the same weights, which Hopper multiplies as 16-bit numbers
     {"Deepseek R1 0528", "FP4", "DeepSeek-R1-NVFP4", "", "fp8"},
     {"Deepseek R1 0528", "FP8", "DeepSeek-R1", "", "fp8"},
     {"DeepSeek R1", "FP4", "DeepSeek-R1-NVFP4", "", "fp8"},
     {"Qwen3 235B A22B", "FP4", "Qwen3-235B-A22B", "nvfp4", "fp8"},
     {"Qwen3 235B A22B", "FP8", "Qwen3-235B-A22B", "fp8", "fp8"},
     {"Qwen3-235B-A22B", "FP4", "Qwen3-235B-A22B", "nvfp4", "fp8"},
     {"Qwen3-235B-A22B", "FP8", "Qwen3-235B-A22B", "fp8", "fp8"},
     {"LLaMA v3.3 70B", "FP4", "Llama-3.3-70B", "nvfp4", "fp8"},
     {"LLaMA v3.3 70B", "FP8", "Llama-3.3-70B", "fp8", "fp8"},
     {"Llama 3.3 70B", "FP4", "Llama-3.3-70B", "nvfp4", "fp8"},
     {"Llama 4 Scout", "FP4", "Llama-4-Scout", "nvfp4", "fp8"},
     {"Llama 4 Scout", "FP8", "Llama-4-Scout", "fp8", "fp8"}}};

const Checkpoint* checkpoint_of(std::string_view table, std::string_view precision) {
  for (const Checkpoint& c : kCheckpoints)
    if (c.table == table && c.precision == precision) return &c;
  return nullptr;
}

bool stands_for_others(int input, int output) {
  constexpr std::pair<int, int> kLengths[] = {{1000, 1000}, {8192, 1024}};
  return std::find(std::begin(kLengths), std::end(kLengths), std::pair(input, output)) != std::end(kLengths);
}

std::optional<std::string> card_of(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kCards[] = {
      {"H100", "H100-SXM"}, {"H200", "H200-SXM"}, {"B200", "B200"}, {"GB200", "GB200"}};
  for (const auto& [table, ours] : kCards)
    if (table == name) return std::string(ours);
  return std::nullopt;
}

// "nvfp4/fp8": of products and of the cache; empty: as the checkpoint is.
Formats formats_of(const std::string& text) {
  const auto slash = text.find('/');
  return {text.substr(0, slash), slash == std::string::npos ? "" : text.substr(slash + 1)};
}

std::string words_of(const RankLayout& layout) {
  if (layout.dp > 1) return fmt::format("DEP{}", layout.ranks());
  std::string text = layout.tp > 1 ? fmt::format("TP{}", layout.tp) : "1";
  if (layout.pp > 1) text += fmt::format(" PP{}", layout.pp);
  if (layout.ep > 1) text += fmt::format(" EP{}", layout.ep);
  return text;
}

Result<CardRow::Planned> planned(const CardRow& row, const ModelSource& weights) {
  ServeQuery query;
  auto model = find_model(row.model);
  if (!model) return std::move(model).error();
  query.model = *std::move(model);
  query.objective = ServingObjective::throughput;
  query.workload.input.mean = row.input, query.workload.output.mean = row.output;
  query.workload.requests = 0;
  query.engines = {EngineKind::trtllm};
  Formats formats = formats_of(row.dtype);
  const ModelSpec& m = query.model;
  if (formats.dtype.empty()) formats.dtype = m.quantization.empty() ? m.dtype : m.quantization;
  query.formats.push_back(std::move(formats));
  GpuOffer offer;
  offer.gpu = *built_in_gpu(row.gpu), offer.most = static_cast<int>(row.gpus);
  if (const Cluster* cluster = built_in_cluster_of(row.gpu)) offer.cluster = *cluster;
  query.gpus.push_back(std::move(offer));
  query.apart = false;
  const auto plan = plan_serving(query, Method::tilecast, &weights);
  if (!plan) return plan.error();
  if (plan->finalists.empty()) return error("nothing fits: " + plan->does_not_fit);
  const PlannedDeployment& best = plan->finalists[plan->best.value_or(0)];
  if (!best.simulated) return error("not simulated");
  return CardRow::Planned{best.simulated->output_throughput / best.gpus(), words_of(best.pool.setup->layout),
                          best.in_flight, in_gibibytes(best.pool.setup->budget.weights),
                          best.seen == Seen::yes || best.seen == Seen::calibrated};
}

using Load = std::tuple<std::string, Count, Count>;  // model, input, output
std::map<Load, std::vector<const CardRow*>> by_load(const std::vector<CardRow>& rows) {
  std::map<Load, std::vector<const CardRow*>> loads;
  for (const CardRow& row : rows)
    if (row.planned) loads[{row.model.substr(0, row.model.find("-NVFP4")), row.input, row.output}].push_back(&row);
  return loads;
}

template <class Value>
const CardRow* best_of(const std::vector<const CardRow*>& rows, Value&& value) {
  return *std::max_element(rows.begin(), rows.end(),
                           [&](const auto* a, const auto* b) { return value(*a) < value(*b); });
}

std::string choice_table(const std::vector<CardRow>& rows) {
  std::string text =
      "| model | tokens in, out | cards | most per GPU: measured | planned | most per dollar: measured | planned |\n"
      "|---|---|---|---|---|---|---|\n";
  int loads = 0, alike = 0, alike_by_price = 0, close = 0;
  for (const auto& [load, of_load] : by_load(rows)) {
    if (of_load.size() < 2) continue;
    const auto measured = [](const CardRow& r) { return r.measured; };
    const auto forecast = [](const CardRow& r) { return r.planned->throughput; };
    const auto a_dollar = [](const auto& value) {
      return [value](const CardRow& r) { return r.price ? value(r) / *r.price : 0; };
    };
    const CardRow *most = best_of(of_load, measured), *chosen = best_of(of_load, forecast);
    const CardRow *worth = best_of(of_load, a_dollar(measured)), *bought = best_of(of_load, a_dollar(forecast));
    std::string cards;
    for (const CardRow* row : of_load) cards += (cards.empty() ? "" : ", ") + row->gpu;
    ++loads, alike += most == chosen, alike_by_price += worth == bought;
    close += a_dollar(measured)(*bought) > 0.9 * a_dollar(measured)(*worth);
    text += fmt::format("| {} | {}, {} | {} | {} | {} | {} | {} |\n", std::get<0>(load), std::get<1>(load),
                        std::get<2>(load), cards, most->gpu, chosen->gpu, worth->gpu, bought->gpu);
  }
  return fmt::format(
             "Of {} loads that several cards were measured at, the card with most tokens per GPU is the planned one in "
             "{}, the one with most tokens per dollar (list prices of data/prices) in {}; in {} the planned one is "
             "within 10 % of the best by the measured figures.\n\n",
             loads, alike, alike_by_price, close) +
         text + "\n";
}

std::string row_table(const std::vector<CardRow>& rows) {
  std::string text =
      "| model | GPU | GPUs | formats | tokens in, out | measured as | tokens/s per GPU | planned as | in flight | "
      "weights GiB "
      "| tokens/s per GPU | error | seen |\n|---|---|---:|---|---|---|---:|---|---:|---:|---:|---:|---|\n";
  for (const CardRow& r : rows) {
    const std::string head =
        fmt::format("| {} | {} | {} | {} | {}, {} | {} | {:.0f} |", r.model, r.gpu, r.gpus,
                    r.dtype.empty() ? "the checkpoint's" : r.dtype, r.input, r.output, r.layout, r.measured);
    text += !r.planned ? fmt::format("{} {} | – | – | – | – | – |\n", head, r.why_not)
                       : fmt::format("{} {} | {} | {:.0f} | {:.0f} | {:+.0f} % | {} |\n", head, r.planned->layout,
                                     r.planned->in_flight, r.planned->memory_gib, r.planned->throughput,
                                     100 * (r.planned->throughput / r.measured - 1), r.planned->seen ? "yes" : "no");
  }
  return text;
}

// The GB200's chip is the B200's, with a little more power and memory, beside another host. Where it is measured slower
// no forecast from the chip alone can say so.
std::string same_chip_table(const std::vector<CardRow>& rows) {
  std::map<std::tuple<std::string, Count, Count, std::string>, std::map<std::string, double>> pairs;
  for (const CardRow& r : rows) pairs[{r.model, r.input, r.output, r.layout}][r.gpu] = r.measured;
  std::string slower;
  int compared = 0;
  double least = 1e9, most = 0;
  for (const auto& [load, cards] : pairs) {
    const auto b200 = cards.find("B200"), gb200 = cards.find("GB200");
    if (b200 == cards.end() || gb200 == cards.end()) continue;
    const double ratio = gb200->second / b200->second;
    ++compared;
    if (ratio >= 1) {
      least = std::min(least, ratio), most = std::max(most, ratio);
      continue;
    }
    slower += fmt::format("| {} | {}, {} | {} | {:.0f} | {:.0f} | {:.2f} |\n", std::get<0>(load), std::get<1>(load),
                          std::get<2>(load), std::get<3>(load), b200->second, gb200->second, ratio);
  }
  if (slower.empty() || most == 0) return "";
  return fmt::format(
             "Of {} loads that both were measured at, at all lengths, a GB200 has {:.2f} to {:.2f} times the tokens of "
             "a "
             "B200, whose chip is the same, but for those below, which nothing about the chip explains. They have in "
             "common one GPU, experts, and prompts about as long as the answers: the benchmark then lets one or two "
             "prompts into a step (it limits steps to 2048 tokens at least, and as many as bring in a prompt for each "
             "that ends), so most steps are no captured graphs and wait for the host. That the GB200's Arm cores take "
             "longer over them is a reading of these rows; forecasts know one host for both.\n\n"
             "| model | tokens in, out | measured as | B200 | GB200 | GB200 over B200 "
             "|\n|---|---|---|---:|---:|---:|\n",
             compared, least, most) +
         slower + "\n";
}

}  // namespace

Result<std::vector<CardRow>> card_rows(const std::string& table, bool all_lengths) {
  constexpr std::array<std::string_view, 11> kColumns = {
      "model", "gpu", "num_gpus", "tp", "dp_ep", "precision", "isl", "osl", "metric", "value", "engine_version"};
  auto csv = CsvReader::open(table);
  if (!csv) return std::move(csv).error();
  std::array<std::size_t, kColumns.size()> at{};
  for (std::size_t i = 0; i < kColumns.size(); ++i) {
    const auto found = csv->column(kColumns[i]);
    if (!found) return found.error();
    at[i] = *found;
  }
  std::map<std::tuple<std::string, std::string, Count, Count>, CardRow> best;
  while (true) {
    const auto more = csv->next();
    if (!more) return more.error();
    if (!*more) break;
    const auto field = [&](std::size_t i) { return std::string((*csv)[at[i]]); };
    const Checkpoint* checkpoint = checkpoint_of(field(0), field(5));
    const auto gpu = card_of(field(1));
    const auto gpus = number_between<int>(field(2), 1, 64);
    const auto input = number_between<int>(field(6), 1, 1 << 20), output = number_between<int>(field(7), 1, 1 << 20);
    const auto value = to_double(field(9));
    if (!checkpoint || !gpu || !gpus || !input || !output || !value || !(*value > 0)) continue;
    if (field(10) != "1.0" && field(10) != "1.1") continue;
    if (!all_lengths && !stands_for_others(*input, *output)) continue;
    const bool each = field(8) == "output_throughput_per_gpu";
    if (!each && field(8) != "output_throughput") continue;
    CardRow row;
    row.model = checkpoint->model, row.gpu = *gpu, row.gpus = *gpus, row.input = *input, row.output = *output;
    row.dtype = checkpoint->dtype;
    if (!checkpoint->cache.empty()) row.dtype += "/" + std::string(checkpoint->cache);
    row.layout = !field(4).empty() ? field(4) : field(3) == "1" ? "1" : "TP" + field(3);
    row.measured = each ? *value : *value / *gpus;
    if (const auto price = shipped_prices().of(row.gpu)) row.price = price->usd_per_hour;
    CardRow& kept = best[{row.model, row.gpu, row.input, row.output}];
    if (row.measured > kept.measured) kept = std::move(row);
  }
  if (best.empty()) return Error{table, "", "holds none of the models", ""};
  std::vector<CardRow> rows;
  rows.reserve(best.size());
  for (auto& [key, row] : best) rows.push_back(std::move(row));
  return rows;
}

void plan_cards(std::vector<CardRow>& rows, const ModelSource& weights) {
  for (CardRow& row : rows) {
    auto found = planned(row, weights);
    if (found) row.planned = *std::move(found);
    else row.why_not = found.error().problem;
  }
}

std::string card_report(const std::vector<CardRow>& rows, const std::vector<CardRow>& all_lengths) {
  std::vector<double> errors;
  for (const CardRow& row : rows)
    if (row.planned) errors.push_back(std::abs(row.planned->throughput / row.measured - 1));
  std::string text =
      "# Plans beside measured throughputs\n\n"
      "TensorRT-LLM's performance overview (releases 1.0 and 1.1) has the most tokens a second that NVIDIA reached on "
      "each "
      "card, a few thousand requests at once. For every row `plan serve --objective throughput` chose the layout and "
      "the limits "
      "on as many GPUs of that card, TensorRT-LLM in the row's formats, prompts and answers together; nothing of these "
      "rows was used to choose anything. The measured runs were not planned: `trtllm-bench` found its limits by a rule "
      "of "
      "its own, experts ran CUTLASS's kernels, graphs were captured at few sizes, so a plan may well be faster; and "
      "the "
      "releases are older than the one that is simulated (1.2.0). whole-models.md has forecasts of the runs as they "
      "were.\n\n";
  if (!errors.empty())
    text += fmt::format("{} rows, {} planned: median error {:.0f} %.\n\n", rows.size(), errors.size(),
                        100 * median(errors));
  return text + choice_table(rows) + row_table(rows) + (all_lengths.empty() ? "" : "\n" + same_chip_table(all_lengths));
}

}  // namespace tilecast
