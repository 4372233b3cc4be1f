#include "diagnose/transfer.h"

#include <algorithm>
#include <map>
#include <optional>

namespace tilecast {
namespace {

// One call of an operator: what it launched of one family.
struct TimedCall {
  std::size_t group = 0;
  Seconds time;
};
// Calls of one operator and family, in the order of their work.
using CallsByOperator = std::map<std::pair<std::string, WorkFamily>, std::vector<TimedCall>>;

CallsByOperator calls_of(const Recording& recording, const GroupedWork& work) {
  CallsByOperator calls;
  std::map<std::pair<std::uint32_t, std::size_t>, std::pair<std::vector<TimedCall>*, std::size_t>> open;
  for (const WorkEvent& event : recording.events) {
    const WorkKind& kind = recording.kinds[event.kind];
    const std::size_t group = work.of_kind[event.kind];
    if (kind.op < 0 || event.call == 0 || !work.groups[group].shape) continue;
    const auto [at, is_new] = open.try_emplace({event.call, group}, nullptr, 0);
    if (is_new) {
      auto& list = calls[{recording.operators[static_cast<std::size_t>(kind.op)].name, work.families[event.kind]}];
      list.push_back({group, {}});
      at->second = {&list, list.size() - 1};
    }
    (*at->second.first)[at->second.second].time += nanoseconds(static_cast<double>(event.duration));
  }
  return calls;
}

// Forecasts of a recording's groups, made when asked for.
class Forecasts {
 public:
  Forecasts(const GroupedWork& work, const Gpu& gpu, const ModelSource* weights)
      : work_(work), gpu_(gpu), weights_(weights), known_(work.groups.size()) {}

  std::optional<Seconds> of(std::size_t group) {
    auto& known = known_[group];
    if (!known) {
      const ReadGroup& read = work_.groups[group];
      const auto made = compare(*read.shape, read.group.library, gpu_, weights_);
      known = made && made->forecast > seconds(0) ? made->forecast : seconds(-1);
    }
    return *known > seconds(0) ? known : std::nullopt;
  }

 private:
  const GroupedWork& work_;
  const Gpu& gpu_;
  const ModelSource* weights_;
  std::vector<std::optional<Seconds>> known_;  // negative: there is none
};

}  // namespace

Transfer transfer(const Recording& first, const Recording& second, const Gpu& gpu, const ModelSource* weights) {
  const GroupedWork before = group_work(first), after = group_work(second);
  const CallsByOperator calls_before = calls_of(first, before), calls_after = calls_of(second, after);
  Forecasts forecasts_before(before, gpu, weights), forecasts_after(after, gpu, weights);
  std::map<std::size_t, TransferredWork> rows;
  Transfer result;
  result.total = second.total();
  for (const auto& [key, calls] : calls_after) {
    const auto like = calls_before.find(key);
    // A program that calls an operator more often at another size does not do the same work.
    if (like == calls_before.end() || like->second.size() != calls.size()) continue;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const TimedCall &old = like->second[i], &call = calls[i];
      const auto from = forecasts_before.of(old.group), to = forecasts_after.of(call.group);
      if (!from || !to) continue;
      TransferredWork& row = rows[call.group];
      row.family = key.second;
      ++row.calls;
      row.before += old.time, row.recorded += call.time, row.plain += *to;
      row.forecast += old.time * (*to / *from);
    }
  }
  for (auto& [group, row] : rows) {
    row.op = after.groups[group].group.op, row.name = after.groups[group].group.name;
    result.recorded += row.recorded, result.forecast += row.forecast, result.plain += row.plain;
    result.work.push_back(std::move(row));
  }
  result.unmatched = result.total - result.recorded;
  std::sort(result.work.begin(), result.work.end(),
            [](const TransferredWork& a, const TransferredWork& b) { return a.recorded > b.recorded; });
  return result;
}

}  // namespace tilecast
