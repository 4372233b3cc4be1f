#include "parallel/program_ranks.h"

#include <algorithm>
#include <map>
#include <optional>

#include "model/program_collectives.h"

namespace tilecast {
namespace {

// A group as the collective's forecast wants it: how many, and how they lie on nodes.
struct Members {
  int ranks = 1, local = 0;
};

Members members_of(const ProcessGroup& group, int rank, int gpus_per_node) {
  Members found{static_cast<int>(group.ranks.size()), 0};
  bool neighbours = true;
  for (std::size_t i = 1; i < group.ranks.size(); ++i)
    neighbours = neighbours && group.ranks[i] == group.ranks[i - 1] + 1;
  if (neighbours) return found;
  const int node = rank / gpus_per_node;
  for (const int member : group.ranks) found.local += member / gpus_per_node == node ? 1 : 0;
  return found;
}

// What a call of the program is, on its stream.
struct SpreadCall {
  Seconds kernels;
  int exchange = -1;  // of SpreadStep::exchanges
  bool waited_for = false, waits = false;
  int group = -1;
};

class Pricer {
 public:
  Pricer(const ProgramFile& file, const Cluster& cluster) : file_(file), cluster_(cluster) {}

  // Where the operator is a collective of more than one rank, the place of its kind.
  Result<int> exchange_of(const ProgramOperator& op, const ProgramCollective& call, SpreadStep& step) {
    const auto group = std::find_if(file_.groups.begin(), file_.groups.end(),
                                    [&](const ProcessGroup& g) { return g.name == call.group; });
    if (group == file_.groups.end())
      return Error{file_.name, "ranks.groups", "has no group '" + std::string(call.group) + "' of " + op.name,
                   "record the program again"};
    const Members members = members_of(*group, file_.rank, cluster_.gpus_per_node);
    if (members.ranks < 2) return -1;
    const Key key{std::string(call.op), call.bytes, group - file_.groups.begin()};
    if (const auto known = places_.find(key); known != places_.end()) return known->second;
    Collective asked;
    const auto kind = collective_from(call.op);
    if (!kind) return kind.error();
    asked.op = *kind, asked.bytes = bytes(call.bytes), asked.ranks = members.ranks, asked.local = members.local;
    const auto priced = forecast_collective(asked, cluster_, shipped_comm_constants());
    if (!priced) return priced.error();
    step.exchanges.push_back({key.op,
                              members.ranks,
                              0,
                              asked.bytes,
                              priced->latency,
                              {priced->low, priced->high},
                              priced->algorithm,
                              priced->seen});
    return places_[key] = static_cast<int>(step.exchanges.size()) - 1;
  }

 private:
  struct Key {
    std::string op;
    double bytes;
    std::ptrdiff_t group;
    auto operator<=>(const Key&) const = default;  // NOLINT(modernize-use-nullptr): there is no pointer
  };
  const ProgramFile& file_;
  const Cluster& cluster_;
  std::map<Key, int> places_;
};

// Clocks of streams as calls are given to them, one after the other.
class Streams {
 public:
  explicit Streams(std::size_t count) : ends_(count) {}
  Seconds now(int stream) const {
    return ends_[place(stream)].empty() ? seconds(0) : ends_[place(stream)].back().second;
  }
  // What the stream was given before call `until` has ended.
  Seconds until(int stream, int until) const {
    const auto& ends = ends_[place(stream)];
    const auto after =
        std::partition_point(ends.begin(), ends.end(), [&](const auto& end) { return end.first < until; });
    return after == ends.begin() ? seconds(0) : std::prev(after)->second;
  }
  void advance(int stream, int call, Seconds end) {
    ends_[place(stream)].emplace_back(call, std::max(now(stream), end));
  }
  Seconds last() const {
    Seconds end;
    for (std::size_t i = 0; i < ends_.size(); ++i) end = std::max(end, now(static_cast<int>(i)));
    return end;
  }

