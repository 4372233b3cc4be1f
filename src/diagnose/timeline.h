// When the GPU worked and when it waited.
#pragma once

#include <string>
#include <vector>

#include "diagnose/recognise.h"

namespace tilecast {

// The GPU had nothing to do.
struct Gap {
  Seconds start, length;      // start: since the first work
  std::string before, after;  // kernels around it
  std::string op;             // operator that launched what follows
  bool host = false;          // it had not been launched when the GPU fell idle
};

// A stretch in which every piece of work was waited for: the host is the limit.
struct HostSpan {
  Seconds start, length, busy;
  Count launches = 0;
};

struct Timeline {
  Count device = 0;
  Seconds window;  // from the first work's start to the last one's end
  Seconds busy;    // anything ran
  // Idle time: the host had not launched what came next; it had (latency, a wait for another stream); not known.
  Seconds host_late, launched, unexplained;
  Count gaps = 0, launches = 0;
  Seconds exposed_collectives, exposed_copies;  // ran alone
  std::vector<Gap> longest;                     // longest first
  std::vector<HostSpan> spans;                  // longest first
  Seconds in_spans;
  std::vector<float> activity;  // busy share of equal parts of the window, for plots
  Seconds idle() const { return window - busy; }
};

// One a device, the busiest first; none where the recording has no times of day. `families` is that of each kind.
std::vector<Timeline> timelines(const Recording& recording, const std::vector<WorkFamily>& families);
// ... had its work been done at these times.
std::vector<Timeline> timelines(const Recording& recording, const std::vector<WorkEvent>& events,
                                const std::vector<WorkFamily>& families);

}  // namespace tilecast
