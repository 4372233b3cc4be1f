// The papers' methods once trained: what `neusight` and `synperf` forecast with. No weights for them ship; the
// laboratory trains them, and a weight file brings them here.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "estimate/estimate.h"
#include "estimate/neusight.h"
#include "estimate/synperf.h"
#include "kernel/kernel.h"
#include "tilecast/result.h"

namespace tilecast {

// Sides of a pointwise kernel's tensors as the caller gave them, if known: NeuSight distinguishes shapes by them.
struct Sides {
  Count rows = 0, cols = 0;
};

// Immutable and thread-safe.
class TrainedMethod {
 public:
  virtual ~TrainedMethod() = default;
  virtual Method method() const = 0;
  // Time of one kernel; empty if the weights do not cover it.
  virtual std::optional<Seconds> time(const Kernel& kernel, const Plan& plan, const Gpu& gpu,
                                      const Sides& sides) const = 0;
  // Rows of the GPU in the training of the part that would forecast this kernel; zero: the GPU is unseen.
  virtual Count rows_seen(const Kernel& kernel, const Gpu& gpu) const = 0;
  virtual std::string bytes() const = 0;    // the file
  virtual std::string summary() const = 0;  // a line for every network: rows, epochs, validation error
};

std::unique_ptr<TrainedMethod> trained_method(NeusightWeights weights);
std::unique_ptr<TrainedMethod> trained_method(SynperfWeights weights);

// From a weight file. Without a file the error says how to get one.
Result<std::unique_ptr<TrainedMethod>> load_method(Method method, const std::string& path);

// The estimate of a kernel under such a method: its frame (plan, schedule, bound) with the method's time.
Result<Estimate> method_estimate(const TrainedMethod& trained, const Kernel& kernel, const Plan& plan, const Gpu& gpu,
                                 const Context& context);

}  // namespace tilecast
