#include "support/chrome_trace.h"

#include <fmt/format.h>

#include "support/append.h"

namespace tilecast {
namespace {

// A JSON text with its quotes.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\', out += c;
    else if (static_cast<unsigned char>(c) < 0x20) out += fmt::format("\\u{:04x}", static_cast<int>(c));
    else out += c;
  }
  return out + '"';
}

}  // namespace

void ChromeTrace::name(std::string_view what, int process, int thread, std::string_view name) {
  append(events_, R"({}{{"name":"{}","ph":"M","pid":{},"tid":{},"args":{{"name":{}}}}})", events_.empty() ? "" : ",\n",
         what, process, thread, quoted(name));
}

void ChromeTrace::process(int process, std::string_view name) { this->name("process_name", process, 0, name); }

void ChromeTrace::thread(int process, int thread, std::string_view name) {
  this->name("thread_name", process, thread, name);
  append(events_,
         ",\n"
         R"({{"name":"thread_sort_index","ph":"M","pid":{},"tid":{},"args":{{"sort_index":{}}}}})",
         process, thread, thread);
}

void ChromeTrace::span(int process, int thread, const Span& span, Arguments arguments) {
  append(events_, R"({}{{"name":{},"cat":{},"ph":"X","pid":{},"tid":{},"ts":{},"dur":{})", events_.empty() ? "" : ",\n",
         quoted(span.name), quoted(span.category), process, thread, in_microseconds(span.begin),
         in_microseconds(span.duration));
  std::string_view before = R"(,"args":{)";
  for (const auto& [key, value] : arguments) {
    append(events_, "{}{}:{}", before, quoted(key), quoted(value));
    before = ",";
  }
  events_ += arguments.size() > 0 ? "}}" : "}";
}

void ChromeTrace::counter(int process, std::string_view name, Seconds at, Values values) {
  append(events_, R"({}{{"name":{},"ph":"C","pid":{},"ts":{},"args":{{)", events_.empty() ? "" : ",\n", quoted(name),
         process, in_microseconds(at));
  std::string_view before;
  for (const auto& [key, value] : values) {
    append(events_, "{}{}:{:.6g}", before, quoted(key), value);
    before = ",";
  }
  events_ += "}}";
}

std::string ChromeTrace::text() const { return "{\"traceEvents\":[\n" + events_ + "\n],\"displayTimeUnit\":\"ms\"}\n"; }

}  // namespace tilecast
