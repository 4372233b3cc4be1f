#include "engine/any_routing.h"

#include "engine/path.h"
#include "engine/run.h"
#include "kernel/moe.h"

namespace tilecast {

void bound_any_routing(ProgramForecast& step, const Program& program, const Gpu& gpu) {
  for (std::size_t i = 0; i < program.calls.size(); ++i) {
    Kernel kernel = program.calls[i].kernel;
    auto* moe = kernel.shape.get_if<Moe>();
    if (!moe || moe->distribution == ExpertDistribution::given) continue;
    kernel.format = path_on(gpu, kernel, program.calls[i].context.engine).format;
    std::vector<double> few(static_cast<std::size_t>(moe->experts), 0.0);
    // Ranks that share experts take turns: each visits as few of its own.
    for (Count n = 0; n < moe->topk; ++n)
      few[static_cast<std::size_t>(n % moe->ep * moe->local_experts() + n / moe->ep)] = 1;
    const auto shape = routed(*moe, Routing{ExpertDistribution::given, moe->alpha, few});
    if (!shape) continue;
    *moe = *shape;
    const auto priced = price(kernel, gpu, program.calls[i].context, Method::roofline, nullptr);
    CallForecast& call = step.calls[i];
    if (!priced || !(priced->estimate.bound < call.bound)) continue;
    step.bound = step.bound - (call.bound - priced->estimate.bound) * static_cast<double>(program.calls[i].times);
    call.bound = priced->estimate.bound;
  }
}

}  // namespace tilecast
