// What happens in a simulation, and when.
#pragma once

#include <queue>
#include <tuple>
#include <vector>

#include "tilecast/units.h"

namespace tilecast {

// At one time, in this order: a replica that was idle starts with all that came at once.
enum class EventKind : std::uint8_t { step_end, send, arrival, transferred, first_due, all_due, wake, ready, look };
struct Event {
  Seconds time;
  EventKind kind = EventKind::arrival;
  Count order = 0;    // events alike happen in the order they were made
  Count subject = 0;  // a replica, or a request
};

class EventQueue {
 public:
  void at(Seconds time, EventKind kind, Count subject) { events_.push({time, kind, order_++, subject}); }
  bool empty() const { return events_.empty(); }
  // The next event; its time is now.
  Event take() {
    const Event event = events_.top();
    events_.pop();
    now_ = event.time;
    return event;
  }
  Seconds now() const { return now_; }

 private:
  struct Later {
    bool operator()(const Event& a, const Event& b) const {
      return std::tie(a.time, a.kind, a.order) > std::tie(b.time, b.kind, b.order);
    }
  };
  std::priority_queue<Event, std::vector<Event>, Later> events_;
  Count order_ = 0;
  Seconds now_;
};

}  // namespace tilecast
