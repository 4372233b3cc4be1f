#include "serve/metrics.h"

#include <algorithm>
#include <cmath>

#include "support/statistics.h"

namespace tilecast {
namespace {

constexpr double kSecondsOfAnHour = 3600;

}  // namespace

bool meets(const RequestRecord& r, const Slo& slo) {
  if (slo.ttft && r.ttft() > *slo.ttft) return false;
  if (slo.e2el && r.latency() > *slo.e2el) return false;
  // vLLM gives a request of one token a TPOT of zero.
  return !slo.tpot || !r.tpot() || *r.tpot() <= *slo.tpot;
}

Summary summary_of(std::vector<float> values) {
  if (values.empty()) return {};
  double sum = 0;
  for (const float v : values) sum += static_cast<double>(v);
  Summary s;
  s.mean = sum / static_cast<double>(values.size());
  s.median = quantile(values, 0.5);
  s.p90 = quantile(values, 0.9, 0.5);
  s.p99 = quantile(values, 0.99, 0.9);
  return s;
}

Count peak_tokens(const std::vector<RequestRecord>& requests) {
  struct Change {
    double time, slope, level;
  };
  std::vector<Change> changes;
  for (const RequestRecord& r : requests) {
    if (!r.served()) continue;
    const double begin = r.first.base(), end = std::max(r.last.base(), begin);
    const double slope = end > begin ? static_cast<double>(r.output - 1) / (end - begin) : 0;
    changes.push_back({r.scheduled.base(), 0, static_cast<double>(r.input)});
    changes.push_back({begin, slope, 1});
    changes.push_back({end, -slope, -static_cast<double>(r.input) - 1 - slope * (end - begin)});
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.time < b.time; });
  double level = 0, slope = 0, last = 0, most = 0;
  for (const Change& c : changes) {
    level += slope * (c.time - last);
    most = std::max(most, level);
    level += c.level;
    slope += c.slope;
    last = c.time;
    most = std::max(most, level);
  }
  return std::llround(most);
}

