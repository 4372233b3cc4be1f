#include "cli/commands/kernel_command.h"

#include "answers/ask_each.h"
#include "answers/documents.h"
#include "cli/terminal/marked_text.h"
#include "cli/views/kernel_view.h"

namespace tilecast {

Result<std::string> run_kernel(const KernelOptions& options) {
  if (options.gpus.empty()) return field_error("gpu", "is missing", "for example --gpu H100-SXM,B200");
  std::vector<KernelQuery> queries = {options.query};
  if (auto fine = ask_each(queries, "gpu", options.gpus); !fine) return fine.error();
  if (auto fine = ask_each(queries, "dtype", options.dtypes); !fine) return fine.error();
  std::vector<KernelForecast> forecasts;
  for (auto& answer : forecast(queries)) {
    if (!answer) return std::move(answer).error();
    forecasts.push_back(*std::move(answer));
  }
  if (options.json) return forecast_json(forecasts);
  std::string out = forecast_table(options.query, forecasts);
  if (!options.explain) return out + "\n" + hint_text("--explain shows why; --csv and --json are for programs.") + "\n";
  for (const KernelForecast& f : forecasts)
    out += "\n" + (options.dtypes.size() > 1 ? f.dtype + " on " : "") + explain_text(f);
  return out;
}

}  // namespace tilecast
