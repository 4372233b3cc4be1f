// AIConfigurator's tables: kernels of TensorRT-LLM, vLLM and SGLang, latency in ms.
//
// Protocol: CUDA graph, three warm-ups, six timed replays, no L2 flush: what fits is warm.
#include "lab/import/import_aiconfigurator.h"

#include <array>

namespace tilecast {
namespace aiconfigurator {
namespace {

struct Renamed {
  std::string_view theirs, ours;
};
// Types that are called otherwise here; the rest have the same names.
constexpr std::array<Renamed, 3> kFormatNames = {{{"bfloat16", "bf16"}, {"float16", "fp16"}, {"sq", "int8"}}};

}  // namespace

Format format_of(Cells& c, Column dtype) {
  for (const Renamed& name : kFormatNames)
    if (name.theirs == c.text(dtype)) return c.format(name.ours);
  return c.format(c.text(dtype));
}

Common::Common(Cells& c, bool steady)
    : gpu(c.column("gpu")),
      framework(c.column("framework")),
      version(c.column("version")),
      kernel_source(c.column("kernel_source")),
      latency(c.column("latency")),
      source(steady ? "aiconfigurator-power" : "aiconfigurator") {}

const Gpu* Common::fill(Cells& c, Measurement& row, Names& names) const {
  const Gpu* found = c.gpu(gpu);
  if (found) row.gpu = names.intern(found->name);
  row.source = source;
  row.engine = names.intern(c.text(framework));
  row.engine_version = names.intern(c.text(version));
  row.kernel_source = names.intern(c.text(kernel_source));
  row.context = {Runtime::graph, Warmth::warm, 1, 1, row.engine, row.kernel_source};
  row.latency = milliseconds(c.number(latency));
  return found;
}

namespace {

FillRow left_out(std::string_view reason) {
  return [reason](Cells&, Measurement&) { return reason; };
}

// The kind of table, by the columns that only it has.
FillRow choose(const CsvReader& csv, Cells& cells, Names& names) {
  const auto has = [&](std::string_view name) { return csv.find_column(name).has_value(); };
  for (std::string_view other : {"message_size", "node_num", "silicon_ttft_ms"})
    if (has(other)) return left_out("no kernel (communication or serving)");
  if (has("moe_dtype") && !has("inter_size") && has("moe_ep_size"))
    return left_out("no kernel (communication or serving)");
  if (has("gemm_type")) return left_out("a whole MLA block, several kernels");
  const Common common(cells, has("power_limit"));
  if (has("bmm_dtype")) return mla_bmm_table(cells, common, names);
  if (has("moe_dtype")) return moe_table(cells, common, names);
  if (has("quant_dtype")) return quantize_table(cells, common, names);
  if (has("mla_dtype")) return mla_table(cells, common, names);
  if (has("attn_dtype")) return attention_table(csv, cells, common, names);
  if (has("phase")) return scan_table(csv, cells, common, names);
  return gemm_table(cells, common, names);
}

}  // namespace
}  // namespace aiconfigurator

Result<ReadReport> import_aiconfigurator(CsvReader csv, Names& names, const ReadOptions& options, const Sink& sink) {
  Cells cells(csv);
  const FillRow fill = aiconfigurator::choose(csv, cells, names);
  return import_table(csv, cells, fill, names, options, sink);
}

}  // namespace tilecast
