// LLMServingSim's profiles: layers and attention of vLLM on an RTX 4090, of Hugging Face's modules on H100 and RTX
// 3090.
#include <array>

#include "kernel/attention_decode.h"
#include "kernel/attention_prefill.h"
#include "kernel/elementwise.h"
#include "kernel/rmsnorm.h"
#include "kernel/rope.h"
#include "lab/import/block_layers.h"

namespace tilecast {
namespace llmservingsim {
namespace {

constexpr std::array<std::string_view, 1> kFiles = {"llmservingsim/layers.csv.gz"};
constexpr std::array<std::string_view, 2> kToldBy = {"prefill_chunk", "protocol"};
// The form is not stated; 805 TFLOP/s and 3090 GB/s, which its rows reach, are beyond the PCIe card.
constexpr std::array<NameRule, 1> kGpus = {{{"H100", "H100-SXM"}}};
constexpr std::array<NameRule, 2> kEngines = {{{"vLLM", "vllm"}, {"Hugging Face eager", "pytorch"}}};
constexpr std::array<SourceColumn, 6> kColumns = {{{"gpu", "the card", ColumnRole::gpu},
                                                   {"engine", "whose layers"},
                                                   {"op", "the layer, as the engine fuses it"},
                                                   {"tokens", "rows of its input"},
                                                   {"dtype", "bf16 throughout", ColumnRole::format},
                                                   {"latency_us", "its kernels' time"}}};
constexpr SourceMapping kMapping{
    .name = "llmservingsim",
    .from = "github.com/casys-kaist/LLMServingSim",
    .licence = "MIT",
    .files = kFiles,
    .columns = kColumns,
    .gpus = kGpus,
    .engines = kEngines,
    .protocol = {"kernel time under the profiler, the same layer again and again: mean of 3 (vLLM) or median"}};

struct Columns : BlockColumns {
  explicit Columns(Cells& c)
      : BlockColumns(c, "tokens"),
        engine(c.column("engine")),
        version(c.column("engine_version")),
        experts(c.column("num_experts")),
        chunk(c.column("prefill_chunk")),
        cached(c.column("kv_prefill")),
        decoding(c.column("n_decode")),
        context(c.column("kv_decode")) {}
  Column engine, version, experts, chunk, cached, decoding, context;
};

struct Row : BlockRow {
  Row(Cells& cells, const Columns& columns) : BlockRow(cells, columns), at(columns) {}
  const Columns& at;
};

// A rank's part of a linear layer.
struct Sides {
  Count n = 0, k = 0;
};
std::optional<Sides> linear_sides(const Row& r) {
  const std::string_view op = r.op;
  const Count hidden = r.hidden(), inter = r.inter(), head = r.c.count(r.at.head_dim);
  const Count queries = r.c.count(r.at.heads) / r.tp * head, keys = r.c.count(r.at.kv_heads) / r.tp * head;
  if (op == "qkv_proj") return Sides{queries + 2 * keys, hidden};
  if (op == "q_proj") return Sides{queries, hidden};
  if (op == "k_proj" || op == "v_proj") return Sides{keys, hidden};
  if (op == "o_proj") return Sides{hidden, queries};
  if (op == "gate_up_proj") return Sides{2 * inter, hidden};
  if (op == "gate_proj" || op == "up_proj" || op == "expert.w1" || op == "expert.w3") return Sides{inter, hidden};
  if (op == "down_proj" || op == "expert.w2") return Sides{hidden, inter};
  if (op == "gate") return Sides{r.c.count_or(r.at.experts, 0), hidden};
  if (op == "lm_head") return Sides{r.c.count(r.at.vocab) / r.tp, hidden};
  return std::nullopt;
}

std::string_view attention_row(const Row& r, Measurement& row) {
  if (r.op == "attention_mixed") return "prompts and answers in one call of attention";
  if (r.op == "attention_decode") {
    AttentionDecode shape;
    r.fill_heads(shape);
    shape.batch = r.c.count(r.at.decoding), shape.kv_len = r.c.count(r.at.context);
    return keep(row, shape);
  }
  AttentionPrefill shape;
  r.fill_heads(shape);
  if (r.op == "attn") {
    shape.q_len = r.tokens();
    return keep(row, shape);
  }
  if (row.engine != "vllm") return "attention whose cached tokens are not clear";
  shape.q_len = r.c.count(r.at.chunk), shape.kv_len = shape.q_len + r.c.count(r.at.cached);
  return keep(row, shape);
}

// What vLLM does in one kernel and Hugging Face's modules in several.
std::string_view vllm_row(const Row& r, Measurement& row) {
  if (r.op == "rotary_emb") {
    Rope shape;
    r.fill_heads(shape);
    shape.tokens = r.tokens();
    return keep(row, shape);
  }
  if (r.op == "act_fn") return keep(row, r.gated_activation());
  if (r.op.ends_with("layernorm")) {
    RmsNorm shape;
    shape.rows = r.tokens(), shape.cols = r.hidden(), shape.residual = true;
    return keep(row, shape);
  }
  return "an operator Tilecast has no family for";
}

std::string_view shape_of(const Row& r, Measurement& row) {
  if (r.op.starts_with("att")) return attention_row(r, row);
  if (const auto sides = linear_sides(r)) return keep(row, Gemm{r.tokens(), sides->n, sides->k});
  if (r.op == "embedding") return keep(row, r.embedding());
  if (row.engine == "vllm") return vllm_row(r, row);
  if (r.op == "act_fn") {
    Elementwise shape;  // SiLU alone: the product with the other half is not in the module
    shape.elements = r.tokens() * r.inter();
    shape.inputs = 1, shape.op = PointwiseOp::silu;
    return keep(row, shape);
  }
  return "a module of several kernels, or one Tilecast has no family for";
}

FillRow open(const CsvReader&, Cells& cells, Names& names) {
  return [at = Columns(cells), &names](Cells& c, Measurement& row) -> std::string_view {
    if (const Gpu* gpu = c.gpu(at.gpu)) row.gpu = names.intern(gpu->name);
    const auto engine = engine_name_of(c.source(), c.text(at.engine));
    if (!engine) return c.leave_out(engine.error().problem), std::string_view();
    row.source = "llmservingsim";
    row.engine = names.intern(*engine);
    row.engine_version = names.intern(c.text(at.version));
    row.kernel_source = names.intern(c.text(at.op));
    row.kernel.format = c.format(c.text(at.dtype));
    row.context = c.context(row.engine, row.kernel_source);
    row.latency = microseconds(c.number(at.latency));
    return shape_of(Row(c, at), row);
  };
}

}  // namespace
}  // namespace llmservingsim

constexpr KernelTables kLlmservingsimKernels{&llmservingsim::kMapping, llmservingsim::kToldBy, llmservingsim::open};

}  // namespace tilecast
