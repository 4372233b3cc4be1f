// What a simulation writes to files: a table of requests and a timeline.
#include <fmt/format.h>

#include <algorithm>

#include "cli/views/simulate_view.h"
#include "support/append.h"
#include "support/chrome_trace.h"

namespace tilecast {

namespace {

const char* status_of(const RequestRecord& r) {
  return r.refused ? "refused" : r.cancelled ? "cancelled" : r.unsent ? "unsent" : "completed";
}

}  // namespace

std::string requests_csv(const ServingOutcome& outcome) {
  std::string text =
      "request,status,sent_s,input_tokens,output_tokens,cached_tokens,queue_ms,ttft_ms,tpot_ms,e2el_ms,preemptions\n";
  for (std::size_t i = 0; i < outcome.requests.size(); ++i) {
    const RequestRecord& r = outcome.requests[i];
    append(text, "{},{},{:.6f},{},{}", i, status_of(r), r.sent.base(), r.input, r.output);
    if (!r.served()) text += ",,,,,,\n";
    else
      append(text, ",{},{:.3f},{:.3f},{},{:.3f},{}\n", r.hits, in_milliseconds(r.queued()), in_milliseconds(r.ttft()),
             r.tpot() ? fmt::format("{:.3f}", in_milliseconds(*r.tpot())) : "", in_milliseconds(r.latency()),
             r.preemptions);
  }
  return text;
}

namespace {

constexpr int kAll = 0;  // the process of what concerns no one replica

// Steps of each replica, its cache and its queue.
void add_steps(ChromeTrace& trace, const SimulationResult& run, const ServingOutcome& outcome) {
  for (int i = 0; i < static_cast<int>(outcome.replicas); ++i)
    trace.process(i + 1, fmt::format("{} {}", i < run.replicas ? "replica" : "prefill replica", i));
  for (const StepRecord& s : outcome.steps) {
    const int process = s.replica + 1;
    const char* kind = s.prompt_tokens == 0 ? "decode" : s.decodes == 0 ? "prefill" : "mixed";
    trace.span(process, 1, {kind, "step", s.start, s.end - s.start},
               {{"prompt_tokens", std::to_string(s.prompt_tokens)}, {"decodes", std::to_string(s.decodes)}});
    trace.counter(process, "load", s.start, {{"running", s.running / s.steps}, {"waiting", s.waiting / s.steps}});
    trace.counter(process, "cache %", s.start, {{"used", 100 * static_cast<double>(s.cache)}});
  }
}

// All replicas together, as the JSON has them: how busy the GPUs are, how full their caches, what they draw.
void add_utilisation(ChromeTrace& trace, const ServingOutcome& outcome) {
  constexpr int kSlices = 500;
  const Seconds width = (outcome.end - outcome.begin) / kSlices;
  for (const Slice& s : over_time(outcome, kSlices)) {
    const Seconds at = outcome.begin + seconds(s.time) - width / 2;
    trace.counter(kAll, "GPU busy %", at, {{"of all", 100 * s.busy}});
    trace.counter(kAll, "cache %", at, {{"of all", 100 * s.cache}});
    if (s.watts) trace.counter(kAll, "power W", at, {{"of all", *s.watts}});
  }
}

// In lanes: each in the first that is free.
void add_requests(ChromeTrace& trace, const ServingOutcome& outcome) {
  constexpr std::size_t kMostRequests = 2000;
  std::vector<Seconds> lanes;
  for (std::size_t i = 0; i < std::min(outcome.requests.size(), kMostRequests); ++i) {
    const RequestRecord& r = outcome.requests[i];
    if (!r.served()) continue;
    auto lane = std::find_if(lanes.begin(), lanes.end(), [&](Seconds free) { return free <= r.sent; });
    if (lane == lanes.end()) lane = lanes.insert(lanes.end(), seconds(0));
    *lane = r.last;
    const auto span = [&](const char* name, Seconds from, Seconds to) {
      trace.span(kAll, static_cast<int>(lane - lanes.begin()) + 1,
                 {fmt::format("{} {}", name, i), "request", from, to - from});
    };
    span("queue", r.sent, r.scheduled);
    span("prefill", r.scheduled, r.first);
    span("decode", r.first, r.last);
  }
}

}  // namespace

std::string timeline_json(const SimulationResult& run) {
  const ServingOutcome& outcome = run.loads.front().outcome;
  ChromeTrace trace;
  trace.process(kAll, "requests");
  add_steps(trace, run, outcome);
  add_utilisation(trace, outcome);
  add_requests(trace, outcome);
  return trace.text();
}

}  // namespace tilecast
