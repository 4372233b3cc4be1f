// Reductions over some axes, scans, sorting.
#include <algorithm>
#include <cmath>

#include "model/program_rules.h"

namespace tilecast {
namespace {

// Whether the axes that go are the fastest in memory.
bool reduces_inner(const ProgramLayout& in, const std::vector<Count>& dims) {
  if (dims.empty()) return true;
  const auto rank = static_cast<Count>(in.shape.size());
  Count fastest = -1, least = 0;
  for (Count i = 0; i < rank; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (in.shape[at] == 1 || in.strides[at] == 0) continue;
    if (fastest < 0 || in.strides[at] < least) fastest = i, least = in.strides[at];
  }
  return std::any_of(dims.begin(), dims.end(), [&](Count d) { return (d < 0 ? d + rank : d) == fastest; });
}

void lower_reduction(const OperatorView& view, KernelList& list) {
  const ProgramLayout *in = view.tensor("self"), *out = view.result();
  if (!in || !out || elements_of(*in) == 0) return;
  add_reduction(list, *in, static_cast<double>(std::max<Count>(1, elements_of(*out))),
                reduces_inner(*in, view.wholes("dim")));
}

// One pass along an axis: read and written once.
void lower_scan(const OperatorView& view, KernelList& list) {
  const ProgramLayout *in = view.tensor("self"), *out = view.result();
  if (in && out && elements_of(*in) > 0)
    list.add_pass("scan", bytes_of(*in), bytes_of(*out), element_bytes(out->dtype), TorchWalk::strided);
}

// Radix sort of keys with their places: eight bits a pass, each a read and a write of both.
void lower_sort(const OperatorView& view, KernelList& list) {
  const ProgramLayout* in = view.tensor("self");
  if (!in || elements_of(*in) == 0) return;
  double written = 0;
  for (const ProgramLayout* out : view.results()) written += bytes_of(*out);
  const double passes = element_bytes(in->dtype);
  for (int pass = 0; pass < static_cast<int>(passes); ++pass)
    list.add_pass("sort pass", written, written, 4, TorchWalk::index, PointwiseOp::copy);
}

void lower_topk(const OperatorView& view, KernelList& list) {
  const ProgramLayout* in = view.tensor("self");
  if (!in || elements_of(*in) == 0) return;
  double written = 0;
  for (const ProgramLayout* out : view.results()) written += bytes_of(*out);
  list.add_pass("radix select", bytes_of(*in) * element_bytes(in->dtype), written, 4);
  list.add_pass("sort of the chosen", written, written, 4);
}

}  // namespace

void add_reduction(KernelList& list, const ProgramLayout& from, double results, bool inner) {
  const PricedAs priced = priced_as(from.dtype);
  const double elements = static_cast<double>(distinct_elements(from)) * priced.elements;
  Reduction shape;
  shape.rows = std::max<Count>(1, static_cast<Count>(results));
  shape.cols = std::max<Count>(1, static_cast<Count>(std::ceil(elements / static_cast<double>(shape.rows))));
  if (inner || shape.rows == 1) {
    list.add("reduction", shape, priced.format);
    return;
  }
  // Sums down columns: threads side by side take neighbouring columns, CTAs share the rows and meet in memory. As far as
  // bytes go it is a pass that writes next to nothing.
  list.add_pass("column sums", elements * element_bytes(priced.format), results * element_bytes(priced.format),
                element_bytes(priced.format));
}

std::span<const ProgramRule> program_reduction_rules() {
  static const std::vector<ProgramRule> rules = [] {
    std::vector<ProgramRule> made;
    for (const std::string_view op : {"sum", "mean", "amax", "amin", "max", "min", "prod", "any", "all", "argmax",
                                      "argmin", "var", "var_mean", "std", "norm", "linalg_vector_norm", "logsumexp",
                                      "nansum", "count_nonzero"})
      made.push_back({op, lower_reduction});
    for (const std::string_view op : {"cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "flip"})
      made.push_back({op, lower_scan});
    made.push_back({"sort", lower_sort});
    made.push_back({"argsort", lower_sort});
    made.push_back({"topk", lower_topk});
    return made;
  }();
  return rules;
}

}  // namespace tilecast
