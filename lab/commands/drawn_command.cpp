#include "lab/commands/drawn_command.h"

#include "estimate/shipped_weights.h"
#include "lab/commands/shared.h"
#include "lab/evidence/drawn_report.h"

namespace tilecast {

Result<std::string> run_drawn(const DrawnCommand& command) {
  Weights given;
  if (!command.weights.empty()) {
    auto loaded = load_weights(command.weights);
    if (!loaded) return std::move(loaded).error();
    given = *std::move(loaded);
  }
  const Weights& weights = command.weights.empty() ? shipped_weights() : given;
  const auto groups = judge_drawn(command.measurements, weights, kThreads);
  if (!groups) return groups.error();
  const auto products = judge_drawn(command.products, weights, kThreads);
  if (!products) return products.error();
  return page_or_text(drawn_report(*groups) + drawn_products_report(*products), "drawn", command.out);
}

}  // namespace tilecast
