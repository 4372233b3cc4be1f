#include "cli/views/diagnose_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/terminal/marked_text.h"
#include "cli/terminal/units_text.h"
#include "support/counted.h"
#include "support/table.h"

namespace tilecast {
namespace {

constexpr std::size_t kNameWidth = 44, kShapeWidth = 52;

std::string cut(std::string text, std::size_t width) {
  if (text.size() > width) text = text.substr(0, width - 2) + "..";
  return text;
}

std::string summary(const DiagnosisReport& d) {
  Count launches = 0;
  for (const FamilyTime& f : d.families) launches += f.launches;
  std::string text = fmt::format("{}: {}{}, against forecasts for {}\n", d.trace, d.format,
                                 d.recorded_on.empty() ? "" : " of " + d.recorded_on, d.gpu);
  text += fmt::format("GPU work {} in {}; kernels recognised for {} of it, forecast for {}\n", text_of(d.total),
                      counted(launches, "launch", "launches"), share_words(d.recognised, d.total),
                      share_words(d.compared, d.total));
  for (const DeviceTimeline& t : d.devices) {
    text += fmt::format("device {}: {} from first to last work, busy {}, idle {}", t.device, text_of(t.window),
                        share_words(t.busy, t.window), share_words(t.idle, t.window));
    std::string parts;
    const auto part = [&](const char* name, Seconds time) {
      if (time > t.window * 0.005)
        parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", name, share_words(time, t.window));
    };
    part("host late", t.idle_host_late);
    part("launched but not begun", t.idle_launched);
    part("launch not recorded", t.idle_unexplained);
    text += parts.empty() ? "\n" : " (" + parts + ")\n";
  }
  if (d.devices.empty()) text += "the file holds no times of day: busy and idle time are not known\n";
  for (const std::string& note : d.notes) text += note_word("Note:") + " " + note + "\n";
  return text;
}

std::string family_table(const DiagnosisReport& d) {
  Table table({{"family", Align::left}, {"time"}, {"share"}, {"launches"}, {"forecast for"}, {"above ceiling"}});
  for (const FamilyTime& f : d.families)
    table.add({f.words, text_of(f.total), share_words(f.total, d.total), fmt::format("{}", f.launches),
               f.compared > seconds(0) ? share_words(f.compared, f.total) : "–",
               f.above_ceiling > seconds(0) ? text_of(f.above_ceiling) : "–"});
  return "\nWhere the time goes\n" + table.shown(2);
}

std::string kernel_table(const DiagnosisReport& d, Count top) {
  Table table({{"kernel", Align::left},
               {"shape", Align::left},
               {"time"},
               {"share"},
               {"calls"},
               {"per call"},
               {"forecast"},
               {"ceiling"},
               {"limited by", Align::left}});
  for (const RecordedWork& g : d.work) {
    if (top-- <= 0) break;
    const auto& c = g.forecast;
    table.add({cut(g.name, kNameWidth), cut(shape_words(g), kShapeWidth), text_of(g.total),
               share_words(g.total, d.total), fmt::format("{}", g.calls), text_of(g.per_call),
               c ? text_of(c->forecast) : "–", c ? text_of(c->ceiling) : "–", limit_words(g)});
  }
  return "\nKernels by time\n" + table.shown(2);
}

std::string shortfall_table(const DiagnosisReport& d, Count top) {
  std::vector<const RecordedWork*> behind;
  for (const RecordedWork& g : d.work)
    if (g.underperforms) behind.push_back(&g);
  if (behind.empty()) return "\nNo kernel with a forecast is clearly above its ceiling\n";
  std::sort(behind.begin(), behind.end(),
            [](const auto* a, const auto* b) { return a->above_ceiling > b->above_ceiling; });
  Table table({{"kernel", Align::left},
               {"shape", Align::left},
               {"lost"},
               {"of all"},
               {"per call"},
               {"ceiling"},
               {"times slower"},
               {"limited by", Align::left}});
  for (const RecordedWork* g : behind) {
    if (top-- <= 0) break;
    table.add({cut(g->name, kNameWidth), cut(shape_words(*g), kShapeWidth), text_of(g->above_ceiling),
               share_words(g->above_ceiling, d.total), text_of(g->per_call), text_of(g->forecast->ceiling),
               three_digits(g->per_call / g->forecast->ceiling), limit_words(*g)});
  }
  return fmt::format("\nAbove their ceiling: {}, {} in all ({} of the GPU's time)\n",
                     counted(static_cast<Count>(behind.size()), "shape"), text_of(d.above_ceiling),
                     share_words(d.above_ceiling, d.total)) +
         table.shown(2);
}

// Work without a family, and work of a family whose shape nothing tells.
std::string unknown_table(const DiagnosisReport& d, Count top) {
  std::string text;
  Table unknown({{"kernel", Align::left}, {"operator", Align::left}, {"time"}, {"share"}, {"launches"}});
  Count rows = 0;
  for (const RecordedWork& g : d.work)
    if (!g.recognised() && rows++ < top)
      unknown.add({cut(g.full_name, kNameWidth), cut(g.op.empty() ? "–" : g.op, kShapeWidth), text_of(g.total),
                   share_words(g.total, d.total), fmt::format("{}", g.launches)});
  if (rows > 0)
    text += fmt::format("\nNot recognised: {}, {} of the GPU's time\n", counted(rows, "name"),
                        share_words(d.total - d.recognised, d.total)) +
            unknown.shown(2);
  Seconds shapeless;
  for (const RecordedWork& g : d.work)
    if (g.recognised() && !g.forecast) shapeless += g.total;
  if (shapeless > d.total * 0.005)
    text += fmt::format(
        "\n{} ({}) is of known families but has no forecast: record shapes (record_shapes=True), and "
        "the step before it becomes a CUDA graph\n",
        text_of(shapeless), share_words(shapeless, d.total));
  return text;
}

std::string gap_table(const DiagnosisReport& d) {
  if (d.devices.empty() || d.devices.front().longest_gaps.empty()) return "";
  const DeviceTimeline& t = d.devices.front();
  Table table({{"at"}, {"idle"}, {"after", Align::left}, {"before", Align::left}, {"cause", Align::left}});
  for (std::size_t i = 0; i < std::min<std::size_t>(5, t.longest_gaps.size()); ++i) {
    const IdleGap& g = t.longest_gaps[i];
    table.add({text_of(g.start), text_of(g.length), cut(g.before, kNameWidth), cut(g.after, kNameWidth),
               g.host_late ? "host late" + (g.op.empty() ? "" : " (" + g.op + ")") : "launched"});
  }
  std::string text = fmt::format("\nLongest of {} on device {}\n", counted(t.gaps, "gap"), t.device) + table.shown(2);
  if (!t.host_bound_spans.empty()) {
    const HostBoundSpan& longest = t.host_bound_spans.front();
    text += fmt::format(
        "  {} ({}) in stretches where each launch was waited for; the longest is {} with {} launches, "
        "the GPU busy {} of it\n",
        text_of(t.host_bound), share_words(t.host_bound, t.window), text_of(longest.length), longest.launches,
        share_words(longest.busy, longest.length));
  }
  std::string calls;
  for (std::size_t i = 0; i < std::min<std::size_t>(4, d.host.size()); ++i)
    calls +=
        fmt::format("{}{} {} in {} calls", i ? ", " : "", d.host[i].name, text_of(d.host[i].total), d.host[i].count);
  if (!calls.empty()) text += "  the host's calls: " + calls + "\n";
  return text;
}

}  // namespace

std::string shape_words(const RecordedWork& work) {
  if (!work.forecast) return work.op;
  std::string words = work.forecast->family + " " + work.forecast->dtype;
  for (const auto& [name, value] : work.forecast->dims) words += fmt::format(" {}={}", name, value);
  return words + (work.forecast->shape_from == ShapeOrigin::launch ? " (from its grid)" : "");
}

std::string limit_words(const RecordedWork& work) {
  if (work.forecast) return std::string(name_of(work.forecast->limited_by));
  if (work.counters && work.counters->memory_share + work.counters->compute_share > 0) {
    const RecordedWork::Counters& c = *work.counters;
    return c.memory_share >= c.compute_share ? "memory, " + percent(c.memory_share) + " of peak"
                                             : "compute, " + percent(c.compute_share) + " of peak";
  }
  if (work.bytes > bytes(0) && work.total > seconds(0)) return text_of(work.bytes / work.total);
  return "–";
}

std::string share_words(Seconds part, Seconds whole) { return whole > seconds(0) ? percent(part / whole) : "0 %"; }

std::string diagnose_text(const DiagnosisReport& d, Count top) {
  std::string text = summary(d) + family_table(d) + kernel_table(d, top) + shortfall_table(d, top) +
                     unknown_table(d, top) + gap_table(d);
  if (d.advice.empty()) return text + "\nNothing stands out to try\n";
  text += "\nWhat to try (at most; the times overlap)\n";
  int number = 0;
  for (const Suggestion& a : d.advice)
    text += fmt::format("  {}. {}: {}\n     {}.\n     Try: {}.\n", ++number, a.title, text_of(a.at_stake), a.reason,
                        a.action);
  return text;
}

}  // namespace tilecast
