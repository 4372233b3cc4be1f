// Matrix products, fused MoE and quantisation of AIConfigurator's tables.
//
// GEMM rotates copies of its buffers, and the copies decide what stays in L2 (docs/method.md, residency): vLLM six
// of the weights, SGLang six of weights and activations, TensorRT-LLM as many weights as cover L2 but at most five; MoE
// uses one buffer.
#include <algorithm>
#include <array>
#include <cmath>

#include "kernel/gemm.h"
#include "kernel/moe.h"
#include "kernel/quantize.h"
#include "lab/import/import_aiconfigurator.h"

namespace tilecast::aiconfigurator {
namespace {

void rotate_buffers(Measurement& row, Bytes weights, const Gpu& gpu) {
  if (row.engine == "vllm") row.context.weight_copies = 6;
  if (row.engine == "sglang") row.context.weight_copies = row.context.activation_copies = 6;
  if (row.engine == "trtllm" && weights > bytes(0))
    row.context.weight_copies = static_cast<int>(std::clamp(std::ceil(gpu.l2.size / weights), 1.0, 5.0));
}

// Experts of the Nemotron 3 models, which have two matrices and no gate. TensorRT-LLM's sources say so ("nongated"),
// for exactly these shapes and never otherwise; vLLM's and SGLang's do not, and would beat DRAM up to 1.5 times with
// three.
bool has_gate(const Moe& shape) {
  struct Expert {
    Count hidden, inter, experts, topk;
  };
  constexpr std::array<Expert, 5> kUngated = {{{1024, 2688, 512, 22},
                                               {2048, 5120, 512, 22},
                                               {2688, 1856, 128, 6},
                                               {4096, 2688, 512, 22},
                                               {8192, 5120, 512, 22}}};
  return std::none_of(kUngated.begin(), kUngated.end(), [&](const Expert& e) {
    return e.hidden == shape.hidden && e.inter == shape.inter && e.experts == shape.experts && e.topk == shape.topk;
  });
}

// "balanced" or "power_law_1.2".
void read_distribution(Cells& c, Column column, Moe& shape) {
  constexpr std::string_view kPowerLaw = "power_law_";
  const std::string_view text = c.text(column);
  if (text == "balanced") return;
  const auto alpha = text.starts_with(kPowerLaw) ? to_double(text.substr(kPowerLaw.size())) : std::nullopt;
  if (!alpha)
    return c.fail(field_error("distribution",
                              "must be balanced or power_law_<exponent>, not '" + std::string(text) + "'",
                              "another one needs a line in lab/import/import_aiconfigurator_products.cpp"));
  shape.distribution = ExpertDistribution::power_law;
  shape.alpha = *alpha;
}

}  // namespace

FillRow gemm_table(Cells& cells, const Common& common, Names& names) {
  return [common, &names, dtype = cells.column("gemm_dtype"), m = cells.column("m"), n = cells.column("n"),
          k = cells.column("k")](Cells& c, Measurement& row) -> std::string_view {
    const Gpu* gpu = common.fill(c, row, names);
    row.kernel.format = format_of(c, dtype);
    const Gemm shape{c.count(m), c.count(n), c.count(k)};
    const double weights = static_cast<double>(shape.n) * static_cast<double>(shape.k);
    if (gpu) rotate_buffers(row, row.kernel.format.weight_bytes(weights), *gpu);
    return keep(row, shape);
  };
}

// The absorbed projections of multi-head latent attention at DeepSeek's dimensions, one product per head: "pre" takes a
// query head (128) into the latent space (512), "post" takes the result back.
FillRow mla_bmm_table(Cells& cells, const Common& common, Names& names) {
  constexpr Count kHead = 128, kLatent = 512;
  return [common, &names, dtype = cells.column("bmm_dtype"), op = cells.column("op_name"),
          tokens = cells.column("num_tokens"),
          heads = cells.column("num_heads")](Cells& c, Measurement& row) -> std::string_view {
    common.fill(c, row, names);
    row.kernel.format = format_of(c, dtype);
    if (row.kernel_source == "trtllm_bmm_out_dequant_bf16") row.kernel.format = c.format("bf16");
    if (row.kernel_source == "trtllm_fp8_block_scaling_bmm_out") row.kernel.format = c.format("fp8_block");
    const bool pre = c.text(op) == "mla_gen_pre";
    if (!pre && c.text(op) != "mla_gen_post") return "an operator Tilecast has no family for";
    Bmm shape;
    shape.batch = c.count(heads);
    shape.m = c.count(tokens);
    shape.n = pre ? kLatent : kHead;
    shape.k = pre ? kHead : kLatent;
    return keep(row, shape);
  };
}

FillRow moe_table(Cells& cells, const Common& common, Names& names) {
  return [common, &names, dtype = cells.column("moe_dtype"), tokens = cells.column("num_tokens"),
          hidden = cells.column("hidden_size"), inter = cells.column("inter_size"), topk = cells.column("topk"),
          experts = cells.column("num_experts"), tp = cells.column("moe_tp_size"), ep = cells.column("moe_ep_size"),
          distribution = cells.column("distribution")](Cells& c, Measurement& row) -> std::string_view {
    common.fill(c, row, names);
    row.kernel.format = format_of(c, dtype);
    Moe shape;
    shape.tokens = c.count(tokens);
    shape.hidden = c.count(hidden);
    shape.inter = c.count(inter);
    shape.topk = c.count(topk);
    shape.experts = c.count(experts);
    shape.tp = c.count(tp);
    shape.ep = c.count(ep);
    read_distribution(c, distribution, shape);
    const auto source_has = [&](std::string_view word) {
      return row.kernel_source.find(word) != std::string_view::npos;
    };
    shape.gated = !source_has("nongated") && has_gate(shape);
    // vLLM 0.14 (A100) has one name for its Triton kernel; later engines say it.
    const bool triton = source_has("triton") || row.kernel_source == "vllm_fused_moe";
    shape.style = triton ? MoeStyle::triton : MoeStyle::grouped;
    return keep(row, shape);
  };
}

FillRow quantize_table(Cells& cells, const Common& common, Names& names) {
  return [common, &names, dtype = cells.column("quant_dtype"), op = cells.column("op_name"), m = cells.column("m"),
          k = cells.column("k")](Cells& c, Measurement& row) -> std::string_view {
    common.fill(c, row, names);
    row.kernel.format = format_of(c, dtype);
    Quantize shape;
    shape.rows = c.count(m);
    shape.cols = c.count(k);
    shape.scale = ScaleOf::tensor;
    shape.part = QuantizePart::apply;
    if (c.text(op) == "compute_scale") {
      // A dynamic quantise kernel's time less a static one's: no kernel took this time, so it is a source of its own.
      if (row.latency <= seconds(0)) return "compute_scale, a difference of timings, is zero";
      row.source = "aiconfigurator-difference";
      shape.part = QuantizePart::find;
    }
    return keep(row, shape);
  };
}

}  // namespace tilecast::aiconfigurator
