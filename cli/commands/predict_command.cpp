#include "cli/commands/predict_command.h"

#include <fmt/format.h>

#include "cli/terminal/units_text.h"
#include "support/file.h"
#include "support/table.h"

namespace tilecast {

namespace {

std::string count_or_dash(Count n) { return n > 0 ? grouped(n) : std::string("–"); }

Table memory_table() {
  return Table({{"GPU", Align::left},
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
                {"KV tokens"},
                {"largest batch"},
                {"longest sequence"}});
}

// Cells of a row after its names, up to `fits`.
std::vector<std::string> need_cells(const MemoryNeed& m, Bytes usable, bool fits) {
  return {text_of(m.weights), text_of(m.gradients), text_of(m.optimizer), text_of(m.activations), text_of(m.cache),
          text_of(m.workspace), text_of(m.total()),  text_of(usable),      fits ? "yes" : "no"};
}

}  // namespace

std::string context_note(const Run& run) {
  const std::string beyond = beyond_context(run);
  return beyond.empty() ? "" : "\nNote: " + beyond + ".\n";
}

Result<std::string> run_predict(const PredictOptions& options) {
  const auto variants = forecast_variants(options);
  if (!variants) return variants.error();
  const std::vector<Variant> running = those_that_run(*variants);
  if (!options.trace.empty())
    if (auto written = write_text_file(options.trace, trace_json(running)); !written) return std::move(written).error();
  if (options.json) return predict_json(*variants);
  std::string out = predict_table(*variants) + context_note(running.front().run);
  if (options.compare) return out + "\n" + compare_table(running);
  if (options.kernels) {
    for (const Variant& v : running) out += fmt::format("\n{}\n\n{}", v.gpu.name, kernels_table(v));
    return out;
  }
  out += "\n" + breakdown_text(running.front());
  return out +
         "\n--kernels lists every kernel, --compare sets GPUs, dtypes and engines side by side, --trace FILE is for "
         "Perfetto, --json for programs.\n";
}

Result<std::string> run_memory(const PredictOptions& options) {
  PredictOptions quick = options;
  quick.method = "roofline";  // memory does not ask how long
  const auto variants = forecast_variants(quick);
  if (!variants) return variants.error();
  if (options.json) return predict_json(*variants);
  Table table = memory_table();
  for (const Variant& v : *variants) {
    std::vector<std::string> cells = {v.gpu.name, std::string(v.run.engine.precision.linear.name)};
    if (v.refused) {
      cells.insert(cells.end(), 8, "–");
      cells.push_back("cannot run: " + v.refused->problem);
      cells.insert(cells.end(), 3, "–");
      table.add(std::move(cells));
      continue;
    }
    const auto largest = largest_that_fits(v.run, v.gpu);
    if (!largest) return largest.error();
    for (std::string& cell : need_cells(v.forecast.memory, v.forecast.usable, v.forecast.fits()))
      cells.push_back(std::move(cell));
    cells.insert(cells.end(), {count_or_dash(v.forecast.cache_tokens), count_or_dash(largest->batch),
                               count_or_dash(largest->length) + (largest->by_model ? " (the model's)" : "")});
    table.add(std::move(cells));
  }
  const Run& first = variants->front().run;
  return fmt::format("{}, {}\n\n{}{}", name_of(first.model), name_of(first.workload.mode), table.text(),
                     context_note(first));
}

}  // namespace tilecast
