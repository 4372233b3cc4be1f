// How the registry gathers constants, a part of them in each of its sources.
#pragma once

#include <vector>

#include "constants/attention.h"
#include "constants/cluster.h"
#include "constants/constant.h"
#include "constants/estimate.h"
#include "constants/intervals.h"
#include "constants/mla.h"
#include "constants/network.h"
#include "constants/power.h"
#include "constants/product.h"

namespace tilecast::constants {

// Gathers addresses: every constant is one variable of the whole program.
class List {
 public:
  void add(const Constant& constant) { all.push_back(&constant); }
  void add(const Tunable& constant) {
    all.push_back(&constant);
    tunable.push_back(&constant);
  }
  void add_all(const PipelineConstants& c) { each(c.step_clocks, c.task_clocks, c.wave_share, c.efficiency, c.rate); }
  void add_all(const OlderKernel& c) { each(c.rate, c.elements, c.step_clocks, c.step_clocks_deep, c.result_clocks); }
  void add_all(const DecoderConstants& c) { each(c.task, c.task_dim, c.step, c.kib, c.fp8_kib, c.row, c.join); }
  void add_all(const MlaConstants& c) { each(c.task, c.row, c.block); }
  void add_all(const PrefillConstants& c) { each(c.task, c.products); }
  void add_all(const LoopConstants& c) { each(c.task, c.score, c.products, c.wide, c.window); }
  void add_all(const CacheConstants& c) { each(c.usable, c.sharpness); }
  void add_all(const DataConstants& c) { each(c.tensor, c.counted, c.other); }
  void add_all(const SiliconConstants& c) { each(c.switching, c.top_clock); }
  void add_all(const IntervalConstants& c) { each(c.low, c.high); }
  void add_all(const WidthConstants& c) { each(c.down, c.up); }
  void add_all(const LoopWidths& c) { add_all(c.products), add_all(c.attention), add_all(c.streams); }
  void add_all(const ProtocolConstants& c) { each(c.base, c.net, c.nvlink, c.pcie, c.share); }
  void add_all(const NodeProtocolConstants& c) { each(c.base, c.hop, c.share); }

  std::vector<const Constant*> all;
  std::vector<const Tunable*> tunable;

 private:
  void each(const auto&... constants) { (add(constants), ...); }
};

// Of the kernels' plans: products, streams, attention.
void add_kernel_constants(List& list);

}  // namespace tilecast::constants