 private:
  static std::size_t place(int stream) { return static_cast<std::size_t>(stream); }
  std::vector<std::vector<std::pair<int, Seconds>>> ends_;  // of each: calls and when they end
};

std::size_t stream_count(const ProgramFile& file) {
  int most = 0;
  for (const ProgramCall& call : file.calls) most = std::max(most, call.stream);
  for (const StreamWait& wait : file.waits) most = std::max({most, wait.stream, wait.other});
  return static_cast<std::size_t>(most) + 1;
}

// When the last stream has ended, if exchanges take as long as `price` says.
template <class Price>
Seconds ended(const ProgramFile& file, const std::vector<SpreadCall>& calls, Price&& price) {
  Streams streams(stream_count(file));
  std::map<int, Seconds> lanes, ready;  // groups are busy until; storages hold a collective's result from
  std::size_t wait = 0;
  const auto wait_before = [&](std::size_t call) {
    for (; wait < file.waits.size() && static_cast<std::size_t>(file.waits[wait].call) <= call; ++wait) {
      const StreamWait& w = file.waits[wait];
      streams.advance(w.stream, static_cast<int>(call), streams.until(w.other, w.until));
    }
  };
  for (std::size_t i = 0; i < calls.size(); ++i) {
    wait_before(i);
    const ProgramCall& call = file.calls[i];
    const SpreadCall& spread = calls[i];
    const auto number = static_cast<int>(i);
    if (spread.waits)
      for (const int storage : call.reads)
        if (const auto at = ready.find(storage); at != ready.end()) streams.advance(call.stream, number, at->second);
    if (spread.exchange < 0) {
      if (spread.kernels > seconds(0)) streams.advance(call.stream, number, streams.now(call.stream) + spread.kernels);
      continue;
    }
    Seconds& lane = lanes[spread.group];
    lane = std::max(lane, streams.now(call.stream)) + price(spread.exchange);
    if (!spread.waited_for) streams.advance(call.stream, number, lane);
    for (const int storage : call.writes) ready[storage] = lane;
  }
  wait_before(calls.size());
  return streams.last();
}

Seconds kernels_of(const OperatorUse& use, const RecordedProgram& recorded, const ProgramForecast& forecast) {
  Seconds sum;
  for (std::size_t k = use.first; k < use.first + use.kernels; ++k)
    sum += forecast.calls[k].each * (static_cast<double>(recorded.each[k]) * (1 - recorded.beside[k]));
  return sum;
}

}  // namespace

Result<SpreadStep> spread(const ProgramFile& file, const RecordedProgram& recorded, const ProgramForecast& forecast,
                          double pace, const Cluster& cluster) {
  SpreadStep step;
  Pricer pricer(file, cluster);
  std::vector<SpreadCall> calls(file.calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const ProgramOperator& op = file.operators[static_cast<std::size_t>(file.calls[i].op)];
    const int use = recorded.use_of_call[i];
    if (use >= 0)
      calls[i].kernels = kernels_of(recorded.uses[static_cast<std::size_t>(use)], recorded, forecast) * pace;
    calls[i].waits = waits_for_collective(op.name);
    const auto collective = collective_of(OperatorView(file, op));
    if (!collective) continue;
    const auto exchange = pricer.exchange_of(op, *collective, step);
    if (!exchange) return exchange.error();
    calls[i].exchange = *exchange, calls[i].waited_for = collective->waited_for;
    for (std::size_t g = 0; g < file.groups.size(); ++g)
      if (file.groups[g].name == collective->group) calls[i].group = static_cast<int>(g);
    if (*exchange >= 0) ++step.exchanges[static_cast<std::size_t>(*exchange)].calls;
  }
  for (const ProgramExchange& e : step.exchanges) step.exchanged += e.each * static_cast<double>(e.calls);
  const auto priced = [&](auto&& pick) {
    return ended(file, calls, [&](int e) { return pick(step.exchanges[static_cast<std::size_t>(e)]); });
  };
  const Seconds alone = priced([](const ProgramExchange&) { return seconds(0); });
  const auto waited = [&](Seconds end) { return std::max(seconds(0), end - alone); };
  step.exposed = waited(priced([](const ProgramExchange& e) { return e.each; }));
  step.open = {waited(priced([](const ProgramExchange& e) { return e.interval.low; })),
               waited(priced([](const ProgramExchange& e) { return e.interval.high; }))};
  return step;
}

}  // namespace tilecast
