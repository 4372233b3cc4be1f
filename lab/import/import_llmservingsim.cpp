// LLMServingSim's profiles: layers and attention of vLLM on an RTX 4090, of Hugging Face's modules on H100 and RTX
// 3090.
#include <array>

#include "kernel/attention_decode.h"
#include "kernel/attention_prefill.h"
#include "kernel/elementwise.h"
#include "kernel/embedding.h"
#include "kernel/gated_activation.h"
#include "kernel/gemm.h"
#include "kernel/rmsnorm.h"
#include "kernel/rope.h"
#include "lab/import/import_table.h"

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

struct Columns {
  explicit Columns(Cells& c)
      : gpu(c.column("gpu")),
        engine(c.column("engine")),
        version(c.column("engine_version")),
        dtype(c.column("dtype")),
        op(c.column("op")),
        latency(c.column("latency_us")),
        tokens(c.column("tokens")),
        tp(c.column("tp")),
        hidden(c.column("hidden_size")),
        heads(c.column("num_heads")),
        kv_heads(c.column("num_kv_heads")),
        head_dim(c.column("head_dim")),
        inter(c.column("intermediate_size")),
        experts(c.column("num_experts")),
        vocab(c.column("vocab_size")),
        chunk(c.column("prefill_chunk")),
        cached(c.column("kv_prefill")),
        decoding(c.column("n_decode")),
        context(c.column("kv_decode")) {}
  Column gpu, engine, version, dtype, op, latency, tokens, tp, hidden, heads, kv_heads, head_dim, inter, experts, vocab,
      chunk, cached, decoding, context;
};

// A rank's part of a linear layer.
struct Sides {
  Count n = 0, k = 0;
};
std::optional<Sides> linear_sides(Cells& c, const Columns& at, std::string_view op, Count tp) {
  const Count hidden = c.count(at.hidden), inter = c.count(at.inter) / tp, head = c.count(at.head_dim);
  const Count queries = c.count(at.heads) / tp * head, keys = c.count(at.kv_heads) / tp * head;
  if (op == "qkv_proj") return Sides{queries + 2 * keys, hidden};
  if (op == "q_proj") return Sides{queries, hidden};
  if (op == "k_proj" || op == "v_proj") return Sides{keys, hidden};
  if (op == "o_proj") return Sides{hidden, queries};
  if (op == "gate_up_proj") return Sides{2 * inter, hidden};
  if (op == "gate_proj" || op == "up_proj" || op == "expert.w1" || op == "expert.w3") return Sides{inter, hidden};
  if (op == "down_proj" || op == "expert.w2") return Sides{hidden, inter};
  if (op == "gate") return Sides{c.count_or(at.experts, 0), hidden};
  if (op == "lm_head") return Sides{c.count(at.vocab) / tp, hidden};
  return std::nullopt;
}

template <class Attention>
void fill_heads(Cells& c, const Columns& at, Count tp, Attention& shape) {
  shape.heads = c.count(at.heads) / tp, shape.kv_heads = c.count(at.kv_heads) / tp;
  shape.head_dim = c.count(at.head_dim);
}

std::string_view attention_row(Cells& c, const Columns& at, std::string_view op, Count tp, Measurement& row) {
  if (op == "attention_mixed") return "prompts and answers in one call of attention";
  if (op == "attention_decode") {
    AttentionDecode shape;
    fill_heads(c, at, tp, shape);
    shape.batch = c.count(at.decoding), shape.kv_len = c.count(at.context);
    return keep(row, shape);
  }
  AttentionPrefill shape;
  fill_heads(c, at, tp, shape);
  if (op == "attn") {
    shape.q_len = c.count(at.tokens);
    return keep(row, shape);
  }
  if (row.engine != "vllm") return "attention whose cached tokens are not clear";
  shape.q_len = c.count(at.chunk), shape.kv_len = shape.q_len + c.count(at.cached);
  return keep(row, shape);
}

// What vLLM does in one kernel and Hugging Face's modules in several.
std::string_view vllm_row(Cells& c, const Columns& at, std::string_view op, Count tp, Measurement& row) {
  if (op == "rotary_emb") {
    Rope shape;
    fill_heads(c, at, tp, shape);
    shape.tokens = c.count(at.tokens);
    return keep(row, shape);
  }
  if (op == "act_fn") {
    GatedActivation shape;
    shape.rows = c.count(at.tokens), shape.cols = c.count(at.inter) / tp;
    return keep(row, shape);
  }
  if (op.ends_with("layernorm")) {
    RmsNorm shape;
    shape.rows = c.count(at.tokens), shape.cols = c.count(at.hidden), shape.residual = true;
    return keep(row, shape);
  }
  return "an operator Tilecast has no family for";
}

std::string_view shape_of(Cells& c, const Columns& at, Measurement& row) {
  const std::string_view op = c.text(at.op);
  const Count tp = std::max<Count>(1, c.count(at.tp));
  if (op.starts_with("att")) return attention_row(c, at, op, tp, row);
  if (const auto sides = linear_sides(c, at, op, tp)) {
    Gemm shape;
    shape.m = c.count(at.tokens), shape.n = sides->n, shape.k = sides->k;
    return keep(row, shape);
  }
  if (op == "embedding") {
    Embedding shape;
    shape.tokens = c.count(at.tokens), shape.vocab = c.count(at.vocab), shape.cols = c.count(at.hidden);
    return keep(row, shape);
  }
  if (row.engine == "vllm") return vllm_row(c, at, op, tp, row);
  if (op == "act_fn") {
    Elementwise shape;  // SiLU alone: the product with the other half is not in the module
    shape.elements = c.count(at.tokens) * (c.count(at.inter) / tp);
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
    return shape_of(c, at, row);
  };
}

}  // namespace
}  // namespace llmservingsim

constexpr KernelTables kLlmservingsimKernels{&llmservingsim::kMapping, llmservingsim::kToldBy, llmservingsim::open};

}  // namespace tilecast
