// Requests that a deployment is asked to serve: drawn from distributions, or read from a trace (serve/trace.h).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tilecast/result.h"
#include "tilecast/units.h"

namespace tilecast {

struct Request {
  Seconds arrival;
  Count input = 0, output = 0;  // tokens of the prompt and of the answer, both at least one
  Count prefix = -1;            // which shared beginning the prompt has; -1: none
  Count prefix_tokens = 0;      // its length, at most `input`
};

// How long prompts or answers are.
struct LengthDistribution {
  enum class Kind : std::uint8_t { fixed, uniform, lognormal };
  Kind kind = Kind::fixed;
  Count mean = 0;
  // uniform: lengths lie within mean x (1 - spread) ... mean x (1 + spread), as `vllm bench serve
  // --random-range-ratio`; lognormal: standard deviation over the mean.
  double spread = 0;
};
// "1024", "uniform:1024:0.5", "lognormal:1024:0.8".
Result<LengthDistribution> lengths_from(std::string_view text, const char* field);

// Requests a second, unless they come all at once: from one a fortnight to more than any machine answers.
constexpr double kLeastRate = 1e-6, kMostRate = 1e9;

struct WorkloadOptions {
  Count requests = 1000;
  double rate = 0;        // a second; 0: all at once
  double burstiness = 1;  // shape of the gaps' gamma distribution: 1 is Poisson, less is burstier (vllm bench serve)
  LengthDistribution input, output;
  Count prefixes = 0;       // different shared beginnings, one drawn for each request; 0: none
  Count prefix_tokens = 0;  // length of each, a part of the input
  std::uint64_t seed = 0;
};
Status check(const WorkloadOptions& options);
// The same options give the same requests, in the order of their arrival.
Result<std::vector<Request>> generate(const WorkloadOptions& options);

// `count` requests whose lengths are drawn from `sample` and scaled so that their means are those given; arrivals as in
// `options`, whose own lengths are not used.
Result<std::vector<Request>> resampled(const std::vector<Request>& sample, double mean_input, double mean_output,
                                       const WorkloadOptions& options);

}  // namespace tilecast
