// Choosing the next token from logits.
#pragma once

#include <array>

#include "kernel/context.h"
#include "kernel/fields.h"
#include "kernel/plan.h"
#include "tilecast/result.h"

namespace tilecast {

enum class SamplingMethod : std::uint8_t {
  greedy,    // argmax
  sampling,  // softmax, then sort-free rejection sampling (FlashInfer)
  sort,      // sort, mask, softmax, draw (PyTorch)
};
inline constexpr std::array<std::string_view, 3> kSamplingMethodNames = {"greedy", "sampling", "sort"};
constexpr const auto& enum_names(SamplingMethod) { return kSamplingMethodNames; }

struct Sampling {
  static constexpr FamilyInfo kFamily{"sampling", "the next token of each sequence from its logits",
                                      "--rows 64 --cols 128256 --strategy sampling --top-p --dtype fp32"};
  Count rows = 0;
  Count cols = 0;
  SamplingMethod method = SamplingMethod::greedy;
  bool top_k = false;
  bool top_p = false;

  template <class Self, class Visit>
  static void fields(Self& s, Visit&& visit) {
    visit("rows", s.rows, "sequences", Need::required);
    visit("cols", s.cols, "vocabulary", Need::required);
    visit("strategy", s.method, "how a token is chosen (default greedy)");
    visit("top-k", s.top_k, "only among the k most likely");
    visit("top-p", s.top_p, "only among the likeliest that hold probability p");
  }
  Status check() const;
};

Result<Plan> plan(const Sampling& shape, const Format& format, const Gpu& gpu, const Context& context);

}  // namespace tilecast
