// Sections of docs/accuracy.md about the learned method, and about methods side by side.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "gpu/registry.h"
#include "kernel/attention.h"
#include "kernel/attention_prefill.h"
#include "lab/evaluate/speedup.h"
#include "lab/evidence/accuracy.h"
#include "lab/evidence/accuracy_table.h"
#include "measure/dims.h"
#include "support/table.h"

namespace tilecast {
namespace {

// AIConfigurator's NVIDIA cards. The method was chosen on the first three left out, and frozen before the next three
// were looked at; rows of the last came later.
constexpr std::array<std::string_view, 3> kDesign = {"A100-SXM-80GB", "H200-SXM", "GB200"};
constexpr std::array<std::string_view, 3> kFrozen = {"H100-SXM", "L40S", "B200"};
constexpr std::string_view kLater = "RTX-PRO-6000-Blackwell-Server";

bool in(const auto& list, std::string_view name) { return std::find(list.begin(), list.end(), name) != list.end(); }
bool in_summary(const Measurement& row) {
  return row.source == "aiconfigurator" && (in(kDesign, row.gpu) || in(kFrozen, row.gpu) || row.gpu == kLater);
}

// A line of the summary, averaged over these cards.
struct SummaryLine {
  std::string_view name;
  bool (*holds)(const Measurement& row);
  std::string_view
      comparison;  // SynPerf's paper, boosted trees on raw features, a plain roofline: "seen / left out", in percent
};

bool is(const Measurement& row, std::string_view family, std::string_view dtype) {
  return family_of(row.kernel.shape) == family && row.kernel.format.name == dtype;
}
bool encodes(const Measurement& row) {
  const auto* prefill = row.kernel.shape.get_if<AttentionPrefill>();
  return prefill && prefill->mask == AttentionMask::full;
}

const std::array<SummaryLine, 13> kSummary = {{
    {"GEMM bf16", [](const Measurement& r) { return is(r, "gemm", "bf16"); },
     "SynPerf 5.2 / 12.2; trees 5.3 / 17.8; roofline 50"},
    {"GEMM fp8", [](const Measurement& r) { return is(r, "gemm", "fp8"); }, "SynPerf 3.0 / 4.7 (siblings only)"},
    {"GEMM fp8_block", [](const Measurement& r) { return is(r, "gemm", "fp8_block"); }, ""},
    {"GEMM nvfp4", [](const Measurement& r) { return is(r, "gemm", "nvfp4"); }, ""},
    {"attention prefill bf16", [](const Measurement& r) { return is(r, "attention_prefill", "bf16") && !encodes(r); },
     "SynPerf 13.4 / 18.1; trees 6.6 / 29.5"},
    {"attention prefill fp8", [](const Measurement& r) { return is(r, "attention_prefill", "fp8") && !encodes(r); },
     ""},
    {"attention decode bf16", [](const Measurement& r) { return is(r, "attention_decode", "bf16"); }, "trees 4.8 / 52"},
    {"fused MoE bf16", [](const Measurement& r) { return is(r, "moe", "bf16"); }, "trees 6.4 / 32"},
    {"fused MoE, other dtypes",
     [](const Measurement& r) { return family_of(r.kernel.shape) == "moe" && r.kernel.format.id != FormatId::bf16; },
     ""},
    {"MLA prefill", [](const Measurement& r) { return family_of(r.kernel.shape) == "mla_prefill"; }, ""},
    {"MLA decode", [](const Measurement& r) { return family_of(r.kernel.shape) == "mla_decode"; }, ""},
    {"encoder attention", encodes, ""},
    {"gdn, kda, mamba2", [](const Measurement& r) { return family_of(r.kernel.shape) == "scan"; }, ""},
}};

// All rows of a selection as one group, empty if there are none.
Group whole(const Judged& judged) {
  const auto groups = group_errors(judged.rows, judged.outcomes, {});
  return groups.empty() ? Group{} : groups.front();
}

std::string mean_text(const Group& group) { return group.rows > 0 ? percent_text(group.mean) : "-"; }
// "H200-SXM (design, sibling)": what to know about a left-out GPU's figure.
std::string marked_gpu(const std::string& name, const std::set<std::string>& present) {
  const Gpu* gpu = built_in_gpu(name);
  std::string marks = in(kDesign, name) ? "design" : in(kFrozen, name) ? "frozen" : "";
  const bool sibling = gpu && std::any_of(present.begin(), present.end(), [&](const std::string& other) {
                         const Gpu* card = built_in_gpu(other);
                         return card && other != name && card->architecture == gpu->architecture &&
                                card->tensor_generation() == gpu->tensor_generation();
                       });
  if (sibling) marks += marks.empty() ? "sibling" : ", sibling";
  return marks.empty() ? name : name + " (" + marks + ")";
}

std::string learned_table(const Judged& judged, bool mark) {
  const std::vector<Key> by = {Key::source, Key::family, Key::dtype, Key::gpu};
  const auto groups = group_errors(judged.rows, judged.outcomes, by);
  std::map<std::pair<std::string, std::string>, std::set<std::string>> taught;  // GPUs a model learns from
  for (const Group& group : groups) taught[{group.keys[1], group.keys[2]}].insert(group.keys[3]);
  return figure_table(by,
                      {{"rows", &groups, figure::rows},
                       {"mean", &groups, figure::mean},
                       {"median", &groups, figure::median},
                       {"p90", &groups, figure::p90},
                       {"bias", &groups, figure::bias},
                       {"in interval", &groups, figure::coverage}},
                      [&](const std::vector<std::string>& keys, std::size_t place) {
                        return mark && place == 3 ? marked_gpu(keys[3], taught[{keys[1], keys[2]}]) : keys[place];
                      });
}

// Mean errors of named outcomes of the same rows by family and dtype, over the same cards.
std::string side_by_side(const std::vector<Measurement>& rows, const std::vector<MethodOutcomes>& sets) {
  const std::vector<Key> by = {Key::family, Key::dtype};
  std::vector<std::vector<Group>> groups;
  for (const MethodOutcomes& set : sets) {
    const Judged judged = select(rows, set.outcomes, in_summary);
    groups.push_back(group_errors(judged.rows, judged.outcomes, by));
  }
  std::vector<FigureColumn> columns = {{"rows", &groups.front(), figure::rows}};
  for (std::size_t i = 0; i < sets.size(); ++i) columns.push_back({sets[i].name, &groups[i], figure::mean});
  return figure_table(by, columns);
}

Judged held_out_part(const AccuracyInputs& inputs) {
  return select(inputs.rows, inputs.seen, [](const Measurement& row) { return held_out(row.kernel.shape); });
}

}  // namespace

namespace section {

std::string summary(const AccuracyInputs& inputs) {
  if (inputs.without_gpu.empty()) return {};
  Table table({"rows of", "for comparison: seen / left out, %"},
              {"seen", "GPU left out", "architecture left out", "in interval, seen", "in interval, left out"});
  for (const SummaryLine& line : kSummary) {
    const auto mean_over = [&](const std::vector<Outcome>& outcomes, const auto& cards) {
      return whole(select(inputs.rows, outcomes,
                          [&](const Measurement& row) { return in_summary(row) && line.holds(row) && cards(row); }));
    };
    const auto all = [](const Measurement&) { return true; };
    const Group left_out = mean_over(inputs.without_gpu, all);
    if (left_out.rows == 0) continue;
    const Group seen = mean_over(inputs.seen, [](const Measurement& row) { return held_out(row.kernel.shape); });
    table.add({std::string(line.name), std::string(line.comparison), mean_text(seen), mean_text(left_out),
               mean_text(mean_over(inputs.without_architecture, all)), percent_text(seen.coverage),
               percent_text(left_out.coverage)});
  }
  return "## Kernels\n\nMean error of the learned method over AIConfigurator's A100, H100, H200, L40S, B200, GB200 and RTX PRO "
         "6000 and all three engines.\n\n" +
         table.markdown();
}

std::string seen(const AccuracyInputs& inputs) {
  if (inputs.seen.empty()) return {};
  return "## Learned, GPU seen: held-out shapes\n\n" + learned_table(held_out_part(inputs), false);
}

std::string left_out_gpu(const AccuracyInputs& inputs) {
  if (inputs.without_gpu.empty()) return {};
  return "## Learned, GPU left out\n\nWhere no other GPU has rows of a family and dtype nothing is learned, and the "
         "forecast is the "
         "analytic one.\n\n" +
         learned_table({inputs.rows, inputs.without_gpu}, true);
}

std::string left_out_architecture(const AccuracyInputs& inputs) {
  if (inputs.without_architecture.empty()) return {};
  const std::vector<Key> by = {Key::source, Key::family, Key::dtype, Key::architecture};
  const auto groups = group_errors(inputs.rows, inputs.without_architecture, by);
  return "## Learned, architecture left out\n\n" + figure_table(by, {{"rows", &groups, figure::rows},
                                                                     {"mean", &groups, figure::mean},
                                                                     {"median", &groups, figure::median},
                                                                     {"p90", &groups, figure::p90},
                                                                     {"bias", &groups, figure::bias},
                                                                     {"in interval", &groups, figure::coverage}});
}

std::string methods(const AccuracyInputs& inputs) {
  if (inputs.without_gpu.empty()) return {};
  std::vector<MethodOutcomes> sets = {{"tilecast", inputs.without_gpu}};
  sets.insert(sets.end(), inputs.others.begin(), inputs.others.end());
  sets.push_back({"analytic", inputs.analytic});
  sets.push_back({"roofline", inputs.roofline});
  return "## Methods on the same rows\n\nMean errors over the same cards, each GPU left out of what forecasts it.\n\n" +
         side_by_side(inputs.rows, sets);
}

std::string ablation(const AccuracyInputs& inputs) {
  if (inputs.ablations.size() < 2) return {};
  return "## What each part brings\n\nMean errors over the same cards, GPU left out; each column lacks one part of the "
         "method.\n\n" +
         side_by_side(inputs.ablation_rows, inputs.ablations);
}

std::string speedups(const AccuracyInputs& inputs) {
  const bool learned = !inputs.without_gpu.empty();
  Table table({"from", "to", "family"},
              {"shapes", "mean error", "median", "faster named right", "where over 10 % apart"});
  for (const SpeedupErrors& e :
       speedup_errors(speedup_pairs(inputs.rows, learned ? inputs.without_gpu : inputs.analytic)))
    if (e.family == "all" || e.from == "all")  // families of single pairs: `tilecast-lab evaluate --pairs`
      table.add({e.from, e.to, e.family, std::to_string(e.pairs), percent_text(e.mean), percent_text(e.median),
                 percent_text(e.named_right), e.clear > 0 ? percent_text(e.clear_named_right) : "-"});
  return fmt::format(
             "## Which GPU is faster, and by how much\n\nShapes that two GPUs were measured at under the same engine: "
             "error of the "
             "predicted speed-up, |predicted / measured - 1|, and how often the faster GPU is named right; {}. "
             "`tilecast-lab evaluate --pairs` has every family of every pair.\n\n",
             learned ? "every forecast by weights that have not seen its GPU" : "analytic forecasts") +
         table.markdown();
}

std::string regimes(const AccuracyInputs& inputs) {
  const std::vector<Key> by = {Key::family, Key::regime};
  const auto analytic = group_errors(inputs.rows, inputs.analytic, by);
  const auto roofline = group_errors(inputs.rows, inputs.roofline, by);
  std::vector<Group> learned;
  std::vector<FigureColumn> columns = {{"rows", &analytic, figure::rows}};
  if (!inputs.without_gpu.empty()) {
    learned = group_errors(inputs.rows, inputs.without_gpu, by);
    columns.push_back({"GPU left out, mean", &learned, figure::mean});
    columns.push_back({"bias", &learned, figure::bias});
    columns.push_back({"in interval", &learned, figure::coverage});
  }
  columns.push_back({"analytic mean", &analytic, figure::mean});
  columns.push_back({"roofline mean", &roofline, figure::mean});
  return "## By regime\n\nLaunch-bound: the launch floor exceeds the bound; memory- and compute-bound by the largest "
         "term of the "
         "bound.\n\n" +
         figure_table(by, columns);
}

std::string plots(const AccuracyInputs& inputs) {
  std::string out;
  for (const PlotLink& plot : inputs.plots) out += fmt::format("![{}]({})\n\n", plot.title, plot.path);
  return out;
}

}  // namespace section
}  // namespace tilecast
