// `tilecast kernel FAMILY ...`: forecasts of one kernel on several GPUs.
#pragma once

#include <string>
#include <vector>

#include "estimate/estimate.h"
#include "kernel/kernel.h"
#include "support/result.h"

namespace tilecast {

struct KernelOptions {
  std::string family;
  Dims dims;
  std::vector<std::string> gpus;
  std::string dtype = "bf16";
  std::string method = "tilecast";
  std::string runtime = "graph";
  std::string warmth = "model";
  Count weight_copies = 1;
  std::string weights;        // a weight file of `tilecast train`; empty: the analytic forecast
  std::string engine;         // vllm, sglang, trtllm or pytorch, where the weights know it
  std::string kernel_source;  // which of its kernels
  bool explain = false;
  bool json = false;
};

// What a kernel does on one GPU.
struct KernelForecast {
  Gpu gpu;
  Kernel kernel;
  Context context;
  Plan plan;
  Estimate estimate;
};

Result<std::vector<KernelForecast>> forecast_kernel(const KernelOptions& options);

// The whole output of the command.
Result<std::string> run_kernel(const KernelOptions& options);

// Views; each takes values and returns text.
std::string forecast_table(const std::vector<KernelForecast>& forecasts);
std::string explain_text(const KernelForecast& forecast);
std::string forecast_json(const std::vector<KernelForecast>& forecasts);

}  // namespace tilecast
