#include "cli/commands/diagnose_command.h"

#include <fmt/format.h>

#include "cli/terminal/units_text.h"
#include "estimate/shipped_weights.h"
#include "gpu/registry.h"
#include "support/file.h"
#include "support/table.h"

namespace tilecast {
namespace {

constexpr std::size_t kNameWidth = 44, kShapeWidth = 52;

std::string cut(std::string text, std::size_t width) {
  if (text.size() > width) text = text.substr(0, width - 2) + "..";
  return text;
}

// The card of --gpu, or the one the file names.
Result<Gpu> card_of(const DiagnoseOptions& options, const Recording& recording) {
  if (!options.gpu.empty()) return load_gpu(options.gpu);
  if (recording.gpu.empty())
    return Error{"--gpu", "", "is missing, and " + options.trace + " does not name the card",
                 "for example --gpu H200-SXM"};
  auto found = find_gpu(recording.gpu);
  if (!found)
    return Error{"--gpu", "", "is missing, and the file's card '" + recording.gpu + "' is not known by that name",
                 found.error().remedy};
  return found;
}

std::string share(Seconds part, Seconds whole) { return whole > seconds(0) ? percent(part / whole) : "0 %"; }

std::string summary(const Diagnosis& d) {
  Count launches = 0;
  for (const FamilyTotal& f : d.families) launches += f.launches;
  std::string text = fmt::format("{}: {}{}, against forecasts for {}\n", d.path, d.format,
                                 d.recorded_on.empty() ? "" : " of " + d.recorded_on, d.gpu);
  text += fmt::format("GPU work {} in {} launches; kernels recognised for {} of it, forecast for {}\n",
                      text_of(d.total), launches, share(d.recognised, d.total), share(d.compared, d.total));
  for (const Timeline& t : d.timelines) {
    text += fmt::format("device {}: {} from first to last work, busy {}, idle {}", t.device, text_of(t.window),
                        share(t.busy, t.window), share(t.idle(), t.window));
    std::string parts;
    const auto part = [&](const char* name, Seconds time) {
      if (time > t.window * 0.005)
        parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", name, share(time, t.window));
    };
    part("host late", t.host_late);
    part("launched but not begun", t.launched);
    part("launch not recorded", t.unexplained);
    text += parts.empty() ? "\n" : " (" + parts + ")\n";
  }
  if (d.timelines.empty()) text += "the file holds no times of day: busy and idle time are not known\n";
  for (const std::string& note : d.notes) text += "note: " + note + "\n";
  return text;
}

std::string family_table(const Diagnosis& d) {
  Table table({{"family", Align::left}, {"time"}, {"share"}, {"launches"}, {"forecast for"}, {"above ceiling"}});
  for (const FamilyTotal& f : d.families)
    table.add({std::string(describe(f.family)), text_of(f.total), share(f.total, d.total),
               fmt::format("{}", f.launches), f.compared > seconds(0) ? share(f.compared, f.total) : "–",
               f.lost > seconds(0) ? text_of(f.lost) : "–"});
  return "\nWhere the time goes\n" + table.text(2);
}

std::string kernel_table(const Diagnosis& d, Count top) {
  Table table({{"kernel", Align::left},
               {"shape", Align::left},
               {"time"},
               {"share"},
               {"calls"},
               {"per call"},
               {"forecast"},
               {"ceiling"},
               {"limited by", Align::left}});
  for (const WorkGroup& g : d.groups) {
    if (top-- <= 0) break;
    const auto& c = g.comparison;
    table.add({cut(g.name, kNameWidth), cut(shape_words(g), kShapeWidth), text_of(g.total), share(g.total, d.total),
               fmt::format("{}", g.calls), text_of(g.per_call()), c ? text_of(c->forecast) : "–",
               c ? text_of(c->ceiling) : "–", limit_words(g)});
  }
  return "\nKernels by time\n" + table.text(2);
}

std::string shortfall_table(const Diagnosis& d, Count top) {
  std::vector<const WorkGroup*> behind;
  for (const WorkGroup& g : d.groups)
    if (g.underperforms()) behind.push_back(&g);
  if (behind.empty()) return "\nNo kernel with a forecast is clearly above its ceiling\n";
  std::sort(behind.begin(), behind.end(), [](const auto* a, const auto* b) { return a->lost() > b->lost(); });
  Table table({{"kernel", Align::left},
               {"shape", Align::left},
               {"lost"},
               {"of all"},
               {"per call"},
               {"ceiling"},
               {"times slower"},
               {"limited by", Align::left}});
  for (const WorkGroup* g : behind) {
    if (top-- <= 0) break;
    table.add({cut(g->name, kNameWidth), cut(shape_words(*g), kShapeWidth), text_of(g->lost()),
               share(g->lost(), d.total), text_of(g->per_call()), text_of(g->comparison->ceiling),
               three_digits(g->per_call() / g->comparison->ceiling), limit_words(*g)});
  }
  return fmt::format("\nAbove their ceiling: {} shapes, {} in all ({} of the GPU's time)\n", behind.size(),
                     text_of(d.lost), share(d.lost, d.total)) +
         table.text(2);
}

// Work without a family, and work of a family whose shape nothing tells.
std::string unknown_table(const Diagnosis& d, Count top) {
  std::string text;
  Table unknown({{"kernel", Align::left}, {"operator", Align::left}, {"time"}, {"share"}, {"launches"}});
  Count rows = 0;
  for (const WorkGroup& g : d.groups)
    if (g.family == WorkFamily::unknown && rows++ < top)
      unknown.add({cut(g.full_name, kNameWidth), cut(g.op.empty() ? "–" : g.op, kShapeWidth), text_of(g.total),
                   share(g.total, d.total), fmt::format("{}", g.launches)});
  if (rows > 0)
    text += fmt::format("\nNot recognised: {} names, {} of the GPU's time\n", rows,
                        share(d.total - d.recognised, d.total)) +
            unknown.text(2);
  Seconds shapeless;
  for (const WorkGroup& g : d.groups)
    if (g.family != WorkFamily::unknown && !g.comparison) shapeless += g.total;
  if (shapeless > d.total * 0.005)
    text += fmt::format(
        "\n{} ({}) is of known families but has no forecast: record shapes (record_shapes=True), and "
        "the step before it becomes a CUDA graph\n",
        text_of(shapeless), share(shapeless, d.total));
  return text;
}

std::string gap_table(const Diagnosis& d) {
  if (d.timelines.empty() || d.timelines.front().longest.empty()) return "";
  const Timeline& t = d.timelines.front();
  Table table({{"at"}, {"idle"}, {"after", Align::left}, {"before", Align::left}, {"cause", Align::left}});
  for (std::size_t i = 0; i < std::min<std::size_t>(5, t.longest.size()); ++i) {
    const Gap& g = t.longest[i];
    table.add({text_of(g.start), text_of(g.length), cut(g.before, kNameWidth), cut(g.after, kNameWidth),
               g.host ? "host late" + (g.op.empty() ? "" : " (" + g.op + ")") : "launched"});
  }
  std::string text = fmt::format("\nLongest of {} gaps on device {}\n", t.gaps, t.device) + table.text(2);
  if (!t.spans.empty())
    text += fmt::format(
        "  {} ({}) in stretches where each launch was waited for; the longest is {} with {} launches, "
        "the GPU busy {} of it\n",
        text_of(t.in_spans), share(t.in_spans, t.window), text_of(t.spans.front().length), t.spans.front().launches,
        share(t.spans.front().busy, t.spans.front().length));
  std::string calls;
  for (std::size_t i = 0; i < std::min<std::size_t>(4, d.host.size()); ++i)
    calls +=
        fmt::format("{}{} {} in {} calls", i ? ", " : "", d.host[i].name, text_of(d.host[i].total), d.host[i].count);
  if (!calls.empty()) text += "  the host's calls: " + calls + "\n";
  return text;
}

Status write_plots(const std::string& prefix, const DiagnosePlots& plots) {
  if (auto written = write_text_file(prefix + "_families.svg", plots.families); !written) return written;
  if (auto written = write_text_file(prefix + "_ceilings.svg", plots.ceilings); !written) return written;
  for (std::size_t i = 0; i < plots.busy.size(); ++i) {
    const std::string path = prefix + (i == 0 ? "_busy.svg" : fmt::format("_busy_{}.svg", i));
    if (auto written = write_text_file(path, plots.busy[i]); !written) return written;
  }
  return Ok{};
}

}  // namespace

std::string shape_words(const WorkGroup& group) {
  if (!group.comparison) return group.op;
  const Kernel& kernel = group.comparison->kernel;
  std::string dims = dims_text(kernel.shape);
  for (char& c : dims)
    if (c == ';') c = ' ';
  return fmt::format("{} {} {}{}", family_of(kernel.shape), kernel.format.name, dims,
                     group.comparison->from == ShapeFrom::launch ? " (from its grid)" : "");
}

std::string limit_words(const WorkGroup& group) {
  if (group.comparison) return std::string(name_of(group.comparison->limited_by));
  if (group.counters && group.counters->memory_share + group.counters->compute_share > 0) {
    const Counters& c = *group.counters;
    return c.memory_share >= c.compute_share ? "memory, " + percent(c.memory_share) + " of peak"
                                             : "compute, " + percent(c.compute_share) + " of peak";
  }
  if (group.bytes > bytes(0) && group.total > seconds(0)) return text_of(group.bytes / group.total);
  return "–";
}

std::string diagnose_text(const Diagnosis& d, Count top) {
  std::string text = summary(d) + family_table(d) + kernel_table(d, top) + shortfall_table(d, top) +
                     unknown_table(d, top) + gap_table(d);
  if (d.advice.empty()) return text + "\nNothing stands out to try\n";
  text += "\nWhat to try (at most; the times overlap)\n";
  int number = 0;
  for (const Advice& a : d.advice)
    text += fmt::format("  {}. {}: {}\n     {}.\n     Try: {}.\n", ++number, a.title, text_of(a.at_stake), a.reason,
                        a.action);
  return text;
}

Result<std::string> run_diagnose(const DiagnoseOptions& options) {
  if (options.top < 1 || options.top > 10000) return Error{"--top", "", "must lie between 1 and 10000", ""};
  auto recording = read_recording(options.trace);
  if (!recording) return std::move(recording).error();
  auto gpu = card_of(options, *recording);
  if (!gpu) return std::move(gpu).error();
  std::optional<Weights> given;
  if (!options.weights.empty()) {
    auto loaded = load_weights(options.weights);
    if (!loaded) return std::move(loaded).error();
    given = *std::move(loaded);
  }
  const ModelSource& models = given ? static_cast<const ModelSource&>(*given) : shipped_models();
  Diagnosis d = diagnose(*recording, *gpu, &models, options.gpu);
  if (!recording->gpu.empty() && !options.gpu.empty())
    if (const auto named = find_gpu(recording->gpu); named && named->name != gpu->name && gpu->built_in)
      d.notes.push_back("the file was recorded on " + named->name + ", the forecasts are for " + gpu->name);
  if (!options.html.empty())
    if (auto written = write_text_file(options.html, diagnose_html(d, options.top)); !written)
      return std::move(written).error();
  if (!options.svg.empty())
    if (auto written = write_plots(options.svg, diagnose_plots(d)); !written) return std::move(written).error();
  return options.json ? diagnose_json(d) : diagnose_text(d, options.top);
}

}  // namespace tilecast
