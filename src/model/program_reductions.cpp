// Reductions over some axes, scans, sorting.
#include <algorithm>
#include <cmath>

#include "kernel/reduction.h"
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
                reduces_inner(*in, view.wholes("dim")), view.card());
}

// One pass along an axis: read and written once.
void lower_scan(const OperatorView& view, KernelList& list) {
  const ProgramLayout *in = view.tensor("self"), *out = view.result();
  if (in && out && elements_of(*in) > 0)
    list.add_pass("scan", bytes_of(*in), bytes_of(*out), element_bytes(out->dtype), TorchWalk::strided);
}

void lower_sort(const OperatorView& view, KernelList& list) {
  const ProgramLayout* in = view.tensor("self");
  if (in && elements_of(*in) > 0) add_sort(list, static_cast<double>(elements_of(*in)));
}

void lower_topk(const OperatorView& view, KernelList& list) {
  const ProgramLayout* in = view.tensor("self");
  if (!in || elements_of(*in) == 0) return;
  double written = 0;
  for (const ProgramLayout* out : view.results()) written += bytes_of(*out);
  list.add_pass("radix select", bytes_of(*in) * element_bytes(in->dtype), written, 4);
  list.add_pass("sort of the chosen", written, written, 4);
}

Count power_of_two_below(Count n) {
  Count power = 1;
  while (power * 2 <= n) power *= 2;
  return power;
}

// The grid of a reduction whose results lie side by side in memory (Reduce.cuh, setReduceConfig): threads of a row take
// neighbouring results, four or two each; the CTA's other rows and, where there is much to add, several CTAs share a
// result. The last of them adds up what the others left in memory, one after the other.
struct ColumnGrid {
  Count across = 1, sharing = 1, height = 1, threads = 128;
  double own = 1, joined = 0;  // loads in a row, of a thread and of the last CTA's
};
ColumnGrid column_grid(Count results, Count inputs, const ProgramCard& card) {
  constexpr Count kThreads = 512, kWarp = 32, kLeast = 16, kMost = 256, kUnrolled = 4;
  const Count vector = results % 4 == 0 ? 4 : results % 2 == 0 ? 2 : 1;
  ColumnGrid grid;
  grid.threads = kThreads / vector;
  const Count wide = std::min(power_of_two_below(std::max<Count>(1, results / vector)), grid.threads);
  Count width = std::min(wide, kWarp);
  grid.height = std::min(power_of_two_below(std::max<Count>(1, inputs)), grid.threads / width);
  width = std::min(wide, grid.threads / grid.height);
  grid.across = ceil_div(results / vector, width);
  const Count each = ceil_div(inputs, grid.height);
  const Count target = card.sms * (card.threads_per_sm / grid.threads);
  if (each >= kMost && grid.across <= target)
    grid.sharing = std::max(std::min(ceil_div(target, grid.across), ceil_div(each, kLeast)), ceil_div(each, kMost));
  grid.own = static_cast<double>(ceil_div(each, grid.sharing * kUnrolled));
  constexpr Count kMeeting = 8;  // a fence, the count of those who are done, and barriers, in loads
  if (grid.sharing > 1) grid.joined = static_cast<double>(ceil_div(grid.sharing, grid.height) + kMeeting);
  return grid;
}

}  // namespace

void add_reduction(KernelList& list, const ProgramLayout& from, double results, bool inner, const ProgramCard& card) {
  const PricedAs priced = priced_as(from.dtype);
  const double elements = static_cast<double>(distinct_elements(from)) * priced.elements;
  Reduction shape;
  shape.rows = std::max<Count>(1, static_cast<Count>(results));
  shape.cols = std::max<Count>(1, static_cast<Count>(std::ceil(elements / static_cast<double>(shape.rows))));
  if (inner || shape.rows == 1) {
    list.add("reduction", shape, priced.format);
    return;
  }
  const double element = element_bytes(priced.format);
  const ColumnGrid grid = column_grid(shape.rows, shape.cols, card);
  const auto across = static_cast<double>(grid.across), sharing = static_cast<double>(grid.sharing);
  const double left = grid.sharing > 1 ? results * sharing * 4 : 0;
  list.add_grid("column sums", across * sharing, grid.threads, elements * element, left + results * element, grid.own);
  if (grid.sharing > 1) list.add_grid("their join", across, grid.threads, left, results * element, grid.joined);
}

// cub's one-sweep radix sort takes eight bits per pass; each pass reads and writes keys and values and waits for the
// counts of the tiles before its own.
void add_sort(KernelList& list, double keys) {
  constexpr double kPairBytes = 16, kTile = 4096, kLookBack = 16;
  constexpr Count kPasses = 8, kThreads = 256;
  list.add_grid("sort pass", std::ceil(keys / kTile), kThreads, keys * kPairBytes, keys * kPairBytes, kLookBack).times =
      kPasses;
}

std::span<const ProgramRule> program_reduction_rules() {
  static const std::vector<ProgramRule> rules = [] {
    std::vector<ProgramRule> made;
    for (const std::string_view op :
         {"sum",       "mean",   "amax",          "amin",  "max",      "min", "prod", "any",
          "all",       "argmax", "argmin",        "var",   "var_mean", "std", "norm", "linalg_vector_norm",
          "logsumexp", "nansum", "count_nonzero", "histc", "bincount"})
      made.push_back({op, lower_reduction});
    for (const std::string_view op : {"cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"})
      made.push_back({op, lower_scan});
    made.push_back({"sort", lower_sort});
    made.push_back({"argsort", lower_sort});
    made.push_back({"topk", lower_topk});
    return made;
  }();
  return rules;
}

}  // namespace tilecast
