#include "lab/evidence/counters.h"

#include <array>
#include <cmath>

#include "estimate/residency.h"
#include "kernel/gemm.h"
#include "lab/evidence/cublas_names.h"
#include "support/csv.h"
#include "support/text.h"

namespace tilecast {
namespace {

// A named column of the current row as a number; an empty field is zero.
class Fields {
 public:
  explicit Fields(const CsvReader& file) : file_(file) {}
  std::string_view text(std::string_view name) {
    const auto at = file_.find_column(name);
    if (!at) missing_ = name;
    return at ? file_[*at] : std::string_view{};
  }
  double number(std::string_view name) {
    const std::string_view field = text(name);
    if (field.empty()) return 0;
    const auto value = to_double(field);
    if (!value) malformed_ = name;
    return value.value_or(0);
  }
  Status status() const {
    if (!missing_.empty()) return Error{file_.path(), missing_, "the column is missing", "tools/counters writes it"};
    if (!malformed_.empty())
      return Error{file_.place(), malformed_, "is not a number", "leave it empty where nothing was counted"};
    return Ok{};
  }

 private:
  const CsvReader& file_;
  std::string missing_, malformed_;
};

constexpr std::array<std::string_view, 6> kTensorColumns = {
    "sm__ops_path_tensor_src_bf16_dst_fp32.sum", "sm__ops_path_tensor_src_fp16.sum",
    "sm__ops_path_tensor_src_fp64.sum",          "sm__ops_path_tensor_src_fp8.sum",
    "sm__ops_path_tensor_src_int8.sum",          "sm__ops_path_tensor_src_tf32_dst_fp32.sum"};
constexpr double kSector = 32;

// "2x64x1"
Count product_of(std::string_view grid) {
  Count all = 1;
  for (const std::string& part : split(grid, 'x')) all *= to_count(part).value_or(0);
  return all;
}

Result<CounterRow> row_from(const CsvReader& file) {
  Fields f(file);
  CounterRow row;
  row.id = f.text("case");
  row.family = f.text("family");
  row.dtype = f.text("dtype");
  row.dims = f.text("dims");
  row.source = f.text("kernel_source");
  row.index = static_cast<int>(f.number("kernel_index"));
  row.kernel = f.text("kernel");
  row.ctas = product_of(f.text("grid"));
  for (const std::string_view column : kTensorColumns) row.tensor += ops(f.number(column));
  row.l2_load = bytes(kSector * f.number("lts__t_sectors_srcunit_tex_op_read.sum"));
  row.l2_store = bytes(kSector * f.number("lts__t_sectors_srcunit_tex_op_write.sum"));
  row.dram_load = bytes(f.number("dram__bytes_read.sum"));
  row.dram_store = bytes(f.number("dram__bytes_write.sum"));
  row.time = nanoseconds(f.number("gpu__time_duration.sum"));
  row.clock = hertz(f.number("sm__cycles_elapsed.avg.per_second"));
  if (auto status = f.status(); !status) return std::move(status).error();
  return row;
}

void drop(Dims& dims, std::string_view name) {
  std::erase_if(dims, [&](const auto& dim) { return dim.first == name; });
}
std::string value_of(const Dims& dims, std::string_view name) {
  for (const auto& [key, value] : dims)
    if (key == name) return value;
  return {};
}

// Attention tables have columns for causal and backward; our families have a mask, and gradients are a family of their
// own.
std::string attention_dims(const CounterRow& row, Dims& dims) {
  std::string family = row.family;
  if (family == "attention_decode") {
    dims.emplace_back("page-size", "0");
  } else {
    dims.emplace_back("mask", value_of(dims, "causal") == "1" ? "causal" : "full");
    if (value_of(dims, "backward") == "1") family = "attention_backward";
  }
  dims.emplace_back("algorithm", "fa2");
  drop(dims, "causal");
  drop(dims, "backward");
  return family;
}

std::optional<GemmProblem> problem_of(const Shape& shape) {
  if (const auto* gemm = shape.get_if<Gemm>()) return GemmProblem{1, gemm->m, gemm->n, gemm->k};
  if (const auto* bmm = shape.get_if<Bmm>()) return GemmProblem{bmm->batch, bmm->m, bmm->n, bmm->k};
  return std::nullopt;
}

// The profiler flushes caches before every launch, so what one launch of the plan leaves for the next comes from DRAM,
// too.
Launch flushed(Launch launch) {
  Operands cold;
  for (Operand operand : launch.operands) {
    if (operand.role == Operand::Role::workspace) operand.role = Operand::Role::activation;
    cold.add(operand);
  }
  launch.operands = cold;
  return launch;
}

PlannedCounters counters_of(const Launch& launch, const Gpu& gpu) {
  Context context;
  context.warmth = Warmth::cold;
  const Demand all = launch.total();
  return {launch.ctas, all.tensor, all.l2_load + all.l2_store, expected_traffic(flushed(launch), gpu, context).total()};
}

std::optional<PlannedCounters> impose(const CounterRow& row, const Kernel& kernel, const Gpu& gpu) {
  const auto problem = problem_of(kernel.shape);
  const auto name = parse_nvjet(row.kernel);
  const auto math = math_path(kernel.format, gpu);
  if (!problem || !name || !math) return std::nullopt;
  const bool linear = kernel.shape.is<Gemm>();
  const GemmChoice ours = choose_gemm(*problem, *math, gpu, linear ? GemmRoutine::linear : GemmRoutine::batched);
  const auto choice = imposed_choice(ours, *name, *problem, row.ctas);
  if (!choice) return std::nullopt;
  return counters_of(gemm_launch(*problem, kernel.format, *math, linear, *choice), gpu);
}

}  // namespace

Result<std::vector<CounterRow>> read_counters(const std::string& path) {
  auto file = CsvReader::open(path);
  if (!file) return std::move(file).error();
  std::vector<CounterRow> rows;
  while (true) {
    const auto more = file->next();
    if (!more) return more.error();
    if (!*more) return rows;
    if (!file->problem().empty()) return Error{file->place(), "", file->problem(), "fix the line, or remove it"};
    auto row = row_from(*file);
    if (!row) return std::move(row).error();
    rows.push_back(*std::move(row));
  }
}

Result<Kernel> kernel_of(const CounterRow& row) {
  if (row.source == "cudnn") return error("cuDNN's attention has no published plan", "count another source's kernel");
  auto dims = dims_from_text(row.dims);
  if (!dims) return std::move(dims).error();
  std::string family = row.family;
  if (family.starts_with("attention")) family = attention_dims(row, *dims);
  if (family == "transpose") {
    family = "copy";
    dims->emplace_back("transpose", "1");
  }
  if (family == "rope")  // one tensor was rotated: the same bytes as one query head fewer and a key head
    for (auto& [name, value] : *dims)
      if (name == "heads") {
        value = std::to_string(std::atoi(value.c_str()) - 1);
        dims->emplace_back("kv-heads", "1");
        break;
      }
  // Products of fp8 were measured on operands quantised beforehand.
  auto format = format_from(row.dtype == "fp8" ? "fp8_static" : row.dtype);
  if (!format) return std::move(format).error();
  auto shape = shape_from(family, *dims);
  if (!shape) return std::move(shape).error();
  return Kernel{*std::move(shape), *format};
}

std::vector<CounterComparison> compare_counters(const std::vector<CounterRow>& rows, const Gpu& gpu) {
  std::vector<CounterComparison> compared;
  for (const CounterRow& row : rows) {
    const auto kernel = kernel_of(row);
    if (!kernel) continue;
    const auto planned = plan(*kernel, gpu, Context{});
    const auto index = static_cast<std::size_t>(row.index);
    if (!planned || index >= planned->launches.size()) continue;
    const Launch& launch = planned->launches[index];
    // The measuring script's own Triton kernels follow no published plan.
    const bool known = launch.plan_known && !row.source.starts_with("triton");
    CounterComparison c{row, std::string(family_of(kernel->shape)), known, counters_of(launch, gpu), {}};
    if (row.index == 0) c.imposed = impose(row, *kernel, gpu);
    compared.push_back(std::move(c));
  }
  return compared;
}

double relative_error(double planned, double measured) {
  return measured > 0 ? std::abs(planned - measured) / measured : 0;
}
Bytes measured_l2(const CounterRow& row) { return row.l2_load + row.l2_store; }
Bytes measured_dram(const CounterRow& row) { return row.dram_load + row.dram_store; }

}  // namespace tilecast
