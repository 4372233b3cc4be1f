#include "lab/evidence/calibration_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <random>

#include "kernel/attention.h"
#include "kernel/attention_prefill.h"
#include "lab/evidence/accuracy_table.h"
#include "measure/dims.h"
#include "measure/traps.h"
#include "support/table.h"

namespace tilecast {
namespace {

struct StudyGroup {
  std::string_view name;
  std::string_view families;  // prefix of the key
  bool bf16;                  // that format only
};
constexpr std::array<StudyGroup, 7> kGroups = {{{"GEMM bf16", "gemm/", true},
                                                {"attention prefill bf16", "attention_prefill/", true},
                                                {"attention decode bf16", "attention_decode/", true},
                                                {"fused MoE bf16", "moe/", true},
                                                {"GEMM, all formats", "gemm/", false},
                                                {"attention, all", "attention_", false},
                                                {"fused MoE, all formats", "moe/", false}}};

bool holds(const StudyGroup& group, const std::string& key) {
  return key.starts_with(group.families) && (!group.bf16 || key.ends_with("/bf16"));
}

using RowsByGpu = std::map<std::string, std::vector<CalibrationRow>>;

// Every GPU's rows beside the forecasts of a training without it.
RowsByGpu left_out_rows(const std::vector<Measurement>& rows, TrainOptions train, const Progress& progress) {
  std::map<std::string, std::vector<std::size_t>> keys;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string key = model_key(rows[i].kernel);
    const auto* prefill = rows[i].kernel.shape.get_if<AttentionPrefill>();
    if (prefill && prefill->mask == AttentionMask::full) continue;  // encoders
    const bool wanted = std::any_of(kGroups.begin(), kGroups.end(), [&](const StudyGroup& g) { return holds(g, key); });
    if (wanted && rows[i].source == "aiconfigurator" && trap_of(rows[i]).empty()) keys[key].push_back(i);
  }
  train.cards = train.intervals = false;
  RowsByGpu out;
  double done = 0;
  for (const auto& [key, members] : keys) {
    if (progress) progress(done++ / static_cast<double>(keys.size()), key);
    const std::vector<PlannedRow> planned = plan_rows(rows, members, train.general.threads);
    std::map<std::string, std::vector<const PlannedRow*>> gpus;
    for (const PlannedRow& row : planned)
      if (!row.analytic.failed) gpus[row.gpu->name].push_back(&row);
    for (const auto& [gpu, own] : gpus) {
      std::vector<const PlannedRow*> rest;
      for (const auto& [other, theirs] : gpus)
        if (other != gpu) rest.insert(rest.end(), theirs.begin(), theirs.end());
      train.architectures = {architecture_key(*own.front()->gpu)};
      const FamilyModel model = train_family(rest, train);
      for (const PlannedRow* row : own) out[gpu].push_back(calibration_row(model.key.empty() ? nullptr : &model, *row));
    }
  }
  if (progress) progress(1, "");
  return out;
}

double mean_error(const Calibration* calibration, std::span<const CalibrationRow* const> rows) {
  double sum = 0;
  for (const CalibrationRow* row : rows)
    sum += error_of(calibration ? calibrated_us(*calibration, *row) : row->forecast_us, *row);
  return sum / static_cast<double>(std::max<std::size_t>(1, rows.size()));
}

// Error of the rows after the first `size` of a random order, calibrated with those first ones.
double drawn_error(std::vector<const CalibrationRow*> rows, std::size_t size) {
  if (size == 0) return mean_error(nullptr, rows);
  double sum = 0;
  for (int draw = 0; draw < kStudyDraws; ++draw) {
    std::mt19937 random(static_cast<unsigned>(draw + 1));
    for (std::size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[random() % i]);
    std::vector<CalibrationRow> some;
    for (std::size_t i = 0; i < size; ++i) some.push_back(*rows[i]);
    const Calibration calibration = calibrate(some)->calibration;
    sum += mean_error(&calibration, std::span(rows).subspan(size)) / kStudyDraws;
  }
  return sum;
}

// Products whose rows are not a multiple of 16 bytes are kept apart: no model has such shapes, but a sweep does.
std::string label_of(const CalibrationRow& row) {
  const bool odd = row.variant.find("|odd") != std::string::npos || row.variant.find("|even") != std::string::npos;
  return odd ? row.key + ", not aligned" : row.key;
}

}  // namespace

std::vector<StudyLine> study_calibration(const std::vector<Measurement>& rows, const TrainOptions& options,
                                         const Progress& progress) {
  const RowsByGpu gpus = left_out_rows(rows, options, progress);
  std::vector<StudyLine> lines;
  for (const StudyGroup& group : kGroups)
    for (const auto& [gpu, all] : gpus) {
      std::vector<const CalibrationRow*> own;
      for (const CalibrationRow& row : all)
        if (holds(group, row.key)) own.push_back(&row);
      if (own.size() < 2 * kStudySizes.back()) continue;
      StudyLine line{std::string(group.name), gpu, static_cast<Count>(own.size())};
      for (std::size_t i = 0; i < kStudySizes.size(); ++i) line.errors[i] = drawn_error(own, kStudySizes[i]);
      lines.push_back(std::move(line));
    }
  return lines;
}

