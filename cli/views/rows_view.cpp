#include "cli/views/rows_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cli/terminal/marked_text.h"
#include "cli/terminal/units_text.h"
#include "support/table.h"

namespace tilecast {
namespace {

constexpr ShownColumn kKernel[] = {{"gpu", "GPU"},
                                   {"latency_us", "forecast"},
                                   {"interval_us", "80 % interval"},
                                   {"bound_us", "bound"},
                                   {"efficiency", "efficiency", RowForm::share},
                                   {"limited_by", "limited by"},
                                   {"seen", "seen"}};
constexpr ShownColumn kPredict[] = {{"gpu", "GPU"},
                                    {"cluster", "cluster"},
                                    {"engine", "engine"},
                                    {"dtype", "dtype"},
                                    {"step_ms", "step"},
                                    {"interval_ms", "80 % interval"},
                                    {"tokens_per_second", "tokens/s", RowForm::rate},
                                    {"tokens_per_second_per_gpu", "tokens/s/GPU", RowForm::rate},
                                    {"mfu", "MFU", RowForm::share},
                                    {"limited_by", "limited by"},
                                    {"memory_total_bytes", "memory"},
                                    {"memory_peak_bytes", "memory"},
                                    {"memory_fits", "fits"},
                                    {"fits", "fits"},
                                    {"seen", "seen"}};
constexpr ShownColumn kMemory[] = {{"gpu", "GPU"},
                                   {"cluster", "cluster"},
                                   {"dtype", "dtype"},
                                   {"memory_weights_bytes", "weights"},
                                   {"memory_gradients_bytes", "gradients"},
                                   {"memory_optimizer_bytes", "optimizer"},
                                   {"memory_activations_bytes", "activations"},
                                   {"memory_cache_bytes", "KV cache"},
                                   {"memory_workspace_bytes", "workspace"},
                                   {"memory_total_bytes", "total"},
                                   {"memory_usable_bytes", "usable"},
                                   {"memory_fits", "fits"},
                                   {"largest_batch", "largest batch", RowForm::count},
                                   {"longest_sequence", "longest sequence", RowForm::count}};
constexpr ShownColumn kCollective[] = {{"cluster", "cluster"},
                                       {"bytes", "bytes", RowForm::count},
                                       {"tokens", "tokens", RowForm::count},
                                       {"ranks", "ranks", RowForm::count},
                                       {"latency_us", "forecast"},
                                       {"interval_us", "80 % interval"},
                                       {"bound_us", "bound"},
                                       {"bus_bytes_per_s", "bus bandwidth"},
                                       {"algorithm", "algorithm"},
                                       {"seen", "seen"}};
constexpr ShownColumn kSimulate[] = {{"gpu", "GPU"},
                                     {"load", "load"},
                                     {"request_throughput", "requests/s"},
                                     {"output_throughput", "output tokens/s", RowForm::rate},
                                     {"mean_ttft_ms", "TTFT mean"},
                                     {"p99_ttft_ms", "TTFT p99"},
                                     {"mean_tpot_ms", "TPOT mean"},
                                     {"p99_tpot_ms", "TPOT p99"},
                                     {"mean_e2el_ms", "E2EL mean"},
                                     {"cache_mean", "cache", RowForm::share},
                                     {"gpu_busy", "GPU busy", RowForm::share},
                                     {"request_goodput", "goodput/s"}};
constexpr ShownColumn kPlanServe[] = {{"gpus", "GPUs", RowForm::count},
                                      {"gpu", "GPU"},
                                      {"engine", "engine"},
                                      {"dtype", "dtype"},
                                      {"pool_tp", "tp"},
                                      {"pool_copies", "copies"},
                                      {"ttft_ms", "TTFT"},
                                      {"tpot_ms", "TPOT"},
                                      {"output_tokens_per_second_per_gpu", "tokens/s/GPU", RowForm::rate},
                                      {"usd_per_hour", "$/h", RowForm::dollars},
                                      {"usd_per_million_output_tokens", "$/M out", RowForm::dollars},
                                      {"seen", "seen"},
                                      {"problem", "none, because"}};
constexpr ShownColumn kPlanTrain[] = {{"gpus", "GPUs", RowForm::count},
                                      {"cluster", "cluster"},
                                      {"layout_tp", "tp"},
                                      {"layout_cp", "cp"},
                                      {"layout_dp", "dp"},
                                      {"layout_pp", "pp"},
                                      {"layout_ep", "ep"},
                                      {"micro_batch", "micro-batch", RowForm::count},
                                      {"step_ms", "step"},
                                      {"interval_ms", "80 % interval"},
                                      {"tokens_per_second_per_gpu", "tokens/s/GPU", RowForm::rate},
                                      {"mfu", "MFU", RowForm::share},
                                      {"memory_bytes", "memory"},
                                      {"days", "days"}};
constexpr ShownColumn kTune[] = {{"gpu", "GPU"},
                                 {"config_BLOCK_SIZE_M", "tile m"},
                                 {"config_BLOCK_SIZE_N", "tile n"},
                                 {"config_BLOCK_SIZE_K", "tile k"},
                                 {"config_num_warps", "warps"},
                                 {"config_num_stages", "stages"},
                                 {"forecast_us", "forecast"}};

constexpr RowsView kViews[] = {{"kernel", kKernel, "latency_us"},
                               {"predict", kPredict, "step_ms"},
                               {"memory", kMemory, "memory_total_bytes"},
                               {"collective", kCollective, "latency_us"},
                               {"simulate", kSimulate, "mean_ttft_ms"},
                               {"plan serve", kPlanServe, "output_tokens_per_second_per_gpu", true},
                               {"plan train", kPlanTrain, "tokens_per_second_per_gpu", true},
                               {"tune gemm", kTune, "forecast_us", true}};

std::string plain_text(double value) {
  if (value == std::round(value) && std::abs(value) < 1e15) return grouped(std::llround(value));
  return three_digits(value);
}

std::string number_in_words(std::string_view column, double value, RowForm form) {
  if (form == RowForm::share) return percent(value);
  if (form == RowForm::count) return grouped(std::llround(value));
  if (form == RowForm::rate) return text_of_rate(value);
  if (form == RowForm::dollars) return text_of_usd(value);
  if (column.ends_with("_us")) return text_of(microseconds(value));
  if (column.ends_with("_ms")) return text_of(microseconds(value * 1e3));
  if (column.ends_with("_bytes")) return text_of(bytes(value));
  if (column.ends_with("_bytes_per_s")) return text_of(bytes(value) / seconds(1));
  return plain_text(value);
}

std::string cell_in_words(const ShownColumn& shown, std::string_view column, const RowCell& cell) {
  if (cell.text.empty()) return "–";
  if (cell.number) return number_in_words(column, *cell.number, shown.form);
  const std::string words = cell.yes_no ? (cell.text == "true" ? "yes" : "no") : cell.text;
  if (shown.title == "fits") return fits_text(words == "yes");
  return shown.title == "seen" ? seen_text(words) : words;
}

// A column of the table: one of the rows, or two that are the ends of an interval.
struct Place {
  ShownColumn shown;
  std::size_t at = 0;
  std::optional<std::size_t> high;
};

bool has_values(const AnswerRows& rows, std::size_t at) {
  return std::any_of(rows.rows.begin(), rows.rows.end(), [at](const auto& row) { return !row[at].text.empty(); });
}

std::vector<Place> places_of(const RowsView& view, const AnswerRows& rows) {
  std::vector<Place> places;
  for (std::size_t i = 0; i < rows.swept; ++i) places.push_back({{rows.columns[i], rows.columns[i]}, i, {}});
  for (const ShownColumn& shown : view.columns) {
    std::string low(shown.column), high(shown.column);
    if (low.starts_with("interval")) low.insert(8, "_low"), high.insert(8, "_high");
    const auto at = rows.find(low), end = rows.find(high);
    // The load of a simulation says what was swept once more.
    const bool again = shown.column == "load" && rows.swept > 0 && rows.columns.front() != "sweep";
    if (!at || *at < rows.swept || again || !has_values(rows, *at)) continue;
    places.push_back({shown, *at, low == high ? std::nullopt : end});
  }
  return places;
}

bool is_number_column(const AnswerRows& rows, std::size_t at) {
  return std::none_of(rows.rows.begin(), rows.rows.end(),
                      [at](const auto& row) { return !row[at].text.empty() && !row[at].number; });
}

// Notes of the rows below their table: what all of them say once, the rest with the values it is said of.
std::string notes_below(const AnswerRows& rows) {
  constexpr std::size_t kShown = 6;
  const auto at = rows.find("notes");
  if (!at) return {};
  std::vector<std::string> lines;
  for (const auto& row : rows.rows) {
    const std::string& note = row[*at].text;
    if (note.empty()) continue;
    std::string values;
    for (std::size_t i = 0; i < rows.swept; ++i)
      values += fmt::format("{}{} {}", i == 0 ? "" : ", ", rows.columns[i], row[i].text);
    const bool everywhere =
        std::all_of(rows.rows.begin(), rows.rows.end(), [&](const auto& other) { return other[*at].text == note; });
    std::string line = everywhere || values.empty() ? note : fmt::format("{}: {}", values, note);
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(std::move(line));
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(lines.size(), kShown); ++i)
    text += "\n" + note_word("Note:") + " " + lines[i] + ".\n";
  if (lines.size() > kShown)
    text += fmt::format("\n{} more notes: --csv and --json have them.\n", lines.size() - kShown);
  return text;
}

}  // namespace

const RowsView& rows_view(std::string_view question) {
  static constexpr RowsView kNone{};
  const auto* found =
      std::find_if(std::begin(kViews), std::end(kViews), [&](const RowsView& v) { return v.question == question; });
  return found == std::end(kViews) ? kNone : *found;
}

std::string rows_text(const RowsView& view, const AnswerRows& all, std::string_view heading) {
  const AnswerRows rows = view.first_alone ? all.first_of_each() : all;
  const std::vector<Place> places = places_of(view, rows);
  const auto problem = rows.find("error");
  std::vector<Table::Column> columns;
  for (const Place& place : places) {
    std::string title(place.shown.title);
    if (place.at < rows.swept) std::replace(title.begin(), title.end(), '_', '-');  // as flags are spelled
    columns.push_back({std::move(title), is_number_column(rows, place.at) ? Align::right : Align::left});
  }
  if (problem) columns.push_back({"", Align::left});
  Table table(std::move(columns));
  for (const auto& row : rows.rows) {
    std::vector<std::string> cells;
    for (const Place& place : places) {
      std::string words = cell_in_words(place.shown, rows.columns[place.at], row[place.at]);
      if (place.high && row[place.at].number)
        words += " – " + cell_in_words(place.shown, rows.columns[*place.high], row[*place.high]);
      cells.push_back(std::move(words));
    }
    if (problem) cells.push_back(marked(Mark::bad, row[*problem].text));
    table.add(std::move(cells));
  }
  return fmt::format("{}\n\n{}{}", heading, table.shown(), notes_below(rows));
}

}  // namespace tilecast
