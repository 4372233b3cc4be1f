#include "lab/evidence/kernel_errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "gpu/registry.h"
#include "support/csv.h"
#include "support/text.h"

namespace tilecast {
namespace {

constexpr std::string_view kHeader =
    "unseen,source,gpu,family,dtype,doubt,kernel_known,error,to_bound,own_down,own_up\n";
constexpr std::size_t kColumns = 11;

std::string_view words_of(Unseen unseen) {
  switch (unseen) {
    case Unseen::shape: return "held-out shapes";
    case Unseen::source: return "source left out";
    case Unseen::gpu: return "GPU left out";
    case Unseen::architecture: return "architecture left out";
  }
  return "";
}

// The width that a row tells of; empty: none, or several at once.
std::string kind_of(const KernelError& e) {
  const std::string of = ", " + std::string(name_of(loop_of(e.family)));
  if (e.unseen == Unseen::source) {
    if (!e.kernel_known) return e.doubt == Doubt::vendor ? "" : "another kernel" + of;
    return e.doubt <= Doubt::protocol ? "another protocol" + of : "";
  }
  if (e.unseen == Unseen::shape || !e.kernel_known) return "";
  return e.doubt == Doubt::card           ? "another card" + of
         : e.doubt == Doubt::architecture ? "another architecture" + of
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
  const auto error = to_double(csv[7]), to_bound = to_double(csv[8]), down = to_double(csv[9]), up = to_double(csv[10]);
  if (!unseen || !doubt || !error || !to_bound || !down || !up) return std::nullopt;
  KernelError e;
  e.unseen = static_cast<Unseen>(*unseen), e.doubt = static_cast<Doubt>(*doubt);
  e.source = csv[1], e.gpu = csv[2], e.family = csv[3], e.dtype = csv[4], e.kernel_known = csv[6] == "1";
  e.error = *error, e.to_bound = *to_bound, e.own = {*down, *up};
  return e;
}

}  // namespace

Width KernelError::whole() const {
  const Width wide = kernel_width(own, loop_of(family), doubt, kernel_known);
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
    // A model's interval has a width; without one it is the physics that spoke.
    if (o.failed || !(o.own.down + o.own.up > 0)) continue;
    KernelError& e = errors.emplace_back();
    e.unseen = unseen, e.source = rows[i].source, e.gpu = rows[i].gpu;
    e.family = family_of(rows[i].kernel.shape), e.dtype = rows[i].kernel.format.name;
    e.doubt = o.doubt, e.kernel_known = o.kernel_known, e.own = o.own;
    e.error = std::log(rows[i].latency / o.forecast);
    e.to_bound = std::max(0.0, std::log(o.forecast / o.bound));
  }
  return errors;
}

CoverageRows coverage_rows(const KernelErrors& errors) {
  CoverageRows rows;
  for (const KernelError& e : errors) {
    const MainLoop loop = loop_of(e.family);
    CoverageRow& row = rows.emplace_back();
    row.kind = kind_of(e);
    row.table = fmt::format("{}, {}, {}", e.source, name_of(loop), words_of(e.unseen));
    row.source = e.source, row.card = e.gpu, row.fold = fold_of(e);
    row.error = e.error, row.to_bound = e.to_bound;
    row.parts = e.kernel_known ? e.own : kernel_width(e.own, loop, e.doubt, true);
    row.whole = e.whole();
  }
  return rows;
}

std::string kernel_errors_csv(const KernelErrors& errors) {
  std::string text(kHeader);
  for (const KernelError& e : errors)
    text +=
        fmt::format("{},{},{},{},{},{},{},{:.5g},{:.5g},{:.5g},{:.5g}\n", name_of(e.unseen), e.source, e.gpu, e.family,
                    e.dtype, name_of(e.doubt), e.kernel_known ? 1 : 0, e.error, e.to_bound, e.own.down, e.own.up);
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
