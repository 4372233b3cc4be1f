#include "lab/evaluate/tune_judge.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>
#include <tuple>

#include "gpu/registry.h"
#include "support/csv.h"
#include "support/statistics.h"

namespace tilecast {
namespace {

constexpr std::size_t kTopFive = 5;
const Format& bf16() {
  static const Format format = *format_from("bf16");
  return format;
}

// Whole numbers and times of a row by column name. The first thing wrong stops the file.
class Row {
 public:
  explicit Row(const CsvReader& csv) : csv_(csv) {}
  Count count(std::string_view name) { return static_cast<Count>(value(name)); }
  double value(std::string_view name) {
    const auto number = to_double(text(name));
    if (!number || !(*number >= 0) || *number > 1e12) fail(name);
    return number.value_or(0);
  }
  std::string_view text(std::string_view name) {
    const auto at = csv_.find_column(name);
    if (!at) fail(name);
    return at ? csv_[*at] : std::string_view{};
  }
  TritonConfig config() {
    std::array<int, 6> v{};
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<int>(count(kTritonConfigKeys[i]));
    return {v[0], v[1], v[2], v[3], v[4], v[5]};
  }
  const std::optional<Error>& problem() const { return problem_; }

 private:
  void fail(std::string_view name) {
    if (!problem_)
      problem_ = Error{csv_.place(), std::string(name), "must be there and a number",
                       "tools/tune/measure.py writes such tables"};
  }
  const CsvReader& csv_;
  std::optional<Error> problem_;
};

Status each_row(const std::string& path, const std::function<void(Row&)>& take) {
  auto csv = CsvReader::open(path);
  if (!csv) return csv.error();
  for (;;) {
    const auto more = csv->next();
    if (!more) return more.error();
    if (!*more) return Ok{};
    if (!csv->problem().empty()) return Error{csv->place(), "", csv->problem(), "fix the line, or remove it"};
    Row row(*csv);
    take(row);
    if (row.problem()) return *row.problem();
  }
}

// Both files of a sweep, keyed by shape. `shape_of` reads everything but the times.
Result<std::vector<TunedShape>> read_sweep(const std::string& sweep, const std::string& again,
                                           const std::function<TunedShape(Row&)>& shape_of,
                                           const std::function<double(Row&)>& us_of) {
  std::map<std::tuple<std::string, Count, Count, Count>, TunedShape> shapes;
  const auto at = [&](Row& row) -> TunedShape& {
    TunedShape shape = shape_of(row);
    return shapes.try_emplace({shape.layer, shape.tokens(), shape.gemm.n, shape.gemm.k}, shape).first->second;
  };
  Status fine = each_row(sweep, [&](Row& row) {
    TunedShape& shape = at(row);
    shape.us[row.config()] = us_of(row);
  });
  if (!fine) return fine.error();
  fine = each_row(again, [&](Row& row) {
    TunedShape& shape = at(row);
    if (row.text(kTritonConfigKeys[0]) == "cublas") shape.library_us = us_of(row);
    else shape.in_turns[row.config()] = us_of(row);
  });
  if (!fine) return fine.error();
  std::vector<TunedShape> found;
  for (auto& [key, shape] : shapes) {
    if (shape.in_turns.empty()) return Error{again, "", "a shape of the sweep is missing", "time it there too"};
    std::vector<double> ratios;
    for (const auto& [config, us] : shape.in_turns)
      if (const auto before = shape.us.find(config); before != shape.us.end()) ratios.push_back(us / before->second);
    const double ratio = ratios.empty() ? 1 : upper_median(std::move(ratios));
    for (auto& [config, us] : shape.us) us *= ratio;
    for (const auto& [config, us] : shape.in_turns) shape.us[config] = us;
    found.push_back(std::move(shape));
  }
  return found;
}

Moe moe_of(Row& row, std::string_view tokens, std::string_view hidden, std::string_view inter,
           std::string_view experts) {
  Moe moe;
  moe.tokens = row.count(tokens);
  moe.hidden = row.count(hidden);
  moe.inter = row.count(inter);
  moe.experts = row.count(experts);
  moe.topk = row.count("topk");
  return moe;
}

}  // namespace

bool fitted_to(const std::string& layer) {
  return layer.starts_with("mixtral-8x7b") || layer.starts_with("qwen3-30b-a3b");
}

double geometric_mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return values.empty() ? 0 : std::exp(sum / static_cast<double>(values.size()));
}

