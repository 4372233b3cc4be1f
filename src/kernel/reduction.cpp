#include "kernel/reduction.h"

#include <algorithm>
#include <bit>

#include "kernel/pytorch.h"
#include "kernel/rowwise.h"

namespace tilecast {
namespace {

// setReduceConfig of Reduce.cuh for a contiguous input reduced over its last dimension.
constexpr Count kMostThreads = 512;  // max_reduce_threads
constexpr Count kVectorised = 128;   // columns from which a thread loads several elements at once
constexpr Count kLeastPerThread = 16, kMostPerThread = 256;
constexpr double kPartial = 4;  // bytes of a CTA's partial result: the accumulate type

Count power_below(Count n) {
  return static_cast<Count>(std::bit_floor(static_cast<std::uint64_t>(std::max<Count>(n, 1))));
}

struct Config {
  Count width, height;  // threads along a row, and rows or further pieces of one
  Count rows_per_cta = 1;
  Count ctas_per_row = 1;  // more than one: partial results are joined by the last CTA
  Count per_thread = 1;    // elements
};

// Elements a thread loads at once: vt0, and twice that for 16-bit types in current releases (H200, PyTorch 2.11: rows
// of 128 bf16 elements take 16 threads; data/measurements/h200_kernels.csv.gz).
Count vector_of(Bytes element, TorchRelease release) {
  return release == TorchRelease::current && element < bytes(4) ? 8 : 4;
}

Config config_of(Count rows, Count cols, Count vector, const Gpu& gpu) {
  const Count along = cols >= kVectorised ? cols / vector : cols;
  const Count width_limit = std::min(power_below(along), kMostThreads);
  Config c;
  c.width = std::min<Count>(width_limit, warp_size(gpu));
  c.height = std::min(std::min(power_below(rows), kMostThreads), kMostThreads / c.width);
  c.width = std::min(width_limit, kMostThreads / c.height);
  // Either the warps of a CTA share a row, or each has its own.
  const bool warps_share = ceil_div(cols, c.width) >= std::min(c.height * kLeastPerThread, kMostPerThread);
  const Count lanes = c.width * (warps_share ? c.height : 1);
  if (!warps_share) c.rows_per_cta = c.height;
  c.per_thread = ceil_div(cols, lanes);
  const Count grid = ceil_div(rows, c.rows_per_cta);
  const Count wanted = gpu.sms * (gpu.max_threads_per_sm / (c.width * c.height));
  if (warps_share && c.per_thread >= kMostPerThread && grid <= wanted) {
    c.ctas_per_row = std::max(std::min(ceil_div(wanted, grid), ceil_div(c.per_thread, kLeastPerThread)),
                              ceil_div(c.per_thread, kMostPerThread));
    c.per_thread = ceil_div(cols, lanes * c.ctas_per_row);
  }
  return c;
}

Launch launch_of(Count rows, Count cols, const Format& format, const Gpu& gpu, TorchRelease release) {
  const Count vector = vector_of(size_of(format.output), release);
  const Config c = config_of(rows, cols, vector, gpu);
  const double n = static_cast<double>(rows) * static_cast<double>(cols);
  const double share = 1 / static_cast<double>(c.ctas_per_row);
  const int threads = static_cast<int>(c.width * c.height);
  const Bytes element = size_of(format.output);
  const bool through_shared = c.width > warp_size(gpu) || c.rows_per_cta == 1;
  Demand row;  // the part of one row that one CTA takes
  row.vector = ops(
      2 * (static_cast<double>(cols) * share + reduction_slots(threads, gpu, 1) / static_cast<double>(c.rows_per_cta)));
  row.l2_load = element * (static_cast<double>(cols) * share);
  row.l2_store = element * share;
  if (c.ctas_per_row > 1) {  // every CTA leaves its partial; the last one reads them all
    row.l2_store += bytes(kPartial);
    row.l2_load += bytes(kPartial);
  }
  Launch launch;
  launch.name = "reduction";
  launch.split = static_cast<int>(c.ctas_per_row);
  launch.cta = {threads, 32, through_shared ? bytes(kPartial * threads) : bytes(0)};
  launch.ctas = ceil_div(rows, c.rows_per_cta) * c.ctas_per_row;
  launch.vector_type = vector_type_of(format);
  launch.tasks = tasks_with_tail(rows, c.rows_per_cta, row, static_cast<double>(ceil_div(c.per_thread, vector)));
  for (TaskGroup& group : launch.tasks) group.count *= c.ctas_per_row;
  launch.operands.add({"input", element * n, Operand::Role::activation, true, false});
  if (c.ctas_per_row > 1)
    launch.operands.add({"partials", bytes(kPartial * static_cast<double>(rows * c.ctas_per_row)),
                         Operand::Role::workspace, true, true});
  launch.operands.add({"output", element * static_cast<double>(rows), Operand::Role::activation, false, true});
  return launch;
}

}  // namespace

Status Reduction::check() const { return require_rows(rows, cols); }

Result<Plan> plan(const Reduction& shape, const Format& format, const Gpu& gpu, const Context& context) {
  Plan plan;
  // A tensor beyond 32-bit offsets is cut along its rows.
  const Count pieces = static_cast<Count>(indexable_pieces(shape.rows * shape.cols, size_of(format.output)).size());
  const Count chunk = ceil_div(shape.rows, pieces);
  for (Count done = 0; done < shape.rows; done += chunk)
    plan.launches.push_back(launch_of(std::min(chunk, shape.rows - done), shape.cols, format, gpu, context.torch));
  return plan;
}

}  // namespace tilecast
