// How far 80 % intervals reach beyond what a table's own held-out rows say: logarithms, to either side of a forecast.
//
// `tilecast-lab coverage` refits them (Makefile, `coverage`) and rewrites this file; docs/method.md has the formulas,
// docs/accuracy/coverage.md what intervals hold with them.
#pragma once

#include "constants/constant.h"

namespace tilecast::constants {

namespace sources {
inline constexpr std::string_view kCoverageKernels =
    "`tilecast-lab coverage --train`: kernels whose source, card or architecture was left out of a training";
inline constexpr std::string_view kCoverageRuns =
    "`tilecast-lab coverage`: runs of whole models, every source weighing the same";
}  // namespace sources

struct WidthConstants {
  Number down, up;
};
constexpr WidthConstants width_constants(std::string_view of, double down, double up) {
  return {
      Number{"width.kernel_down", down, "1", fitted, "log, forecast over low end", sources::kCoverageKernels, "", of},
      Number{"width.kernel_up", up, "1", fitted, "log, high end over forecast", sources::kCoverageKernels, "", of}};
}
constexpr WidthConstants kernel_scale_constants(std::string_view of, double down, double up) {
  return {Number{"width.kernel_scale_down", down, "1", fitted, "a kernel's width over its rows', below its forecast",
                 sources::kCoverageKernels, "", of},
          Number{"width.kernel_scale_up", up, "1", fitted, "a kernel's width over its rows', above its forecast",
                 sources::kCoverageKernels, "", of}};
}
constexpr WidthConstants run_width_constants(std::string_view of, double down, double up) {
  return {Number{"width.run_down", down, "1", fitted, "log, forecast over low end", sources::kCoverageRuns, "", of},
          Number{"width.run_up", up, "1", fitted, "log, high end over forecast", sources::kCoverageRuns, "", of}};
}
constexpr WidthConstants run_scale_constants(std::string_view of, double down, double up) {
  return {Number{"width.run_scale_down", down, "1", fitted, "a run's width over its parts', below its forecast",
                 sources::kCoverageRuns, "", of},
          Number{"width.run_scale_up", up, "1", fitted, "a run's width over its parts', above its forecast",
                 sources::kCoverageRuns, "", of}};
}

// Two cards of one kind, measured alike on two days.
inline constexpr Number kNoiseWidth{"width.noise",
                                    0.024,
                                    "1",
                                    measured,
                                    "log by which no end is nearer to a forecast, unless the bound is",
                                    "graph rows of data/measurements/h200_repeat.csv.gz: one in five differs by more"};

struct LoopWidths {
  WidthConstants products, attention, streams;
};

// How much farther PyTorch's kernels reach, which everyone times in their own way, than the rows of those that a model
// was trained on: where those are hard to forecast, others' differ more from them too.
inline constexpr LoopWidths kProtocolScale{kernel_scale_constants("PyTorch timed by others, products", 1.14, 1.28),
                                           kernel_scale_constants("PyTorch timed by others, attention", 1.08, 1.23),
                                           kernel_scale_constants("PyTorch timed by others, streams", 1.04, 1.10)};

// What a kernel that nobody timed on any card may be off by besides.
inline constexpr LoopWidths kKernelWidth{width_constants("another kernel, products", 0.00, 0.59),
                                         width_constants("another kernel, attention", 0.00, 0.00),
                                         width_constants("another kernel, streams", 0.00, 1.37)};

// What all kernels of one card, source and family are off by together; a sum of them keeps it.
inline constexpr LoopWidths kProtocolWidth{width_constants("another protocol, products", 0.02, 0.04),
                                           width_constants("another protocol, attention", 0.01, 0.01),
                                           width_constants("another protocol, streams", 0.06, 0.01)};
inline constexpr LoopWidths kCardWidth{width_constants("another card, products", 0.10, 0.05),
                                       width_constants("another card, attention", 0.05, 0.05),
                                       width_constants("another card, streams", 0.07, 0.07)};
inline constexpr LoopWidths kArchitectureWidth{width_constants("another architecture, products", 0.11, 0.13),
                                               width_constants("another architecture, attention", 0.10, 0.09),
                                               width_constants("another architecture, streams", 0.05, 0.17)};

// Launches of a step that its host holds up.
inline constexpr WidthConstants kHostWidth = run_width_constants("host", 0.20, 0.44);

// How far a whole step is off, over what its kernels and exchanges leave open together.
inline constexpr WidthConstants kOneGpuScale = run_scale_constants("one GPU", 1.06, 0.80);
inline constexpr WidthConstants kStepOverScale = run_scale_constants("inference, several GPUs", 1.25, 0.80);
inline constexpr WidthConstants kTrainingOverScale = run_scale_constants("training, several GPUs", 1.10, 0.80);

// The same of a served load's steps: its kernels follow each other for minutes, and most of what they leave open evens
// out over them.
inline constexpr WidthConstants kServedScale = run_scale_constants("serving", 0.20, 0.20);

// What first tokens and the tokens after them are off by beside their steps: settings that nobody states, hosts,
// clients. A request's time and rates of requests are made of both. Queued: requests spend most of the time to their
// first token waiting to be scheduled. A few requests that wait for seconds make a mean less sure than its median.
inline constexpr WidthConstants kTtftWidth = run_width_constants("serving, first token", 0.17, 0.96);
inline constexpr WidthConstants kMedianTtftWidth = run_width_constants("serving, median first token", 0.13, 0.14);
inline constexpr WidthConstants kTpotWidth = run_width_constants("serving, a token", 0.17, 0.54);
inline constexpr WidthConstants kMedianTpotWidth = run_width_constants("serving, median token", 0.07, 0.00);
inline constexpr WidthConstants kQueuedTtftWidth = run_width_constants("queued serving, first token", 0.18, 0.87);
inline constexpr WidthConstants kQueuedMedianTtftWidth =
    run_width_constants("queued serving, median first token", 0.33, 0.23);
inline constexpr WidthConstants kQueuedTpotWidth = run_width_constants("queued serving, a token", 0.20, 0.32);
inline constexpr WidthConstants kQueuedMedianTpotWidth =
    run_width_constants("queued serving, median token", 0.05, 0.12);

}  // namespace tilecast::constants
