#include "kernel/embedding.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "constants/streaming.h"
#include "kernel/checks.h"
#include "kernel/pytorch.h"
#include "kernel/streaming.h"

namespace tilecast {

using namespace constants;

namespace {

constexpr double kIndexBytes = 8;  // int64 token ids

// PyTorch aten/src/ATen/native/cuda/Indexing.cu, index_select. Up to 16 indices go to indexSelectSmallIndex, whose CTAs
// of 128 threads, at most eight per SM, share out the columns and walk the indices one after another; the kernels that
// more of them take depend on the release. Grids and names: data/measurements/h200_products_kernels.csv.gz.
constexpr int kThreads = 128;
constexpr Count kCtasPerSm = 8;
constexpr Count kFewIndices = 16;

// Since PyTorch 2.7 rows of whole 16-byte words go through vectorized_gather_kernel: one CTA per token and 256 words,
// as wide as the row up to that; a thread moves one word. Other rows are gathered element by element
// (_scatter_gather_elementwise_kernel): eight of a thread, one after another.
constexpr Count kGatherWord = 16;
constexpr int kGatherThreads = 256;
constexpr Count kGatheredByThread = 8;

// How a look-up is spread over CTAs.
struct Gather {
  Count ctas;
  int threads;
  double steps;      // dependent waits of one CTA
  double slots = 0;  // of an element, for its address
};
Gather gather_of(const Embedding& s, double element, const Gpu& gpu, TorchRelease release) {
  const auto row = static_cast<Count>(static_cast<double>(s.cols) * element);
  const Count elements = s.tokens * s.cols;
  const auto in_turn = [&](Count work) {
    const Count ctas = std::min(ceil_div(work, kThreads), kCtasPerSm * gpu.sms);
    return std::pair{ctas, static_cast<double>(ceil_div(work, ctas * kThreads))};
  };
  if (s.tokens <= kFewIndices) {
    const auto [ctas, rounds] = in_turn(s.cols);
    return {ctas, kThreads, rounds * static_cast<double>(s.tokens) * kFewIndicesSteps};
  }
  if (release != TorchRelease::current) {
    const auto [ctas, rounds] = in_turn(elements);
    return {ctas, kThreads, rounds};
  }
  if (row % kGatherWord == 0) {
    const Count words = row / kGatherWord;
    return {s.tokens * ceil_div(words, kGatherThreads), threads_for(words, kGatherThreads), 1};
  }
  const Count ctas = ceil_div(elements, kThreads * kGatheredByThread);
  return {ctas, kThreads, static_cast<double>(std::min(kGatheredByThread, ceil_div(elements, kThreads))),
          kGatherElementSlots};
}

// PyTorch Embedding.cu, embedding_dense_backward_cuda: for up to 3072 tokens one kernel with 32 columns per CTA adds
// rows; more are sorted first.
constexpr Count kUnsortedTokens = 3072;
constexpr Count kColumnsPerCta = 32;
constexpr int kBackwardThreads = 1024;
constexpr Count kRowsPerSegment = 10;  // NROWS_PER_THREAD: sorted rows one thread adds up

constexpr double kRowsAtOnce = 32;

// Radix sort of 64-bit keys with 64-bit positions, eight bits per pass.
constexpr int kSortPasses = 8;
constexpr int kSortThreads = 384;
constexpr Count kSortedByCta = Count{384} * 12;

Plan forward(const Embedding& s, double element, const Gpu& gpu, TorchRelease release) {
  const double tokens = static_cast<double>(s.tokens), cols = static_cast<double>(s.cols);
  Operand table = weights("table", distinct_rows(s) * cols * element);
  if (s.distinct == 0) table.certain = bytes(cols * element);  // nothing says that tokens differ
  const Gather gather = gather_of(s, element, gpu, release);
  Stream stream;
  stream.name = "embedding";
  stream.character = Character::gather;
  stream.ctas = gather.ctas;
  stream.cta = {gather.threads, 32, bytes(0)};
  stream.elements = tokens * cols;
  stream.slots = gather.slots;
  stream.steps = gather.steps;
  Launch launch = streaming_launch(
      stream, {table, reads("indices", kIndexBytes * tokens), writes("output", tokens * cols * element)});
  // A repeated token reads its row from L2 again.
  launch.tasks[0].each.l2_load =
      bytes((tokens * cols * element + kIndexBytes * tokens) / static_cast<double>(stream.ctas));
  return Plan{{launch}};
}

// cub's DeviceRadixSort clears the counters of every pass (cudaMemsetAsync) and then moves all items once; before it,
// items are counted, and after it, runs of equal tokens are found, counted and cut into segments.
void sort_tokens(Plan& plan, double tokens, const Gpu& gpu) {
  constexpr std::array<std::string_view, 10> kAround = {
      "positions",    "clear_lookback", "count_digits", "sum_digits", "unique_start",
      "unique_sweep", "segment_counts", "scan_start",   "scan",       "segment_offsets"};
  const double items = 2 * kIndexBytes * tokens;
  for (const std::string_view name : kAround)
    plan.launches.push_back(
        streaming_launch(pointwise_stream(name, tokens, bytes(kIndexBytes), gpu), {rereads("indices", items / 2)}));
  for (int pass = 0; pass < kSortPasses; ++pass) {
    plan.launches.push_back(streaming_launch(pointwise_stream("clear", 1, bytes(kIndexBytes), gpu), {}));
    Stream stream = pointwise_stream("sort_pass", tokens, bytes(kIndexBytes), gpu, kSortPassSlots);
    stream.cta = {kSortThreads, 64, bytes(0)};
    stream.ctas = ceil_div(static_cast<Count>(tokens), kSortedByCta);
    stream.steps = kSortPassSteps;
    const Operand read = pass == 0 ? reads("indices", items / 2) : rereads("items", items);
    plan.launches.push_back(streaming_launch(stream, {read, scratch("sorted", items)}));
  }
  for (Launch& launch : plan.launches) launch.plan_known = false;
}

Plan backward(const Embedding& s, double element, const Gpu& gpu, TorchRelease release) {
  const double tokens = static_cast<double>(s.tokens), cols = static_cast<double>(s.cols);
  const double table = static_cast<double>(s.vocab) * cols * element;
  const double touched = distinct_rows(s) * cols * element;
  const bool sorted = s.tokens > kUnsortedTokens;
  Plan plan;
  if (sorted) sort_tokens(plan, tokens, gpu);
  // The gradient is dense: every row is written, touched or not.
  plan.launches.push_back(
      streaming_launch(pointwise_stream("zero_gradient", table / element, bytes(element), gpu, 0, 0, release),
                       {writes("gradient", table)}));
  Stream stream;
  stream.name = "embedding_backward";
  stream.character = Character::gather;
  const Count segments = sorted ? ceil_div(s.tokens, kRowsPerSegment) : 1;
  stream.ctas = sorted ? ceil_div(segments * round_up(s.cols, 32), kBackwardThreads) : ceil_div(s.cols, kColumnsPerCta);
  stream.cta = {kBackwardThreads, 32, bytes(0)};
  stream.elements = tokens * cols;
  stream.slots = stream.certain = 1;
  stream.steps = sorted ? static_cast<double>(kRowsPerSegment) : kRowsInTurnSteps * std::ceil(tokens / kRowsAtOnce);
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

Result<Plan> plan(const Embedding& shape, const Format& format, const Gpu& gpu, const Context& context) {
  const double element = in_bytes(size_of(format.output));
  return shape.backward ? backward(shape, element, gpu, context.torch) : forward(shape, element, gpu, context.torch);
}

}  // namespace tilecast
