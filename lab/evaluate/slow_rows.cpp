#include "lab/evaluate/slow_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "estimate/price.h"
#include "estimate/shipped_weights.h"
#include "gpu/registry.h"
#include "kernel/moe.h"
#include "lab/evaluate/tune_judge.h"
#include "lab/import/import.h"
#include "support/input.h"
#include "support/table.h"

namespace tilecast {
namespace {

constexpr double kGap = 0.1;      // SynPerf, section "beyond simulation": underperforming above
constexpr double kSlower = 1.10;  // our flag: this much over the ceiling; a gain worth having: this much over the best

// The card's configurations in grid order only: where times are not measured, groups hardly differ.
std::vector<TritonConfig> ungrouped(const Gpu& gpu) {
  std::vector<TritonConfig> configs = triton_configs(*format_from("bf16"), gpu);
  std::erase_if(configs, [](const TritonConfig& c) { return c.group != 1; });
  return configs;
}

struct Card {
  Gpu gpu;
  std::vector<TritonConfig> configs;
  std::map<std::array<Count, 5>, double> best_us;
};

Result<Card> card_of(const std::string& name, const std::string& folder) {
  auto gpu = find_gpu(name);
  if (!gpu) return gpu.error();
  Card card{*gpu, ungrouped(*gpu), {}};
  // "A100-SXM-80GB" has its lists in moe_dse_A100_99.csv.gz.
  const std::string path = fmt::format("{}/moe_dse_{}_99.csv.gz", folder, name.substr(0, name.find('-')));
  if (!something_at(path)) return card;
  auto best = near_best_times(path);
  if (!best) return best.error();
  card.best_us = std::move(*best);
  return card;
}

Result<FlaggedRow> flagged(const Measurement& row, const Card& card) {
  const Moe& shape = row.kernel.shape.as<Moe>();
  const auto priced = price(row.kernel, card.gpu, row.whole_context(), Method::tilecast, &shipped_models());
  if (!priced) return priced.error();
  const auto ranked = rank_fused_moe(shape, row.kernel.format, card.gpu, card.configs, false);
  if (!ranked) return ranked.error();
  const double products = 4.0 * static_cast<double>(shape.tokens * shape.topk * shape.inter * shape.hidden);
  FlaggedRow found;
  found.us = in_microseconds(row.latency);
  found.theory_us = in_microseconds(ops(products) / card.gpu.tensor_peak(DType::bf16, DType::fp32, card.gpu.clock.max));
  found.ceiling_us = {in_microseconds(priced->estimate.ceiling), in_microseconds(ranked->front().forecast)};
  const auto best = card.best_us.find({shape.tokens, shape.experts, shape.topk, shape.hidden, shape.inter});
  if (best != card.best_us.end()) found.best_us = best->second;
  return found;
}

std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> found(values.size());
  for (std::size_t from = 0, to = 0; from < order.size(); from = to) {
    while (to < order.size() && values[order[to]] == values[order[from]]) ++to;
    for (std::size_t i = from; i < to; ++i) found[order[i]] = static_cast<double>(from + to - 1) / 2;
  }
  return found;
}

std::string share(double part, double whole) { return whole > 0 ? fmt::format("{:.0f} %", 100 * part / whole) : "-"; }

template <class Is>
double count(const std::vector<FlaggedRow>& rows, Is&& is) {
  return static_cast<double>(std::count_if(rows.begin(), rows.end(), is));
}

const std::map<std::string, std::string>& papers_shares() {
  static const std::map<std::string, std::string> shares = {
      {"A40", "30 %"}, {"L20", "24 %"}, {"A100-SXM-80GB", "16 %"}, {"H800-SXM", "11 %"}, {"H20", "0 %"}};
  return shares;
}

void add_shares(Table& table, const std::string& gpu, const std::vector<FlaggedRow>& rows) {
  const auto all = static_cast<double>(rows.size());
  const auto paper = papers_shares().find(gpu);
  std::vector<std::string> cells = {gpu, std::to_string(rows.size()),
                                    paper == papers_shares().end() ? "-" : paper->second};
  for (const Ceiling c : {Ceiling::learned, Ceiling::tuner})
    cells.push_back(share(count(rows, [&](const FlaggedRow& r) { return r.gap(c) > kGap; }), all));
  for (const Ceiling c : {Ceiling::learned, Ceiling::tuner})
    cells.push_back(share(count(rows, [&](const FlaggedRow& r) { return r.over(c) > kSlower; }), all));
  table.add(std::move(cells));
}

void add_truth(Table& table, const std::string& gpu, std::vector<FlaggedRow> rows) {
  std::erase_if(rows, [](const FlaggedRow& r) { return r.best_us <= 0; });
  if (rows.empty()) return;
  std::vector<double> gains;
  for (const FlaggedRow& r : rows) gains.push_back(r.gain());
  const auto slow = [](const FlaggedRow& r) { return r.gain() > kSlower; };
  const std::string head =
      fmt::format("{:.2f}, {:.1f}", geometric_mean(gains), *std::max_element(gains.begin(), gains.end()));
  for (const Ceiling c : {Ceiling::learned, Ceiling::tuner}) {
    const auto flag = [&](const FlaggedRow& r) { return r.over(c) > kSlower; };
    const double flags = count(rows, flag), both = count(rows, [&](const FlaggedRow&r) { return flag(r) && slow(r); });
    std::vector<double> over, gap;
    for (const FlaggedRow& r : rows) over.push_back(r.over(c)), gap.push_back(r.gap(c));
    table.add({gpu, std::string(kCeilingNames[static_cast<std::size_t>(c)]), std::to_string(rows.size()), head,
               share(count(rows, slow), static_cast<double>(rows.size())), share(both, flags),
               share(both, count(rows, slow)), fmt::format("{:.2f}", rank_correlation(over, gains)),
               fmt::format("{:.2f}", rank_correlation(gap, gains))});
  }
}

}  // namespace

