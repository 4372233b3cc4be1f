// Replicas that are started and stopped as requests come: by the rule of Kubernetes' HorizontalPodAutoscaler.
//
// Every `interval` the autoscaler looks at the signal (requests in flight, or those that wait) and wants ceil(signal /
// target) replicas, but for a signal within a tolerance of what those there are should have. More are started at once,
// no more at a look than there are or four, whichever is more (scaleUp policies); fewer only where nobody wanted more
// for as long as `cool_down` (scaleDown's stabilization window). A replica takes requests `start_up` after it was
// started. One that is stopped gets no more requests, ends those it has and is gone: replicas that are starting go
// first, then the youngest. GPU hours count from the start to the end of it.
#pragma once

#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "serve/router.h"
#include "tilecast/serving_metrics.h"

namespace tilecast {

struct AutoscaleOptions {
  Count least = 1, most = 1;  // replicas
  AutoscaleSignal signal = AutoscaleSignal::concurrency;
  double target = 32;  // of the signal, a replica
  Seconds interval, cool_down, start_up;
  double tolerance = 0;
};
Status check(const AutoscaleOptions& options);

// The replicas of one pool, in units of `in_step` schedulers that are started and stopped together.
class Fleet {
 public:
  Fleet(const AutoscaleOptions& options, ReplicaRouter& router, Count in_step, Count started, Seconds begin);

  // What to do from now on; the units that were started are ready at `ready_at`.
  struct Started {
    Count number = 0;  // of this start, for ready()
    Seconds ready_at;
  };
  std::vector<Started> look(Seconds now, Count waiting);
  // The unit of a start, which takes requests from now on; -1 where it was stopped before.
  Count ready(Count number, Seconds now);
  // A request of the unit ended.
  void ended(Count unit, Seconds now);
  FleetRecord finish(Seconds end) &&;
  // ... into the outcome of a run, with the GPUs it took in the mean. `gpus`: of a unit.
  void finish(ServingOutcome& out, Count gpus, std::optional<Watts> idle) &&;

 private:
  enum class State : std::uint8_t { off, starting, on, draining };
  struct Unit {
    State state = State::off;
    Seconds from, on_at;
    Count start = -1;  // its number
  };
  Count wanted(Seconds now, Count waiting, Count there);
  Count load(Count unit) const;
  Count count(State state) const;
  void open(Count unit, bool open);
  void stop_youngest(Seconds now);
  void end(Count unit, Seconds now);
  void note(Seconds now, Count wanted);

  AutoscaleOptions o_;
  ReplicaRouter& router_;
  Count in_step_;
  std::vector<Unit> units_;
  std::deque<std::pair<Seconds, Count>> wishes_;  // within the cool-down
  Count starts_ = 0;
  FleetRecord record_;
};

}  // namespace tilecast
