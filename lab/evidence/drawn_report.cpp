#include "lab/evidence/drawn_report.h"

#include <fmt/format.h>

#include "lab/evaluate/judge.h"
#include "support/table.h"

namespace tilecast {

Result<std::vector<Group>> judge_drawn(const std::string& path, const Weights& shipped, int threads) {
  Names names;
  const auto read = read_sampled({path}, {0, 0}, ReadOptions{}, names);
  if (!read) return read.error();
  JudgeOptions options;
  options.weights = &shipped;
  const std::vector<Measurement> rows = judgeable(read->rows, options);
  if (rows.size() != read->rows.size())
    return Error{path, "source", "is one that the weights were trained on",
                 "tools/collect/windows/draw.py --source names another draw"};
  return group_errors(rows, forecast_with(shipped, rows, threads), {Key::family, Key::dtype, Key::kernel_source});
}

VisibleFigures drawn_figures(const std::vector<Group>& groups) {
  VisibleFigures figures;
  for (const Group& group : groups) {
    const bool attention = group.keys[0].starts_with("attention");
    figures.push_back({"kernel", "drawn", "tilecast-h200-judge", group.keys[0], group.keys[attention ? 2 : 1],
                       "H200-SXM", group.rows, group.mean, group.median, group.bias, group.coverage});
  }
  return figures;
}

namespace {

std::string table_of(const std::vector<Group>& groups) {
  Table table({"family", "dtype", "kernel"}, {"rows", "mean", "median", "p90", "bias", "in interval"});
  const auto percent = [](double share) { return fmt::format("{:.1f} %", 100 * share); };
  for (const Group& group : groups)
    table.add({group.keys[0], group.keys[1], group.keys[2], fmt::format("{}", group.rows), percent(group.mean),
               percent(group.median), percent(group.p90), fmt::format("{:+.1f} %", 100 * group.bias),
               fmt::format("{:.0f} %", 100 * group.coverage)});
  return table.markdown();
}

}  // namespace

std::string drawn_report(const std::vector<Group>& groups) {
  std::string text =
      "## Single kernels of PyTorch\n\n"
      "Kernels of PyTorch 2.11 in CUDA graphs on an H200, in windows of 20 ms, at shapes drawn at random: matrix "
      "products of any size\nand alignment, batched ones, attention by backend, rows and streams "
      "(tools/collect/windows/draw.py). No training read this draw; kernels\nof other draws were trained on. Attention "
      "of "
      "one token, whose kernel is not known, was taken out of all of them after a\nfirst look. *In interval*: share of "
      "rows inside their 80 % interval.\n\n";
  return text + table_of(groups);
}

std::string drawn_products_report(const std::vector<Group>& groups) {
  std::string text =
      "## Products and look-ups\n\n"
      "A later draw of the kernels that were forecast worst in the first (tools/collect/windows/draw_products.py): "
      "batched products whose second\noperand lies either way, tf32, rows that do not begin at 16 bytes, the products "
      "of gradients, look-ups of embeddings over vocabularies,\nwidths and tokens. Measured in the same minutes as "
      "draws of other seeds, which were trained on; no training read this one.\n\n";
  return text + table_of(groups);
}

}  // namespace tilecast
