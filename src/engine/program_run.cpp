#include "engine/program_run.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "engine/program_host.h"
#include "engine/program_manners.h"
#include "model/graph.h"
#include "model/program_fuse.h"
#include "model/program_images.h"

namespace tilecast {
namespace {

Pass pass_of(std::string_view phase) {
  if (phase == "optimizer") return Pass::optimizer;
  return phase == "backward" || phase == "recompute" ? Pass::backward : Pass::forward;
}

// Passes over activations find little of them in the cache: between writing and reading a tensor lie others as large,
// and what the gradients read was kept long before.
bool streams(const Shape& shape) {
  return shape.is<Elementwise>() || shape.is<Copy>() || shape.is<LayerNorm>() || shape.is<RmsNorm>() ||
         shape.is<Softmax>() || shape.is<Reduction>();
}

KernelCall call_of(const ProgramKernel& kernel, std::size_t section, Count times, bool known) {
  Operator op;
  op.shape = kernel.kernel.shape;
  KernelCall call;
  call.name = kernel.name, call.section = section, call.op_class = class_of(op);
  call.kernel = kernel.kernel;
  call.context.engine = Launcher::pytorch;
  call.context.kernel_source = kernel.source;
  if (call.context.kernel_source.empty() && kernel.walk != TorchWalk::vectorized)
    call.context.kernel_source = source_of(kernel.walk);
  if (streams(call.kernel.shape)) call.context.warmth = Warmth::cold;
  call.times = times * kernel.times;
  call.flops = model_flops(op);
  call.unknown = !known;
  call.longer = longer_by_manner(kernel);
  slow_products(kernel, call.kernel);
  return call;
}

void add_use(RecordedProgram& made, OperatorUse use, const LoweredOperator& lowered) {
  use.first = made.program.calls.size(), use.kernels = lowered.kernels.size(), use.known = lowered.known;
  for (const ProgramKernel& kernel : lowered.kernels) {
    made.program.calls.push_back(call_of(kernel, static_cast<std::size_t>(use.phase), use.times, lowered.known));
    made.beside.push_back(kernel.beside);
    made.each.push_back(kernel.times);
    use.workspace += static_cast<Count>(kernel.workspace);
  }
  made.uses.push_back(use);
}

// cuBLAS has a workspace for each thread that calls it, and gradients run on another thread (CUDABlas and
// CublasHandlePool.cpp: 32 MiB from compute capability 9.0 on, 8.1 MiB before).
LibraryMemory libraries_of(const ProgramFile& file, const RecordedProgram& made, const Gpu& gpu) {
  constexpr Count kHopper = Count{32} << 20, kBefore = Count{8320} << 10;
  const TensorGeneration generation = gpu.tensor_generation();
  const bool large = generation == TensorGeneration::wgmma || generation == TensorGeneration::tcgen05;
  LibraryMemory memory;
  const auto calls_cublas = [&](Pass pass) {
    return std::any_of(made.uses.begin(), made.uses.end(), [&](const OperatorUse& use) {
      const ProgramRule* rule = find_program_rule(file.operators[static_cast<std::size_t>(use.op)].name);
      return rule && rule->library == ProgramLibrary::cublas &&
             made.program.sections[static_cast<std::size_t>(use.phase)].pass == pass;
    });
  };
  for (const Pass pass : {Pass::forward, Pass::backward})
    if (calls_cublas(pass)) memory.throughout.push_back(large ? kHopper : kBefore);
  memory.of_storage.resize(file.storages.size(), 0);
  memory.born = made.born, memory.dies = made.dies;
  for (std::size_t i = 0; i < made.inside.size(); ++i)
    if (made.inside[i]) memory.of_storage[i] = -file.storages[i].bytes;
  memory.of_call.resize(file.calls.size(), 0);
  for (std::size_t i = 0; i < file.calls.size(); ++i) {
    const ProgramCall& call = file.calls[i];
    const int use = made.use_of_call[i];
    const std::size_t step = made.step_of_call.empty() ? i : static_cast<std::size_t>(made.step_of_call[i]);
    if (use >= 0) memory.of_call[step] = made.uses[static_cast<std::size_t>(use)].workspace;
    const ProgramOperator& op = file.operators[static_cast<std::size_t>(call.op)];
    const auto reserve = static_cast<Count>(recurrent_reserve(OperatorView(file, op)));
    if (reserve > 0 && !call.writes.empty())
      for (const int storage : call.writes)
        if (file.storages[static_cast<std::size_t>(storage)].bytes == 0)
          memory.of_storage[static_cast<std::size_t>(storage)] = reserve;
  }
  return memory;
}

// Identical calls in a phase are one use.
void add_eager_uses(RecordedProgram& made, const ProgramFile& file, const ProgramCard& card) {
  std::map<std::pair<int, int>, int> places;  // operator and phase -> use
  std::vector<OperatorUse> uses;
  for (const ProgramCall& call : file.calls) {
    const auto [place, fresh] = places.emplace(std::pair(call.op, call.phase), static_cast<int>(uses.size()));
    if (fresh) uses.push_back({call.op, call.phase, 0, true, 0, 0, 0, {}});
    ++uses[static_cast<std::size_t>(place->second)].times;
    made.use_of_call.push_back(place->second);
  }
  for (const OperatorUse& use : uses)
    add_use(made, use, lower_operator(file, file.operators[static_cast<std::size_t>(use.op)], card));
}

// Groups are one use each, under their first call's operator; what runs on its own is as in eager mode.
void add_compiled_uses(RecordedProgram& made, const ProgramFile& file, const ProgramCard& card) {
  const FusedProgram fused = fuse(file, card);
  made.inside = fused.inside;
  if (file.from_inductor) made.born = fused.born, made.dies = fused.dies, made.step_of_call = fused.step_of_call;
  std::map<std::tuple<int, int, bool, bool, bool>, int> places;
  const std::vector<bool> images_last = graphs_with_images_last(file);
  made.use_of_call.assign(file.calls.size(), -1);
  for (std::size_t i = 0; i < file.calls.size(); ++i) {
    const ProgramCall& call = file.calls[i];
    const ProgramOperator& op = file.operators[static_cast<std::size_t>(call.op)];
    const int group = fused.group_of_call[i];
    if (fused.inlined[i]) continue;
    if (group >= 0) {
      const FusedGroup& own = fused.groups[static_cast<std::size_t>(group)];
      const bool first = own.calls.front() == static_cast<int>(i) && !own.kernels.empty();
      if (!first) continue;
      made.use_of_call[i] = static_cast<int>(made.uses.size());
      add_use(made, {call.op, call.phase, 1, true, 0, 0, 0, own.kernels.front().name}, {own.kernels, true});
      continue;
    }
    ProgramCard own = card;
    own.compiled = !file.from_inductor || call.graph >= 0;
    own.images_last = call.graph >= 0 ? images_last[static_cast<std::size_t>(call.graph)] : own.compiled;
    own.bias_first = fused.bias_first[i];
    const auto [place, fresh] =
        places.emplace(std::tuple(call.op, call.phase, own.compiled, own.images_last, own.bias_first),
                       static_cast<int>(made.uses.size()));
    if (fresh) add_use(made, {call.op, call.phase, 0, true, 0, 0, 0, {}}, lower_operator(file, op, own));
    OperatorUse& use = made.uses[static_cast<std::size_t>(place->second)];
    ++use.times;
    made.use_of_call[i] = place->second;
  }
  for (const OperatorUse& use : made.uses)
    if (use.fused.empty())
      for (std::size_t k = use.first; k < use.first + use.kernels; ++k)
        made.program.calls[k].times = made.each[k] * use.times;
}

}  // namespace

RecordedProgram as_kernels(const ProgramFile& file, const Gpu& gpu, const ProgramOptions& options) {
  RecordedProgram made;
  const bool compiled = options.kind == EngineKind::compile;
  const ProgramCard card{gpu.sms, gpu.max_threads_per_sm, compiled};
  made.program.engine = options.kind;
  made.program.host = host_cost(options.kind);
  for (const std::string& phase : file.phases) made.program.sections.push_back({phase, 1, pass_of(phase), {}, -1});
  if (compiled) add_compiled_uses(made, file, card);
  else add_eager_uses(made, file, card);
  made.libraries = libraries_of(file, made, gpu);
  made.host_units = host_units(file, made);
  if (const Count launches = made.program.launches(); launches > 0 && options.kind == EngineKind::pytorch)
    made.program.host.per_launch = made.program.host.per_launch * (made.host_units / static_cast<double>(launches));
  return made;
}

Result<RecordedForecast> forecast_recorded(const RecordedProgram& recorded, const Gpu& gpu, Method method,
                                           const ModelSource* weights) {
  auto priced = forecast_step(recorded.program, gpu, 1, method, weights);
  if (!priced) return std::move(priced).error();
  RecordedForecast forecast{*std::move(priced), {}, {}};
  ProgramForecast& step = forecast.step;
  for (std::size_t i = 0; i < step.calls.size(); ++i) {
    const auto times = static_cast<double>(recorded.program.calls[i].times);
    forecast.kernels += (step.calls[i].unheated - recorded.program.host.switching) * times;
    forecast.beside += step.calls[i].each * (times * recorded.beside[i]);
  }
  const Seconds whole = std::max(step.gpu, step.host), left = std::max(step.gpu - forecast.beside, step.host);
  const double shorter = step.total > seconds(0) ? (step.total - (whole - left)) / step.total : 1;
  step.total = step.total * shorter;
  step.interval = {step.interval.low * shorter, step.interval.high * shorter};
  return forecast;
}

}  // namespace tilecast
