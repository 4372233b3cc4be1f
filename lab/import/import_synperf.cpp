// SynPerf's tables: single kernels under the PyTorch profiler.
#include <array>

#include "kernel/gemm.h"
#include "kernel/moe.h"
#include "lab/import/import_table.h"

namespace tilecast {
namespace synperf {
namespace {

constexpr std::array<std::string_view, 1> kFiles = {"synperf/*.csv.gz"};
constexpr std::array<std::string_view, 1> kToldBy = {"avg_duration"};
constexpr std::array<SourceColumn, 2> kColumns = {
    {{"hardware", "the card, as PyTorch calls it", ColumnRole::gpu}, {"avg_duration", "of the kernel, us"}}};
constexpr SourceMapping kMapping{
    .name = "synperf",
    .from = "SynPerf's artefact",
    .licence = "Apache-2.0",
    .files = kFiles,
    .columns = kColumns,
    .protocol = {
        "durations of single kernels under the PyTorch profiler, mean of ten, so without a launch floor beyond "
        "the kernel's own, on reused buffers"}};

// SGLang 0.5.4's kernel under its default configuration (method/synperf.md, section 4).
constexpr std::string_view kSynperfMoe = "fused_moe_kernel_default";

void fill_common(Cells& c, Column hardware, Column duration, Measurement& row, Names& names) {
  if (const Gpu* gpu = c.gpu(hardware)) row.gpu = names.intern(gpu->name);
  row.source = "synperf";
  row.engine = "vllm";
  row.kernel_source = "scaled_mm_block";
  row.engine_version = {};
  row.context = c.context(row.engine, row.kernel_source);
  row.latency = microseconds(c.number(duration));
}

// vLLM's block-scaled fp8 product, the GEMM kernel alone: activations arrive quantised, hence
// fp8_static (its scales, 3 % more bytes, are not charged).
FillRow gemm_table(Cells& cells, Names& names) {
  return
      [&names, m = cells.column("M"), n = cells.column("N"), k = cells.column("K"), hardware = cells.column("hardware"),
       duration = cells.column("avg_duration")](Cells& c, Measurement& row) -> std::string_view {
        fill_common(c, hardware, duration, row, names);
        row.engine = "vllm";
        row.kernel_source = "scaled_mm_block";
        row.kernel.format = c.format("fp8_static");
        return keep(row, Gemm{c.count(m), c.count(n), c.count(k)});
      };
}

// One product of SGLang's fused MoE (PyTorch profiler, so without the sorting before it): "w13", both halves of the
// gated input, is `up`. Routing spreads tokens evenly (the paper's round robin).
FillRow moe_table(Cells& cells, Names& names) {
  return
      [&names, which = cells.column("weight_type"), m = cells.column("M"), e = cells.column("E"),
       topk = cells.column("topk"), h = cells.column("H"), n = cells.column("N"), hardware = cells.column("hardware"),
       duration = cells.column("avg_duration")](Cells& c, Measurement& row) -> std::string_view {
        fill_common(c, hardware, duration, row, names);
        if (c.text(which) != "w13" && c.text(which) != "w2") return "a pass that is neither w13 nor w2";
        row.engine = "sglang";
        row.kernel_source = kSynperfMoe;
        row.context = c.context(row.engine, row.kernel_source);
        row.kernel.format = c.format("bf16");
        Moe shape;
        shape.tokens = c.count(m);
        shape.hidden = c.count(h);
        shape.inter = c.count(n);
        shape.experts = c.count(e);
        shape.topk = c.count(topk);
        shape.style = MoeStyle::triton;
        shape.pass = c.text(which) == "w13" ? MoePass::up : MoePass::down;
        return keep(row, shape);
      };
}

FillRow open(const CsvReader& csv, Cells& cells, Names& names) {
  return csv.find_column("weight_type") ? moe_table(cells, names) : gemm_table(cells, names);
}

}  // namespace
}  // namespace synperf

constexpr KernelTables kSynperfKernels{&synperf::kMapping, synperf::kToldBy, synperf::open, true};

}  // namespace tilecast
