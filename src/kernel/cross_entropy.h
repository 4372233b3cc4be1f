// Cross-entropy loss over a vocabulary, and its gradient.
#pragma once

#include "kernel/context.h"
#include "kernel/fields.h"
#include "kernel/plan.h"
#include "tilecast/result.h"

namespace tilecast {

struct CrossEntropy {
  static constexpr FamilyInfo kFamily{"cross_entropy", "log-softmax and negative log-likelihood, or their gradient",
                                      "--rows 8192 --cols 128256 --dtype fp32"};
  Count rows = 0;
  Count cols = 0;
  bool backward = false;

  template <class Self, class Visit>
  static void fields(Self& s, Visit&& visit) {
    visit("rows", s.rows, "tokens", Need::required);
    visit("cols", s.cols, "vocabulary", Need::required);
    visit("backward", s.backward, "the gradient of the logits instead");
  }
  Status check() const;
};

Result<Plan> plan(const CrossEntropy& shape, const Format& format, const Gpu& gpu, const Context& context);

}  // namespace tilecast
