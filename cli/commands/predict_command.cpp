#include "cli/commands/predict_command.h"

#include <fmt/format.h>

#include "cli/terminal/units_text.h"
#include "support/file.h"
#include "support/table.h"

namespace tilecast {

Result<std::string> run_predict(const PredictOptions& options) {
  auto variants = forecast_variants(options);
  if (!variants) return std::move(variants).error();
  if (!options.trace.empty())
    if (auto written = write_text_file(options.trace, trace_json(*variants)); !written)
      return std::move(written).error();
  if (options.json) return predict_json(*variants);
  std::string out = predict_table(*variants);
  if (options.compare) return out + "\n" + compare_table(*variants);
  if (options.kernels) {
    for (const Variant& v : *variants) out += fmt::format("\n{}\n\n{}", v.gpu.name, kernels_table(v));
    return out;
  }
  out += "\n" + breakdown_text(variants->front());
  return out +
         "\n--kernels lists every kernel, --compare sets GPUs, dtypes and engines side by side, --trace FILE is for "
         "Perfetto, --json for programs.\n";
}

Result<std::string> run_memory(const PredictOptions& options) {
  PredictOptions quick = options;
  quick.method = "roofline";  // memory does not ask how long
  auto variants = forecast_variants(quick);
  if (!variants) return std::move(variants).error();
  if (options.json) return predict_json(*variants);
  Table table({{"GPU", Align::left},
               {"dtype", Align::left},
               {"weights"},
               {"gradients"},
               {"optimizer"},
               {"activations"},
               {"KV cache"},
               {"workspace"},
               {"total"},
               {"usable"},
               {"fits", Align::left},
               {"largest batch"},
               {"longest sequence"}});
  for (const Variant& v : *variants) {
    const MemoryNeed& m = v.forecast.memory;
    const auto largest = largest_that_fits(v.run, v.gpu);
    if (!largest) return largest.error();
    const auto count = [](Count n) { return n > 0 ? fmt::format("{}", n) : std::string("–"); };
    table.add({v.gpu.name, std::string(v.run.engine.precision.linear.name), text_of(m.weights), text_of(m.gradients),
               text_of(m.optimizer), text_of(m.activations), text_of(m.cache), text_of(m.workspace), text_of(m.total()),
               text_of(v.forecast.usable), v.forecast.fits() ? "yes" : "no", count(largest->batch),
               count(largest->length)});
  }
  return fmt::format("{}, {}\n\n{}", name_of(variants->front().run.model), name_of(variants->front().run.workload.mode),
                     table.text());
}

}  // namespace tilecast
