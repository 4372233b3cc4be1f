// What to try. One function a rule; each looks at the diagnosis and says what it found, how much time is at stake, and
// what people do about it.
#include <fmt/format.h>

#include <algorithm>

#include "diagnose/diagnose.h"
#include "kernel/attention.h"
#include "kernel/attention_prefill.h"
#include "kernel/gemm.h"
#include "kernel/moe.h"
#include "support/counted.h"
#include "support/text.h"

namespace tilecast {
namespace {

struct Case {
  const Diagnosis& found;
  const Gpu& gpu;
  const ModelSource* weights;

  // Time and launches of the groups that `wanted` picks.
  template <class Wanted>
  std::pair<Seconds, Count> sum(Wanted&& wanted) const {
    Seconds time;
    Count launches = 0;
    for (const WorkGroup& g : found.groups)
      if (wanted(g)) time += g.total, launches += g.launches;
    return {time, launches};
  }
  double share(Seconds time) const { return found.total > seconds(0) ? time / found.total : 0; }
  // Of the first device; null where nothing took any time.
  const DeviceTimeline* line() const {
    const bool any = !found.timelines.empty() && found.timelines.front().window > seconds(0);
    return any ? &found.timelines.front() : nullptr;
  }
};

std::string ms(Seconds t) { return fmt::format("{:.3g} ms", in_milliseconds(t)); }
std::string pc(double share) { return fmt::format("{:.0f} %", 100 * share); }

// Advice below this share of the GPU's time is not worth a reader's.
constexpr double kWorth = 0.02;

using Found = std::optional<Suggestion>;

Found host_late(const Case& c) {
  const DeviceTimeline* line = c.line();
  if (!line || line->idle_host_late < line->window * 0.05) return std::nullopt;
  return Suggestion{
      "The GPU waits for the host",
      fmt::format("{} of {} ({}) passed before the host had launched what came next; a launch came every {:.3g} us",
                  ms(line->idle_host_late), ms(line->window), pc(line->idle_host_late / line->window),
                  in_microseconds(line->window) / static_cast<double>(std::max<Count>(1, line->launches))),
      "capture the step in a CUDA graph, or torch.compile(mode=\"reduce-overhead\"); larger batches; no "
      ".item() or print of tensors inside the step",
      line->idle_host_late};
}

Found launch_latency(const Case& c) {
  const DeviceTimeline* line = c.line();
  if (!line || line->idle_launched < line->window * 0.1) return std::nullopt;
  return Suggestion{
      "Gaps between kernels that were already launched",
      fmt::format("{} of {} ({}) in {} gaps: the way of a launch to the GPU, or a wait for another stream",
                  ms(line->idle_launched), ms(line->window), pc(line->idle_launched / line->window), line->gaps),
      "fuse small kernels (torch.compile); CUDA graphs shorten the gaps to about a microsecond", line->idle_launched};
}

Found synchronising(const Case& c) {
  const DeviceTimeline* line = c.line();
  if (!line) return std::nullopt;
  Seconds time;
  Count calls = 0;
  for (const HostCallTime& call : c.found.host)
    if (contains(call.name, "Synchronize")) time += call.total, calls += call.count;
  if (calls < 10 || line->idle_host_late < line->window * 0.05) return std::nullopt;
  return Suggestion{"The host stops to wait for the GPU",
                    fmt::format("{} calls that synchronise, {} in all; after each the GPU runs dry", calls, ms(time)),
                    "keep results on the GPU: no .item(), .cpu() or nonzero() in the step; non_blocking=True copies",
                    std::min(time, line->idle_host_late)};
}

Found pieces_of_pointwise(const Case& c) {
  const auto [time, launches] = c.sum([](const WorkGroup& g) {
    return (g.family == WorkFamily::pointwise || g.family == WorkFamily::layout || g.family == WorkFamily::random) &&
           g.library == "PyTorch";
  });
  if (c.share(time) < 0.08) return std::nullopt;
  return Suggestion{
      "Pointwise kernels run one by one",
      fmt::format("{} launches of PyTorch's own pointwise, cast and copy kernels take {} ({} of the GPU's "
                  "time); each reads and writes its tensors whole",
                  launches, ms(time), pc(c.share(time))),
      "torch.compile fuses them; or fused kernels for norm, rotary embedding and activation", time};
}

Found attention_in_pieces(const Case& c) {
  bool fused = false;
  Seconds time;
  for (const WorkGroup& g : c.found.groups) {
    fused |= g.family == WorkFamily::attention;
    const bool scores = g.op.starts_with("aten::_softmax(") && std::count(g.op.begin(), g.op.end(), ',') >= 3;
    const bool products = g.op.starts_with("aten::bmm(") || g.op.starts_with("aten::baddbmm(");
    if (scores || products) time += g.total;
  }
  const auto [softmax, launches] = c.sum([](const WorkGroup& g) { return g.op.starts_with("aten::_softmax("); });
  if (fused || launches == 0 || c.share(time) < kWorth) return std::nullopt;
  return Suggestion{"Attention runs in pieces",
                    fmt::format("batched products and {} softmax launches take {} ({}); no attention kernel ran",
                                launches, ms(time), pc(c.share(time))),
                    "F.scaled_dot_product_attention, or attn_implementation=\"sdpa\" or \"flash_attention_2\"", time};
}

// The same attention by the kernels written for this card.
Found older_attention(const Case& c) {
  if (c.gpu.tensor_generation() != TensorGeneration::wgmma) return std::nullopt;
  Seconds time, better;
  for (const WorkGroup& g : c.found.groups) {
    if (g.library != "FlashAttention" || !g.comparison) continue;
    const auto* prefill = g.comparison->kernel.shape.get_if<AttentionPrefill>();
    if (!prefill || prefill->q_len < 512) continue;
    AttentionPrefill newer = *prefill;
    newer.algorithm = AttentionAlgorithm::automatic;
    const auto other = compare({{newer, g.comparison->kernel.format}, g.comparison->from}, "cuDNN", c.gpu, c.weights);
    if (!other || other->forecast >= g.per_call()) continue;
    time += g.total;
    better += other->forecast * static_cast<double>(g.calls);
  }
  if (c.share(time - better) < kWorth) return std::nullopt;
  return Suggestion{
      "FlashAttention 2 on a Hopper card",
      fmt::format("{} in kernels written for Ampere; cuDNN's or FlashAttention 3's are forecast to take {}", ms(time),
                  ms(better)),
      "sdpa_kernel(SDPBackend.CUDNN_ATTENTION), or FlashAttention 3", time - better};
}

Found plain_fp32(const Case& c) {
  const auto tf32 = format_from("tf32");
  if (!tf32 || !math_path(*tf32, c.gpu)) return std::nullopt;
  Seconds time, better;
  for (const WorkGroup& g : c.found.groups) {
    if (g.family != WorkFamily::gemm || !g.comparison || g.comparison->kernel.format.id != FormatId::fp32) continue;
    const auto other = compare({{g.comparison->kernel.shape, *tf32}, g.comparison->from}, g.library, c.gpu, c.weights);
    if (!other || other->forecast >= g.per_call()) continue;
    time += g.total;
    better += other->forecast * static_cast<double>(g.calls);
  }
  if (c.share(time - better) < kWorth) return std::nullopt;
  return Suggestion{"fp32 products without tensor cores",
                    fmt::format("{} in fp32 products; with TF32 they are forecast to take {}", ms(time), ms(better)),
                    "torch.set_float32_matmul_precision(\"high\"), or bf16 (torch.autocast)", time - better};
}

// cuBLAS takes its 16-byte loads only where rows start on 16 bytes: 8 elements of 16 bits (NVIDIA's guide to matrix
// multiplication, "Tensor Core Requirements").
Found misaligned(const Case& c) {
  Seconds time, better;
  std::string example;
  for (const WorkGroup& g : c.found.groups) {
    const auto* shape = g.comparison ? g.comparison->kernel.shape.get_if<Gemm>() : nullptr;
    if (!shape || g.comparison->kernel.format.activation_bits != 16 || (shape->n % 8 == 0 && shape->k % 8 == 0))
      continue;
    const Gemm padded{shape->m, round_up(shape->n, 8), round_up(shape->k, 8), shape->layout};
    const auto other =
        compare({{padded, g.comparison->kernel.format}, g.comparison->from}, g.library, c.gpu, c.weights);
    if (!other || other->forecast >= g.per_call()) continue;
    time += g.total;
    better += other->forecast * static_cast<double>(g.calls);
    if (example.empty()) example = g.op.empty() ? g.name : g.op;
  }
  if (c.share(time - better) < kWorth) return std::nullopt;
  return Suggestion{"Dimensions that tensor cores cannot load in full",
                    fmt::format("{} in products whose rows do not start on 16 bytes, for example {}; padded they are "
                                "forecast to take {}",
                                ms(time), example, ms(better)),
                    "pad to a multiple of 8 elements (a vocabulary of 50257 to 50304)", time - better};
}

Found pageable_copies(const Case& c) {
  Seconds time;
  Bytes moved;
  for (const WorkGroup& g : c.found.groups)
    if (g.family == WorkFamily::transfer && contains(g.full_name, "Pageable")) time += g.total, moved += g.bytes;
  const DeviceTimeline* line = c.line();
  const Seconds exposed = line ? std::min(time, line->exposed_copies) : time;
  if (c.share(time) < kWorth) return std::nullopt;
  return Suggestion{
      "Copies from pageable memory",
      fmt::format("{} in copies of {:.3g} MB between pageable host memory and the GPU, {:.3g} GB/s", ms(time),
                  in_megabytes(moved), in_gigabytes_per_second(moved / std::max(time, nanoseconds(1)))),
      "DataLoader(pin_memory=True) and .to(device, non_blocking=True)", exposed};
}

Found exposed_collectives(const Case& c) {
  const DeviceTimeline* line = c.line();
  if (!line || line->exposed_collectives < line->window * 0.05) return std::nullopt;
  return Suggestion{"Exchange between GPUs that nothing hides",
                    fmt::format("{} of {} ({}) ran collectives and nothing else", ms(line->exposed_collectives),
                                ms(line->window), pc(line->exposed_collectives / line->window)),
                    "overlap with computation (DDP buckets, FSDP prefetch), larger messages, fewer ranks a group",
                    line->exposed_collectives};
}

Found list_optimizer(const Case& c) {
  const auto [time, launches] = c.sum([](const WorkGroup& g) {
    return g.family == WorkFamily::optimizer && (contains(g.op, "_foreach_") || !contains(g.full_name, "Fused"));
  });
  if (c.share(time) < kWorth) return std::nullopt;
  return Suggestion{"The optimizer runs one operation after the other",
                    fmt::format("{} launches, {} ({})", launches, ms(time), pc(c.share(time))),
                    "AdamW(..., fused=True): parameters and states are read once", time};
}

Found casts(const Case& c) {
  const auto [time, launches] = c.sum([](const WorkGroup& g) {
    return contains(g.full_name, "bfloat16_copy_kernel") || contains(g.full_name, "float16_copy_kernel");
  });
  if (c.share(time) < 0.03) return std::nullopt;
  return Suggestion{"Tensors are cast again and again",
                    fmt::format("{} casts to 16 bits take {} ({})", launches, ms(time), pc(c.share(time))),
                    "keep the weights in bf16, with a master copy in the optimizer, in place of autocast over fp32",
                    time};
}

// PyTorch takes its unvectorised elementwise_kernel, and copies by index, where strides do not run along.
Found strided(const Case& c) {
  Seconds lost;
  Count launches = 0;
  for (const WorkGroup& g : c.found.groups) {
    const bool plain = contains(g.full_name, "::elementwise_kernel<") || contains(g.full_name, "CatArrayBatchedCopy<");
    if (plain && g.underperforms()) lost += g.lost(), launches += g.launches;
  }
  if (c.share(lost) < kWorth / 2) return std::nullopt;
  return Suggestion{
      "Pointwise kernels over strided or broadcast tensors",
      fmt::format("{} launches could not use wide loads and lose {} against contiguous ones", launches, ms(lost)),
      ".contiguous() once where a tensor is read often, layouts without transposes, torch.compile", lost};
}

Found few_rows(const Case& c) {
  constexpr Count kFew = 64;  // below about the ratio of operations to bytes of any card since Volta
  Seconds time;
  Count rows = 0;
  for (const WorkGroup& g : c.found.groups) {
    if (!g.comparison) continue;
    const auto* shape = g.comparison->kernel.shape.get_if<Gemm>();
    if (!shape || std::min(shape->m, shape->n) > kFew || g.comparison->limited_by != Resource::dram) continue;
    time += g.total;
    rows = std::max(rows, std::min(shape->m, shape->n));
  }
  if (c.share(time) < 0.2) return std::nullopt;
  return Suggestion{"Products of few rows read all weights",
                    fmt::format("{} ({}) in products of at most {} rows, limited by reading weights", ms(time),
                                pc(c.share(time)), rows),
                    "larger batches cost little here; fp8 weights halve the bytes, int4 quarters them", time / 2};
}

// Whether `tilecast tune fused-moe` is for this kernel: it tunes experts of three matrices.
bool tunable(const WorkGroup& g) {
  return g.comparison && g.comparison->ceiling_from == CeilingOrigin::tuner &&
         g.comparison->kernel.shape.as<Moe>().gated;
}

// The command that tunes a layer. Engines take the file's entry nearest to their tokens, so it should hold more than
// those of the trace: without --tokens, what the engines' own scripts tune for.
std::string tune_command(const Case& c, const Kernel& kernel) {
  const Moe& moe = kernel.shape.as<Moe>();
  const std::string& gpu = c.found.gpu_given;
  const std::string dtype = kernel.format.id == FormatId::bf16 ? "" : fmt::format(" --dtype {}", kernel.format.name);
  return fmt::format("tilecast tune fused-moe --gpu {}{} --experts {} --hidden {} --inter {} --topk {} -o tuned",
                     contains(gpu, " ") ? "'" + gpu + "'" : gpu, dtype, moe.local_experts(), moe.hidden,
                     moe.local_inter(), moe.topk);
}

Found tiles_of_experts(const Case& c) {
  const WorkGroup* worst = nullptr;
  Seconds lost;
  for (const WorkGroup& g : c.found.groups) {
    if (!tunable(g) || !g.underperforms()) continue;
    lost += g.lost();
    if (!worst || g.lost() > worst->lost()) worst = &g;
  }
  if (!worst || c.share(lost) < kWorth) return std::nullopt;
  const Comparison& seen = *worst->comparison;
  return Suggestion{
      "The fused-MoE kernel's tiles do not fit the layer",
      fmt::format("{} takes {} a call with {} tokens; vLLM's default configuration is forecast to take {}, "
                  "the best one {}",
                  worst->name, ms(worst->per_call()), seen.kernel.shape.as<Moe>().tokens, ms(seen.forecast),
                  ms(seen.ceiling)),
      tune_command(c, seen.kernel) +
          " writes the file that vLLM and SGLang load; add --measure CMD to time "
          "the best few",
      lost};
}

Found below_ceiling(const Case& c) {
  const WorkGroup* worst = nullptr;
  Count groups = 0;
  Seconds lost;
  for (const WorkGroup& g : c.found.groups) {
    if (!g.underperforms() || tunable(g)) continue;
    ++groups;
    lost += g.lost();
    if (!worst || g.lost() > worst->lost()) worst = &g;
  }
  if (!worst || c.share(lost) < kWorth) return std::nullopt;
  const std::string_view remedy =
      worst->family == WorkFamily::gemm        ? "torch.compile(mode=\"max-autotune\") tries other tiles; check layouts"
      : worst->family == WorkFamily::moe       ? "another backend of the engine's mixture of experts"
      : worst->family == WorkFamily::attention ? "another backend of scaled_dot_product_attention"
                                               : "a fused or vectorised kernel: contiguous tensors, torch.compile";
  return Suggestion{
      "Kernels below what their kind reaches",
      fmt::format("{} {} against their ceilings; most of it ({}) in {}", counted(groups, "shape loses", "shapes lose"),
                  ms(lost), ms(worst->lost()), worst->op.empty() ? worst->name : worst->op),
      std::string(remedy), lost};
}

constexpr Found (*kAdvisers[])(const Case&) = {
    host_late,  launch_latency, synchronising,    pieces_of_pointwise, attention_in_pieces, older_attention,
    plain_fp32, misaligned,     pageable_copies,  exposed_collectives, list_optimizer,      strided,
    casts,      few_rows,       tiles_of_experts, below_ceiling,
};

}  // namespace

std::vector<Suggestion> advise(const Diagnosis& diagnosis, const Gpu& gpu, const ModelSource* weights) {
  const Case c{diagnosis, gpu, weights};
  std::vector<Suggestion> all;
  for (const auto rule : kAdvisers)
    if (auto advice = rule(c)) all.push_back(*std::move(advice));
  std::stable_sort(all.begin(), all.end(),
                   [](const Suggestion& a, const Suggestion& b) { return a.at_stake > b.at_stake; });
  return all;
}

}  // namespace tilecast
