#include "lab/evidence/kernel_errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "gpu/registry.h"
#include "support/csv.h"
#include "support/statistics.h"
#include "support/text.h"

namespace tilecast {
namespace {

constexpr std::string_view kHeader =
    "unseen,source,gpu,family,dtype,doubt,kernel_known,of_pytorch,error,to_bound,own_down,own_up\n";
constexpr std::size_t kColumns = 12;

// With fewer rows of a family on a card a median means nothing.
constexpr std::size_t kFewInGroup = 10;

std::string_view words_of(Unseen unseen) {
  switch (unseen) {
    case Unseen::shape: return "held-out shapes";
    case Unseen::source: return "source left out";
    case Unseen::gpu: return "GPU left out";
    case Unseen::architecture: return "architecture left out";
  }
  return "";
}

// Trainings without a card or an architecture are what intervals of unseen cards are made of, so those rows, like the
// ones at other shapes of a table, tell nothing that would be fitted: they judge.
bool tells_of_kernel(const KernelError& e) {
  return e.unseen == Unseen::source && !e.footing.kernel_known && e.footing.doubt != Doubt::vendor;
}
// PyTorch's kernels reach equally far whoever asks: rows of somebody else, and those of the tables themselves, count
// the same.
bool tells_of_protocol(const KernelError& e) {
  return (e.unseen == Unseen::source || e.unseen == Unseen::shape) && e.footing.kernel_known &&
         e.footing.doubt == Doubt::protocol;
}

std::string of_loop(std::string_view kind, const KernelError& e) {
  return std::string(kind) + ", " + std::string(name_of(loop_of(e.family)));
}

// What all kernels of a family on a card were left out with: the width of sums that it tells of; empty: none.
std::string shared_kind(const KernelError& e) {
  if (!e.footing.kernel_known) return "";
  if (e.unseen == Unseen::source) return e.footing.doubt <= Doubt::protocol ? of_loop("another protocol", e) : "";
  if (e.unseen == Unseen::shape) return "";
  return e.footing.doubt == Doubt::card           ? of_loop("another card", e)
         : e.footing.doubt == Doubt::architecture ? of_loop("another architecture", e)
                                                  : "";
}

// What a width that judges a row must leave out: rows that err as this one does.
std::string fold_of(const KernelError& e) {
  if (e.unseen == Unseen::source || e.unseen == Unseen::shape) return e.source;
  const Gpu* gpu = built_in_gpu(e.gpu);
  return e.unseen == Unseen::gpu || !gpu ? e.gpu : std::string(name_of(gpu->architecture));
}

template <class Names>
std::optional<std::size_t> place_of(const Names& names, std::string_view name) {
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end()) return std::nullopt;
  return static_cast<std::size_t>(at - names.begin());
}

std::optional<KernelError> error_of(const CsvReader& csv) {
  if (!csv.problem().empty()) return std::nullopt;
  const auto unseen = place_of(kUnseenNames, csv[0]), doubt = place_of(kDoubtNames, csv[5]);
  const auto error = to_double(csv[8]), to_bound = to_double(csv[9]);
  const auto down = to_double(csv[10]), up = to_double(csv[11]);
  if (!unseen || !doubt || !error || !to_bound || !down || !up) return std::nullopt;
  KernelError e;
  e.unseen = static_cast<Unseen>(*unseen);
  e.source = csv[1], e.gpu = csv[2], e.family = csv[3], e.dtype = csv[4];
  e.footing = {loop_of(e.family), static_cast<Doubt>(*doubt), csv[6] == "1", csv[7] == "1"};
  e.error = *error, e.to_bound = *to_bound, e.own = {*down, *up};
  return e;
}

}  // namespace

Width KernelError::whole() const {
  const Width wide = kernel_width(own, footing);
  return {std::min(wide.down, to_bound), wide.up};
}

bool KernelError::held() const {
  const Width w = whole();
  return error >= -w.down && error <= w.up;
}

