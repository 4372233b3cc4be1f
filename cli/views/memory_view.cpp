// Memory of steps as tables for people.
#include <fmt/format.h>

#include "cli/terminal/marked_text.h"
#include "cli/terminal/units_text.h"
#include "cli/views/predict_view.h"
#include "support/table.h"

namespace tilecast {
namespace {

std::string count_or_dash(Count n) { return n > 0 ? grouped(n) : std::string("–"); }

std::vector<std::string> need_cells(const MemoryNeed& m, Bytes usable) {
  return {text_of(m.weights), text_of(m.gradients), text_of(m.optimizer), text_of(m.activations),
          text_of(m.cache),   text_of(m.workspace), text_of(m.total()),   text_of(usable)};
}

std::vector<std::string> largest_cells(const MemoryForecast& f) {
  return {count_or_dash(f.largest_batch),
          count_or_dash(f.longest_sequence) + (f.ended_by_model ? " (the model's)" : "")};
}

std::vector<std::string> one_gpu_cells(const MemoryForecast& f) {
  const StepMemory& m = f.stages.front();
  std::vector<std::string> cells = need_cells(m.need, m.usable);
  cells.insert(cells.end(), {fits_text(m.fits()), count_or_dash(m.cache_tokens)});
  for (std::string& cell : largest_cells(f)) cells.push_back(std::move(cell));
  return cells;
}

// Columns of what memory is needed for, between others.
std::vector<Table::Column> with_needs(std::vector<Table::Column> before, const std::vector<Table::Column>& after) {
  for (const char* name :
       {"weights", "gradients", "optimizer", "activations", "KV cache", "workspace", "total", "usable"})
    before.push_back({name});
  before.insert(before.end(), after.begin(), after.end());
  return before;
}

}  // namespace

std::string memory_table(const MemoryRows& rows) {
  Table table(with_needs({{"GPU", Align::left}, {"dtype", Align::left}},
                         {{"fits", Align::left}, {"KV tokens"}, {"largest batch"}, {"longest sequence"}}));
  for (const Row<MemoryForecast>& row : rows) {
    std::vector<std::string> cells = {row.setting.gpu, row.setting.dtype};
    if (!row.answer) {
      cells = refused_cells(std::move(cells), row.answer.error(), 8);
      cells.insert(cells.end(), 3, "–");
    } else {
      for (std::string& cell : one_gpu_cells(*row.answer)) cells.push_back(std::move(cell));
    }
    table.add(std::move(cells));
  }
  const StepSetting& first = rows.front().setting;
  return fmt::format("{}, {}\n\n{}", first.model, name_of(first.mode), table.shown());
}

std::string parallel_memory_table(const MemoryRows& rows) {
  Table table(with_needs({{"on", Align::left}, {"dtype", Align::left}, {"stage"}},
                         {{"KV tokens"}, {"fits", Align::left}, {"largest batch"}, {"longest sequence"}}));
  for (const Row<MemoryForecast>& row : rows) {
    const StepSetting& s = row.setting;
    const std::vector<std::string> names = {gpus_text(s.cluster, s.gpus, s.gpus_per_node), s.dtype};
    if (!row.answer) {
      table.add(refused_cells(names, row.answer.error(), 12));
      continue;
    }
    for (std::size_t i = 0; i < row.answer->stages.size(); ++i) {
      const StepMemory& m = row.answer->stages[i];
      std::vector<std::string> cells = {names[0], names[1], fmt::format("{}", i)};
      for (std::string& cell : need_cells(m.need, m.usable)) cells.push_back(std::move(cell));
      cells.insert(cells.end(), {count_or_dash(m.cache_tokens), fits_text(m.fits())});
      // Of the whole layout: said once.
      for (std::string& cell : largest_cells(*row.answer)) cells.push_back(i == 0 ? std::move(cell) : std::string());
      table.add(std::move(cells));
    }
  }
  const StepSetting& first = first_that_runs(rows).setting;
  return fmt::format("{}, {}, {}: memory of each rank\n\n{}", first.model, name_of(first.mode), text_of(first.layout),
                     table.shown());
}

}  // namespace tilecast