Result<std::vector<TunedShape>> read_moe_sweep(const std::string& sweep, const std::string& again) {
  return read_sweep(
      sweep, again,
      [](Row& row) {
        TunedShape shape;
        shape.layer = row.text("layer");
        shape.moe = moe_of(row, "tokens", "hidden", "inter", "experts");
        return shape;
      },
      [](Row& row) { return row.value("up_us") + row.value("down_us"); });
}

Result<std::vector<TunedShape>> read_gemm_sweep(const std::string& sweep, const std::string& again) {
  return read_sweep(
      sweep, again,
      [](Row& row) {
        TunedShape shape;
        shape.gemm = {1, row.count("m"), row.count("n"), row.count("k")};
        return shape;
      },
      [](Row& row) { return row.value("us"); });
}

Result<TuneOutcome> judge_shape(const TunedShape& shape, const Gpu& gpu, const TritonConstants& constants) {
  std::vector<TritonConfig> configs;
  for (const auto& [config, us] : shape.us) configs.push_back(config);
  const auto ranked = shape.layer.empty() ? rank_gemm(shape.gemm, bf16(), gpu, configs, constants)
                                          : rank_fused_moe(shape.moe, bf16(), gpu, configs, true, constants);
  if (!ranked) return ranked.error();
  double best = HUGE_VAL;
  for (const auto& [config, us] : shape.in_turns) best = std::min(best, us);
  const auto over_best = [&](const TritonConfig& config) {
    const auto found = shape.us.find(config);
    return found == shape.us.end() ? 0 : found->second / best;
  };
  TuneOutcome outcome;
  outcome.first = over_best(ranked->front().config);
  outcome.best_of_five = outcome.first;
  for (const RankedConfig& one : distinct_best(*ranked, kTopFive))
    outcome.best_of_five = std::min(outcome.best_of_five, over_best(one.config));
  outcome.library = shape.library_us / best;
  if (!shape.layer.empty()) {
    outcome.vllm = over_best(vllm_default(shape.moe, bf16(), DType::bf16));
    outcome.sglang = over_best(sglang_default(shape.moe, bf16(), DType::bf16));
  }
  return outcome;
}

Result<std::map<std::array<Count, 5>, double>> near_best_times(const std::string& path) {
  std::map<std::array<Count, 5>, double> best;
  const Status fine = each_row(path, [&](Row& row) {
    const Moe moe = moe_of(row, "M", "H", "N", "E");
    const double us = row.value("avg_duration");
    double& least = best.try_emplace({moe.tokens, moe.experts, moe.topk, moe.hidden, moe.inter}, us).first->second;
    least = std::min(least, us);
  });
  if (!fine) return fine.error();
  return best;
}

Result<NearBest> judge_near_best(const std::string& path, const Gpu& gpu) {
  struct Listed {
    Moe moe;
    std::set<TritonConfig> configs;
  };
  std::map<std::array<Count, 5>, Listed> shapes;
  const Status fine = each_row(path, [&](Row& row) {
    Moe moe = moe_of(row, "M", "H", "N", "E");
    moe.pass = MoePass::up;  // "w13", the only product in these lists
    Listed& listed = shapes[{moe.tokens, moe.experts, moe.topk, moe.hidden, moe.inter}];
    listed.moe = moe;
    listed.configs.insert(row.config());
  });
  if (!fine) return fine.error();
  const std::vector<TritonConfig> space = triton_configs(bf16(), gpu);
  NearBest found;
  for (const auto& [key, listed] : shapes) {
    const auto ranked = rank_fused_moe(listed.moe, bf16(), gpu, space, false);  // the profiler repeats one launch
    if (!ranked) return ranked.error();
    const auto inside = [&listed = listed](const TritonConfig& config) { return listed.configs.contains(config); };
    const std::vector<RankedConfig> five = distinct_best(*ranked, kTopFive);
    ++found.shapes;
    found.first_inside += inside(five.front().config);
    found.five_inside += std::any_of(five.begin(), five.end(), [&](const auto& one) { return inside(one.config); });
    found.vllm_inside += inside(vllm_default(listed.moe, bf16(), DType::bf16));
    found.sglang_inside += inside(sglang_default(listed.moe, bf16(), DType::bf16));
    const auto known = std::count_if(space.begin(), space.end(), inside);
    found.listed_share += static_cast<double>(known) / static_cast<double>(space.size());
  }
  if (found.shapes > 0) found.listed_share /= found.shapes;
  return found;
}

}  // namespace tilecast
