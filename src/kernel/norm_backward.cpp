#include "kernel/norm_backward.h"

#include <algorithm>

#include "kernel/pytorch.h"
#include "kernel/rowwise.h"

namespace tilecast {
namespace {

constexpr double kStatisticBytes = 4;  // mean and 1/deviation are kept in fp32

struct Sizes {
  Bytes row;          // one row of a tensor
  Bytes statistics;   // of one row
  double parameters;  // vectors of `cols`: gamma, or gamma and beta
  double rows, cols;
};
Sizes sizes_of(const NormGradient& norm, const Format& format) {
  return {size_of(format.output) * static_cast<double>(norm.cols), bytes(kStatisticBytes * (norm.centred ? 2 : 1)),
          norm.centred ? 2.0 : 1.0, static_cast<double>(norm.rows), static_cast<double>(norm.cols)};
}

void add_gradient_inputs(Launch& launch, const Sizes& s) {
  launch.operands.add({"grad_output", s.row * s.rows, Operand::Role::activation, true, false});
  launch.operands.add({"input", s.row * s.rows, Operand::Role::activation, true, false});
  launch.operands.add({"statistics", s.statistics * s.rows, Operand::Role::activation, true, false});
}

// layer_norm_grad_input_kernel(_vectorized): one CTA per row, num_threads() threads; two sums over x and dy, then both
// again. ROCm uses cuComputeGradInput with two warps from 32768 rows on.
Launch input_gradient(const NormGradient& norm, const Format& format, const Gpu& gpu) {
  const Sizes s = sizes_of(norm, format);
  const bool many_rows_on_amd = gpu.vendor == Vendor::amd && norm.rows >= 32768;
  const int threads = many_rows_on_amd ? 2 * warp_size(gpu) : pointwise_threads(gpu);
  RowKernel kernel;
  kernel.name = "norm_backward_input";
  kernel.rows = norm.rows;
  kernel.cta = {threads, 40, bytes(4.0 * threads / warp_size(gpu))};
  kernel.read = s.row * 2 + s.statistics;
  kernel.reread = s.row * 2;
  kernel.parameters = s.row;
  kernel.written = s.row;
  // First pass: dy*gamma, its sum, (x - mean)*rstd, the second sum; second pass: the same terms, combined and scaled.
  kernel.slots = s.cols * (norm.centred ? 5 + 6 : 3 + 4) + (norm.centred ? 2 : 1) * reduction_slots(threads, gpu, 1);
  kernel.steps = 2 * static_cast<double>(ceil_div(norm.cols, Count{threads} * 4));
  kernel.vector_type = vector_type_of(format);
  Launch launch = row_launch(kernel, gpu);
  launch.required.vector = ops(2 * least_slots(2, size_of(format.output)) * s.rows * s.cols);
  add_gradient_inputs(launch, s);
  launch.operands.add({"gamma", s.row, Operand::Role::weight, true, false});
  launch.operands.add({"grad_input", s.row * s.rows, Operand::Role::activation, false, true});
  return launch;
}

// Columns and threads of a CTA of the column sums, and into how many parts the rows are split.
struct ColumnSum {
  Count columns;
  int threads;
  Count parts;
  Bytes shared;
  Count unrolled = 1;  // rows a thread loads before it waits
};

// GammaBetaBackwardCUDAKernelTemplate of current releases: 32 columns and as many rows of threads as the batch fills,
// each with eight rows in flight (LaunchGammaBetaBackwardCUDAKernel). Grids of data/measurements/h200_kernels.csv.gz
// agree.
ColumnSum current_column_sum(const NormGradient& norm) {
  const int row_threads = norm.rows < 64 ? 1 : norm.rows < 128 ? 8 : norm.rows < 256 ? 16 : 32;
  return {32, 32 * row_threads, 1, bytes(2.0 * 4 * 33 * row_threads), 8};
}
// Beyond this many rows such releases split narrow batches in a way that is not planned here.
constexpr Count kMostUnsplitRows = Count{64} * 1024;

ColumnSum column_sum_of(const NormGradient& norm, const Gpu& gpu, TorchRelease release) {
  if (release == TorchRelease::current) return current_column_sum(norm);
  if (norm.rows < 128) return {256, 256, 1, bytes(0)};  // GammaBetaBackwardSimpleCUDAKernel: a thread a column
  if (gpu.vendor == Vendor::amd) {                      // cuComputePartGradGammaBeta, 64 x 4 threads
    const int warp = warp_size(gpu);
    return {warp, 4 * warp, warp, bytes(2.0 * 4 * 4 * 4 * (warp + 1))};
  }
  if (norm.rows % 32 == 0 && norm.cols % 32 == 0) return {32, 1024, 1, bytes(2.0 * 4 * 33 * 32)};
  return {16, 512, 1, bytes(2.0 * 4 * 16 * 32)};  // GammaBetaBackwardCUDAKernel, 16 x 32 threads
}

// Sums of dy and dy*(x - mean)*rstd over the rows, for every column.
Launch parameter_gradient(const NormGradient& norm, const ColumnSum& sum, const Format& format, TorchRelease release) {
  const Sizes s = sizes_of(norm, format);
  const Bytes element = size_of(format.output);
  const double part_rows = s.rows / static_cast<double>(sum.parts);
  Demand column;
  column.vector = ops(2 * (norm.centred ? 4 : 2) * part_rows);
  column.l2_load = element * 2 * part_rows + s.statistics * (part_rows / static_cast<double>(sum.columns));
  column.l2_store = (sum.parts > 1 ? bytes(4) : element) * s.parameters;
  Launch launch;
  launch.name = "norm_backward_parameters";
  launch.cta = {sum.threads, 32, sum.shared};
  launch.ctas = ceil_div(norm.cols, sum.columns) * sum.parts;
  launch.vector_type = vector_type_of(format);
  const double rows_at_once = static_cast<double>(sum.threads * sum.unrolled) / static_cast<double>(sum.columns);
  launch.tasks = tasks_with_tail(norm.cols, sum.columns, column, std::max(1.0, part_rows / rows_at_once));
  for (TaskGroup& group : launch.tasks) group.count *= sum.parts;
  launch.required.vector = ops(2 * least_slots(1, element) * s.rows * s.cols);
  add_gradient_inputs(launch, s);
  launch.operands.add(
      {"grad_parameters",
       sum.parts > 1 ? bytes(4.0 * s.cols * static_cast<double>(sum.parts)) * s.parameters : s.row * s.parameters,
       sum.parts > 1 ? Operand::Role::workspace : Operand::Role::weight, false, true});
  launch.plan_known = release != TorchRelease::current || norm.rows <= kMostUnsplitRows;
  return launch;
}

// cuComputeGradGammaBeta: the parts of every column, one warp-wide CTA of eight warps for as many columns.
Launch join_parts(const NormGradient& norm, const ColumnSum& sum, const Format& format, const Gpu& gpu) {
  const Sizes s = sizes_of(norm, format);
  const int warp = warp_size(gpu);
  const double parts = static_cast<double>(sum.parts);
  Demand column;
  column.vector = ops(2 * s.parameters * parts);
  column.l2_load = bytes(4) * (s.parameters * parts);
  column.l2_store = size_of(format.output) * s.parameters;
  Launch launch;
  launch.name = "norm_backward_parts";
  launch.cta = {8 * warp, 32, bytes(4.0 * 8 * warp)};
  launch.ctas = ceil_div(norm.cols, warp);
  launch.vector_type = vector_type_of(format);
  launch.tasks = tasks_with_tail(norm.cols, warp, column, parts / 8);
  launch.operands.add({"parts", bytes(4.0 * s.cols * parts) * s.parameters, Operand::Role::workspace, true, false});
  launch.operands.add({"grad_parameters", s.row * s.parameters, Operand::Role::weight, false, true});
  return launch;
}

}  // namespace

std::vector<Launch> norm_backward_launches(const NormGradient& norm, const Format& format, const Gpu& gpu,
                                           TorchRelease release) {
  const ColumnSum sum = column_sum_of(norm, gpu, release);
  std::vector<Launch> launches = {input_gradient(norm, format, gpu), parameter_gradient(norm, sum, format, release)};
  if (sum.parts > 1) launches.push_back(join_parts(norm, sum, format, gpu));
  return launches;
}

}  // namespace tilecast
