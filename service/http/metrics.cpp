#include "service/http/metrics.h"

#include <fmt/format.h>

#include "support/append.h"
#include "tilecast/version.h"

namespace tilecast {

void HttpMetrics::count(const HttpExchange& exchange, const std::string& route) {
  const std::lock_guard guard(lock_);
  ++requests_[{route, exchange.status}];
  Times& times = times_[route];
  ++times.all;
  times.seconds += exchange.seconds;
  for (std::size_t i = 0; i < kSeconds.size(); ++i) times.within[i] += exchange.seconds <= kSeconds[i];
  received_ += exchange.received, sent_ += exchange.sent;
}

std::string HttpMetrics::text(const HttpLoad& load, const std::map<std::string, std::size_t>& jobs) const {
  std::string text;
  const auto head = [&](const char* name, const char* kind, const char* help) {
    append(text, "# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, kind);
  };
  const auto gauge = [&](const char* name, const char* help, std::size_t value) {
    head(name, "gauge", help);
    append(text, "{} {}\n", name, value);
  };
  head("tilecast_build_info", "gauge", "Version of the program.");
  append(text, "tilecast_build_info{{version=\"{}\"}} 1\n", version());
  gauge("tilecast_http_connections", "Open connections.", load.connections);
  gauge("tilecast_http_buffered_bytes", "Bytes of requests on their way in.", load.buffered_bytes);
  gauge("tilecast_http_quick_waiting", "Quick questions that wait for a thread.", load.quick_waiting);
  gauge("tilecast_http_quick_running", "Quick questions that are being answered.", load.quick_running);
  gauge("tilecast_http_long_waiting", "Long questions that wait for a thread.", load.long_waiting);
  gauge("tilecast_http_long_running", "Long questions that are being answered.", load.long_running);
  head("tilecast_http_jobs", "gauge", "Jobs that are kept, by state.");
  for (const auto& [state, number] : jobs) append(text, "tilecast_http_jobs{{state=\"{}\"}} {}\n", state, number);
  const std::lock_guard guard(lock_);
  head("tilecast_http_requests_total", "counter", "Requests, by route and status.");
  for (const auto& [key, number] : requests_)
    append(text, "tilecast_http_requests_total{{route=\"{}\",status=\"{}\"}} {}\n", key.first, key.second, number);
  head("tilecast_http_received_bytes_total", "counter", "Bytes of bodies that came in.");
  append(text, "tilecast_http_received_bytes_total {}\n", received_);
  head("tilecast_http_sent_bytes_total", "counter", "Bytes of bodies that went out.");
  append(text, "tilecast_http_sent_bytes_total {}\n", sent_);
  head("tilecast_http_request_seconds", "histogram", "From a request's first byte to the response's last, by route.");
  for (const auto& [route, times] : times_) {
    for (std::size_t i = 0; i < kSeconds.size(); ++i)
      append(text, "tilecast_http_request_seconds_bucket{{route=\"{}\",le=\"{}\"}} {}\n", route, kSeconds[i],
             times.within[i]);
    append(text, "tilecast_http_request_seconds_bucket{{route=\"{}\",le=\"+Inf\"}} {}\n", route, times.all);
    append(text, "tilecast_http_request_seconds_sum{{route=\"{}\"}} {}\n", route, times.seconds);
    append(text, "tilecast_http_request_seconds_count{{route=\"{}\"}} {}\n", route, times.all);
  }
  return text;
}

}  // namespace tilecast
