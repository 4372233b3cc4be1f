#include "lab/evidence/attention_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "lab/evaluate/evaluate.h"
#include "lab/evaluate/judge.h"
#include "support/table.h"

namespace tilecast {
namespace {

constexpr std::string_view kCard = "H200-SXM";
// Rows of a table, a GPU, an engine and a format: enough for forests of these sizes.
constexpr Count kSample = 400;

bool is_of(const Measurement& row, const std::vector<std::string>& families) {
  return std::find(families.begin(), families.end(), family_of(row.kernel.shape)) != families.end();
}

Result<std::vector<Measurement>> rows_of(const std::vector<std::string>& paths, Count sample,
                                         const std::vector<std::string>& families, Names& names) {
  auto read = read_sampled(paths, {sample, 0}, ReadOptions{}, names);
  if (!read) return std::move(read).error();
  std::erase_if(read->rows, [&](const Measurement& row) { return !is_of(row, families); });
  return std::move(read->rows);
}

AttentionPart part_of(std::string title, const std::vector<Measurement>& rows, const std::vector<Outcome>& outcomes) {
  AttentionPart part{std::move(title), {}};
  for (const Group& group : group_errors(rows, outcomes, {Key::family, Key::kernel_source}))
    part.lines.push_back({group.keys[0], group.keys[1], group.rows, group.mean, group.median, group.bias});
  return part;
}

}  // namespace

Result<std::vector<AttentionPart>> judge_attention(const std::string& path, const Weights& shipped,
                                                   const std::vector<std::string>& tables,
                                                   const TrainAllOptions& training, int threads,
                                                   const Progress& progress) {
  Names names;
  const auto rows = rows_of({path}, 0, training.families, names);
  if (!rows) return rows.error();
  if (rows->empty())
    return Error{path, "", "has no row of attention", "tools/collect/windows/attention.py measures some"};
  JudgeOptions seen;
  seen.weights = &shipped;
  const std::vector<Measurement> held_out = judgeable(*rows, seen);
  std::vector<AttentionPart> parts = {
      part_of("Shapes held out of the shipped weights' training", held_out, forecast_with(shipped, held_out, threads))};
  if (!tables.empty()) {
    auto others = rows_of(tables, kSample, training.families, names);
    if (!others) return std::move(others).error();
    std::erase_if(*others, [](const Measurement& row) { return row.gpu == kCard; });
    parts.push_back(part_of("Trained without any row of an H200", *rows,
                            forecast_with(train_all(*others, training, progress), *rows, threads)));
  }
  parts.push_back(part_of("Plans alone, nothing learned", *rows, forecast_with(Weights(), *rows, threads)));
  return parts;
}

std::string attention_report(const std::vector<AttentionPart>& parts) {
  std::string text =
      "## Attention by implementation\n\n"
      "PyTorch's kernels on an H200, over lengths of 128 to 64k, head dims of 64 to 256, grouped and full heads, "
      "causal, "
      "full and\nwindowed (data/measurements/h200_attention_rows.csv.gz). No other card's rows have cuDNN's kernels, "
      "FlashAttention 2 on Hopper or any\ngradient, so the constants of these plans were read off this card, whatever "
      "a "
      "training is shown.\n\n";
  for (const AttentionPart& part : parts) {
    text += part.title + ":\n\n";
    Table table({"pass", "kernel"}, {"rows", "mean", "median", "bias"});
    for (const AttentionLine& line : part.lines)
      table.add({line.family == "attention_backward" ? "backward" : "forward", line.kernel,
                 fmt::format("{}", line.rows), fmt::format("{:.1f} %", 100 * line.mean),
                 fmt::format("{:.1f} %", 100 * line.median), fmt::format("{:+.1f} %", 100 * line.bias)});
    text += table.markdown();
  }
  return text;
}

}  // namespace tilecast
