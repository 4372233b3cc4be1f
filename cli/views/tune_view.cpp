#include "cli/views/tune_view.h"

#include <fmt/format.h>

#include <span>

#include "cli/terminal/units_text.h"
#include "support/table.h"

namespace tilecast {
namespace {

std::vector<std::string> cells(const TuneCandidate& one, const std::optional<TuneCandidate>& standard, bool measured) {
  std::vector<std::string> row;
  for (const int value : one.config.values()) row.push_back(std::to_string(value));
  row.push_back(text_of(one.forecast));
  if (measured) row.push_back(one.measured ? text_of(*one.measured) : one.problem.empty() ? "-" : "failed");
  if (standard) {
    const bool both = one.measured && standard->measured;
    const double gain = both ? *standard->measured / *one.measured : standard->forecast / one.forecast;
    row.push_back(fmt::format("{:.2f}", gain));
  }
  std::string limits;
  for (const TunePass& pass : one.passes) limits += (limits.empty() ? "" : ", ") + pass.limited_by;
  row.push_back(limits);
  return row;
}

std::string table_of(std::span<const Tuned> all, std::string_view unit, bool measured) {
  const bool standard = all.front().standard.has_value();
  std::vector<Table::Column> columns = {{std::string(unit)}, {"M"},     {"N"},      {"K"},
                                        {"group"},           {"warps"}, {"stages"}, {"forecast"}};
  if (measured) columns.push_back({"measured"});
  if (standard) columns.push_back({"x default"});
  columns.push_back({"limited by", Align::left});
  Table table(std::move(columns));
  const auto add = [&](const Tuned& tuned, const TuneCandidate& one, std::string first) {
    std::vector<std::string> row = cells(one, tuned.standard, measured);
    row.insert(row.begin(), std::move(first));
    table.add(std::move(row));
  };
  for (const Tuned& tuned : all) {
    if (all.size() > 1) {
      add(tuned, tuned.pick(), std::to_string(tuned.tokens));
      continue;
    }
    for (const TuneCandidate& one : tuned.best) add(tuned, one, std::to_string(tuned.tokens));
    if (tuned.standard) add(tuned, *tuned.standard, "default");
  }
  std::string text = table.shown();
  for (const Tuned& tuned : all)
    if (!tuned.note.empty()) text += fmt::format("{} {}: by forecast; {}\n", unit, tuned.tokens, tuned.note);
  return text;
}

}  // namespace

std::string moe_tuning_text(const MoeTuning& tuning, bool measured) {
  return fmt::format(
             "Fused MoE on {}, {}: {} experts of {} x {} on this rank, {} a token; {} configurations can run\n\n",
             tuning.gpu, tuning.dtype, tuning.experts, tuning.hidden, tuning.inter, tuning.topk,
             tuning.configurations) +
         table_of(tuning.tuned, "tokens", measured) + "\nx default: times faster than vLLM without a tuned file\n";
}

std::string gemm_tuning_text(const GemmTuning& tuning, bool measured) {
  return fmt::format("Product {} x {} x {} on {}, {}: {} configurations of a Triton kernel can run\n\n", tuning.m,
                     tuning.n, tuning.k, tuning.gpu, tuning.dtype, tuning.configurations) +
         table_of({&tuning.tuned, 1}, "m", measured);
}

}  // namespace tilecast
