// SynPerf's tables: durations in microseconds of single kernels under the PyTorch profiler, mean of ten, so without a
// launch floor beyond the kernel's own, on reused buffers.
#include "learn/import_table.h"

namespace tilecast {
namespace {

void fill_common(Cells& c, Column hardware, Column duration, Measurement& row, Names& names) {
  if (const Gpu* gpu = c.gpu(hardware)) row.gpu = names.intern(gpu->name);
  row.source = "synperf";
  row.engine = "vllm";
  row.kernel_source = "scaled_mm_block";
  row.engine_version = {};
  row.context = {Runtime::graph, Warmth::warm, 1, 1, row.engine, row.kernel_source};
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
        Gemm shape;
        shape.m = c.count(m);
        shape.n = c.count(n);
        shape.k = c.count(k);
        return keep(row, shape);
      };
}

}  // namespace

Result<ReadReport> import_synperf(CsvReader csv, Names& names, const ReadOptions& options, const Sink& sink) {
  Cells cells(csv);
  FillRow fill;
  if (csv.find_column("weight_type")) {
    // One of the two products of a fused MoE; the moe family is both and the activation between them.
    fill = [](Cells&, Measurement&) -> std::string_view { return "half of a fused MoE (the w13 pass)"; };
  } else {
    fill = gemm_table(cells, names);
  }
  return import_table(csv, cells, fill, names, options, sink);
}

}  // namespace tilecast
