#include "memory_file.h"
#include "serve/trace.h"
#include "targets.h"

namespace tilecast {

std::string fuzz_trace_file(std::string_view input) {
  const MemoryFile file(input);
  if (!file.complete()) return "";
  const auto trace = read_trace(file.path());
  if (!trace) return trace.error().line().empty() ? "an error without a text" : "";
  Seconds last;
  for (const Request& r : trace->requests) {
    if (r.input < 1 || r.output < 1) return "a request without tokens";
    if (r.prefix_tokens < 0 || r.prefix_tokens > r.input) return "a prefix longer than its prompt";
    if (!(r.arrival >= last)) return "arrivals out of order";
    last = r.arrival;
  }
  return "";
}

}  // namespace tilecast
