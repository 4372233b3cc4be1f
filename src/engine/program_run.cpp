#include "engine/program_run.h"

#include <map>

#include "engine/program_host.h"
#include "engine/program_manners.h"
#include "model/graph.h"

namespace tilecast {
namespace {

Pass pass_of(std::string_view phase) {
  if (phase == "optimizer") return Pass::optimizer;
  return phase == "backward" || phase == "recompute" ? Pass::backward : Pass::forward;
}

// Passes over activations find little of them in the cache: between a tensor's writing and its reading stand others as large,
// and what the gradients read was kept from long before.
bool streams(const Shape& shape) {
  return std::holds_alternative<Elementwise>(shape) || std::holds_alternative<Copy>(shape) ||
         std::holds_alternative<LayerNorm>(shape) || std::holds_alternative<RmsNorm>(shape) ||
         std::holds_alternative<Softmax>(shape) || std::holds_alternative<Reduction>(shape);
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
  for (const ProgramKernel& kernel : lowered.kernels)
    made.program.calls.push_back(call_of(kernel, static_cast<std::size_t>(use.phase), use.times, lowered.known));
  made.uses.push_back(use);
}

}  // namespace

RecordedProgram as_kernels(const ProgramFile& file, const Gpu& gpu, const ProgramOptions& options) {
  RecordedProgram made;
  const ProgramCard card{gpu.sms, gpu.max_threads_per_sm};
  made.program.engine = options.kind;
  made.program.host = host_cost(options.kind);
  for (const std::string& phase : file.phases) made.program.sections.push_back({phase, 1, pass_of(phase), {}, -1});
  std::map<std::pair<int, int>, int> places;  // operator and phase -> use
  std::vector<OperatorUse> uses;
  for (const ProgramCall& call : file.calls) {
    const auto [place, fresh] = places.emplace(std::pair(call.op, call.phase), static_cast<int>(uses.size()));
    if (fresh) uses.push_back({call.op, call.phase, 0, true, 0, 0});
    ++uses[static_cast<std::size_t>(place->second)].times;
    made.use_of_call.push_back(place->second);
  }
  for (const OperatorUse& use : uses)
    add_use(made, use,
            lower_operator(file, file.operators[static_cast<std::size_t>(use.op)], card, options.formulas));
  made.host_units = host_units(file, made);
  if (const Count launches = made.program.launches(); launches > 0 && options.kind == EngineKind::pytorch)
    made.program.host.per_launch = made.program.host.per_launch * (made.host_units / static_cast<double>(launches));
  return made;
}

}  // namespace tilecast
