#include "estimate/price.h"

namespace tilecast {

Result<Priced> price(const Kernel& kernel, const Gpu& gpu, const Context& context, Method method,
                     const ModelSource* weights, Wanted wanted) {
  const FamilyModel* model = method == Method::tilecast && weights ? weights->find(kernel) : nullptr;
  const Context named = model ? stand_in(*model, context, gpu) : context;
  auto planned = plan(kernel, gpu, named);
  if (!planned) return std::move(planned).error();
  Estimate e = estimate(*planned, gpu, named, method);
  const bool guessed = !context.kernel_source.empty() && named.kernel_source != context.kernel_source;
  if (model) e = corrected(e, *model, kernel, *planned, gpu, named, guessed, wanted);
  else if (method == Method::tilecast && gpu.calibration) e = calibrated(e, kernel, *planned, gpu, named);
  return Priced{*std::move(planned), std::move(e)};
}

}  // namespace tilecast
