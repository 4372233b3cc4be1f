// The linear-attention and state-space tables of AIConfigurator (gdn, kda, mamba2): one row per kernel, told apart by
// its source. kernel/scan.h says how their columns map onto its fields.
#include "kernel/scan_sources.h"
#include "lab/import/import_aiconfigurator.h"

namespace tilecast::aiconfigurator {
namespace {

bool set_kernel(Scan& shape, std::string_view name) {
  const ScanSource* source = scan_source(name);
  if (!source) return false;
  shape.kind = source->kind, shape.fused = source->fused, shape.convolutions = source->convolutions;
  return true;
}

void set_phase(Cells& c, Column column, Scan& shape) {
  for (std::size_t i = 0; i < kScanPhaseNames.size(); ++i)
    if (c.text(column) == kScanPhaseNames[i]) return void(shape.phase = static_cast<ScanPhase>(i));
  c.fail(field_error("phase", "unknown phase '" + std::string(c.text(column)) + "'", "context, generation or verify"));
}

}  // namespace

FillRow scan_table(const CsvReader& csv, Cells& cells, const Common& common, Names& names) {
  const bool mamba = csv.find_column("d_state").has_value();
  return [common, &names, mamba, op = cells.column("op_name"), phase = cells.column("phase"),
          batch = cells.column("batch_size"), length = cells.column("seq_len"), taps = cells.column("d_conv"),
          heads = cells.column(mamba ? "nheads" : "num_v_heads"),
          head_dim = cells.column(mamba ? "head_dim" : "head_v_dim"),
          key_heads = cells.column(mamba ? "n_groups" : "num_k_heads"),
          key_dim = cells.column(mamba ? "d_state" : "head_k_dim"),
          chunk = mamba ? cells.column("chunk_size") : Column{}](Cells& c, Measurement& row) -> std::string_view {
    common.fill(c, row, names);
    row.kernel.format = c.format("bf16");
    Scan shape;
    if (!set_kernel(shape, row.kernel_source)) return "a scan kernel Tilecast does not know";
    set_phase(c, phase, shape);
    shape.batch = c.count(batch);
    shape.seq_len = c.count(length);
    shape.conv_width = c.count(taps);
    shape.heads = c.count(heads);
    shape.head_dim = c.count(head_dim);
    shape.key_heads = c.count(key_heads);
    shape.key_dim = c.count(key_dim);
    // Queries, keys and values by themselves, in decode too.
    if (c.text(op) == "kda" && shape.kind == ScanKind::conv1d) shape.convolutions = 3;
    if (mamba && shape.chunked()) shape.chunk = c.count(chunk);
    if (c.text(op) == "gdn") {
      // SGLang 0.5.10's collector convolves the keys alone too: with all channels its rows would beat A100's DRAM
      // fourfold, with the keys they reach 50 to 70 % of it.
      const bool old = row.engine == "sglang" && row.engine_version == "0.5.10";
      const bool keys_only = row.engine == "trtllm" || old;
      if (keys_only) shape.state = StateType::bf16;  // vLLM's and SGLang's pool of states is fp32
      if (keys_only && shape.kind == ScanKind::conv1d) shape.channels = shape.key_heads * shape.key_dim;
      // That version still called the CUDA kernel, by the name of the Triton one that followed.
      if (old && row.kernel_source == "causal_conv1d_fn") {
        row.context.kernel_source = KernelSource::causal_conv1d_cuda;
        row.kernel_source = row.context.kernel_source.text();
      }
      if (row.engine == "trtllm" && shape.chunked()) shape.carry = false;
    }
    return keep(row, shape);
  };
}

}  // namespace tilecast::aiconfigurator
