#include <sys/mman.h>
#include <unistd.h>

#include "serve/trace.h"
#include "targets.h"

namespace tilecast {

std::string fuzz_trace_file(std::string_view input) {
  const int descriptor = memfd_create("trace", 0);
  const bool complete = write(descriptor, input.data(), input.size()) == static_cast<ssize_t>(input.size());
  const auto trace = read_trace("/proc/self/fd/" + std::to_string(descriptor));
  close(descriptor);
  if (!complete) return "";
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
