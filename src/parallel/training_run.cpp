#include "parallel/training_run.h"

#include <cmath>
#include <limits>

namespace tilecast {

Seconds best_checkpoint_interval(Seconds between_failures, Seconds checkpoint) {
  if (!(between_failures > seconds(0)) || !(checkpoint > seconds(0))) return seconds(0);
  // In units of the mean time: f(w) = 1 - e^(-(w + d)) - w falls from f(0) > 0, is concave, and has one root below 1.
  // Newton's steps from 1, where f < 0, stay above the root and fall towards it.
  const double d = checkpoint / between_failures;
  constexpr int kMostSteps = 60;
  double w = 1;
  for (int i = 0; i < kMostSteps; ++i) {
    const double left = std::exp(-(w + d));
    const double next = w - (1 - left - w) / (left - 1);
    if (!(next < w)) break;
    w = next;
  }
  return between_failures * w;
}

double goodput(Seconds between_failures, Seconds checkpoint, Seconds restart, Seconds interval) {
  if (!(interval > seconds(0))) return between_failures > seconds(0) ? 0 : 1;
  if (!(between_failures > seconds(0))) return interval / (interval + checkpoint);
  const double w = interval / between_failures, d = checkpoint / between_failures;
  return w / (std::exp(restart / between_failures) * std::expm1(w + d));
}

RunTime run_time(Seconds undisturbed, int gpus, Bytes checkpoint, const Reliability& reliability) {
  RunTime run;
  run.total = undisturbed;
  run.between_failures = reliability.gpu_failure / static_cast<double>(gpus);
  if (reliability.storage > BytesPerSecond{}) run.checkpoint = checkpoint / reliability.storage;
  run.interval = reliability.interval > seconds(0) ? reliability.interval
                                                   : best_checkpoint_interval(run.between_failures, run.checkpoint);
  const bool fails = run.between_failures > seconds(0);
  if (!fails && !(run.interval > seconds(0))) return run;
  // Where saving costs nothing it is done all the time, and a failure loses the restart alone.
  run.goodput = run.interval > seconds(0)
                    ? goodput(run.between_failures, run.checkpoint, reliability.restart, run.interval)
                    : std::exp(-(reliability.restart / run.between_failures));
  run.total = run.goodput > 0 ? undisturbed / run.goodput : seconds(std::numeric_limits<double>::infinity());
  if (fails) run.failures = run.total / run.between_failures;
  return run;
}

}  // namespace tilecast
