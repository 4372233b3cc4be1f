#include "lab/evidence/visible.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "support/csv.h"
#include "support/statistics.h"
#include "support/text.h"

namespace tilecast {
namespace {

using Words = std::array<std::string, 6>;  // kind, left_out, source, what, form, gpu

constexpr std::string_view kHeader = "kind,left_out,source,what,form,gpu,rows,mean,median,bias,held\n";
constexpr std::size_t kColumns = 11;

Words words_of(const VisibleFigure& f) { return {f.kind, f.left_out, f.source, f.what, f.form, f.gpu}; }

struct Errors {
  std::vector<double> ratios;  // forecast over measured
  double held = 0, intervals = 0;
};

VisibleFigure figure_of(const Words& words, const Errors& errors) {
  VisibleFigure f{words[0], words[1], words[2], words[3], words[4], words[5]};
  const ErrorSummary s = summary_of_errors(errors.ratios);
  f.rows = s.rows, f.mean = s.mean, f.median = s.median, f.bias = s.bias;
  f.held = errors.intervals > 0 ? errors.held / errors.intervals : -1;
  return f;
}

bool holds(std::string_view alternatives, std::string_view word) {
  if (alternatives.empty()) return true;
  const auto all = split(alternatives, '+');
  return std::find(all.begin(), all.end(), word) != all.end();
}

}  // namespace

VisibleFigures visible_figures(const KernelErrors& kernels, const std::vector<EndToEndResult>& runs) {
  std::map<Words, Errors> groups;
  for (const KernelError& e : kernels) {
    Errors& g = groups[{"kernel", std::string(name_of(e.unseen)), e.source, e.family, e.dtype, e.gpu}];
    g.ratios.push_back(std::exp(-e.error));
    g.held += e.held() ? 1 : 0, ++g.intervals;
  }
  for (const EndToEndResult& r : runs) {
    if (!(r.measured > 0) || !(r.forecast > 0) || r.quantity == "rows" || !r.fits) continue;
    Errors& g = groups[{"run", "", r.label.source, r.quantity + (r.host_bound ? ", host-bound" : ""), r.label.mode,
                        r.label.gpu}];
    g.ratios.push_back(r.ratio());
    if (!(r.high > 0)) continue;
    g.held += r.measured >= r.low && r.measured <= r.high ? 1 : 0, ++g.intervals;
  }
  VisibleFigures figures;
  for (const auto& [words, errors] : groups) figures.push_back(figure_of(words, errors));
  return figures;
}

std::optional<VisibleFigure> asked_figure(const VisibleFigures& figures, std::string_view question) {
  const auto asked = split(question, '/');
  if (asked.size() != std::tuple_size_v<Words>) return std::nullopt;
  VisibleFigure all;
  double rows = 0, with_interval = 0, groups = 0;
  for (const VisibleFigure& f : figures) {
    const Words words = words_of(f);
    bool fits = true;
    for (std::size_t i = 0; i < words.size(); ++i) fits = fits && holds(asked[i], words[i]);
    if (!fits) continue;
    const auto n = static_cast<double>(f.rows);
    rows += n, ++groups, all.rows += f.rows;
    all.mean += f.mean * n, all.bias += f.bias * n, all.median += f.median;
    if (f.held >= 0) all.held += f.held * n, with_interval += n;
  }
  if (all.rows == 0) return std::nullopt;
  all.mean /= rows, all.bias /= rows, all.median /= groups;
  all.held = with_interval > 0 ? all.held / with_interval : -1;
  return all;
}

std::string visible_csv(const VisibleFigures& figures) {
  std::string text(kHeader);
  for (const VisibleFigure& f : figures) {
    for (const std::string& word : words_of(f)) append_csv(text, word), text += ',';
    text += fmt::format("{},{:.4f},{:.4f},{:.4f},{:.4f}\n", f.rows, f.mean, f.median, f.bias, f.held);
  }
  return text;
}

Result<VisibleFigures> read_visible(const std::string& path) {
  auto csv = CsvReader::open(path);
  if (!csv) return std::move(csv).error();
  if (csv->header().size() != kColumns)
    return Error{path, "", "is not a table of figures", "`make accuracy` writes it"};
  VisibleFigures figures;
  while (true) {
    const auto more = csv->next();
    if (!more) return more.error();
    if (!*more) return figures;
    const auto rows = csv->problem().empty() ? to_double((*csv)[6]) : std::nullopt;
    std::array<double, 4> numbers{};
    bool fine = rows.has_value();
    for (std::size_t i = 0; fine && i < numbers.size(); ++i) {
      const auto number = to_double((*csv)[7 + i]);
      fine = number.has_value();
      if (fine) numbers[i] = *number;
    }
    if (!fine) return Error{csv->place(), "", "is not a figure", "`make accuracy` writes the file"};
    VisibleFigure f;
    std::string* const words[] = {&f.kind, &f.left_out, &f.source, &f.what, &f.form, &f.gpu};
    for (std::size_t i = 0; i < std::size(words); ++i) *words[i] = (*csv)[i];
    f.rows = static_cast<Count>(*rows);
    f.mean = numbers[0], f.median = numbers[1], f.bias = numbers[2], f.held = numbers[3];
    figures.push_back(std::move(f));
  }
}

}  // namespace tilecast
