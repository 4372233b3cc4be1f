// The figures of an accuracy run in brief: errors of kernels by family, format and card, and of whole runs by
// quantity and card. Kept in a file, so that pages can quote them without another run.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/evidence/kernel_errors.h"

namespace tilecast {

struct VisibleFigure {
  std::string kind;      // kernel or run
  std::string left_out;  // of the training: gpu, architecture, source; shape: nothing but shapes; drawn: its table;
                         // empty: a run
  std::string source;    // "aiconfigurator", "argonne"
  std::string what;      // a family, or a run's quantity: "gemm", "tpot"
  std::string form;      // a format, or a run's mode: "bf16", "decode"
  std::string gpu;
  Count rows = 0;
  double mean = 0, median = 0, bias = 0;  // of |forecast / measured - 1|, bias without the bars
  double held = 0;                        // share of rows inside their 80 % interval; negative: they have none
};
using VisibleFigures = std::vector<VisibleFigure>;

VisibleFigures visible_figures(const KernelErrors& kernels, const std::vector<EndToEndResult>& runs);

// Figures of several cards, engines and modes as one: rows weigh the same, but a median is the mean of its groups'. The
// question is a figure's words joined by slashes, "kernel/gpu/aiconfigurator/gemm/bf16/B200+GB200": alternatives joined
// by plus signs, an empty word for any.
std::optional<VisibleFigure> asked_figure(const VisibleFigures& figures, std::string_view question);

std::string visible_csv(const VisibleFigures& figures);
Result<VisibleFigures> read_visible(const std::string& path);

}  // namespace tilecast