namespace {

// The GPUs at rest for the whole run, and what each step adds.
std::optional<ServingMetrics::Energy> energy_of(const ServingOutcome& outcome, const ServingMetrics& m) {
  if (!outcome.idle || !(m.duration > 0)) return std::nullopt;
  ServingMetrics::Energy e;
  e.joules = in_watts(*outcome.idle) * m.duration;
  for (const StepRecord& s : outcome.steps) e.joules += static_cast<double>(s.joules);
  e.watts = e.joules / m.duration;
  if (m.output_tokens > 0) e.per_token = e.joules / static_cast<double>(m.output_tokens);
  return e;
}

const Slo& objectives_of(const RequestRecord& r, const Slo& slo, const std::vector<RequestClass>& classes) {
  const auto group = static_cast<std::size_t>(r.group);
  return group < classes.size() && classes[group].slo.any() ? classes[group].slo : slo;
}

ClassMetrics class_metrics(const ServingOutcome& outcome, const Slo& slo, const std::vector<RequestClass>& classes,
                           std::size_t group) {
  ClassMetrics m;
  m.name = classes[group].name;
  std::vector<float> ttft, tpot, e2el;
  Count good = 0;
  for (const RequestRecord& r : outcome.requests) {
    if (static_cast<std::size_t>(r.group) != group) continue;
    m.refused += r.refused, m.cancelled += r.cancelled, m.unsent += r.unsent;
    if (!r.served()) continue;
    ++m.completed;
    ttft.push_back(static_cast<float>(r.ttft().base()));
    e2el.push_back(static_cast<float>(r.latency().base()));
    if (r.tpot()) tpot.push_back(static_cast<float>(r.tpot()->base()));
    good += meets(r, objectives_of(r, slo, classes));
  }
  const double duration = (outcome.end - outcome.begin).base();
  if (duration > 0 && (slo.any() || classes[group].slo.any())) m.goodput = static_cast<double>(good) / duration;
  m.ttft = summary_of(std::move(ttft)), m.tpot = summary_of(std::move(tpot)), m.e2el = summary_of(std::move(e2el));
  return m;
}

// Schedulers, those of an autoscaled pool in the mean.
double replicas_of(const ServingOutcome& outcome, double duration) {
  if (!outcome.fleet) return static_cast<double>(outcome.replicas);
  return outcome.fleet->replica_seconds.base() * static_cast<double>(outcome.fleet->in_step) / duration;
}

// Replicas that take requests at a time.
double replicas_at(const FleetRecord& fleet, Seconds time) {
  double on = 0;
  for (const FleetChange& change : fleet.changes) {
    if (change.time > time) break;
    on = static_cast<double>(change.on);
  }
  return on;
}

// Without the times between tokens.
ServingOutcome part_of(const ServingOutcome& outcome, const CountedSpan& span) {
  ServingOutcome part;
  for (const RequestRecord& r : outcome.requests)
    if (span.has(r.sent)) part.requests.push_back(r);
  for (const StepRecord& s : outcome.steps) {
    if (!span.has(s.start)) continue;
    part.steps.push_back(s);
    part.busy += seconds(static_cast<double>(s.gpu));
  }
  part.gap_count = outcome.gap_count;
  part.replicas = outcome.replicas, part.gpus = outcome.gpus, part.idle = outcome.idle;
  part.begin = span.from, part.end = span.to;
  return part;
}

ServingMetrics metrics_with(const ServingOutcome& outcome, std::vector<float> gaps, const Slo& slo,
                            const std::vector<RequestClass>& classes) {
  ServingMetrics m;
  bool objectives = slo.any();
  for (const RequestClass& c : classes) objectives = objectives || c.slo.any();
  std::vector<float> ttft, tpot, e2el, queue;
  Count good = 0, hits = 0;
  const auto as_float = [](Seconds t) { return static_cast<float>(t.base()); };
  for (const RequestRecord& r : outcome.requests) {
    m.refused += r.refused, m.cancelled += r.cancelled, m.unsent += r.unsent;
    if (r.cancelled) m.wasted_tokens += r.given;
    if (!r.served()) continue;
    ++m.completed;
    m.input_tokens += r.input, m.output_tokens += r.output, hits += r.hits;
    m.preemptions += r.preemptions;
    ttft.push_back(as_float(r.ttft()));
    e2el.push_back(as_float(r.latency()));
    queue.push_back(as_float(r.queued()));
    if (r.tpot()) tpot.push_back(as_float(*r.tpot()));
    good += meets(r, objectives_of(r, slo, classes));
  }
  m.duration = (outcome.end - outcome.begin).base();
  if (m.duration > 0) {
    m.request_throughput = static_cast<double>(m.completed) / m.duration;
    m.output_throughput = static_cast<double>(m.output_tokens) / m.duration;
    m.total_throughput = static_cast<double>(m.input_tokens + m.output_tokens) / m.duration;
    m.gpu_busy = outcome.busy.base() / m.duration / replicas_of(outcome, m.duration);
    if (objectives) m.goodput = static_cast<double>(good) / m.duration;
  }
  if (objectives) m.missed = m.completed - good;
  m.gpu_hours = outcome.gpus * m.duration / kSecondsOfAnHour;
  m.ttft = summary_of(std::move(ttft));
  m.tpot = summary_of(std::move(tpot));
  m.itl = summary_of(std::move(gaps));
  m.e2el = summary_of(std::move(e2el));
  m.queue = summary_of(std::move(queue));
  if (m.input_tokens > 0) m.hit_rate = static_cast<double>(hits) / static_cast<double>(m.input_tokens);
  double cache = 0, time = 0, items = 0;
  for (const StepRecord& s : outcome.steps) {
    const double took = s.ran_for();
    cache += static_cast<double>(s.cache) * took, time += took, items += s.running;
    m.cache_peak = std::max(m.cache_peak, static_cast<double>(s.cache));
    m.steps += s.steps;
  }
  m.cache_peak = std::max(m.cache_peak, static_cast<double>(outcome.cache_peak));
  if (time > 0) m.cache_mean = cache / time, m.mean_batch = items / static_cast<double>(m.steps);
  m.peak_tokens = tilecast::peak_tokens(outcome.requests);
  m.energy = energy_of(outcome, m);
  for (std::size_t i = 0; i < classes.size(); ++i) m.classes.push_back(class_metrics(outcome, slo, classes, i));
  return m;
}

// What is sent in a span need not end in it.
void count_those_that_end(ServingMetrics& m, const ServingOutcome& outcome, const CountedSpan& span) {
  double requests = 0, output = 0, tokens = 0;
  for (const RequestRecord& r : outcome.requests) {
    if (!r.served() || !span.has(r.last)) continue;
    ++requests, output += static_cast<double>(r.output), tokens += static_cast<double>(r.input + r.output);
  }
  if (!(m.duration > 0)) return;
  m.request_throughput = requests / m.duration, m.output_throughput = output / m.duration;
  m.total_throughput = tokens / m.duration;
  if (m.energy && output > 0) m.energy->per_token = m.energy->joules / output;
}

ServingMetrics metrics_counted(const ServingOutcome& outcome, std::vector<float> gaps, const Slo& slo,
                               const std::vector<RequestClass>& classes, const std::optional<CountedSpan>& counted) {
  if (!counted) return metrics_with(outcome, std::move(gaps), slo, classes);
  ServingMetrics m = metrics_with(part_of(outcome, *counted), std::move(gaps), slo, classes);
  count_those_that_end(m, outcome, *counted);
  return m;
}

}  // namespace

