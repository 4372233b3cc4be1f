// Recorded programs as tables for people.
#include "cli/views/program_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/terminal/flag_names.h"
#include "cli/terminal/marked_text.h"
#include "cli/terminal/units_text.h"
#include "support/table.h"
#include "support/text.h"

namespace tilecast {
namespace {

constexpr std::size_t kRowsShown = 12;

// Layers alike are one row: "encoder.layer.*.attention".
std::string merged_path(const std::string& path) {
  std::string merged;
  for (std::size_t at = 0; at <= path.size();) {
    const auto dot = std::min(path.find('.', at), path.size());
    const std::string part = path.substr(at, dot - at);
    const bool number =
        !part.empty() && std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
    merged += (merged.empty() ? "" : ".") + (number ? std::string("*") : part);
    at = dot + 1;
  }
  return merged.empty() ? "(model)" : merged;
}

std::vector<ProgramShare> merged_modules(const ProgramStep& step) {
  std::map<std::string, ProgramShare> merged;
  for (const ProgramModule& module : step.modules) {
    ProgramShare& share = merged[merged_path(module.path)];
    share.name = merged_path(module.path), share.time += module.own, ++share.calls;
  }
  std::vector<ProgramShare> list;
  for (auto& [name, share] : merged)
    if (share.time > seconds(0)) list.push_back(std::move(share));
  std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.time > b.time; });
  return list;
}

std::string share_table(const char* title, const char* second, const std::vector<ProgramShare>& shares, Seconds whole) {
  Table table({{title, Align::left}, {"time"}, {"share"}, {second}});
  Seconds rest;
  std::size_t left = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const ProgramShare& share = shares[i];
    if (i >= kRowsShown) {
      rest += share.time, ++left;
      continue;
    }
    table.add({share.name + (share.known ? "" : " (unknown)"), text_of(share.time), percent(share.time / whole),
               grouped(share.calls)});
  }
  if (left > 0) table.add({fmt::format("{} others", left), text_of(rest), percent(rest / whole), ""});
  return table.shown(2);
}

std::string collectives_table(const ProgramStep& step) {
  std::string out = fmt::format("One of {} ranks on {}: collectives take {}, of which the step waits {}.\n\n",
                                step.ranks, step.cluster, text_of(step.exchanged), text_of(step.exposed));
  Table table({{"collective", Align::left}, {"ranks"}, {"bytes"}, {"calls"}, {"each"}, {"algorithm", Align::left}});
  for (const ProgramCollectives& c : step.collectives)
    table.add({c.op, grouped(c.ranks), grouped(static_cast<Count>(in_bytes(c.bytes))), grouped(c.calls),
               text_of(c.each), c.algorithm});
  return out + table.shown(2);
}

}  // namespace

std::string program_table(std::span<const Result<ProgramStep>> steps, std::span<const ProgramQuery> queries) {
  const auto ran = std::find_if(steps.begin(), steps.end(), [](const auto& s) { return bool(s); });
  const ProgramStep& first = **ran;
  std::string out = fmt::format("{}, recorded by PyTorch{}{}: {} calls\n\n", first.program,
                                first.torch.empty() ? "" : " ", first.torch, grouped(first.calls));
  Table table({{"GPU", Align::left},
               {"engine", Align::left},
               {"step"},
               {"80 % interval"},
               {"kernels"},
               {"host"},
               {"launches"},
               {"MFU"},
               {"peak memory"},
               {"fits", Align::left},
               {"speed"},
               {"seen", Align::left}});
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!steps[i]) {
      table.add({queries[i].gpu, std::string(queries[i].engine ? name_of(*queries[i].engine) : "–"),
                 as_flag(steps[i].error()).line()});
      continue;
    }
    const ProgramStep& s = *steps[i];
    table.add({s.gpu, std::string(name_of(s.engine)), text_of(s.time),
               text_of_interval(s.interval.low, s.interval.high), text_of(s.gpu_time), text_of(s.host_time),
               grouped(s.launches), percent(s.mfu),
               fmt::format("{:.1f} of {:.0f} GiB", in_gibibytes(s.memory.peak), in_gibibytes(s.memory.card)),
               fits_text(s.memory.fits()), three_digits(first.time / s.time) + "×", seen_text(name_of(s.seen))});
  }
  return out + table.shown();
}

std::string program_breakdown(const ProgramStep& step) {
  std::string out = fmt::format("Where the time goes on {}:\n\n", step.gpu);
  out += share_table("phase", "calls", step.by_phase, step.gpu_time) + "\n";
  out += share_table("operator", "calls", step.by_operator, step.gpu_time) + "\n";
  out += share_table("module", "modules", merged_modules(step), step.gpu_time) + "\n";
  if (!step.unknown.empty()) {
    std::vector<std::string> names;
    for (const ProgramShare& share : step.unknown)
      names.push_back(fmt::format("{} ({})", share.name, percent(share.time / step.gpu_time)));
    out += note_word("Note:") + " no rule knows " + join(names, ", ") + "; priced by the bytes of their tensors.\n\n";
  }
  if (step.ranks > 1) out += collectives_table(step) + "\n";
  out += fmt::format("Memory: {:.2f} GiB at its peak{}, {:.2f} GiB between steps, {:.2f} GiB taken from the driver.\n",
                     in_gibibytes(step.memory.peak),
                     step.memory.peak_module.empty() ? "" : " in " + step.memory.peak_module,
                     in_gibibytes(step.memory.resting), in_gibibytes(step.memory.reserved));
  return out + "\n" + hint_text("--json has every operator, every module and the memory over the step.") + "\n";
}

}  // namespace tilecast
