#include "memory_file.h"
#include "serve/simulator.h"
#include "serve/trace.h"
#include "targets.h"

namespace tilecast {
namespace {

// A step takes a millisecond and a microsecond a token.
class FuzzCost final : public StepCost {
 public:
  Seconds of(const StepBatch& b) const override {
    return milliseconds(1) + microseconds(1) * static_cast<double>(b.tokens());
  }
};

std::string served(const Trace& trace) {
  const FuzzCost cost;
  SimulationOptions o;
  o.pool.cost = &cost;
  o.pool.geometry = {16, {{100, 0}}, 0};
  o.pool.blocks = 400;
  o.pool.limits.max_sequences = 8, o.pool.limits.max_tokens = 256;
  o.paths = &trace.paths;
  o.context_limit = 4000;
  o.total_timeout = seconds(5);
  const auto out = simulate(trace.requests, o);
  if (!out) return "a trace that was read is not served: " + out.error().line();
  Count done = 0;
  for (const RequestRecord& r : out->requests) {
    if (r.refused + r.cancelled + r.unsent > 1) return "a request has ended twice";
    if (r.served() != (r.given == r.output)) return "an answer's tokens do not add up";
    done += r.served() || r.refused || r.cancelled || r.unsent;
  }
  if (done != static_cast<Count>(trace.requests.size()) || out->unfinished != 0) return "a request is lost";
  return out->blocks_left == 0 ? "" : "blocks are lost";
}

}  // namespace

std::string fuzz_trace_file(std::string_view input) {
  const MemoryFile file(input);
  if (!file.complete()) return "";
  const auto trace = read_trace(file.path(), {.output = 7});
  if (!trace) return trace.error().line().empty() ? "an error without a text" : "";
  Seconds last;
  for (const Request& r : trace->requests) {
    if (r.input < 1 || r.output < 1) return "a request without tokens";
    if (r.prefix_tokens < 0 || r.prefix_tokens > r.input) return "a prefix longer than its prompt";
    for (const PathSegment& segment : trace->paths.of(r.path))
      if (segment.tokens > r.input) return "a path longer than its prompt";
    if (!(r.arrival >= last)) return "arrivals out of order";
    last = r.arrival;
  }
  constexpr std::size_t kMostServed = 2000;
  return trace->requests.size() <= kMostServed ? served(*trace) : "";
}

}  // namespace tilecast
