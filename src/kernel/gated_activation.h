// act(x) * y over the two halves of every row, as FlashInfer and vLLM launch it: one CTA per token.
#pragma once

#include <array>

#include "kernel/context.h"
#include "kernel/fields.h"
#include "kernel/plan.h"
#include "tilecast/result.h"

namespace tilecast {

enum class Gate : std::uint8_t { silu, gelu };
inline constexpr std::array<std::string_view, 2> kGateNames = {"silu", "gelu"};
constexpr const auto& enum_names(Gate) { return kGateNames; }

struct GatedActivation {
  static constexpr FamilyInfo kFamily{"gated_activation", "activation of one half of a row times the other half",
                                      "--rows 8192 --cols 14336 --act silu"};
  Count rows = 0, cols = 0;
  Gate act = Gate::silu;
  bool backward = false;

  template <class Self, class Visit>
  static void fields(Self& s, Visit&& visit) {
    visit("rows", s.rows, "rows (tokens)", Need::required);
    visit("cols", s.cols, "width of the result; the input is twice as wide", Need::required);
    visit("act", s.act, "activation of the first half (default silu)");
    visit("backward", s.backward, "the gradient kernel instead");
  }
  Status check() const;
};

Result<Plan> plan(const GatedActivation& shape, const Format& format, const Gpu& gpu, const Context& context);

}  // namespace tilecast
