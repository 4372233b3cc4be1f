#include "lab/evidence/blind.h"

#include <fmt/format.h>

#include <array>

#include "support/csv.h"
#include "support/table.h"
#include "support/text.h"

namespace tilecast {
namespace {

constexpr std::array<std::string_view, 8> kColumns = {"section", "what",    "rows", "given",
                                                      "others",  "visible", "like", "changed"};

// "7.8 / 6.1", one for each question; a dash where nothing was judged.
std::string errors_text(const BlindLine& line, const VisibleFigures& visible) {
  std::string text;
  for (const std::string& question : split(line.visible, ' ')) {
    const auto f = asked_figure(visible, question);
    text += text.empty() ? "" : "; ";
    text += f ? fmt::format("{:.1f} / {:.1f}", f->mean * 100, f->median * 100) : "–";
  }
  return text;
}

std::string held_text(const BlindLine& line, const VisibleFigures& visible) {
  std::string text;
  for (const std::string& question : split(line.visible, ' ')) {
    const auto f = asked_figure(visible, question);
    text += text.empty() ? "" : "; ";
    text += f && f->held >= 0 ? fmt::format("{:.0f}", f->held * 100) : "–";
  }
  return text;
}

std::string rows_text(const BlindLine& line, const VisibleFigures& visible) {
  std::string text;
  for (const std::string& question : split(line.visible, ' ')) {
    const auto f = asked_figure(visible, question);
    text += text.empty() ? "" : "; ";
    text += f ? std::to_string(f->rows) : "–";
  }
  return text;
}

std::string section_text(const std::string& section, const std::vector<BlindLine>& lines,
                         const VisibleFigures& visible) {
  Table table({"", "rows", "blind test", "others there", "visible: of"}, {"errors", "rows", "in interval"});
  std::string changes;
  for (const BlindLine& line : lines) {
    if (line.section != section) continue;
    const bool like = !line.visible.empty();
    if (!line.given.empty())
      table.add({line.what, line.rows, line.given, line.others, line.like, like ? errors_text(line, visible) : "",
                 like ? rows_text(line, visible) : "", like ? held_text(line, visible) : ""});
    if (!line.changed.empty()) changes += fmt::format("- {}: {}\n", line.what, line.changed);
  }
  std::string text = "## " + section + "\n\n" + table.markdown();
  if (!changes.empty()) text += "Changed because of it:\n\n" + changes + "\n";
  return text;
}

}  // namespace

Result<std::vector<BlindLine>> read_blind(const std::string& path) {
  auto csv = CsvReader::open(path);
  if (!csv) return std::move(csv).error();
  std::array<std::size_t, kColumns.size()> at{};
  for (std::size_t i = 0; i < kColumns.size(); ++i) {
    const auto column = csv->column(kColumns[i]);
    if (!column) return column.error();
    at[i] = *column;
  }
  std::vector<BlindLine> lines;
  while (true) {
    const auto more = csv->next();
    if (!more) return more.error();
    if (!*more) return lines;
    if (!csv->problem().empty()) return Error{csv->place(), "", csv->problem(), "fix the line, or remove it"};
    BlindLine line;
    std::string* const fields[] = {&line.section, &line.what,    &line.rows, &line.given,
                                   &line.others,  &line.visible, &line.like, &line.changed};
    for (std::size_t i = 0; i < at.size(); ++i) *fields[i] = (*csv)[at[i]];
    lines.push_back(std::move(line));
  }
}

std::string blind_report(const std::vector<BlindLine>& lines, const VisibleFigures& visible) {
  if (lines.empty()) return "";
  std::string text =
      "# A blind test, and visible data beside it\n\nForecasts of version 0.1.0 (commit 94e4610) with the weights it "
      "shipped were judged by others on rows that nobody here had seen: other\nGPUs, other models, other people's "
      "runs. "
      "*Blind test* has those figures as they were given (data/evidence/blind_test.csv): errors in\npercent, mean / "
      "median unless stated otherwise. They have not been repeated since, so they say nothing of what was changed "
      "because of them."
      "\n\n*Visible* has figures of the same kind by this version on data that was at hand while it was made "
      "(data/evidence/visible.csv, written by\n`make accuracy`, or from "
      "smaller samples by `tilecast-lab coverage --figures`): kernels with their GPU left out of the training, "
      "runs of whole models as [whole-models.md](whole-models.md) has them;\nmean / median and the share of rows "
      "inside 80 % intervals, both in percent. Constants of the physics were read off visible rows, so these\nfigures "
      "flatter; for cards and programs that nobody tuned to, the blind ones are the ones to quote.\n\n";
  std::vector<std::string> sections;
  for (const BlindLine& line : lines)
    if (sections.empty() || sections.back() != line.section) sections.push_back(line.section);
  for (const std::string& section : sections) text += section_text(section, lines, visible);
  return text;
}

}  // namespace tilecast
