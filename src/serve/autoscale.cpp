#include "serve/autoscale.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace tilecast {

// Shorter ones would only count events: no autoscaler looks that often.
constexpr Seconds kLeastInterval = milliseconds(1);

Status check(const AutoscaleOptions& o) {
  if (o.least < 1 || o.most < o.least)
    return field_error("autoscale", "needs a replica at least, and no more at least than at most", "min=1,max=8");
  if (!(o.target > 0)) return field_error("autoscale", "its target must be above 0", "target=32");
  if (o.interval < kLeastInterval) return field_error("autoscale", "its interval is shorter than 1 ms", "interval=15s");
  if (o.cool_down < seconds(0) || o.start_up < seconds(0))
    return field_error("autoscale", "times must not be negative", "cooldown=300s,startup=120s");
  return Ok{};
}

Fleet::Fleet(const AutoscaleOptions& options, ReplicaRouter& router, Count in_step, Count started, Seconds begin)
    : o_(options), router_(router), in_step_(in_step), units_(static_cast<std::size_t>(options.most)) {
  for (Count i = 0; i < o_.most; ++i) {
    const bool on = i < started;
    open(i, on);
    if (on) units_[static_cast<std::size_t>(i)] = {State::on, begin, begin, -1};
  }
  record_.in_step = in_step_;
  note(begin, started);
}

void Fleet::open(Count unit, bool open) {
  for (Count i = unit * in_step_; i < (unit + 1) * in_step_; ++i) router_.set_open(i, open);
}

Count Fleet::load(Count unit) const {
  Count sum = 0;
  for (Count i = unit * in_step_; i < (unit + 1) * in_step_; ++i) sum += router_.load(i);
  return sum;
}

Count Fleet::count(State state) const {
  return std::count_if(units_.begin(), units_.end(), [&](const Unit& u) { return u.state == state; });
}

Count Fleet::wanted(Seconds now, Count waiting, Count there) {
  const auto signal = static_cast<double>(o_.signal == AutoscaleSignal::queue ? waiting : router_.in_flight());
  const double off_by = signal / (o_.target * static_cast<double>(there));
  Count wish = there;
  if (std::abs(off_by - 1) > o_.tolerance)
    wish = static_cast<Count>(std::min(std::ceil(signal / o_.target), static_cast<double>(o_.most)));
  wish = std::clamp(wish, o_.least, o_.most);
  wishes_.emplace_back(now, wish);
  while (wishes_.front().first < now - o_.cool_down) wishes_.pop_front();
  if (wish > there) {
    constexpr Count kAtOnce = 4;  // the policies' Pods; their Percent doubles
    return std::min(wish, there + std::max(kAtOnce, there));
  }
  for (const auto& [when, other] : wishes_) wish = std::max(wish, other);
  return std::min(wish, there);
}

std::vector<Fleet::Started> Fleet::look(Seconds now, Count waiting) {
  const Count there = count(State::on) + count(State::starting);
  const Count want = wanted(now, waiting, there);
  std::vector<Started> started;
  for (Count i = there; i > want; --i) stop_youngest(now);
  Count more = want - there;
  for (Unit& unit : units_) {
    if (more <= 0) break;
    if (unit.state != State::off) continue;
    unit = {State::starting, now, now + o_.start_up, starts_++};
    started.push_back({unit.start, unit.on_at});
    --more;
  }
  note(now, want);
  return started;
}

Count Fleet::ready(Count number, Seconds now) {
  for (Unit& u : units_) {
    if (u.state != State::starting || u.start != number) continue;
    u.state = State::on;
    open(&u - units_.data(), true);
    note(now, record_.changes.back().wanted);
    return &u - units_.data();
  }
  return -1;
}

void Fleet::stop_youngest(Seconds now) {
  Unit* youngest = nullptr;
  for (const State state : {State::starting, State::on})
    if (!youngest)
      for (Unit& u : units_)
        if (u.state == state && (!youngest || u.from >= youngest->from)) youngest = &u;
  assert(youngest);
  const Count unit = youngest - units_.data();
  if (youngest->state == State::starting) return end(unit, now);
  youngest->state = State::draining;
  open(unit, false);
  if (load(unit) == 0) end(unit, now);
}

void Fleet::end(Count unit, Seconds now) {
  Unit& u = units_[static_cast<std::size_t>(unit)];
  record_.lives.push_back({unit, u.from, std::min(u.on_at, now), now});
  u.state = State::off;
}

void Fleet::ended(Count unit, Seconds now) {
  if (units_[static_cast<std::size_t>(unit)].state != State::draining || load(unit) > 0) return;
  end(unit, now);
  note(now, record_.changes.back().wanted);
}

void Fleet::note(Seconds now, Count want) {
  const FleetChange change{now, count(State::on), count(State::starting), count(State::draining), want};
  if (!record_.changes.empty() && record_.changes.back().same(change)) return;
  record_.changes.push_back(change);
}

FleetRecord Fleet::finish(Seconds finished) && {
  for (Count i = 0; i < o_.most; ++i) {
    const Unit& unit = units_[static_cast<std::size_t>(i)];
    if (unit.state != State::off) end(i, std::max(finished, unit.from));
  }
  for (const ReplicaLife& life : record_.lives) record_.replica_seconds += life.to - life.from;
  return std::move(record_);
}

void Fleet::finish(ServingOutcome& out, Count gpus, std::optional<Watts> idle) && {
  out.fleet = std::move(*this).finish(out.end);
  const double length = (out.end - out.begin).base();
  const double mean = length > 0 ? out.fleet->replica_seconds.base() / length : 0;
  out.gpus = mean * static_cast<double>(gpus);
  if (idle) out.idle = *idle * out.gpus;
}

}  // namespace tilecast