ServingMetrics metrics_of(const ServingOutcome& outcome, const Slo& slo, const std::vector<RequestClass>& classes,
                          const std::optional<CountedSpan>& counted) {
  return metrics_counted(outcome, outcome.gaps, slo, classes, counted);
}
ServingMetrics metrics_of(ServingOutcome&& outcome, const Slo& slo, const std::vector<RequestClass>& classes,
                          const std::optional<CountedSpan>& counted) {
  return metrics_counted(outcome, std::move(outcome.gaps), slo, classes, counted);
}

ServingMetrics times(ServingMetrics m, Count deployments) {
  const auto n = static_cast<double>(deployments);
  for (Count* of : {&m.completed, &m.refused, &m.cancelled, &m.unsent, &m.wasted_tokens, &m.input_tokens,
                    &m.output_tokens, &m.preemptions, &m.steps, &m.peak_tokens})
    *of *= deployments;
  for (double* of : {&m.request_throughput, &m.output_throughput, &m.total_throughput, &m.gpu_hours}) *of *= n;
  if (m.goodput) *m.goodput *= n;
  if (m.missed) *m.missed *= deployments;
  if (m.energy) m.energy->joules *= n, m.energy->watts *= n;
  for (ClassMetrics& c : m.classes) {
    for (Count* of : {&c.completed, &c.refused, &c.cancelled, &c.unsent}) *of *= deployments;
    if (c.goodput) *c.goodput *= n;
  }
  return m;
}

std::vector<Slice> over_time(const ServingOutcome& outcome, int slices) {
  const double begin = outcome.begin.base(), length = outcome.end.base() - begin;
  std::vector<Slice> out(static_cast<std::size_t>(slices));
  if (!(length > 0)) return out;
  const double width = length / slices;
  if (outcome.idle)
    for (Slice& slice : out) slice.watts = in_watts(*outcome.idle);
  for (const StepRecord& s : outcome.steps) {
    const double from = s.start.base() - begin, to = s.end.base() - begin;
    const int first = std::clamp(static_cast<int>(from / width), 0, slices - 1);
    const int last = std::clamp(static_cast<int>(to / width), 0, slices - 1);
    for (int i = first; i <= last; ++i) {
      const double share = (std::min(to, (i + 1) * width) - std::max(from, i * width)) / width;
      if (!(share > 0)) continue;
      Slice& slice = out[static_cast<std::size_t>(i)];
      slice.busy += share * static_cast<double>(s.gpu) / (to - from);
      if (slice.watts) *slice.watts += static_cast<double>(s.joules) * share / (to - from);
      // Steps that are one record run in a part of its time.
      const double held = s.steps > 1 ? share * s.ran_for() / (to - from) : share;
      slice.cache += held * static_cast<double>(s.cache);
      const double each = s.steps > 1 ? held / s.steps : held;
      slice.running += each * s.running, slice.waiting += each * s.waiting;
    }
  }
  for (int i = 0; i < slices; ++i) {
    Slice& slice = out[static_cast<std::size_t>(i)];
    slice.time = (i + 0.5) * width;
    double replicas = static_cast<double>(std::max<Count>(1, outcome.replicas));
    if (outcome.fleet) {
      slice.replicas = replicas_at(*outcome.fleet, outcome.begin + seconds(slice.time));
      replicas = std::max(1.0, slice.replicas) * static_cast<double>(outcome.fleet->in_step);
      // What idle cards draw follows how many there are.
      const double mean = replicas_of(outcome, length);
      if (slice.watts && mean > 0) *slice.watts += in_watts(*outcome.idle) * (replicas / mean - 1);
    }
    slice.busy /= replicas, slice.cache /= replicas;
  }
  return out;
}

}  // namespace tilecast
