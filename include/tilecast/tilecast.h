// Everything that Tilecast answers, in one include. Each header is self-contained. For C this is abi.h.
//
//   abi.h          the same for C, in a shared library
//   calibrate.h    from measured rows of a card to a description that corrects its forecasts
//   collective.h   a collective between GPUs, the exchange of experts' tokens; clusters
//   diagnose.h     a profiler trace compared with the forecast: where the time goes and what to try
//   gpu.h          built-in and described GPUs; number formats
//   kernel.h       one kernel on a GPU, or many in a batch
//   memory.h       how much memory a model's step needs, and the largest that fits
//   model.h        models, by name or from files
//   plan.h         the best deployment for a load, the best training layouts
//   program.h      a recorded PyTorch program on a GPU it never ran on
//   retime.h       a profiler trace of one rank, re-timed for another GPU or cluster
//   serving.h      requests through an engine: what clients measure
//   step.h         a model's prefill, decode or training step on one GPU or many
//   step_predictor.h  a sequence of such steps, fast
//   tune.h         tiles for Triton kernels, and the files in which engines look for them
//
// What they share: arguments.h (the arguments of every question as data), build.h (what this library was built from),
// forecast.h (methods, resources, intervals), framework.h (training frameworks' recipes), layout.h (ranks), result.h
// (values or errors), run.h (modes, engines, precision), serving_metrics.h, train.h (how a step trains), units.h
// (quantities as types), version.h (the version and its promise), watch.h (progress and cancellation).
#pragma once

#include "tilecast/abi.h"

#ifdef __cplusplus
#include "tilecast/arguments.h"
#include "tilecast/build.h"
#include "tilecast/calibrate.h"
#include "tilecast/collective.h"
#include "tilecast/diagnose.h"
#include "tilecast/forecast.h"
#include "tilecast/gpu.h"
#include "tilecast/kernel.h"
#include "tilecast/layout.h"
#include "tilecast/memory.h"
#include "tilecast/model.h"
#include "tilecast/plan.h"
#include "tilecast/program.h"
#include "tilecast/result.h"
#include "tilecast/retime.h"
#include "tilecast/run.h"
#include "tilecast/serving.h"
#include "tilecast/serving_metrics.h"
#include "tilecast/step.h"
#include "tilecast/step_predictor.h"
#include "tilecast/train.h"
#include "tilecast/tune.h"
#include "tilecast/units.h"
#include "tilecast/version.h"
#endif
