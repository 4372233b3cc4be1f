// One optimizer step over all parameters of a rank.
#pragma once

#include <array>

#include "kernel/context.h"
#include "kernel/fields.h"
#include "kernel/optimizer_kind.h"
#include "kernel/plan.h"
#include "tilecast/result.h"

namespace tilecast {

// PyTorch's three implementations: a pointwise kernel per operation and tensor; the same operations over all tensors at
// once; one kernel.
enum class OptimizerForm : std::uint8_t { plain, foreach, fused };
inline constexpr std::array<std::string_view, 3> kOptimizerFormNames = {"plain", "foreach", "fused"};
constexpr const auto& enum_names(OptimizerForm) { return kOptimizerFormNames; }

enum class GradientType : std::uint8_t { same, fp32, bf16 };
inline constexpr std::array<std::string_view, 3> kGradientTypeNames = {"same", "fp32", "bf16"};
constexpr const auto& enum_names(GradientType) { return kGradientTypeNames; }

struct Optimizer {
  static constexpr FamilyInfo kFamily{"optimizer", "one optimizer step (states in fp32, parameters in --dtype)",
                                      "--params 1000000000 --kind adamw --form fused --dtype bf16 --master"};
  Count params = 0;
  OptimizerKind kind = OptimizerKind::adamw;
  OptimizerForm form = OptimizerForm::fused;
  Count tensors = 1;
  bool momentum = false;
  bool master = false;
  GradientType gradient = GradientType::same;

  template <class Self, class Visit>
  static void fields(Self& s, Visit&& visit) {
    visit("params", s.params, "parameters updated", Need::required);
    visit("kind", s.kind, "the rule (default adamw)");
    visit("form", s.form, "PyTorch's implementation (default fused)");
    visit("tensors", s.tensors, "tensors they are spread over; plain launches kernels for each (default 1)");
    visit("momentum", s.momentum, "sgd keeps a momentum buffer");
    visit("master", s.master, "an fp32 master copy is updated and the parameters written from it");
    visit("gradient", s.gradient, "type of the gradient (default: the parameters')");
  }
  Status check() const;
};

Result<Plan> plan(const Optimizer& shape, const Format& format, const Gpu& gpu, const Context& context);

}  // namespace tilecast
