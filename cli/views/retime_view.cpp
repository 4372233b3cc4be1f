#include "cli/views/retime_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/terminal/marked_text.h"
#include "cli/terminal/units_text.h"
#include "cli/views/diagnose_view.h"
#include "support/counted.h"
#include "support/table.h"

namespace tilecast {
namespace {

constexpr std::size_t kKernelWidth = 44, kDimsWidth = 52;

std::string shortened(std::string text, std::size_t width) {
  if (text.size() > width) text = text.substr(0, width - 2) + "..";
  return text;
}

std::string shape_of(const RetimedWork& work) {
  if (work.shape_family.empty()) return work.op.empty() ? "–" : work.op;
  std::string words = work.shape_family + " " + work.dtype;
  for (const auto& [name, value] : work.dims) words += fmt::format(" {}={}", name, value);
  return words;
}

std::string range_text(const Interval& interval) { return text_of(interval.low) + " – " + text_of(interval.high); }

std::string times_text(const RetimedDevice& d) {
  const auto change = [](Seconds before, Seconds after) { return text_of(before) + " -> " + text_of(after); };
  std::string text =
      fmt::format("device {}: first to last work {}, busy {}, idle {} (host late {})", d.device,
                  change(d.recorded.window, d.retimed.window), change(d.recorded.busy, d.retimed.busy),
                  change(d.recorded.idle, d.retimed.idle), change(d.recorded.idle_host_late, d.retimed.idle_host_late));
  if (d.recorded.exposed_collectives > seconds(0))
    text +=
        fmt::format(", collectives alone {}", change(d.recorded.exposed_collectives, d.retimed.exposed_collectives));
  return text + "\n";
}

std::string head_text(const RetimeReport& r) {
  std::string text = fmt::format("{}: {}{}, from {} to {}\n", r.trace, r.format,
                                 r.recorded_on.empty() ? "" : " of " + r.recorded_on, r.from, r.gpu);
  if (!r.cluster.empty()) text += fmt::format("collectives from {} to {}\n", r.from_cluster, r.cluster);
  text += fmt::format("GPU work {} -> {} (80 %: {}), {} times as long\n", text_of(r.recorded), text_of(r.retimed),
                      range_text(r.interval), three_digits(r.recorded > seconds(0) ? r.retimed / r.recorded : 1));
  for (const RetimedDevice& d : r.devices) text += times_text(d);
  const auto part = [&](RetimeBasis basis) {
    return share_words(r.by_basis[static_cast<std::size_t>(basis)], r.recorded);
  };
  text += fmt::format(
      "of the recorded time {} is re-timed by its shape, {} as collectives, {} as streams of memory; {} "
      "stays as recorded ({} not recognised)\n",
      part(RetimeBasis::shape), part(RetimeBasis::collective), part(RetimeBasis::stream), part(RetimeBasis::recorded),
      share_words(r.not_recognised, r.recorded));
  std::string limits;
  for (const LimitShare& limit : r.limits)
    limits += fmt::format("{}{} {}", limits.empty() ? "" : ", ", limit.limit, share_words(limit.time, r.retimed));
  text += "limited there by: " + limits + "\n";
  for (const std::string& note : r.notes) text += note_word("Note:") + " " + note + "\n";
  return text;
}

std::string work_table(const RetimeReport& r, Count top) {
  Table table({{"kernel", Align::left},
               {"shape", Align::left},
               {"calls"},
               {"recorded"},
               {"re-timed"},
               {"80 %"},
               {"ratio"},
               {"by", Align::left},
               {"limited by", Align::left},
               {"seen", Align::left}});
  for (const RetimedWork& w : r.work) {
    if (top-- <= 0) break;
    const bool kept = w.basis == RetimeBasis::recorded;
    table.add({shortened(w.name, kKernelWidth), shortened(shape_of(w), kDimsWidth), fmt::format("{}", w.calls),
               text_of(w.recorded), text_of(w.retimed), kept ? "–" : range_text(w.interval), three_digits(w.ratio()),
               std::string(name_of(w.basis)), w.limited_by ? std::string(name_of(*w.limited_by)) : "–",
               kept ? "–" : seen_text(name_of(w.seen))});
  }
  return "\nKernels by recorded time\n" + table.shown(2);
}

std::string kept_table(const RetimeReport& r, Count top) {
  Table table({{"kernel", Align::left}, {"time"}, {"share"}, {"launches"}, {"because", Align::left}});
  Count rows = 0;
  for (const RetimedWork& w : r.work)
    if (w.basis == RetimeBasis::recorded && rows++ < top)
      table.add({shortened(w.full_name, kKernelWidth), text_of(w.recorded), share_words(w.recorded, r.recorded),
                 fmt::format("{}", w.launches), w.kept_because});
  if (rows == 0) return "";
  return fmt::format("\nAs recorded: {}, {} of the time\n", counted(rows, "name"),
                     share_words(r.by_basis[static_cast<std::size_t>(RetimeBasis::recorded)], r.recorded)) +
         table.shown(2);
}

}  // namespace

std::string retime_text(const RetimeReport& r, Count top) {
  return head_text(r) + work_table(r, top) + kept_table(r, top);
}

}  // namespace tilecast