double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> x = ranks(a), y = ranks(b);
  const double mean = (static_cast<double>(x.size()) - 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

Result<std::map<std::string, std::vector<FlaggedRow>>> flagged_rows(const std::string& sweep,
                                                                    const std::string& configs) {
  std::map<std::string, Card> cards;
  std::map<std::string, std::vector<FlaggedRow>> found;
  Names names;
  const auto read = import_rows(Source::synperf, sweep, names, {}, [&](const Measurement& row) -> Status {
    if (!row.kernel.shape.is<Moe>()) return Ok{};
    const std::string gpu(row.gpu);
    if (!cards.contains(gpu)) {
      auto card = card_of(gpu, configs);
      if (!card) return card.error();
      cards.emplace(gpu, std::move(*card));
    }
    auto one = flagged(row, cards.at(gpu));
    if (!one) return one.error();
    found[gpu].push_back(*one);
    return Ok{};
  });
  if (!read) return read.error();
  return found;
}

Result<std::string> flag_tables(const std::string& folder) {
  const auto rows = flagged_rows(folder + "/fused_moe_triton.csv.gz", folder + "/moe_configs");
  if (!rows) return rows.error();
  Table shares({"GPU"}, {"rows", "paper", "gap, learned", "gap, tuner's", "over learned", "over tuner's"});
  Table truth({"GPU", "ceiling"},
              {"shapes", "gain, most", "worth it", "precision", "recall", "rank correlation", "of the gap"});
  for (const auto& [gpu, of_gpu] : *rows) {
    add_shares(shares, gpu, of_gpu);
    add_truth(truth, gpu, of_gpu);
  }
  return "### Flags on SynPerf's sweep\n\nShare of rows flagged: by the paper's rule (efficiency more than 0.1 below "
         "the "
         "ceiling's), and by ours (over 1.1 times the ceiling's time).\n\n" +
         shares.markdown() +
         "Our rule against the best times of `moe_configs/`: what a search gains (mean and most), shapes where that is "
         "over 1.1 times, how many flags are such (precision) and how many such are flagged (recall), and the rank "
         "correlation with the gain of time over ceiling, and of the paper's gap.\n\n" +
         truth.markdown();
}

}  // namespace tilecast
