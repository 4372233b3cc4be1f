// Vidur's profiles: the layers of one transformer block, fp16, one rank's shard. Norms, rotation and gates are the
// kernels of vLLM, from which Sarathi-Serve took them.
#include <array>

#include "kernel/elementwise.h"
#include "kernel/layernorm.h"
#include "kernel/rmsnorm.h"
#include "kernel/rope.h"
#include "lab/import/block_layers.h"

namespace tilecast {
namespace vidur {
namespace {

constexpr std::array<std::string_view, 1> kFiles = {"vidur/ops.csv.gz"};
constexpr std::array<std::string_view, 2> kToldBy = {"gemm_n", "latency_std_us"};
constexpr std::array<NameRule, 1> kGpus = {{{"H100 SXM 80GB", "H100-SXM"}}};
constexpr std::array<SourceColumn, 5> kColumns = {{{"gpu", "the card", ColumnRole::gpu},
                                                   {"op", "the layer"},
                                                   {"num_tokens", "rows of its input"},
                                                   {"dtype", "fp16 throughout", ColumnRole::format},
                                                   {"latency_us", "median, in steps of 1 us"}}};
constexpr SourceMapping kMapping{
    .name = "vidur",
    .from = "github.com/microsoft/vidur",
    .licence = "MIT",
    .files = kFiles,
    .columns = kColumns,
    .gpus = kGpus,
    .protocol = {"the layers of a block run 20 times in turn, kernel time under the profiler, median", Runtime::graph,
                 Warmth::model}};

// Times come in steps of a microsecond; up to here a step is a fifth of the time or more.
const Seconds kMostUncertain = microseconds(5);

struct Columns : BlockColumns {
  explicit Columns(Cells& c)
      : BlockColumns(c, "num_tokens"),
        gated(c.column("gated_mlp")),
        norm(c.column("norm")),
        n(c.column("gemm_n")),
        k(c.column("gemm_k")) {}
  Column gated, norm, n, k;
};

std::string_view norm_row(const BlockRow& r, std::string_view norm, Measurement& row) {
  const Count rows = r.tokens(), cols = r.hidden();
  if (norm == "layernorm") {
    LayerNorm shape;
    shape.rows = rows, shape.cols = cols;
    return keep(row, shape);
  }
  if (norm != "rmsnorm") return "a norm that is neither rmsnorm nor layernorm";
  RmsNorm shape;
  shape.rows = rows, shape.cols = cols;
  return keep(row, shape);
}

std::string_view activation_row(const BlockRow& r, bool gated, Measurement& row) {
  if (gated) return keep(row, r.gated_activation());
  Elementwise shape;
  shape.elements = r.tokens() * r.inter();
  shape.inputs = 1, shape.op = PointwiseOp::gelu;
  return keep(row, shape);
}

std::string_view shape_of(Cells& c, const Columns& at, Measurement& row) {
  const BlockRow r(c, at);
  if (r.op.ends_with("_proj")) return keep(row, Gemm{r.tokens(), c.count(at.n), c.count(at.k)});
  if (r.op.ends_with("layernorm")) return norm_row(r, c.text(at.norm), row);
  if (r.op == "mlp_act") return activation_row(r, c.text(at.gated) == "1", row);
  if (r.op == "attn_rope") {
    Rope shape;
    r.fill_heads(shape);
    shape.tokens = r.tokens();
    return keep(row, shape);
  }
  if (r.op == "add") {
    Elementwise shape;
    shape.elements = r.tokens() * r.hidden();
    shape.inputs = 2, shape.op = PointwiseOp::add;
    return keep(row, shape);
  }
  if (r.op == "emb") return keep(row, r.embedding());
  return "an operator Tilecast has no family for";
}

// Kernels that only move and scale elements are one template for both 16-bit types, move the same bytes and compute in
// fp32: they are evidence for bf16, which models run in. Products keep their type, whose kernels and power differ.
std::string_view format_name(std::string_view op, std::string_view dtype) {
  return dtype == "fp16" && !op.ends_with("_proj") ? "bf16" : dtype;
}

FillRow open(const CsvReader&, Cells& cells, Names& names) {
  return [at = Columns(cells), &names](Cells& c, Measurement& row) -> std::string_view {
    if (const Gpu* gpu = c.gpu(at.gpu)) row.gpu = names.intern(gpu->name);
    row.source = row.engine = "vidur";
    row.engine_version = {};
    row.kernel_source = names.intern(c.text(at.op));
    row.kernel.format = c.format(format_name(c.text(at.op), c.text(at.dtype)));
    row.context = c.context(row.engine, row.kernel_source);
    row.latency = microseconds(c.number(at.latency));
    if (row.latency <= kMostUncertain) return "at most 5 us, and times have steps of 1 us";
    return shape_of(c, at, row);
  };
}

}  // namespace
}  // namespace vidur

constexpr KernelTables kVidurKernels{&vidur::kMapping, vidur::kToldBy, vidur::open};

}  // namespace tilecast
