// The learned part of the forecast: what the physics leaves unexplained.
//
//   t = tuned(terms of the analytic forecast) * exp(forest(features)),  never below the bound
//
// An unseen card keeps only a share of it (estimate/carry.h).
//
// One model per family and number format. `tuned` scales the analytic terms by what the kernel source reaches on cards
// of this tensor generation (estimate/tuning.h). There are two kinds of forest: `general` and its `siblings` know no
// card and forecast unseen ones; each of `cards` knows one card and its kernel sources, and forecasts only that card.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "estimate/calibrated.h"
#include "estimate/carry.h"
#include "estimate/estimate.h"
#include "estimate/features.h"
#include "estimate/forest.h"
#include "estimate/host_timing.h"
#include "estimate/tuning.h"

namespace tilecast {

// What training found about a kernel source, or a level above it.
struct SourceFacts {
  Tuning tuning;
  float code = 0;    // median of log(measured / time tuned for the vendor): orders sources for the forests
  float index = -1;  // number of the source, for `cards`; only the lowest level has one
  Count rows = 0;
  // Most of its rows were timed launch by launch from PyTorch's eager mode: the host's share is subtracted from them,
  // and added back for kernels launched this way (estimate/host_timing.h).
  bool hosted = false;
};

// How far measured times lie from the median forecast, as logarithms.
struct Spread {
  Forest low, high;  // 10 % and 90 %
};

struct FamilyModel {
  std::string key;  // "gemm/bf16"
  // By level: "nvidia", "nvidia/mma", "nvidia/mma/vllm", "nvidia/mma/vllm/KERNEL"; and "nvidia/*/vllm/KERNEL", the same
  // kernel on any generation. Vendors share nothing: their floors differ tenfold.
  std::map<std::string, SourceFacts, std::less<>> sources;
  std::map<std::string, Count> seen;        // GPU name -> rows it was trained on
  std::map<std::string, Count> trained_on;  // source of rows (a table's `source`) -> how many
  HostTimings hosts;                        // hosts that launched measured rows one by one
  Forest general;
  // `general` with more weight on the rows of one architecture, for unseen cards with a seen sibling; or of one tensor
  // generation, under kin_key, for those without.
  std::map<std::string, Forest, std::less<>> siblings;  // by architecture_key, or kin_key
  std::map<std::string, Forest, std::less<>> cards;     // by GPU name
  std::map<std::string, Carry, std::less<>> carry;      // by vendor: how much of all this unseen cards keep
  // For cards that were measured, for those whose architecture was, and for all others.
  Spread seen_spread, sibling_spread, unseen_spread;
  Forest ceiling;  // log of the time a well-tuned kernel reaches, over the tuned time
};

// Engines whose rows the model was trained on, sorted.
std::vector<std::string> engines_of(const FamilyModel& model);

std::string model_key(const Kernel& kernel);

// "blackwell/tcgen05": cards that share it are siblings.
std::string architecture_key(const Gpu& gpu);
// "*/mma": cards whose tensor pipe is fed the same way are kin, whatever their architecture.
std::string kin_key(const Gpu& gpu);

// Levels of a row's source, lowest first.
struct SourceNames {
  std::string kernel, kernel_anywhere, engine, generation, vendor;
};
SourceNames source_names(const Context& context, const Gpu& gpu);

// The sizes that a card's forest was grown on, if rows are few: its correction is trusted there, and less the farther a
// kernel lies outside. Sizes that were the same in all rows are ignored.
struct Domain {
  struct Range {
    float low = 0, high = -1;  // about the smallest and the largest that occurred; low > high: any value
  };
  std::array<Range, kShapeFeatures> shape = {};

