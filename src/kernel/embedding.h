// Token embedding look-up and its gradient, as PyTorch runs them.
#pragma once

#include "kernel/context.h"
#include "kernel/fields.h"
#include "kernel/plan.h"
#include "tilecast/result.h"

namespace tilecast {

struct Embedding {
  static constexpr FamilyInfo kFamily{"embedding", "token embedding look-up, or the gradient of its table",
                                      "--tokens 8192 --vocab 128256 --cols 4096"};
  Count tokens = 0;
  Count vocab = 0;
  Count cols = 0;
  Count distinct = 0;  // 0: as many as uniformly drawn tokens touch
  bool backward = false;

  template <class Self, class Visit>
  static void fields(Self& s, Visit&& visit) {
    visit("tokens", s.tokens, "tokens looked up", Need::required);
    visit("vocab", s.vocab, "rows of the table", Need::required);
    visit("cols", s.cols, "elements of a row", Need::required);
    visit("distinct", s.distinct, "different tokens among them (default: as a uniform draw has)");
    visit("backward", s.backward, "the gradient of the table instead");
  }
  Status check() const;
};

// Different rows that the tokens touch.
double distinct_rows(const Embedding& shape);

Result<Plan> plan(const Embedding& shape, const Format& format, const Gpu& gpu, const Context& context);

}  // namespace tilecast
