// How long one step of an engine takes: the question a serving simulation asks a hundred thousand times.
//
// A step computes some tokens of prompts and one token (or, speculating, a few) of each request that decodes. StepCost
// is the interface; StepTable answers from tables that fill as they are asked, out of forecasts of whole steps.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/run.h"
#include "estimate/power.h"

namespace tilecast {

struct PrefillChunk {
  Count fresh = 0;   // tokens computed in this step
  Count cached = 0;  // tokens of the same request before them
};

struct StepBatch {
  std::vector<PrefillChunk> prefill;
  Count decodes = 0;         // requests that decode
  Count decode_tokens = 1;   // of each
  Count decode_context = 0;  // tokens cached before the step, summed over those requests
  Count padding = 0;         // tokens that only fill a captured graph's batch
  Count adapters = 0;        // different LoRA adapters ...
  Count adapter_tokens = 0;  // ... the tokens that pass through one ...
  Count swaps = 0;           // ... and how many of them come from the host first
  Count encodes = 0;         // images or clips encoded before
  Count guided = 0;          // requests whose token a grammar guides

  Count prefill_tokens() const {
    Count sum = 0;
    for (const PrefillChunk& c : prefill) sum += c.fresh;
    return sum;
  }
  Count tokens() const { return prefill_tokens() + decodes * decode_tokens; }
  Count sequences() const { return static_cast<Count>(prefill.size()) + decodes; }
};

class StepCost {
 public:
  virtual ~StepCost() = default;
  // GPU time of the step, kernels back to back; what the host adds is the simulator's (serve/host.h).
  virtual Seconds of(const StepBatch& batch) const = 0;
  // ... and the joules that one GPU takes for it beside what it draws idle; zero where its power is not known.
  struct Spent {
    Seconds time;
    double joules = 0;
  };
  virtual Spent spent(const StepBatch& batch) const { return {of(batch), 0}; }
};

// One kernel of a step, or several alike: their time and energy together.
struct CallTime {
  std::string section, name;  // which call of a step it is, whatever the step's size
  OpClass op_class = OpClass::other;
  Seconds cool = {};    // where the rest of the step leaves the card cool
  PowerWork work = {};  // the same at the highest clock (estimate/power.h)
  double clock = 1;     // over the highest, on that cool card
  Role role = Role::other;
  SectionKind part = SectionKind::other;  // of the section
};
// Which calls of a step are to be timed; without it all are. A table needs one part of a step at a time, and what it
// does not ask for costs nothing.
using CallWanted = std::function<bool(const CallTime& untimed)>;
// The kernels of a step of the deployment, whatever it consists of (one GPU, ranks with their collectives). Kernels
// heat the card together, so a step is not the sum of its kernels: its clock is what their power leaves.
struct StepPricer {
  std::function<Result<std::vector<CallTime>>(const Workload&, const CallWanted&)> calls;  // all, the wanted ones timed
  PowerLaw law = {};  // of one GPU; without a limit no clock falls
  // Decodes of a step that has prompts too run in the prompts' kernel, which neither splits their keys over CTAs nor
  // packs the query heads that share them.
  bool one_attention_kernel = false;
  double answers_at_most = 0;  // ... which takes answers at most so many times as long as alone; 0: no end
  bool metered = false;        // whether its joules count
};

// What serving changes in a rank's program: requests spread over experts unevenly, and kernels that take over their
// neighbours' work where ranks sum what they have (`ranks` above one) and it is little.
// `experts_kernel`: whose kernel experts run, where the engine was told. `fused`: sums take the norm after them along.
void as_served(Program& program, EngineKind engine, Architecture architecture, int ranks,
               const KernelSource& experts_kernel = {}, bool fused = true);
// Whether an engine sums over ranks and norms in one kernel where it is not told.
bool fuses_sums(const ModelSpec& model, EngineKind engine);

// The calls of a program on a GPU.
Result<std::vector<CallTime>> call_times(Program program, const Gpu& gpu, Method method, const ModelSource* weights,
                                         KnownCosts* known, const CallWanted& wanted = {});

// Steps of a model on one GPU. `known`: costs of kernels that pricers of the same GPU, method and weights share; they
// then belong to one thread together.
StepPricer price_on(ModelSpec model, EngineOptions engine, Gpu gpu, Method method, const ModelSource* weights,
                    const KernelSource& experts_kernel = {}, std::shared_ptr<KnownCosts> known = nullptr);

// Sum of three parts, each a table filled on demand:
//   body(tokens)                     what depends on the number of tokens alone: projections, experts, norms
//   head(sequences)                  the vocabulary and sampling
//   attention                        decode by requests and mean context; prefill by chunks, their length and prefix
// Between grid points it interpolates; step_cost_test holds it to the forecast of the same step.
class StepTable final : public StepCost {
 public:
  // Longest: tokens of one request that the model takes (learned positions end); 0: no end.
  static Result<std::unique_ptr<StepTable>> make(StepPricer pricer, Count longest);
  Seconds of(const StepBatch& batch) const override { return spent(batch).time; }
  Spent spent(const StepBatch& batch) const override;
  // The first error of a forecast while filling, if any: what was asked then is not to be trusted.
  Status status() const { return problem_ ? Status(*problem_) : Status(Ok{}); }
  Count priced() const { return priced_; }  // forecasts made so far

