// Every judged row with its forecasts, as CSV: for your own plots and checks.
//
//   gpu,source,engine,kernel_source,family,dtype,dims,method,measured_us,forecast_us,low_us,high_us,bound_us,regime,seen
//   H100-SXM,aiconfigurator,vllm,linear,gemm,bf16,m=1;n=4096;k=4096,tilecast,14.2,13.9,12.8,16.1,10.3,memory-bound,1
#pragma once

#include <string>
#include <vector>

#include "lab/evaluate/judge.h"

namespace tilecast {

// One line per row and method, rows in their order; gzip when `path` ends in .gz; written whole or not at all.
Status write_predictions(const std::string& path, const std::vector<Measurement>& rows,
                         const std::vector<MethodOutcomes>& methods);

}  // namespace tilecast
