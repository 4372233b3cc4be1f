// Those who send requests: when each leaves, what follows it, what the server refuses at once, and whose patience ends.
#pragma once

#include <vector>

#include "serve/simulation_events.h"
#include "serve/simulator.h"
#include "serve/turns.h"

namespace tilecast {

class Clients {
 public:
  Clients(const std::vector<Request>& requests, const SimulationOptions& options, EventQueue& events,
          ServingOutcome& out)
      : requests_(requests), o_(options), turns_(requests), events_(events), out_(out) {}

  // Requests leave in order, when they arrive and when a place is free.
  void send_next() { send_next(events_.now()); }
  // One whose time has come: the first of a conversation, or a turn after another.
  void send_turn(Count i);
  // The first token of one is with its client, and others follow.
  void streams() { ++streaming_; }
  // A request has been answered, or never will be.
  void over(Count i, Seconds when, bool answered);
  // The time for the first token, or for all of them, has run out. True where that ends the request.
  bool loses_patience(Count i, bool with_all);

  // Whether a request is looked at when it is sent, not before: others may be sent before it where there are
  // conversations, and who streams then is not known yet.
  bool sends_in_time() const {
    return turns_.any() || (o_.concurrency == 0 && o_.front().host.per_streaming.base() > 0);
  }
  const Turns& turns() const { return turns_; }
  Count ended() const { return ended_; }
  bool all_ended() const { return ended_ == static_cast<Count>(requests_.size()); }
  // Whether all that somebody asks about have.
  bool needed_ended() const { return o_.needed > 0 && needed_ended_ == o_.needed; }

 private:
  void send_next(Seconds earliest);
  bool send(Count i, Seconds sent);
  void drop(Count first);
  bool refuse(const Request& r, Count i);
  void end(Count i) { ++ended_, needed_ended_ += i < o_.needed ? 1 : 0; }

  const std::vector<Request>& requests_;
  const SimulationOptions& o_;
  Turns turns_;
  EventQueue& events_;
  ServingOutcome& out_;
  Seconds front_free_at_;  // when a front end can begin with what is sent next
  bool begun_ = false;     // something was sent
  Count next_ = 0, in_flight_ = 0, ended_ = 0, needed_ended_ = 0, streaming_ = 0;
};

}  // namespace tilecast
