// Attention of every kind in AIConfigurator's tables: one buffer, no rotation.
#include "kernel/attention.h"
#include "kernel/attention_decode.h"
#include "kernel/attention_prefill.h"
#include "kernel/mla_decode.h"
#include "kernel/mla_prefill.h"
#include "lab/import/import_aiconfigurator.h"

namespace tilecast::aiconfigurator {
namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// Only FlashAttention's own kernels have plans that are known; every other source (FlashInfer, Triton, TensorRT-LLM)
// runs tiles of its own and is left to the GPU's default.
AttentionAlgorithm algorithm_of(std::string_view source) {
  if (has(source, "fa3") || has(source, "attention_v3")) return AttentionAlgorithm::fa3;
  if (has(source, "fa2")) return AttentionAlgorithm::fa2;
  return AttentionAlgorithm::automatic;
}

CacheType cache_of(std::string_view cache, std::string_view compute) {
  return cache == "fp8" && compute != "fp8" ? CacheType::fp8 : CacheType::same;
}

// Attention without a mask: no cache, as many key heads as query heads.
FillRow encoder_table(Cells& cells, const Common& common, Names& names) {
  return [common, &names, dtype = cells.column("attn_dtype"), batch = cells.column("batch_size"),
          length = cells.column("isl"), heads = cells.column("num_heads"),
          head_dim = cells.column("head_dim")](Cells& c, Measurement& row) -> std::string_view {
    common.fill(c, row, names);
    row.kernel.format = format_of(c, dtype);
    AttentionPrefill shape;
    shape.batch = c.count(batch);
    shape.q_len = c.count(length);
    shape.heads = c.count(heads);
    shape.head_dim = c.count(head_dim);
    shape.mask = AttentionMask::full;
    shape.algorithm = algorithm_of(row.kernel_source);
    return keep(row, shape);
  };
}

}  // namespace

// Prefill and decode have the same columns. Prefill rows cache nothing (step 0); decode rows have one query and `step`
// cached tokens before it, so step + 1 keys.
FillRow attention_table(const CsvReader& csv, Cells& cells, const Common& common, Names& names) {
  if (!csv.find_column("num_key_value_heads")) return encoder_table(cells, common, names);
  return [common, &names, dtype = cells.column("attn_dtype"), cache = cells.column("kv_cache_dtype"),
          batch = cells.column("batch_size"), length = cells.column("isl"), heads = cells.column("num_heads"),
          kv_heads = cells.column("num_key_value_heads"), head_dim = cells.column("head_dim"),
          window = cells.column("window_size"),
          step = cells.column("step")](Cells& c, Measurement& row) -> std::string_view {
    common.fill(c, row, names);
    row.kernel.format = format_of(c, dtype);
    const auto fill_common = [&](auto& shape) {
      shape.batch = c.count(batch);
      shape.heads = c.count(heads);
      shape.kv_heads = c.count(kv_heads);
      shape.head_dim = c.count(head_dim);
      shape.window = c.count_or(window, 0);
      shape.kv_dtype = cache_of(c.text(cache), c.text(dtype));
      shape.algorithm = algorithm_of(row.kernel_source);
    };
    if (const Count cached = c.count(step); cached > 0) {
      AttentionDecode shape;
      fill_common(shape);
      shape.kv_len = cached + 1;
      shape.q_len = c.count(length);
      return keep(row, shape);
    }
    AttentionPrefill shape;
    fill_common(shape);
    shape.q_len = c.count(length);
    return keep(row, shape);
  };
}

FillRow mla_table(Cells& cells, const Common& common, Names& names) {
  return [common, &names, dtype = cells.column("mla_dtype"), cache = cells.column("kv_cache_dtype"),
          op = cells.column("op_name"), heads = cells.column("num_heads"), batch = cells.column("batch_size"),
          length = cells.column("isl"), step = cells.column("step")](Cells& c, Measurement& row) -> std::string_view {
    common.fill(c, row, names);
    row.kernel.format = format_of(c, dtype);
    // vLLM's collector times the layer outside a graph: no shape takes less than 0.13 ms on H100, 0.3 on A100 and L40S.
    if (row.engine == "vllm") row.context.runtime = Runtime::eager;
    if (has(c.text(op), "generation")) {
      MlaDecode shape;
      shape.batch = c.count(batch);
      shape.kv_len = c.count(step) + 1;
      shape.heads = c.count(heads);
      shape.kv_dtype = cache_of(c.text(cache), c.text(dtype));
      return keep(row, shape);
    }
    MlaPrefill shape;
    shape.batch = c.count(batch);
    shape.q_len = c.count(length);
    shape.heads = c.count(heads);
    shape.algorithm = algorithm_of(row.kernel_source);
    shape.kv_dtype = cache_of(c.text(cache), c.text(dtype));
    return keep(row, shape);
  };
}

}  // namespace tilecast::aiconfigurator