  // Share of the forest's answer that is kept: 1 within a factor of four of the rows, falling with the distance.
  float trust(const Features& features) const;
};
Domain domain_of(const Forest& forest, std::string_view family);

// What a model knows about a card in a context. Looking it up costs more than using it, so keep it for many kernels.
struct Standing {
  Tuning tuning;
  TunedRates rates;  // the tuning on this card
  float code = 0;
  float source_index = -1;  // -1: not seen
  float card_index = kNothingSeen;
  Seen seen = Seen::no;
  bool guessed = false;  // the kernel source stands in for an unknown name: as uncertain as an unseen card
  Doubt doubt = Doubt::architecture;
  bool kernel_known = false;  // this kernel, or the one standing in for it, was trained on
  // The card was trained on, so its own forest may be used.
  bool known() const { return card_index >= 0; }
  // The card was not measured, but a card of its architecture was, with this kernel.
  bool has_sibling() const { return card_index == kSiblingSeen && kernel_known; }
  const Forest* forest = nullptr;  // the model's forest for this card
  float share = 1;                 // share of what was learned that holds on it; less than 1 only on unseen cards
  // The range of that forest, if it is the card's own and has seen few rows: too few to apply to other sizes, or to
  // know how wide its intervals are.
  std::optional<Domain> domain = {};
  // Hosts of the model, if one of them launches and times kernels one by one; null: a graph does.
  const HostTimings* hosts = nullptr;
  std::string host_card, host_vendor;        // whose of them
  const Calibration* calibration = nullptr;  // of the card; null: none
  std::string_view key;                      // of the model
};
// The context with a kernel filled in if it names none: the one with most rows on this generation (among the engine's,
// if it names one). A name that neither the model nor the plans know is taken for a kernel of the same kind under
// another name, or for the engine's usual one on this generation. Plan and forecast with this context, so that both
// concern the same kernel. The names point into the model.
Context stand_in(const FamilyModel& model, const Context& context, const Gpu& gpu);
// If the context names no engine or kernel, the one with most rows on this generation stands in.
Standing standing_of(const FamilyModel& model, const Context& context, const Gpu& gpu);

// Floors lie between fixed time and clocks (docs/method.md).
double floor_law(const Gpu& gpu);

// What the model needs from one analytic forecast.
struct LearnedInput {
  Terms terms;
  Features raw;  // see estimate/features.h
  Seconds bound;
  std::string variant = {};  // calibration_variant, on a calibrated card
  // For a card derived from another (gpu/gpu.h, parent) and changed: terms and features are the other card's, whose
  // learned forecast is scaled by what the physics says about the change.
  struct Move {
    double factor = 1;  // this card's analytic forecast over the other's
    Seconds bound;      // on the other card
  };
  std::optional<Move> move = {};
  // For a kernel that PyTorch's host launches on its own: as a graph would launch it.
  std::shared_ptr<const LearnedInput> in_graph = {};
  std::string call = {};  // host_call, of such a kernel
};
LearnedInput learned_input(const Kernel& kernel, const Plan& plan, const Estimate& analytic, const Gpu& gpu,
                           const Context& context);

// The physics' time, nothing learned.
Seconds untuned_time(const LearnedInput& input);

// The tuned time, and the features the forests see.
struct Prepared {
  Seconds base;
  Features features;
  float tuned = 0;  // log of the base over the physics' time, if not all of it is carried over
};
Prepared prepare(const LearnedInput& input, const Standing& standing);

// What is requested for a kernel: everything, or only its time, which is a quarter of the work.
enum class Wanted : std::uint8_t { all, time };

struct LearnedTime {
  Seconds median, low, high, ceiling;
  Width shared = {};  // with all kernels of its family (estimate/width.h)
  Width own = {};     // ... the residual of similar rows, before other uncertainties are added
};
// `Wanted::time`: the ends and the ceiling are set to the median, without evaluating their forests.
LearnedTime learned_time(const FamilyModel& model, const LearnedInput& input, const Standing& standing,
                         Wanted wanted = Wanted::all);

// Medians only, of many kernels at once.
void learned_times(std::span<const LearnedInput> inputs, const Standing& standing, std::span<Seconds> out);

// A card's calibration on top of a forecast. `standing` is the one used for the forecast.
LearnedTime calibrated(const LearnedTime& t, const LearnedInput& input, const Standing& standing);
// The same for a family without a model.
Estimate calibrated(const Estimate& analytic, const Kernel& kernel, const Plan& plan, const Gpu& gpu,
                    const Context& context);

// The analytic estimate corrected: latency, interval, ceiling and seen are the model's; launches keep their shares of
// the whole.
Estimate corrected(const Estimate& analytic, const FamilyModel& model, const Kernel& kernel, const Plan& plan,
                   const Gpu& gpu, const Context& context, bool guessed = false, Wanted wanted = Wanted::all);

}  // namespace tilecast
