#include "lab/commands/tune_judge_command.h"

#include <fmt/format.h>

#include "gpu/registry.h"
#include "lab/evaluate/slow_rows.h"
#include "lab/evidence/tune_plots.h"
#include "lab/fit/triton_fit.h"
#include "support/file.h"

namespace tilecast {

Result<std::string> run_tune_judge(const TuneJudgeOptions& o) {
  if (o.fit_steps < 0 || o.fit_steps > 100000)
    return Error{"", "fit", "must lie between 0 and 100000", "0 fits nothing"};
  auto text = tune_tables_h200(o.measurements);
  if (!text) return text.error();
  if (!o.plots.empty()) {
    const auto plots = tune_plots(o.measurements);
    if (!plots) return plots.error();
    for (const NamedPlot& plot : *plots)
      if (const Status written = write_text_file(o.plots + "/" + plot.file, plot.svg); !written) return written.error();
  }
  if (!o.synperf.empty()) {
    const auto lists = tune_table_synperf(o.synperf + "/moe_configs");
    if (!lists) return lists.error();
    const auto flags = flag_tables(o.synperf);
    if (!flags) return flags.error();
    *text += *lists + *flags;
  }
  if (o.fit_steps == 0) return text;
  auto shapes =
      read_moe_sweep(o.measurements + "/h200_fused_moe.csv.gz", o.measurements + "/h200_fused_moe_again.csv.gz");
  const auto gpu = find_gpu("H200-SXM");
  if (!shapes) return shapes.error();
  std::erase_if(*shapes, [](const TunedShape& shape) { return !fitted_to(shape.layer); });
  const auto fitted = fit_constants(*shapes, *gpu, {}, o.fit_steps, static_cast<unsigned>(o.seed));
  if (!fitted) return fitted.error();
  return *text + fmt::format("### Constants after {} steps (loss {:.4f}, before {:.4f})\n\n{}", o.fit_steps,
                             *tune_loss(*shapes, *gpu, *fitted), *tune_loss(*shapes, *gpu, {}), text_of(*fitted));
}

}  // namespace tilecast
