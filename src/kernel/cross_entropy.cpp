#include "kernel/cross_entropy.h"

#include <algorithm>

#include "kernel/checks.h"
#include "kernel/streaming.h"

namespace tilecast {
namespace {

// PyTorch SoftMax.cu, host_softmax over the last dimension: one CTA per row, a power-of-two block of up to 1024
// threads, one 16-byte vector per thread and step. A row that fits shared memory is read once, otherwise once each for
// the maximum, the sum and the result.
constexpr int kMostThreads = 1024;
constexpr double kVectorBytes = 16;
constexpr double kRowPasses = 3;
constexpr double kTargetBytes = 8;
// PyTorch NLLLoss2d/Loss.cu, nll_loss_forward_reduce: one CTA of 32 threads adds all rows.
constexpr int kLossThreads = 32;

Stream row_stream(const CrossEntropy& s, std::string_view name, double element) {
  Stream stream;
  stream.name = name;
  stream.ctas = s.rows;
  const Count vectors = ceil_div(s.cols, static_cast<Count>(kVectorBytes / element));
  stream.cta = {threads_for(vectors, kMostThreads), 40, bytes(0)};
  stream.elements = static_cast<double>(s.rows) * static_cast<double>(s.cols);
  stream.steps = static_cast<double>(ceil_div(vectors, stream.cta.threads));
  return stream;
}

// Each row's log-probability or gradient at its target.
Stream target_stream(const CrossEntropy& s, std::string_view name, double slots) {
  Stream stream;
  stream.name = name;
  stream.character = Character::gather;
  stream.cta = {kLossThreads, 32, bytes(0)};
  stream.elements = static_cast<double>(s.rows);
  stream.slots = slots;
  stream.steps = static_cast<double>(ceil_div(s.rows, kLossThreads));
  return stream;
}

Plan forward(const CrossEntropy& s, double element, const Gpu& gpu) {
  const double rows = static_cast<double>(s.rows), n = rows * static_cast<double>(s.cols) * element;
  Stream softmax = row_stream(s, "log_softmax", element);
  softmax.slots = 6;  // maximum; subtract, scale, add up; subtract twice
  softmax.xu = 1;
  softmax.certain = 1;
  const double row_bytes = static_cast<double>(s.cols) * element;
  const bool in_shared = row_bytes < in_bytes(gpu.shared_memory.per_cta);
  softmax.passes = in_shared ? 1 : kRowPasses;
  if (in_shared) softmax.cta.shared_memory = bytes(row_bytes);
  const Stream loss = target_stream(s, "nll_loss", 2);
  // A fused loss keeps no log-probabilities, so they are scratch.
  return Plan{{streaming_launch(softmax, {reads("logits", n), scratch("log_probabilities", n)}),
               streaming_launch(loss, {rereads("log_probabilities", rows * element),
                                       reads("targets", kTargetBytes * rows), writes("loss", element)})}};
}

Plan backward(const CrossEntropy& s, double element, const Gpu& gpu, TorchRelease release) {
  const double rows = static_cast<double>(s.rows), elements = rows * static_cast<double>(s.cols);
  const double n = elements * element;
  const Stream scatter = target_stream(s, "nll_loss_backward", 1);
  Stream softmax = row_stream(s, "log_softmax_backward", element);
  softmax.slots = 3;  // add up; multiply, subtract
  softmax.xu = 1;
  softmax.certain = 1;
  softmax.passes =
      2;  // the sum of the row's gradient, then the result; the second log-probability read is the only one
  Launch last = streaming_launch(
      softmax, {rereads("gradient_loss", n), reads("log_probabilities", n), writes("gradient_logits", n)});
  last.tasks[0].each.l2_load = bytes(3 * n / static_cast<double>(softmax.ctas));
  return Plan{
      {streaming_launch(pointwise_stream("zero_gradient", elements, bytes(element), gpu, 0, 0, release),
                        {scratch("gradient_loss", n)}),
       streaming_launch(scatter, {reads("targets", kTargetBytes * rows), scratch("gradient_loss", rows * element)}),
       last}};
}

}  // namespace

Status CrossEntropy::check() const {
  if (auto positive = require_positive({{"rows", rows}, {"cols", cols}}); !positive) return positive;
  return require_reasonable(static_cast<double>(rows) * static_cast<double>(cols));
}

Result<Plan> plan(const CrossEntropy& shape, const Format& format, const Gpu& gpu, const Context& context) {
  const double element = in_bytes(size_of(format.output));
  return shape.backward ? backward(shape, element, gpu, context.torch) : forward(shape, element, gpu);
}

}  // namespace tilecast
