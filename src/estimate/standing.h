// What a model was trained on, and what that says of one card under one context: which facts of its kernel source,
// which of the forests, how much of them.
#pragma once

#include <array>
#include <map>
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
  // This kernel, or the one standing in for it, was trained on: on this tensor generation, and on any.
  bool kernel_known = false, kernel_known_somewhere = false;
  bool of_pytorch = false;
  bool sibling_seen = false;  // a card of its architecture other than itself
  // The card was trained on, so its own forest may be used.
  bool known() const { return card_index >= 0; }
  // Another card of its architecture was measured, with this kernel.
  bool has_sibling() const { return sibling_seen && kernel_known; }
  Footing footing() const;
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
// A scan's is one that computes the same, whatever has most rows; null: any.
Context stand_in(const FamilyModel& model, const Context& context, const Gpu& gpu, const Shape* shape = nullptr);
// Whether rows of the model are of the same computation. Scans are the one family whose kinds share nothing: a
// convolution's rows say nothing of a state's update.
bool measures(const FamilyModel& model, const Shape& shape);
// If the context names no engine or kernel, the one with most rows on this generation stands in.
Standing standing_of(const FamilyModel& model, const Context& context, const Gpu& gpu);

// PyTorch launches operators one by one; what engines launch outside graphs has its own rows and floors.
bool launched_by_host(const Context& context);

// Floors lie between fixed time and clocks (docs/method.md).
double floor_law(const Gpu& gpu);

}  // namespace tilecast
