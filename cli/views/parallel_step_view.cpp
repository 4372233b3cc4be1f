// Steps over many GPUs, for people.
#include <fmt/format.h>

#include <algorithm>

#include "cli/terminal/marked_text.h"
#include "cli/terminal/units_text.h"
#include "cli/views/predict_view.h"
#include "support/table.h"

namespace tilecast {

std::string gpus_text(std::string_view cluster, int gpus, int gpus_per_node) {
  const Count nodes = ceil_div(gpus, gpus_per_node);
  return fmt::format("{} GPU{} of {}{}", grouped(gpus), gpus == 1 ? "" : "s", cluster,
                     nodes > 1 ? fmt::format(" ({} nodes)", grouped(nodes)) : "");
}

namespace {

std::string place_text(const StepSetting& s) { return gpus_text(s.cluster, s.gpus, s.gpus_per_node); }

std::string batch_text(const StepForecast& step) {
  if (step.setting.mode != Mode::train) return describe(step.setting);
  const Count batches = step.many->micro_batches;
  return fmt::format("{}, {} micro-batch{} a rank", describe(step.setting), batches, batches == 1 ? "" : "es");
}

std::string parts_table(const StepForecast& step) {
  const StepOverMany& many = *step.many;
  Table parts({{"part", Align::left}, {"time"}, {"share"}, {"hidden"}});
  const auto add = [&](const std::string& name, Seconds t, Seconds hidden) {
    if (t > seconds(0) || hidden > seconds(0))
      parts.add({name, text_of(t), percent(t / step.time), hidden > seconds(0) ? text_of(hidden) : "–"});
  };
  add("computing", many.compute, {});
  for (const StepAxis& axis : many.axes)
    add(std::string(name_of(axis.axis)) + " exchange", axis.exposed, std::max(axis.total - axis.exposed, seconds(0)));
  add("pipeline bubble", many.bubble, {});
  add("optimizer, between steps", many.optimizer, {});
  return parts.shown(2);
}

std::string stages_table(const std::vector<StepStage>& all) {
  Table stages({{"stage"},
                {"layers"},
                {"forward"},
                {"backward"},
                {"weights"},
                {"gradients"},
                {"optimizer"},
                {"activations"},
                {"KV cache"},
                {"total"},
                {"of usable"}});
  const auto same = [](const StepStage& a, const StepStage& b) {
    return a.layers == b.layers && a.forward == b.forward && a.backward == b.backward &&
           a.memory.need.total() == b.memory.need.total();
  };
  for (std::size_t i = 0; i < all.size();) {
    std::size_t last = i;
    while (last + 1 < all.size() && same(all[last + 1], all[i])) ++last;
    const StepStage& s = all[i];
    const MemoryNeed& m = s.memory.need;
    stages.add({last > i ? fmt::format("{}–{}", i, last) : fmt::format("{}", i), fmt::format("{}", s.layers),
                text_of(s.forward), s.backward > seconds(0) ? text_of(s.backward) : "–", text_of(m.weights),
                text_of(m.gradients), text_of(m.optimizer), text_of(m.activations), text_of(m.cache),
                text_of(m.total()), percent(m.total() / s.memory.usable)});
    i = last + 1;
  }
  return stages.shown(2);
}

}  // namespace

std::string parallel_table(const StepRows& rows) {
  const StepForecast& first = first_that_runs(rows);
  std::string out =
      fmt::format("{}, {}\n{}\n\n", first.setting.model, batch_text(first), text_of(first.setting.layout));
  Table table({{"on", Align::left},
               {"engine", Align::left},
               {"dtype", Align::left},
               {"step"},
               {"80 % interval"},
               {"tokens/s/GPU"},
               {"MFU"},
               {"bubble"},
               {"exposed"},
               {"memory"},
               {"fits", Align::left},
               {"seen", Align::left}});
  for (const Row<StepForecast>& row : rows) {
    std::vector<std::string> cells = {place_text(row.setting), std::string(name_of(row.setting.engine)),
                                      row.setting.dtype};
    if (!row.answer) {
      table.add(refused_cells(std::move(cells), row.answer.error(), 8));
      continue;
    }
    const StepForecast& s = *row.answer;
    const std::string rate = s.setting.given_shapes ? "–" : text_of_rate(s.tokens_per_second / s.setting.gpus);
    cells.insert(cells.end(), {text_of(s.time), text_of_interval(s.interval.low, s.interval.high), rate, percent(s.mfu),
                               percent(s.many->bubble / s.time), percent(s.many->exposed / s.time),
                               fmt::format("{:.1f} of {:.0f} GiB", in_gibibytes(s.memory.need.total()),
                                           in_gibibytes(s.setting.gpu_memory)),
                               fits_text(s.many->fits), seen_text(name_of(s.seen))});
    table.add(std::move(cells));
  }
  return out + table.shown();
}

std::string parallel_breakdown(const StepForecast& step) {
  return fmt::format("Where a step goes on the busiest rank of {}{}\n\n", step.setting.cluster,
                     step.host_bound ? " (the host launches slower than the GPU computes)" : "") +
         parts_table(step) + "\n  One micro-batch and the memory of a rank, by pipeline stage\n\n" +
         stages_table(step.many->stages);
}

}  // namespace tilecast