  // What some kernels of a step add up to.
  struct Amount {
    double cool = 0;    // seconds, as in CallTime
    double slowed = 0;  // seconds of it that follow the clock
    PowerWork work = {};
    Amount operator+(const Amount& o) const { return {cool + o.cool, slowed + o.slowed, work + o.work}; }
    Amount operator*(double f) const { return {cool * f, slowed * f, work * f}; }
  };

 private:
  // A grid point of attention: requests, cached tokens and tokens of each, or chunks, their length and prefix.
  struct AttentionKey {
    Count a = 0, b = 0, c = 0;
    bool operator==(const AttentionKey&) const = default;
  };
  struct AttentionKeyHash {
    std::size_t operator()(const AttentionKey& key) const {
      std::uint64_t mixed = 0;
      for (const Count part : {key.a, key.b, key.c})
        mixed = (mixed ^ static_cast<std::uint64_t>(part)) * 0x9e3779b97f4a7c15u, mixed ^= mixed >> 32;
      return static_cast<std::size_t>(mixed);
    }
  };
  enum class Part : std::uint8_t { body, head, attention };
  Amount body(Count tokens) const;
  Amount head(Count sequences) const;
  Amount decode_attention(Count requests, double mean_context, Count tokens_each) const;
  Amount in_prompts_kernel(const StepBatch& batch, const Amount& alone) const;
  Amount prefill_attention(const std::vector<PrefillChunk>& chunks) const;
  StepTable(StepPricer pricer, Count longest) : pricer_(std::move(pricer)), longest_(longest) {}
  Part part_of(const CallTime& call) const;
  Amount price(const Workload& workload, Part part) const;
  const Amount& decode_point(Count requests, Count context, Count tokens_each) const;
  const Amount& prefill_point(Count chunks, Count fresh, Count cached) const;
  const Amount& tokens_point(Count tokens) const;

  // Steps that follow each other mostly lie between the same points of the grid: where those of a number of answers
  // lie, for mean contexts from `from` to `to`.
  struct DecodeCell {
    Count requests = 0, tokens_each = 0;
    double from = 1, to = 0;
    std::array<Count, 2> counts{}, contexts{};  // of the points around it
    double between = 0;                         // the counts
    std::array<std::array<const Amount*, 2>, 2> points{};
  };
  bool find_cell(DecodeCell& cell, Count requests, double context, Count tokens_each) const;
  // The sum of body and head of a step of so many tokens and sequences.
  struct Plain {
    Count tokens = -1, sequences = -1;
    Amount sum;
  };
  const Amount& body_and_head(Count tokens, Count sequences) const;

  StepPricer pricer_;
  Count longest_;
  // By section and name; looked up without making a text of them, which a plan does a hundred thousand times.
  struct CallOrder {
    using is_transparent = void;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      const int sections = std::string_view(a.first).compare(b.first);
      return sections != 0 ? sections < 0 : std::string_view(a.second) < std::string_view(b.second);
    }
  };
  std::set<std::pair<std::string, std::string>, CallOrder> common_;  // calls that prompts and decoding share
  // Filled by const functions: a table belongs to one thread.
  mutable std::unordered_map<Count, Amount> tokens_, head_;
  mutable std::unordered_map<AttentionKey, Amount, AttentionKeyHash> decode_, prefill_;
  mutable std::array<DecodeCell, 256> cells_;
  mutable std::array<Plain, 256> plain_;
  mutable std::optional<Error> problem_;
  mutable Count priced_ = 0;
};

}  // namespace tilecast