CardStudy study_card(const std::vector<Measurement>& minute, const std::vector<Measurement>& sweep,
                     const Weights& without, const ModelSource& with, int threads) {
  std::vector<Measurement> judged = other_shapes(sweep, minute);
  std::erase_if(judged, [](const Measurement& row) { return row.context.runtime != Runtime::graph; });
  const auto rows_of = [&](const std::vector<Measurement>& rows, const ModelSource& weights, bool unseen_shapes) {
    std::vector<std::size_t> all(rows.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    std::erase_if(all, [&](std::size_t i) {
      return unseen_shapes && (!held_out(rows[i].kernel.shape) || rows[i].context.runtime != Runtime::graph);
    });
    std::vector<CalibrationRow> made;
    for (const PlannedRow& row : plan_rows(rows, all, threads))
      if (!row.analytic.failed) made.push_back(calibration_row(weights.find(row.measured->kernel), row));
    return made;
  };
  std::vector<CalibrationRow> fit = rows_of(minute, without, false);
  std::shuffle(fit.begin(), fit.end(), std::mt19937(1));
  CardStudy study{minute.empty() ? "" : std::string(minute.front().gpu), static_cast<Count>(fit.size()), {}};
  const Calibration calibration = calibrate(fit)->calibration;
  std::map<std::string, CardLine> lines;
  for (const CalibrationRow& row : rows_of(judged, without, false)) {
    CardLine& line = lines[label_of(row)];
    ++line.rows;
    line.before += error_of(row.forecast_us, row);
    line.after += error_of(calibrated_us(calibration, row), row);
  }
  for (const CalibrationRow& row : rows_of(sweep, with, true))
    if (const auto line = lines.find(label_of(row)); line != lines.end()) {
      ++line->second.trained_rows;
      line->second.trained += error_of(row.forecast_us, row);
    }
  for (auto& [label, line] : lines) {
    line.key = label;
    line.before /= static_cast<double>(line.rows), line.after /= static_cast<double>(line.rows);
    line.trained /= static_cast<double>(std::max<Count>(1, line.trained_rows));
  }
  for (auto& [key, line] : lines) study.lines.push_back(std::move(line));
  return study;
}

namespace {

std::string study_table(const std::vector<StudyLine>& lines) {
  Table table({"", "GPU"}, {"rows", "no row", "30", "100", "300"});
  for (const StudyGroup& group : kGroups) {
    StudyLine mean{std::string(group.name), "**all**"};
    double gpus = 0;
    for (const StudyLine& line : lines) {
      if (line.group != group.name) continue;
      table.add({line.group, line.gpu, std::to_string(line.rows), percent_text(line.errors[0]),
                 percent_text(line.errors[1]), percent_text(line.errors[2]), percent_text(line.errors[3])});
      mean.rows += line.rows, gpus += 1;
      for (std::size_t i = 0; i < mean.errors.size(); ++i) mean.errors[i] += line.errors[i];
    }
    if (gpus == 0) continue;
    for (double& error : mean.errors) error /= gpus;
    table.add({mean.group, mean.gpu, std::to_string(mean.rows), percent_text(mean.errors[0]),
               percent_text(mean.errors[1]), percent_text(mean.errors[2]), percent_text(mean.errors[3])});
  }
  return table.markdown();
}

// Products, attention and experts first, others after them.
std::string_view kind_of(std::string_view key) {
  if (key.ends_with("not aligned")) return "products, not aligned";
  if (key.starts_with("gemm/") || key.starts_with("bmm/")) return "products";
  if (key.starts_with("attention")) return "attention";
  if (key.starts_with("layernorm/") || key.starts_with("rmsnorm/")) return "normalisation";
  return "other";
}

std::string card_table(const CardStudy& card) {
  Table table({"", "family"}, {"rows", "no row of the card", "after the minute", "trained on", "rows"});
  for (const std::string_view kind : {"products", "products, not aligned", "attention", "normalisation", "other"}) {
    CardLine all;
    for (const CardLine& line : card.lines) {
      if (kind_of(line.key) != kind) continue;
      table.add({std::string(kind), line.key, std::to_string(line.rows), percent_text(line.before),
                 percent_text(line.after), line.trained_rows > 0 ? percent_text(line.trained) : "-",
                 std::to_string(line.trained_rows)});
      const auto n = static_cast<double>(line.rows), trained = static_cast<double>(line.trained_rows);
      all.rows += line.rows, all.trained_rows += line.trained_rows;
      all.before += line.before * n, all.after += line.after * n, all.trained += line.trained * trained;
    }
    if (all.rows == 0) continue;
    const auto rows = static_cast<double>(all.rows);
    table.add({std::string(kind), "**all rows**", std::to_string(all.rows), percent_text(all.before / rows),
               percent_text(all.after / rows),
               all.trained_rows > 0 ? percent_text(all.trained / static_cast<double>(all.trained_rows)) : "-",
               std::to_string(all.trained_rows)});
  }
  return table.markdown();
}

}  // namespace

std::string calibration_report(const std::vector<StudyLine>& lines, const CardStudy& card) {
  if (lines.empty() && card.lines.empty()) return {};
  std::string out = "## Calibration\n\n";
  if (!lines.empty())
    out += fmt::format(
               "AIConfigurator's rows, encoders left out. A GPU is left out of the training; then `tilecast calibrate` "
               "fits this many random "
               "rows of "
               "it and the rest are judged: mean error over {} draws. Priors and scales were "
               "chosen on A100, H200 and GB200.\n\n",
               kStudyDraws) +
           study_table(lines);
  if (!card.lines.empty())
    out += fmt::format(
               "A real card, {}: all its rows left out of the training; calibrated with {} rows of a minute "
               "(data/measurements/h200_quick.csv.gz), judged by the rows of the longer sweep that a graph launched, "
               "at shapes that the "
               "minute did "
               "not have; beside it weights trained on that sweep, at shapes that training held out. Not a blind test: "
               "PyTorch's "
               "RMSNorm got its plan, unaligned products and eager launches their places apart, and the minute its "
               "order after "
               "a look at errors of this sweep.\n\n",
               card.gpu, card.fitted) +
           card_table(card);
  return out;
}

}  // namespace tilecast
