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
  // Most of its rows were timed launch by launch from PyTorch's eager mode: with the host's share taken off them, which
  // kernels asked for so get back (estimate/host_timing.h).
  bool hosted = false;
};

// How far measured times lie from the median forecast, as logarithms.
struct Spread {
  Forest low, high;  // 10 % and 90 %
};

struct FamilyModel {
  std::string key;  // "gemm/bf16"
  // By level: "nvidia", "nvidia/mma", "nvidia/mma/vllm", "nvidia/mma/vllm/KERNEL"; and "nvidia/*/vllm/KERNEL", the
  // same kernel on whatever generation. Vendors never share facts: their floors differ tenfold.
  std::map<std::string, SourceFacts, std::less<>> sources;
  std::map<std::string, Count> seen;        // GPU name -> rows it was trained on
  std::map<std::string, Count> trained_on;  // source of rows (a table's `source`) -> how many
  HostTimings hosts;                        // that launched measured rows one by one
  Forest general;
  // `general` with more weight on the rows of one architecture: for unseen cards that have a seen sibling.
  // And of one tensor generation, under kin_key: for those that have none.
  std::map<std::string, Forest, std::less<>> siblings;  // by architecture_key, or kin_key
  std::map<std::string, Forest, std::less<>> cards;     // by GPU name
  std::map<std::string, Carry, std::less<>> carry;      // by vendor: of all this, what unseen cards keep
  Spread unseen_spread, seen_spread;
  Forest ceiling;  // log of the time a well-tuned kernel reaches, over the tuned time
};

// Engines whose rows the model was trained on, sorted.
std::vector<std::string> engines_of(const FamilyModel& model);

std::string model_key(const Kernel& kernel);

// "blackwell/tcgen05": cards that share it are siblings.
std::string architecture_key(const Gpu& gpu);
// "*/mma": cards whose tensor pipe is fed alike are kin, whatever their architecture.
std::string kin_key(const Gpu& gpu);

// Levels of a row's source, lowest first.
struct SourceNames {
  std::string kernel, kernel_anywhere, engine, generation, vendor;
};
SourceNames source_names(const Context& context, const Gpu& gpu);

// The sizes that a card's forest was grown on, where rows are few: what it adds is believed there, and the less the
// farther a kernel lies outside. Sizes that were the same in all rows are not known.
struct Domain {
  struct Range {
    float low = 0, high = -1;  // about the least and the largest that occurred; low > high: any value
  };
  std::array<Range, kShapeFeatures> shape = {};

  // Share of the forest's answer that is kept: 1 within a factor of four of the rows, falling with the distance.
  float trust(const Features& features) const;
};
Domain domain_of(const Forest& forest, std::string_view family);

// What a model knows of a card under a context. Looking it up costs more than using it: keep it for many kernels.
struct Standing {
  Tuning tuning;
  TunedRates rates;  // the tuning on this card
  float code = 0;
  float source_index = -1;  // -1: not seen
  float card_index = kNothingSeen;
  Seen seen = Seen::no;
  bool guessed = false;  // the kernel source is one that stands in for an unknown name: as uncertain as an unseen card
  Doubt doubt = Doubt::architecture;
  bool kernel_known = false;  // rows of this kernel, or the one that stands in for it, were trained on
  // The card was trained on, so its own forest may speak.
  bool known() const { return card_index >= 0; }
  const Forest* forest = nullptr;  // the model's that speaks for this card
  float share = 1;                 // of what is learned that holds on it; less than 1 on unseen cards alone
  // Of that forest, where it is the card's own and has seen few rows: too few to speak for other sizes than theirs, or
  // to know how wide its intervals are.
  std::optional<Domain> domain = {};
  // Hosts of the model, where one of them launches and times kernels by themselves; null: a graph does.
  const HostTimings* hosts = nullptr;
  std::string host_card, host_vendor;        // whose of them
  const Calibration* calibration = nullptr;  // of the card; null: none
  std::string_view key;                      // of the model
};
// The context with an engine's kernel named where it names none: that of most rows on this generation (of the engine's,
// if it names one). A name that neither the model nor the plans know is taken for a kernel of the same kind under
// another name, or for the engine's usual one on this generation. To be planned and forecast with, so that plan and
// correction speak of the same kernel. The names point into the model.
Context stand_in(const FamilyModel& model, const Context& context, const Gpu& gpu);
// Where the context names no engine or kernel, that of most rows on this generation stands in.
Standing standing_of(const FamilyModel& model, const Context& context, const Gpu& gpu);

// PyTorch launches operators one by one; what engines launch outside of graphs has rows and floors of its own.
bool launched_by_host(const Context& context);

// Floors lie between fixed time and clocks (docs/method.md).
double floor_law(const Gpu& gpu);

}  // namespace tilecast
