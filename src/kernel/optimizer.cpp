#include "kernel/optimizer.h"

#include <algorithm>
#include <bitset>
#include <vector>

#include "kernel/checks.h"
#include "kernel/streaming.h"

namespace tilecast {
namespace {

// PyTorch MultiTensorApply.cuh: chunks of 65,536 elements, one CTA of 512 threads each, four elements per thread and
// step.
constexpr Count kChunk = 65536;
constexpr int kChunkThreads = 512;
constexpr double kChunkSteps = static_cast<double>(kChunk) / (kChunkThreads * 4);
// It launches at most 320 chunks at a time; the launches follow one another, so they are one launch here.
constexpr Count kChunksPerLaunch = 320;

// Tensors of one value per parameter that a step touches.
enum Tensor : std::size_t { kParameter, kGradient, kFirst, kSecond, kMaster, kDenominator, kTensorKinds };

struct Layout {
  std::array<double, kTensorKinds> bytes;  // per parameter
  double params;
};

// One pointwise operation: what it reads and writes, and its arithmetic per parameter.
struct Pass {
  std::string_view name;
  std::vector<Tensor> reads, writes;
  double slots, xu = 0;
};

// Operations of one step in the order PyTorch issues them (torch/optim/adam.py, adamw.py and sgd.py, _single_tensor_*
// and _multi_tensor_*, without amsgrad); `target` is the master copy where there is one.
std::vector<Pass> unfused_passes(const Optimizer& s) {
  const Tensor target = s.master ? kMaster : kParameter;
  std::vector<Pass> passes;
  if (s.kind == OptimizerKind::sgd) {
    if (s.momentum) {
      passes.push_back({"momentum_decay", {kFirst}, {kFirst}, 1});
      passes.push_back({"momentum_add", {kFirst, kGradient}, {kFirst}, 1});
    }
    passes.push_back({"update", {target, s.momentum ? kFirst : kGradient}, {target}, 1});
  } else {
    if (s.kind == OptimizerKind::adamw) passes.push_back({"weight_decay", {target}, {target}, 1});
    passes.push_back({"first_moment", {kFirst, kGradient}, {kFirst}, 2});
    passes.push_back({"second_decay", {kSecond}, {kSecond}, 1});
    passes.push_back({"second_moment", {kSecond, kGradient}, {kSecond}, 2});
    passes.push_back({"root", {kSecond}, {kDenominator}, 4, 1});
    passes.push_back({"bias_correct", {kDenominator}, {kDenominator}, 1});
    passes.push_back({"epsilon", {kDenominator}, {kDenominator}, 1});
    passes.push_back({"update", {target, kFirst, kDenominator}, {target}, 9, 1});
  }
  if (s.master) passes.push_back({"copy_back", {kMaster}, {kParameter}, 1});
  return passes;
}

Pass fused_pass(const Optimizer& s) {
  const Tensor target = s.master ? kMaster : kParameter;
  Pass pass{"fused_sgd", {kGradient, target}, {target}, 1};
  if (s.master) pass.writes.push_back(kParameter);
  if (s.kind == OptimizerKind::sgd) {
    if (!s.momentum) return pass;
    pass.reads.push_back(kFirst);
    pass.writes.push_back(kFirst);
    pass.slots = 3;
    return pass;
  }
  pass.name = s.kind == OptimizerKind::adam ? "fused_adam" : "fused_adamw";
  for (Tensor state : {kFirst, kSecond}) {
    pass.reads.push_back(state);
    pass.writes.push_back(state);
  }
  pass.slots = 20;
  pass.xu = 2;  // square root and reciprocal
  return pass;
}

constexpr std::array<std::string_view, kTensorKinds> kTensorNames = {"parameters",    "gradients", "first_moment",
                                                                     "second_moment", "master",    "denominator"};

bool contains(const std::vector<Tensor>& list, Tensor t) {
  return std::find(list.begin(), list.end(), t) != list.end();
}

// Compulsory traffic of a tensor counts once in a plan: its first read, and its first write.
struct Counted {
  std::bitset<kTensorKinds> read, written;
};

void add_operands(Launch& launch, const Pass& pass, const Layout& layout, double share, Counted& counted) {
  for (std::size_t i = 0; i < kTensorKinds; ++i) {
    const Tensor t = static_cast<Tensor>(i);
    const bool read = contains(pass.reads, t), written = contains(pass.writes, t);
    if (!read && !written) continue;
    const Bytes size = bytes(layout.bytes[i] * layout.params * share);
    const bool compulsory = t != kDenominator && ((read && !counted.read[i]) || (!read && !counted.written[i]));
    const Operand::Role role = !compulsory      ? Operand::Role::workspace
                               : t == kGradient ? Operand::Role::activation
                                                : Operand::Role::weight;  // states live as long as parameters
    launch.operands.add({kTensorNames[i], size, role, read, written});
    if (read) counted.read[i] = true;
    if (written) counted.written[i] = true;
    const double ctas = static_cast<double>(launch.ctas);
    if (read) launch.tasks[0].each.l2_load += size / ctas;
    if (written) launch.tasks[0].each.l2_store += size / ctas;
  }
}

// A pass over `share` of the parameters.
Launch pass_launch(const Pass& pass, const Optimizer& s, const Layout& layout, double share, const Gpu& gpu,
                   TorchRelease release, Counted& counted) {
  const double n = layout.params * share;
  Stream stream = pointwise_stream(pass.name, n, bytes(4), gpu, pass.slots, pass.xu, release);
  if (s.form != OptimizerForm::plain) {
    // Every tensor ends in its own chunk, which is half full on average.
    stream.ctas = std::max(s.tensors, ceil_div(s.params, kChunk) + (s.tensors - 1) / 2);
    stream.cta = {kChunkThreads, 40, bytes(0)};
    stream.steps = std::min(kChunkSteps, std::max(1.0, n / static_cast<double>(stream.ctas) / (kChunkThreads * 4)));
  }
  Launch launch = streaming_launch(stream, {});
  add_operands(launch, pass, layout, share, counted);
  launch.plan_known = s.form == OptimizerForm::plain ? s.tensors == 1 : launch.ctas <= kChunksPerLaunch;
  return launch;
}

}  // namespace

Status Optimizer::check() const {
  if (auto positive = require_positive({{"params", params}, {"tensors", tensors}}); !positive) return positive;
  if (tensors > params) return field_error("tensors", "cannot exceed params");
  if (form == OptimizerForm::plain && tensors > 10000)
    return field_error("tensors", "must be at most 10000 in the plain form");
  if (momentum && kind != OptimizerKind::sgd) return field_error("momentum", "belongs to sgd; adam always has it");
  return require_reasonable(static_cast<double>(params));
}

Result<Plan> plan(const Optimizer& shape, const Format& format, const Gpu& gpu, const Context& context) {
  const double parameter = in_bytes(size_of(format.output));
  const double gradient = shape.gradient == GradientType::same   ? parameter
                          : shape.gradient == GradientType::fp32 ? 4
                                                                 : 2;
  const Layout layout{{parameter, gradient, 4, 4, 4, 4}, static_cast<double>(shape.params)};
  const std::vector<Pass> passes =
      shape.form == OptimizerForm::fused ? std::vector<Pass>{fused_pass(shape)} : unfused_passes(shape);
  // The plain form walks tensor by tensor; equal tensors represent unequal ones.
  const Count rounds = shape.form == OptimizerForm::plain ? shape.tensors : 1;
  Plan plan;
  for (Count i = 0; i < rounds; ++i) {
    Counted counted;
    for (const Pass& pass : passes)
      plan.launches.push_back(
          pass_launch(pass, shape, layout, 1.0 / static_cast<double>(rounds), gpu, context.torch, counted));
  }
  // One multiply-add per parameter is certain: the update itself.
  plan.launches.back().required.vector = ops(2 * layout.params / static_cast<double>(rounds));
  return plan;
}

}  // namespace tilecast
