// Planned demands against hardware counters (data/measurements/h200_counters.csv, Nsight Compute): CTAs, tensor
// operations, bytes at L2 and DRAM.
//
//   | family | launches | CTAs equal | tensor ops, median | within 1 % | L2 bytes, median | DRAM bytes, median | clock
//   | | gemm | 57 | 35 of 57 | 0.0 % | 41 of 51 | 6.1 % | 1.2 % | 1690 MHz |
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gpu/gpu.h"
#include "kernel/kernel.h"
#include "tilecast/result.h"
#include "tilecast/units.h"

namespace tilecast {

// One profiled launch. Nsight Compute flushed the caches before each and left the clocks alone.
struct CounterRow {
  std::string id, family, dtype, dims, source;  // of the case
  int index = 0;                                // launches of a case count from zero
  std::string kernel;
  Count ctas = 0;
  Ops tensor;
  Bytes l2_load, l2_store;  // asked for by the SMs (lts__t_sectors_srcunit_tex)
  Bytes dram_load, dram_store;
  Seconds time;
  Hertz clock;
};
Result<std::vector<CounterRow>> read_counters(const std::string& path);

// The kernel of a row's case in our terms, or why it has no plan (another library's kernel).
Result<Kernel> kernel_of(const CounterRow& row);

struct PlannedCounters {
  Count ctas = 0;
  Ops tensor;
  Bytes l2, dram;  // loads and stores
};
struct CounterComparison {
  CounterRow row;
  std::string family;                      // ours
  bool plan_known = false;                 // the plan follows from published code
  PlannedCounters planned;                 // by the plan
  std::optional<PlannedCounters> imposed;  // with the tile, cluster and split of the kernel's name
};
// Rows whose case has a plan, in order; launches beyond the plan's are left out.
std::vector<CounterComparison> compare_counters(const std::vector<CounterRow>& rows, const Gpu& gpu);

double relative_error(double planned, double measured);
Bytes measured_l2(const CounterRow& row);
Bytes measured_dram(const CounterRow& row);

// Markdown, by family: products as planned and under the measured tile, then the rest.
std::string counter_tables(const std::vector<CounterComparison>& compared);

}  // namespace tilecast