KernelErrors kernel_errors(const std::vector<Measurement>& rows, const std::vector<Outcome>& outcomes, Unseen unseen) {
  KernelErrors errors;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Outcome& o = outcomes[i];
    // A model's interval has a width; without one the forecast is the physics' own.
    if (o.failed || !(o.own.down + o.own.up > 0)) continue;
    KernelError& e = errors.emplace_back();
    e.unseen = unseen, e.source = rows[i].source, e.gpu = rows[i].gpu;
    e.family = family_of(rows[i].kernel.shape), e.dtype = rows[i].kernel.format.name;
    e.footing = o.footing, e.own = o.own;
    e.error = std::log(rows[i].latency / o.forecast);
    e.to_bound = std::max(0.0, std::log(o.forecast / o.bound));
  }
  return errors;
}

CoverageRows coverage_rows(const KernelErrors& errors) {
  CoverageRows rows;
  for (const KernelError& e : errors) {
    CoverageRow& row = rows.emplace_back();
    if (tells_of_kernel(e)) row.kind = of_loop("another kernel", e);
    if (tells_of_protocol(e)) row.steps = of_loop(kPytorchScale, e);
    row.table = fmt::format("{}, {}, {}", e.source, name_of(e.footing.loop), words_of(e.unseen));
    row.source = e.source, row.card = e.gpu, row.fold = fold_of(e);
    if (e.unseen == Unseen::shape) row.source += ", other shapes";  // a group of its own
    row.error = e.error, row.to_bound = e.to_bound;
    row.parts = e.own;
    row.whole = e.whole();
  }
  return rows;
}

Widths shared_widths(const KernelErrors& errors) {
  using Group = std::tuple<std::string, std::string, std::string, std::string>;  // kind, source, card, family
  std::map<Group, std::vector<double>> groups;
  for (const KernelError& e : errors)
    if (const std::string kind = shared_kind(e); !kind.empty())
      groups[{kind, e.source, e.gpu, e.family}].push_back(e.error);
  std::map<std::string, CoverageRows> medians;
  for (auto& [group, all] : groups) {
    if (all.size() < kFewInGroup) continue;
    const auto& [kind, source, card, family] = group;
    CoverageRow& row = medians[kind].emplace_back();
    row.kind = kind, row.source = row.fold = source, row.card = card, row.error = upper_median(std::move(all));
  }
  Widths widths;
  for (const auto& [kind, rows] : medians) widths[kind] = fit_width(rows);
  return widths;
}

Widths fit_widths(const CoverageRows& rows, const KernelErrors& kernels) {
  Widths widths = fit_widths(rows);
  widths.merge(shared_widths(kernels));
  return widths;
}

std::string kernel_errors_csv(const KernelErrors& errors) {
  std::string text(kHeader);
  for (const KernelError& e : errors)
    text += fmt::format("{},{},{},{},{},{},{},{},{:.5g},{:.5g},{:.5g},{:.5g}\n", name_of(e.unseen), e.source, e.gpu,
                        e.family, e.dtype, name_of(e.footing.doubt), e.footing.kernel_known ? 1 : 0,
                        e.footing.of_pytorch ? 1 : 0, e.error, e.to_bound, e.own.down, e.own.up);
  return text;
}

Result<KernelErrors> read_kernel_errors(const std::string& path) {
  auto csv = CsvReader::open(path);
  if (!csv) return std::move(csv).error();
  if (csv->header().size() != kColumns)
    return Error{path, "", "is not a table of kernels' errors", "remove it, and it is made again"};
  KernelErrors errors;
  while (true) {
    const auto more = csv->next();
    if (!more) return more.error();
    if (!*more) return errors;
    const auto e = error_of(*csv);
    if (!e) return Error{csv->place(), "", "is not a kernel's error", "remove the file, and it is made again"};
    errors.push_back(*e);
  }
}

}  // namespace tilecast
