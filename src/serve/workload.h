// Requests that a deployment is asked to serve: drawn from distributions, or read from a trace (serve/trace.h).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "support/random.h"
#include "tilecast/result.h"
#include "tilecast/serving_metrics.h"
#include "tilecast/units.h"

namespace tilecast {

struct Request {
  Seconds arrival;              // of a request that follows another (`after`): not before
  Count input = 0, output = 0;  // tokens of the prompt and of the answer, both at least one
  Count prefix = -1;            // which shared beginning the prompt has; -1: none
  Count prefix_tokens = 0;      // its length, at most `input`
  // A turn is sent when the answer to another request has come and a pause is over: a person reads and types, a tool
  // runs. `after`: that request's number; -1: it is sent at `arrival`.
  std::int32_t after = -1;
  // Its prompt is what that request's conversation had come to, and more: keys of all of it may be found again.
  bool history = false;
  bool guided = false;     // by a grammar
  std::int16_t group = 0;  // which class it is of (RequestClass)
  Seconds pause = {};
  Count most_output = 0;          // max_tokens: the longest answer the engine has to reckon with; 0: `output` itself
  std::int32_t path = -1;         // its beginning block by block (SharedPaths); -1: `prefix` says it
  std::int32_t adapter = -1;      // LoRA adapter; -1: the base model
  std::int32_t media = 0;         // images or clips in the prompt, and ...
  std::int32_t media_tokens = 0;  // ... the tokens of the prompt that they became, right after its prefix
  std::int32_t fresh_media = 0;   // of these, those that a conversation's earlier turns did not have
  std::int32_t priority = 0;      // less is served first, where the scheduler looks at it

  Count longest() const { return most_output > output ? most_output : output; }
};

// Beginnings of prompts that are alike block by block, as a tree has them: each request's way from the root, in
// segments that every request has either whole or not at all.
struct PathSegment {
  Count id = 0;
  Count tokens = 0;  // from the prompt's beginning to the segment's end
};
struct SharedPaths {
  std::vector<PathSegment> segments;  // of all paths, one after the other
  std::vector<std::uint32_t> ends;    // of each path in `segments`
  std::span<const PathSegment> of(std::int32_t path) const {
    if (path < 0) return {};
    const auto i = static_cast<std::size_t>(path);
    const std::size_t first = i == 0 ? 0 : ends[i - 1];
    return {segments.data() + first, ends[i] - first};
  }
};

// Whether turns follow requests that exist and, where a turn has its history, one conversation has one turn at a time.
Status check_turns(const std::vector<Request>& requests);

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
Status check(const LengthDistribution& lengths, const char* field);
Count draw(const LengthDistribution& lengths, Random& random);

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

// ---- what requests may ask for beside their tokens (workload_features.cpp)

// Requests become conversations: each the first turn of one. A turn's prompt is the one before it, its answer, and what
// the user or a tool adds.
struct ConversationOptions {
  LengthDistribution turns;  // of a conversation, one at least
  LengthDistribution added;  // tokens that a later turn adds
  Seconds think;             // mean time from an answer to the next turn, exponentially distributed
  double tools = 0;          // share of later turns that a tool's result is ...
  Seconds tool;              // ... and the tool's mean time, likewise
  std::uint64_t seed = 0;
};
Status check(const ConversationOptions& options);
// In order of the first turns' arrivals, each followed by its conversation.
Result<std::vector<Request>> conversations_of(const std::vector<Request>& firsts, const ConversationOptions& options);

// A class is drawn for every conversation by the classes' shares; a trace's own stay, unless `drawn`. Priorities are
// those of the classes, unless requests have their own; lengths are those of classes that have some, where `drawn`.
Status give_classes(std::vector<Request>& requests, const std::vector<RequestClass>& classes, bool drawn,
                    bool own_priorities, std::uint64_t seed);
// ... and one of `count` adapters, all alike often. None: requests of the base model.
void give_adapters(std::vector<Request>& requests, Count count, std::uint64_t seed);
// No answer is longer, and the engine knows.
void bound_answers(std::vector<Request>& requests, Count most);
// Every first turn holds so many images or clips more, of so many tokens each; requests that say how many they hold
// (traces) have theirs.
void add_media(std::vector<Request>& requests, Count each, Count tokens);

}  // namespace tilecast
