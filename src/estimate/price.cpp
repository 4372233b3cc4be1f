#include "estimate/price.h"

namespace tilecast {

Result<Priced> price(const Kernel& kernel, const Gpu& gpu, const Context& context, Method method,
                     const ModelSource* weights) {
  auto planned = plan(kernel, gpu, context);
  if (!planned) return std::move(planned).error();
  Estimate e = estimate(*planned, gpu, context, method);
  const FamilyModel* model = method == Method::tilecast && weights ? weights->find(kernel) : nullptr;
  if (model) e = corrected(e, *model, kernel, *planned, gpu, context);
  return Priced{*std::move(planned), std::move(e)};
}

}  // namespace tilecast
