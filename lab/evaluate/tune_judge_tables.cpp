#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "gpu/registry.h"
#include "lab/evaluate/tune_judge.h"
#include "support/table.h"

namespace tilecast {
namespace {

struct Judged {
  const TunedShape* shape;
  TuneOutcome outcome;
};

Result<std::vector<Judged>> judge_all(const std::vector<TunedShape>& shapes, const Gpu& gpu) {
  std::vector<Judged> judged;
  for (const TunedShape& shape : shapes) {
    const auto outcome = judge_shape(shape, gpu);
    if (!outcome) return outcome.error();
    judged.push_back({&shape, *outcome});
  }
  return judged;
}

using Figure = std::function<double(const TuneOutcome&)>;

std::vector<double> figures(const std::vector<Judged>& judged, const Figure& figure) {
  std::vector<double> values;
  for (const Judged& one : judged) values.push_back(figure(one.outcome));
  return values;
}
std::string mean_of(const std::vector<Judged>& judged, const Figure& figure) {
  return fmt::format("{:.3f}", geometric_mean(figures(judged, figure)));
}
std::string most_of(const std::vector<Judged>& judged, const Figure& figure) {
  const std::vector<double> values = figures(judged, figure);
  return fmt::format("{:.2f}", *std::max_element(values.begin(), values.end()));
}

std::vector<Judged> only(const std::vector<Judged>& judged, const std::function<bool(const TunedShape&)>& wanted) {
  std::vector<Judged> some;
  for (const Judged& one : judged)
    if (wanted(*one.shape)) some.push_back(one);
  return some;
}

const Figure kVllm = [](const TuneOutcome& o) { return o.vllm; };
const Figure kSglang = [](const TuneOutcome& o) { return o.sglang; };
const Figure kFirst = [](const TuneOutcome& o) { return o.first; };
const Figure kFive = [](const TuneOutcome& o) { return o.best_of_five; };
const Figure kLibrary = [](const TuneOutcome& o) { return o.library; };

void add_moe_row(Table& table, const std::string& name, const std::vector<Judged>& judged) {
  if (judged.empty()) return;
  table.add({name, std::to_string(judged.size()), mean_of(judged, kVllm), mean_of(judged, kSglang),
             mean_of(judged, kFirst), most_of(judged, kFirst), mean_of(judged, kFive), most_of(judged, kFive),
             mean_of(judged, [](const TuneOutcome& o) { return o.vllm / o.first; }),
             most_of(judged, [](const TuneOutcome& o) { return o.vllm / o.first; }),
             mean_of(judged, [](const TuneOutcome& o) { return o.sglang / o.first; }),
             most_of(judged, [](const TuneOutcome& o) { return o.sglang / o.first; })});
}

std::string moe_table(const std::vector<Judged>& judged) {
  Table table({"shapes"}, {"count", "vLLM's default", "SGLang's default", "zero-run pick", "most", "best of our 5",
                           "most", "gain over vLLM's", "most", "over SGLang's", "most"});
  add_moe_row(table, "**not fitted**", only(judged, [](const TunedShape& s) { return !fitted_to(s.layer); }));
  add_moe_row(table, "fitted", only(judged, [](const TunedShape& s) { return fitted_to(s.layer); }));
  add_moe_row(table, "all", judged);
  std::vector<std::string> layers;
  std::vector<Count> tokens;
  for (const Judged& one : judged) layers.push_back(one.shape->layer), tokens.push_back(one.shape->tokens());
  std::sort(layers.begin(), layers.end());
  layers.erase(std::unique(layers.begin(), layers.end()), layers.end());
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  for (const std::string& layer : layers)
    add_moe_row(table, layer, only(judged, [&](const TunedShape& s) { return s.layer == layer; }));
  for (const Count count : tokens)
    add_moe_row(table, fmt::format("{} token{}", count, count == 1 ? "" : "s"),
                only(judged, [&](const TunedShape& s) { return s.tokens() == count; }));
  return table.markdown();
}

std::string gemm_table(const std::vector<Judged>& judged) {
  Table table({"rows"}, {"count", "cuBLAS", "zero-run pick", "most", "best of our 5", "most"});
  const auto add = [&](const std::string& name, const std::vector<Judged>& some) {
    table.add({name, std::to_string(some.size()), mean_of(some, kLibrary), mean_of(some, kFirst), most_of(some, kFirst),
               mean_of(some, kFive), most_of(some, kFive)});
  };
  std::vector<Count> rows;
  for (const Judged& one : judged) rows.push_back(one.shape->tokens());
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  add("all", judged);
  for (const Count m : rows) add(std::to_string(m), only(judged, [&](const TunedShape& s) { return s.tokens() == m; }));
  return table.markdown();
}

}  // namespace

Result<std::string> tune_tables_h200(const std::string& measurements) {
  const auto gpu = find_gpu("H200-SXM");
  if (!gpu) return gpu.error();
  const std::string stem = measurements + "/h200_";
  const auto moe = read_moe_sweep(stem + "fused_moe.csv.gz", stem + "fused_moe_again.csv.gz");
  if (!moe) return moe.error();
  const auto gemm = read_gemm_sweep(stem + "gemm_tiles.csv.gz", stem + "gemm_tiles_again.csv.gz");
  if (!gemm) return gemm.error();
  const auto moe_judged = judge_all(*moe, *gpu), gemm_judged = judge_all(*gemm, *gpu);
  if (!moe_judged) return moe_judged.error();
  if (!gemm_judged) return gemm_judged.error();
  return "### Fused MoE on H200\n\nTimes over those of an exhaustive search (about 900 configurations); gains are of "
         "the "
         "zero-run pick.\n\n" +
         moe_table(*moe_judged) +
         "### Plain products on H200\n\nTimes over those of an exhaustive search (900 configurations of the same "
         "Triton "
         "kernel). No product was fitted to.\n\n" +
         gemm_table(*gemm_judged);
}

Result<std::string> tune_table_synperf(const std::string& folder) {
  Table table({"GPU"}, {"shapes", "zero-run pick inside", "one of our 5 inside", "vLLM's default", "SGLang's default",
                        "random pick"});
  for (const auto& [file, name] : std::initializer_list<std::pair<const char*, const char*>>{
           {"A100", "A100-SXM-80GB"}, {"A40", "A40"}, {"H20", "H20"}, {"H800", "H800-SXM"}}) {
    const auto gpu = find_gpu(name);
    if (!gpu) return gpu.error();
    const auto found = judge_near_best(fmt::format("{}/moe_dse_{}_99.csv.gz", folder, file), *gpu);
    if (!found) return found.error();
    const auto share = [&](double count) { return fmt::format("{:.1f} %", 100 * count / found->shapes); };
    table.add({name, std::to_string(found->shapes), share(found->first_inside), share(found->five_inside),
               share(found->vllm_inside), share(found->sglang_inside),
               fmt::format("{:.1f} %", 100 * found->listed_share)});
  }
  return "### SynPerf's near-best lists\n\nShare of shapes where a pick is within 1 % of the best (first product, "
         "bf16).\n\n" +
         table.markdown();
}

}  // namespace tilecast
