// Chrome's trace format, which Perfetto and chrome://tracing open: spans of time on threads of processes, as JSON.
//
//   ChromeTrace trace;
//   trace.process(1, "H100-SXM");
//   trace.span(1, 2, {"gemm", "linear", seconds(0), microseconds(12)}, {{"limited_by", "tensor"}});
//   write_text_file(path, trace.text());
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "tilecast/units.h"

namespace tilecast {

class ChromeTrace {
 public:
  struct Span {
    std::string_view name, category;
    Seconds begin, duration;
  };
  using Arguments = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  void process(int process, std::string_view name);
  // Threads are shown in the order of their numbers.
  void thread(int process, int thread, std::string_view name);
  void span(int process, int thread, const Span& span, Arguments arguments = {});
  // Values drawn over time, those of one name in one band.
  using Values = std::initializer_list<std::pair<std::string_view, double>>;
  void counter(int process, std::string_view name, Seconds at, Values values);
  std::string text() const;

 private:
  void name(std::string_view what, int process, int thread, std::string_view name);

  std::string events_;
};

}  // namespace tilecast
