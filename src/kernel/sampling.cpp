#include "kernel/sampling.h"

#include <algorithm>
#include <cmath>

#include "constants/sampling.h"
#include "constants/streaming.h"
#include "kernel/checks.h"
#include "kernel/streaming.h"

namespace tilecast {

using namespace constants;

namespace {

// One CTA per row: FlashInfer include/flashinfer/sampling.cuh uses 1024 threads from compute capability 8 on, PyTorch's
// softmax up to 1024; both read 16 bytes per thread and step.
constexpr int kThreads = 1024;
constexpr double kVectorBytes = 16;
constexpr double kProbabilityBytes = 4;  // FlashInfer and PyTorch draw from fp32 probabilities
constexpr double kTokenBytes = 8;

// A plain draw scans the row once. Rejection with top-k or top-p also sums above two pivots each round and needs about
// two rounds (FlashInfer, "Sorting-Free GPU Kernels for LLM Sampling", 2025: the bracket shrinks geometrically).
constexpr double kPlainPasses = 1;

// PyTorch Sort.cu sorts long rows by segmented radix sort: four passes of eight bits over fp32 keys with int64
// positions.
constexpr double kSortPasses = 4;
constexpr double kSortItemBytes = 12;

struct Rows {
  Count rows, cols;
  double element;
  double values() const { return static_cast<double>(rows) * static_cast<double>(cols); }
};

Stream row_stream(const Rows& r, std::string_view name, double slots, double xu, double element) {
  Stream stream;
  stream.name = name;
  stream.ctas = r.rows;
  const Count vectors =
      std::max<Count>(1, static_cast<Count>(std::ceil(static_cast<double>(r.cols) * element / kVectorBytes)));
  stream.cta = {threads_for(vectors, kThreads), 32, bytes(0)};
  stream.elements = r.values();
  stream.slots = slots;
  stream.xu = xu;
  stream.steps = static_cast<double>(ceil_div(vectors, stream.cta.threads));
  return stream;
}

// PyTorch Reduce.cuh divides a row among several CTAs only if a thread of one would process 256 elements or more: 128
// 256 logits take one CTA and 26 us on an H200, 151 936 take many and 8 (data/measurements/h200_small.csv.gz,
// h200_steps_kernels.csv.gz).
constexpr Count kReduceThreads = 512;
Count argmax_split(const Rows& r, const Gpu& gpu) {
  constexpr Count kLeastPerThread = 16, kMostPerThread = 256;
  const Count per_thread = ceil_div(r.cols, kReduceThreads);
  const Count wanted = gpu.sms * (gpu.max_threads_per_sm / kReduceThreads);
  if (per_thread < kMostPerThread || r.rows > wanted) return 1;
  return std::max(std::min(ceil_div(wanted, r.rows), ceil_div(per_thread, kLeastPerThread)),
                  ceil_div(per_thread, kMostPerThread));
}

// Values and positions are reduced together, four elements per thread and step.
Launch argmax(const Rows& r, const Operand& input, const Gpu& gpu) {
  constexpr Count kElementsAtOnce = 4;
  Stream stream = row_stream(r, "argmax", 2, 0, r.element);
  const Count split = argmax_split(r, gpu);
  stream.ctas = r.rows * split;
  stream.cta = {kReduceThreads, 32, bytes(0)};
  stream.certain = 0.5;  // one comparison, packed in 16 bits at best
  stream.steps =
      kArgmaxRounds * static_cast<double>(ceil_div(ceil_div(r.cols, split), kReduceThreads * kElementsAtOnce));
  Launch launch = streaming_launch(stream, {input, writes("tokens", kTokenBytes * static_cast<double>(r.rows))});
  launch.split = static_cast<int>(split);
  launch.plan_known = false;
  return launch;
}

Launch softmax(const Rows& r, const Operand& input, const Operand& output) {
  Stream stream = row_stream(r, "softmax", 6, 1, r.element);
  stream.passes = 3;  // maximum, sum, result
  Launch launch = streaming_launch(stream, {input, output});
  launch.plan_known = false;
  return launch;
}

Plan sort_free(const Sampling& s, const Rows& r) {
  const double probabilities = kProbabilityBytes * r.values();
  const bool filtered = s.top_k || s.top_p;
  Stream draw = row_stream(r, "sample", filtered ? kFilteredDrawSlots : kPlainDrawSlots, 0, kProbabilityBytes);
  draw.passes = filtered ? kRejectionPasses : kPlainPasses;
  draw.steps *= draw.passes;
  Plan plan{{softmax(r, reads("logits", r.values() * r.element), scratch("probabilities", probabilities)),
             streaming_launch(draw, {rereads("probabilities", probabilities),
                                     writes("tokens", kTokenBytes * static_cast<double>(r.rows))})}};
  return plan;
}

// vLLM's native top-k and top-p (v1/sample/ops/topk_topp_sampler.py): sort, mask, scatter back; then softmax and the
// exponential race.
Plan by_sorting(const Sampling& s, const Rows& r, const Gpu& gpu) {
  const double n = r.values(), logits = n * r.element, probabilities = kProbabilityBytes * n;
  Plan plan;
  Operand input = reads("logits", logits);
  if (s.top_k || s.top_p) {
    Stream sort = pointwise_stream("sort", n, bytes(4), gpu, kSortPassSlots * kSortPasses);
    sort.steps = sort.passes = kSortPasses;
    Launch sorted = streaming_launch(sort, {input, scratch("sorted", kSortItemBytes * n)});
    sorted.tasks[0].each.l2_load = bytes(kSortPasses * kSortItemBytes * n / static_cast<double>(sort.ctas));
    sorted.tasks[0].each.l2_store *= kSortPasses;
    sorted.plan_known = false;
    plan.launches.push_back(sorted);
    input = rereads("logits", logits);
    const Operand kept = rereads("sorted_logits", logits);
    if (s.top_k)
      plan.launches.push_back(streaming_launch(pointwise_stream("mask_top_k", n, bytes(4), gpu, 2),
                                               {kept, scratch("sorted_logits", logits)}));
    if (s.top_p) {
      plan.launches.push_back(softmax(r, kept, scratch("probabilities", probabilities)));
      plan.launches.push_back(
          streaming_launch(row_stream(r, "cumulative_sum", 2, 0, kProbabilityBytes),
                           {rereads("probabilities", probabilities), scratch("sums", probabilities)}));
      plan.launches.push_back(
          streaming_launch(pointwise_stream("mask_top_p", n, bytes(4), gpu, 2),
                           {rereads("sums", probabilities), kept, scratch("sorted_logits", logits)}));
    }
    Stream scatter = pointwise_stream("scatter", n, bytes(4), gpu, 1);
    scatter.character = Character::gather;
    plan.launches.push_back(
        streaming_launch(scatter, {rereads("sorted", kSortItemBytes * n), scratch("masked_logits", logits)}));
  }
  plan.launches.push_back(softmax(r, input, scratch("probabilities", probabilities)));
  plan.launches.push_back(streaming_launch(pointwise_stream("exponential", n, bytes(4), gpu, kExponentialSlots, 1),
                                           {scratch("noise", probabilities)}));
  plan.launches.push_back(streaming_launch(
      pointwise_stream("divide", n, bytes(4), gpu, kDivisionSlots, 1),
      {rereads("probabilities", probabilities), rereads("noise", probabilities), scratch("race", probabilities)}));
  Launch last = argmax({r.rows, r.cols, kProbabilityBytes}, rereads("race", probabilities), gpu);
  last.required = {};
  plan.launches.push_back(last);
  return plan;
}

}  // namespace

Status Sampling::check() const {
  if (auto positive = require_positive({{"rows", rows}, {"cols", cols}}); !positive) return positive;
  if (method == SamplingMethod::greedy && (top_k || top_p))
    return field_error(top_k ? "top-k" : "top-p", "means nothing to greedy", "choose strategy sampling or sort");
  return require_reasonable(static_cast<double>(rows) * static_cast<double>(cols));
}

Result<Plan> plan(const Sampling& shape, const Format& format, const Gpu& gpu, const Context&) {
  const Rows rows{shape.rows, shape.cols, in_bytes(size_of(format.output))};
  switch (shape.method) {
    case SamplingMethod::greedy: return Plan{{argmax(rows, reads("logits", rows.values() * rows.element), gpu)}};
    case SamplingMethod::sampling: return sort_free(shape, rows);
    case SamplingMethod::sort: return by_sorting(shape, rows, gpu);
  }
  return error("unknown sampling method");
}

}  // namespace tilecast
