// The circumstances of a kernel's run that change its time without changing its shape.
#pragma once

#include "kernel/source.h"
#include "kernel/torch_release.h"
#include "tilecast/forecast.h"
#include "tilecast/units.h"

namespace tilecast {

struct Context {
  Runtime runtime = Runtime::graph;
  Warmth warmth = Warmth::model;
  // Benchmarks rotate copies of the weights (vLLM and SGLang collectors 6) or of all inputs to cool them; with
  // Warmth::warm.
  int weight_copies = 1;
  int activation_copies = 1;
  // What launches the kernel, and which of its kernels it is, if known ("vllm", "vllm_flash_attn_fa3"): engines differ
  // in the helper kernels around a kernel and in the kernel itself.
  Launcher engine;
  KernelSource kernel_source;
  RunLength run = RunLength::burst;
  OperandData data = OperandData::normal;
  TorchRelease torch = TorchRelease::current;  // of PyTorch's own kernels
};

}  // namespace tilecast
