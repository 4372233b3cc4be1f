#include "kernel/rowwise.h"

#include <algorithm>
#include <bit>

#include "constants/streaming.h"
#include "kernel/checks.h"

namespace tilecast {

using namespace constants;

namespace {

constexpr Count kMostRows = 2147483647;

// Only threads and the CTA limit: registers rarely bind these kernels.
Count resident_ctas(const CtaShape& cta, const Gpu& gpu) {
  const Count by_threads = std::max<Count>(1, gpu.max_threads_per_sm / std::max(cta.threads, 32));
  Count resident = std::min<Count>(by_threads, gpu.max_ctas_per_sm);
  if (in_bytes(cta.shared_memory) > 0)
    resident = std::min(resident, static_cast<Count>(gpu.shared_memory.per_sm / cta.shared_memory));
  return std::max<Count>(1, resident);
}

Count ctas_of(const RowKernel& kernel) { return ceil_div(kernel.rows, kernel.rows_per_cta); }

// Bytes of the rows that the CTAs of an SM process at a time.
Bytes live_rows(const RowKernel& kernel, const Gpu& gpu) {
  const Count on_sm = std::min(resident_ctas(kernel.cta, gpu), ceil_div(ctas_of(kernel), gpu.sms));
  return kernel.read * static_cast<double>(on_sm * kernel.rows_per_cta);
}

// What a walk writes, over what all of them read.
double written_share(const RowKernel& kernel) { return kernel.written / (kernel.read + kernel.reread); }

// Share of the later passes that no longer find the row in L1. The edge is soft: resident CTAs are not synchronised,
// and what they write passes through too. In NeuSight's softmax rows nothing is lost up to 0.8 of the cache and all at
// 1.7 of it (V100 from 5,120 to 8,192 columns, T4 from 5,120 to 10,240, A100 from 8,192 to 16,384).
double l1_miss_share(const RowKernel& kernel, const Gpu& gpu) {
  const Bytes cache = row_cache(kernel.cta, gpu);
  if (cache <= bytes(0)) return 1;
  const Bytes live = live_rows(kernel, gpu) * (1 + written_share(kernel)) + kernel.parameters;
  return std::clamp((live / cache - kL1Kept) / (kL1Lost - kL1Kept), 0.0, 1.0);
}

bool l1_keeps_global_loads(const Gpu& gpu) {
  return gpu.vendor == Vendor::nvidia && gpu.architecture != Architecture::pascal;
}

}  // namespace

Status require_rows(Count rows, Count cols) {
  if (auto positive = require_positive({{"rows", rows}, {"cols", cols}}); !positive) return positive;
  for (const Named& dim : {Named{"rows", rows}, Named{"cols", cols}})
    if (dim.value > kMostRows)
      return field_error(std::string(dim.name), fmt::format("must be at most {}, not {}", kMostRows, dim.value));
  return require_reasonable(4.0 * static_cast<double>(rows) * static_cast<double>(cols));
}

Bytes row_cache(const CtaShape& cta, const Gpu& gpu) {
  if (!l1_keeps_global_loads(gpu)) return bytes(0);
  // Volta and later: one memory serves as L1 and shared memory, of which CTAs can have all but 28 to 32 KiB (Turing: 64
  // of 96 KiB, and L1 at most as much).
  const Bytes beyond = kibibytes(gpu.architecture == Architecture::turing ? kL1BeyondTuring : kL1Beyond);
  return gpu.shared_memory.per_sm + beyond - cta.shared_memory * static_cast<double>(resident_ctas(cta, gpu));
}

Launch row_launch(const RowKernel& kernel, const Gpu& gpu) {
  Launch launch;
  launch.name = kernel.name;
  launch.character = Character::streaming;
  launch.cta = kernel.cta;
  launch.ctas = ctas_of(kernel);
  launch.vector_type = kernel.vector_type;

  const double missed = l1_miss_share(kernel, gpu);
  const double ctas = static_cast<double>(launch.ctas), once = std::min(ctas, static_cast<double>(gpu.sms));
  const double fetches = once + (ctas - once) * missed;  // of the parameters
  Demand row;
  row.vector = ops(2 * kernel.slots);
  row.xu = ops(kernel.xu);
  row.shared = kernel.shared;
  row.l2_load = kernel.read + kernel.parameters * (fetches / static_cast<double>(kernel.rows));
  row.l2_load += kernel.reread * missed;
  row.l2_store = kernel.written;
  launch.tasks = tasks_with_tail(kernel.rows, kernel.rows_per_cta, row, kernel.steps);
  return launch;
}

Operand walked_operand(std::string_view name, Bytes size, Operand::Role role, const RowKernel& kernel, const Gpu& gpu) {
  Operand operand{name, size, role, true, false};
  operand.passes = 1 + kernel.reread / kernel.read * l1_miss_share(kernel, gpu);
  operand.reuse_distance = live_rows(kernel, gpu) * (static_cast<double>(gpu.sms) * (1 + written_share(kernel)));
  return operand;
}

double reduction_slots(int threads, const Gpu& gpu, double combine) {
  const int steps = static_cast<int>(std::bit_width(static_cast<unsigned>(warp_size(gpu)))) - 1;
  return combine * steps * threads;
}

}  // namespace tilecast
