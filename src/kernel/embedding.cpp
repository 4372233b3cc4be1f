#include "kernel/embedding.h"

#include <algorithm>
#include <cmath>

#include "constants/streaming.h"
#include "kernel/checks.h"
#include "kernel/pytorch.h"
#include "kernel/streaming.h"

namespace tilecast {

using namespace constants;

namespace {

constexpr double kIndexBytes = 8;  // int64 token ids

// PyTorch aten/src/ATen/native/cuda/Indexing.cu, index_select: CTAs of 128 threads, at most eight per SM; for up to 16
// indices one CTA covers columns of all of them, beyond that the whole output is divided.
constexpr int kThreads = 128;
constexpr Count kCtasPerSm = 8;
constexpr Count kFewIndices = 16;

// Since PyTorch 2.7 rows of whole 16-byte words go through vectorized_gather_kernel (Indexing.cu): one CTA per token
// and 256 words, as wide as the row up to that. Grids of data/measurements/h200_kernels.csv.gz agree.
constexpr Count kGatherWord = 16;
constexpr int kGatherThreads = 256;

struct Grid {
  Count ctas;
  int threads;
};
Grid gather_grid(const Embedding& s, double element, const Gpu& gpu) {
  const auto row = static_cast<Count>(static_cast<double>(s.cols) * element);
  if (torch_release(gpu) == TorchRelease::current && row % kGatherWord == 0)
    return {s.tokens * ceil_div(row / kGatherWord, kGatherThreads), threads_for(row / kGatherWord, kGatherThreads)};
  const Count work = s.tokens <= kFewIndices ? s.cols : s.tokens * s.cols;
  return {std::min(ceil_div(work, kThreads), kCtasPerSm * gpu.sms), kThreads};
}

// PyTorch Embedding.cu, embedding_dense_backward_cuda: for up to 3072 tokens one kernel with 32 columns per CTA adds
// rows; more are sorted first.
constexpr Count kUnsortedTokens = 3072;
constexpr Count kColumnsPerCta = 32;
constexpr int kBackwardThreads = 1024;
constexpr Count kRowsPerSegment = 10;  // NROWS_PER_THREAD: sorted rows one thread adds up

// Radix sort of 64-bit keys with 64-bit positions, eight bits per pass.
constexpr double kSortPasses = 8;

Plan forward(const Embedding& s, double element, const Gpu& gpu) {
  const double tokens = static_cast<double>(s.tokens), cols = static_cast<double>(s.cols);
  Operand table = weights("table", distinct_rows(s) * cols * element);
  if (s.distinct == 0) table.certain = bytes(cols * element);  // nothing says that tokens differ
  const Grid grid = gather_grid(s, element, gpu);
  Stream stream;
  stream.name = "embedding";
  stream.character = Character::gather;
  stream.ctas = grid.ctas;
  stream.cta = {grid.threads, 32, bytes(0)};
  stream.elements = tokens * cols;
  const bool words = grid.ctas >= s.tokens && torch_release(gpu) == TorchRelease::current;  // a thread moves one word
  stream.steps = words ? 1 : std::ceil(stream.elements / static_cast<double>(stream.ctas * grid.threads));
  Launch launch = streaming_launch(
      stream, {table, reads("indices", kIndexBytes * tokens), writes("output", tokens * cols * element)});
  // A repeated token reads its row from L2 again.
  launch.tasks[0].each.l2_load =
      bytes((tokens * cols * element + kIndexBytes * tokens) / static_cast<double>(stream.ctas));
  return Plan{{launch}};
}

Launch sort_tokens(double tokens, const Gpu& gpu) {
  Stream stream = pointwise_stream("sort_tokens", tokens, bytes(kIndexBytes), gpu, kSortPassSlots * kSortPasses);
  stream.steps = kSortPasses;
  stream.passes = kSortPasses;
  Launch launch =
      streaming_launch(stream, {reads("indices", kIndexBytes * tokens), scratch("sorted", 2 * kIndexBytes * tokens)});
  launch.tasks[0].each.l2_store *= kSortPasses;
  launch.plan_known = false;
  return launch;
}

Plan backward(const Embedding& s, double element, const Gpu& gpu) {
  const double tokens = static_cast<double>(s.tokens), cols = static_cast<double>(s.cols);
  const double table = static_cast<double>(s.vocab) * cols * element;
  const double touched = distinct_rows(s) * cols * element;
  const bool sorted = s.tokens > kUnsortedTokens;
  Plan plan;
  // The gradient is dense: every row is written, touched or not.
  plan.launches.push_back(streaming_launch(pointwise_stream("zero_gradient", table / element, bytes(element), gpu),
                                           {writes("gradient", table)}));
  if (sorted) plan.launches.push_back(sort_tokens(tokens, gpu));
  Stream stream;
  stream.name = "embedding_backward";
  stream.character = Character::gather;
  const Count segments = sorted ? ceil_div(s.tokens, kRowsPerSegment) : 1;
  stream.ctas = sorted ? ceil_div(segments * round_up(s.cols, 32), kBackwardThreads) : ceil_div(s.cols, kColumnsPerCta);
  stream.cta = {kBackwardThreads, 32, bytes(0)};
  stream.elements = tokens * cols;
  stream.slots = stream.certain = 1;
  stream.steps = sorted ? static_cast<double>(kRowsPerSegment) : std::ceil(tokens / 32);
  const Operand ids = sorted ? rereads("sorted", 2 * kIndexBytes * tokens) : reads("indices", kIndexBytes * tokens);
  Operand rows = scratch("touched_rows", touched);  // their bytes are already in the zeroed gradient
  rows.read = true;
  plan.launches.push_back(streaming_launch(stream, {reads("gradient_output", tokens * cols * element), ids, rows}));
  plan.launches.back().plan_known = !sorted;
  return plan;
}

}  // namespace

double distinct_rows(const Embedding& shape) {
  if (shape.distinct > 0) return static_cast<double>(shape.distinct);
  // Expected number of different values among uniform draws: v (1 - (1 - 1/v)^t).
  const double v = static_cast<double>(shape.vocab), t = static_cast<double>(shape.tokens);
  return v > 1 ? -v * std::expm1(t * std::log1p(-1 / v)) : 1;
}

Status Embedding::check() const {
  if (auto positive = require_positive({{"tokens", tokens}, {"vocab", vocab}, {"cols", cols}}); !positive)
    return positive;
  if (distinct > std::min(tokens, vocab)) return field_error("distinct", "cannot exceed tokens or vocab");
  return require_reasonable(static_cast<double>(std::max(tokens, vocab)) * static_cast<double>(cols));
}

Result<Plan> plan(const Embedding& shape, const Format& format, const Gpu& gpu, const Context&) {
  const double element = in_bytes(size_of(format.output));
  return shape.backward ? backward(shape, element, gpu) : forward(shape, element, gpu);
}

}  // namespace tilecast
