// AIConfigurator's tables: kernels of TensorRT-LLM, vLLM and SGLang, latency in ms.
#include "lab/import/import_aiconfigurator.h"

#include <array>

namespace tilecast {
namespace aiconfigurator {
namespace {

constexpr std::array<std::string_view, 1> kFiles = {"aiconfigurator/*.csv.gz"};
// Steady states under the power limit (another protocol), serving points, collectives, whole blocks.
constexpr std::array<std::string_view, 8> kNotRead = {"power_*", "_*",      "e2e*",       "*allreduce*",
                                                      "nccl*",   "deepep*", "*alltoall*", "*_module*"};
// Types with other names here; the rest have the same ones. Its GPUs ("h100_sxm") are aliases in data/gpus.
constexpr std::array<NameRule, 3> kFormats = {{{"bfloat16", "bf16"}, {"float16", "fp16"}, {"sq", "int8"}}};
constexpr std::array<SourceColumn, 5> kColumns = {{{"gpu", "the card", ColumnRole::gpu},
                                                   {"framework", "the engine whose kernel ran"},
                                                   {"version", "... of that engine"},
                                                   {"kernel_source", "the kernel it chose; part of the key"},
                                                   {"latency", "of one call, ms"}}};
constexpr SourceMapping kMapping{
    .name = "aiconfigurator",
    .from = "github.com/ai-dynamo/aiconfigurator",
    .licence = "Apache-2.0",
    .files = kFiles,
    .not_read = kNotRead,
    .columns = kColumns,
    .formats = kFormats,
    .protocol = {"CUDA graph, three warm-ups, six timed replays, no L2 flush: what fits is warm"}};

}  // namespace

Format format_of(Cells& c, Column dtype) { return c.format(c.text(dtype)); }

Common::Common(Cells& c, bool steady)
    : gpu(c.column("gpu")),
      framework(c.column("framework")),
      version(c.column("version")),
      kernel_source(c.column("kernel_source")),
      latency(c.column("latency")),
      source(steady ? "aiconfigurator-power" : "aiconfigurator"),
      run(steady ? RunLength::sustained : RunLength::burst) {}

const Gpu* Common::fill(Cells& c, Measurement& row, Names& names) const {
  const Gpu* found = c.gpu(gpu);
  if (found) row.gpu = names.intern(found->name);
  row.source = source;
  row.engine = names.intern(c.text(framework));
  row.engine_version = names.intern(c.text(version));
  row.kernel_source = names.intern(c.text(kernel_source));
  row.context = c.context(row.engine, row.kernel_source);
  row.context.run = run;
  row.latency = milliseconds(c.number(latency));
  return found;
}

namespace {

// The kind of table, by the columns that only it has.
FillRow open(const CsvReader& csv, Cells& cells, Names& names) {
  const auto has = [&](std::string_view name) { return csv.find_column(name).has_value(); };
  for (std::string_view other : {"message_size", "node_num", "silicon_ttft_ms"})
    if (has(other)) return every_row_left_out("no kernel (communication or serving)");
  if (has("moe_dtype") && !has("inter_size") && has("moe_ep_size"))
    return every_row_left_out("no kernel (communication or serving)");
  if (has("gemm_type")) return every_row_left_out("a whole MLA block, several kernels");
  const Common common(cells, has("power_limit"));
  if (has("bmm_dtype")) return mla_bmm_table(cells, common, names);
  if (has("moe_dtype")) return moe_table(cells, common, names);
  if (has("quant_dtype")) return quantize_table(cells, common, names);
  if (has("mla_dtype")) return mla_table(cells, common, names);
  if (has("attn_dtype")) return attention_table(csv, cells, common, names);
  if (has("phase")) return scan_table(csv, cells, common, names);
  return gemm_table(cells, common, names);
}

constexpr std::array<std::string_view, 2> kToldBy = {"framework", "kernel_source"};

}  // namespace
}  // namespace aiconfigurator

constexpr KernelTables kAiconfiguratorKernels{&aiconfigurator::kMapping, aiconfigurator::kToldBy, aiconfigurator::open,
                                              true};

}  // namespace tilecast
