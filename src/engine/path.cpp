#include "engine/path.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "kernel/gemm.h"
#include "kernel/moe.h"
#include "kernel/scan.h"

namespace tilecast {
namespace {

bool nvidia(const Gpu& gpu) { return gpu.vendor == Vendor::nvidia; }
bool blackwell(const Gpu& gpu) { return gpu.tensor_generation() == TensorGeneration::tcgen05; }
bool hopper(const Gpu& gpu) { return gpu.tensor_generation() == TensorGeneration::wgmma; }
bool serving(const Launcher& engine) {
  return engine == Launcher::vllm || engine == Launcher::sglang || engine == Launcher::trtllm;
}

Format named(std::string_view name) { return *format_from(name); }

// Whether an engine unpacks floats of eight or four bits that the tensor cores do not multiply: by Marlin's kernels,
// vLLM from Turing on (its documentation of FP8 W8A8: "compute capability >= 7.5 (Turing) as weight-only W8A16");
// SGLang has those written for Ampere, where TensorRT-LLM begins too.
bool unpacks_floats(const Gpu& gpu, const Launcher& engine) {
  if (!nvidia(gpu)) return true;
  const bool volta = gpu.architecture == Architecture::volta || gpu.architecture == Architecture::pascal;
  return !volta && (gpu.architecture != Architecture::turing || engine == Launcher::vllm);
}

// fp8 where the card has no such products: vLLM and SGLang read it as weights alone (fp8.py, "use_marlin").
bool fp8_as_weights(const Gpu& gpu, const Format& format, const Launcher& engine) {
  const bool eight =
      format.math == DType::fp8 && format.activation_bits < 16 && format.weight_bits >= bits_of(DType::fp8);
  return eight && nvidia(gpu) && !gpu.has_tensor(DType::fp8, DType::fp32) && unpacks_floats(gpu, engine) &&
         (engine == Launcher::vllm || engine == Launcher::sglang);
}

Format weights_alone(std::string_view name, const Format& like) {
  Format weights = named(name);
  weights.weight_bits = like.weight_bits;
  return weights;
}

// gpt-oss' experts. Blackwell multiplies mxfp4 weights with mxfp8 activations; before it weights are unpacked to bf16.
// - TensorRT-LLM (deployment guide for GPT-OSS, 1.2): MXFP8 activations and its own kernels on B200 to GB300, BF16 and
//   Triton on Hopper, which release candidates of 1.2 had to be told (their default was CUTLASS).
// - vLLM (model_executor/layers/quantization/mxfp4.py, 0.11 to 0.13): mxfp8 activations on SM100 by a variable, which
//   its recipe for gpt-oss sets; Triton on Hopper, Marlin elsewhere (issue 31085 of vllm-project/vllm).
// - SGLang (server_args.py): flashinfer_mxfp4 on SM100, triton_kernel on Hopper. AIConfigurator's collector ran
//   fused_moe_triton on Hopper and Ada, which takes 2.3 and 4 times as long; on RTX PRO 6000 it found Marlin.
ChosenPath mxfp4_experts(const Gpu& gpu, const Launcher& engine) {
  const bool trtllm = engine == Launcher::trtllm;
  if (blackwell(gpu)) {
    const std::string_view flag = trtllm                     ? "moe_config.backend: TRTLLM"
                                  : engine == Launcher::vllm ? "VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8=1"
                                                             : "";
    return {named("w4a8_mxfp4_mxfp8"), engine, {}, flag};
  }
  // OpenAI's Triton kernels (triton_kernels) were measured under vLLM's name for them.
  if (hopper(gpu))
    return {named("w4a16_mxfp4"), Launcher::vllm, KernelSource::vllm_mxfp4_triton_experts,
            trtllm ? "moe_config.backend: TRITON" : ""};
  return {named("w4a16_mxfp4"), Launcher::vllm, KernelSource::vllm_mxfp4_marlin_experts};
}

// A scale per tensor or token costs as much as one per block. From 0.15 on vLLM chooses FlashInfer's CUTLASS kernels on
// Hopper by default, five times slower than bf16 in AIConfigurator's rows (issue 34249 of vllm-project/vllm); its
// Triton kernels were measured there with blocks. The variable is off by default (vllm/envs.py), and is set to off
// explicitly.
ChosenPath fp8_experts_vllm_hopper() {
  return {named("fp8_block"), Launcher::vllm, KernelSource::vllm_fp8_triton_experts, "VLLM_USE_FLASHINFER_MOE_FP8=0"};
}

ChosenPath experts_path(const Gpu& gpu, const Format& format, const Launcher& engine) {
  if (fp8_as_weights(gpu, format, engine)) return {weights_alone("int8_wo", format), engine};
  if (!unpacks_floats(gpu, engine)) return {format, engine};
  if (format.id == FormatId::mxfp4 && nvidia(gpu)) return mxfp4_experts(gpu, engine);
  if (format.id == FormatId::mxfp4) return {named("w4a16_mxfp4"), engine};
  if (format.id == FormatId::nvfp4 && nvidia(gpu) && !gpu.has_tensor(DType::fp4, DType::fp32))
    return {named("w4a16_mxfp4"), engine};
  // TensorRT-LLM's own kernels beside CUTLASS and DeepGEMM (moe_config.backend TRTLLM, deployment guide for DeepSeek
  // R1, 1.2). With scales of blocks AIConfigurator's collector ran DeepGEMM under TensorRT-LLM, which takes up to three
  // times as long where tokens are few; FlashInfer packs the same kernels, and SGLang was measured with them.
  if (format.id == FormatId::nvfp4 && blackwell(gpu) && engine == Launcher::trtllm)
    return {format, engine, KernelSource::moe_torch_flow_min_latency, "moe_config.backend: TRTLLM"};
  if (format.id == FormatId::fp8_block && blackwell(gpu) && engine == Launcher::trtllm)
    return {format, Launcher::sglang, KernelSource::named("sglang_flashinfer_trtllm_moe"),
            "moe_config.backend: TRTLLM"};
  if (format.math == DType::fp8 && format.weight_bits == 8 && hopper(gpu) && engine == Launcher::vllm)
    return fp8_experts_vllm_hopper();
  return {format, engine};
}

// vLLM and SGLang read narrow floats on cards without such products as weights alone (Marlin).
ChosenPath linear_path(const Gpu& gpu, const Format& format, const Launcher& engine) {
  const bool four = format.id == FormatId::nvfp4 || format.id == FormatId::mxfp4;
  if (four && !gpu.has_tensor(DType::fp4, DType::fp32) && unpacks_floats(gpu, engine))
    return {weights_alone("int4_wo", format), engine};
  if (fp8_as_weights(gpu, format, engine)) return {weights_alone("int8_wo", format), engine};
  // TensorRT-LLM tunes these products as a server starts, among CUTLASS', cuBLASLt's and CuTe DSL's kernels (AutoTuner
  // of its PyTorch backend). AIConfigurator's collector timed one of them untuned: 20 us for sums of 8192 on B200,
  // be there 1280 columns or 10240, where CuTe DSL's take 10 to 14 under vLLM and SGLang.
  if (format.id == FormatId::nvfp4 && blackwell(gpu) && engine == Launcher::trtllm)
    return {format, Launcher::vllm, KernelSource::named("FlashInferCuteDslNvFp4LinearKernel")};
  return {format, engine};
}

}  // namespace

ChosenPath path_on(const Gpu& gpu, const Kernel& kernel, const Launcher& engine) {
  if (!serving(engine)) {
    // Hugging Face's mxfp4 runs OpenAI's Triton kernels.
    if (kernel.shape.is<Moe>() && kernel.format.id == FormatId::mxfp4) return {named("w4a16_mxfp4"), engine};
    return {kernel.format, engine};
  }
  if (kernel.shape.is<Moe>()) return experts_path(gpu, kernel.format, engine);
  if (kernel.shape.is<Gemm>()) return linear_path(gpu, kernel.format, engine);
  return {kernel.format, engine};
}

// As the kernel sources of AIConfigurator's gdn and kda tables name them, card by card.
Shape scan_that_runs(const Gpu& gpu, const Launcher& engine, Shape shape) {
  if (Scan* scan = shape.get_if<Scan>(); scan && engine == Launcher::vllm && (hopper(gpu) || blackwell(gpu)))
    scan->fused = scan->kind == ScanKind::chunk_gated_delta || scan->kind == ScanKind::chunk_kda;
  return shape;
}

bool multiplies_any_layout(const Gpu& gpu) { return blackwell(gpu) || gpu.vendor == Vendor::amd; }

ChosenPath narrow_path(const Gpu& gpu, const Kernel& kernel) {
  Format format = kernel.format;
  if (hopper(gpu) || !nvidia(gpu)) return {format, Launcher::pytorch};
  // TensorRT-LLM's fp8 and nvfp4 linear layers call cuBLASLt too; what quantises their input is left out.
  if (format.math == DType::fp8) format.name = "fp8";
  return {format, Launcher::trtllm};
}

namespace {

struct PartPath {
  std::string_view name;
  const Format* format;
  Shape shape;
};
std::vector<PartPath> parts_of_run(const Precision& p, bool has_experts) {
  std::vector<PartPath> parts = {{"products", &p.linear, Gemm{}}};
  if (p.projections.name != p.linear.name) parts.push_back({"attention's products", &p.projections, Gemm{}});
  if (has_experts) parts.push_back({"experts", &p.experts, Moe{}});
  return parts;
}

}  // namespace

std::vector<std::string> path_notes(const Precision& p, bool has_experts, const Gpu& gpu, EngineKind engine) {
  std::vector<std::string> notes;
  for (const PartPath& part : parts_of_run(p, has_experts)) {
    const ChosenPath path = path_on(gpu, Kernel{part.shape, *part.format}, measured_as(engine));
    std::string note;
    if (path.format.id != part.format->id)
      note = fmt::format("{}: {} is priced as {} on {}", part.name, part.format->name, path.format.name, gpu.name);
    if (!note.empty() && gpu.architecture == Architecture::turing)
      note += "; kernels for it on Turing came late, and releases before them refuse it";
    if (note.empty() && !path.flag.empty()) note = fmt::format("{}: {}", part.name, part.format->name);
    if (!path.flag.empty()) note += fmt::format(", with {}", path.flag);
    if (!note.empty()) notes.push_back(std::move(note));
  }
  return notes;
}

std::string emulated_note(const Precision& p, const Gpu& gpu) {
  const bool lacks = !gpu.has_tensor(DType::bf16, DType::fp32) && gpu.has_tensor(DType::fp16, DType::fp32);
  if (p.activation.math != DType::bf16 || !lacks) return {};
  return fmt::format(
      "{} has no tensor cores for bf16, which is priced in fp32 on its vector pipe; vLLM refuses it there: "
      "dtype fp16 is what people run",
      gpu.name);
}

// vLLM (Fp8MoEMethod, model_executor/layers/quantization/fp8.py) and SGLang (the same class of its own) raise "the
// output_size of gate's and up's weight is not divisible by weight quantization block_n".
std::string refused_blocks(const ModelSpec& rank, const Precision& p, EngineKind engine) {
  constexpr Count kSide = 128;  // of a block of weights
  if (p.experts.id != FormatId::fp8_block || !rank.decoder) return {};
  if (engine != EngineKind::vllm && engine != EngineKind::sglang) return {};
  for (const LayerRun& run : rank.decoder->layers) {
    const auto* moe = std::get_if<MoeSpec>(&run.layer.feed_forward);
    if (!moe || moe->inter % (moe->tp * kSide) == 0) continue;
    return fmt::format(
        "{} refuses it: an expert's width of {} over {} ranks is {}, not whole blocks of {} that share a "
        "scale; share out the experts themselves (ep), or use fewer ranks",
        name_of(engine), moe->inter, moe->tp, moe->inter / moe->tp, kSide);
  }
  return {};
}

std::vector<std::string> path_flags(const Precision& p, bool has_experts, const Gpu& gpu, EngineKind engine) {
  std::vector<std::string> flags;
  for (const PartPath& part : parts_of_run(p, has_experts)) {
    const ChosenPath path = path_on(gpu, Kernel{part.shape, *part.format}, measured_as(engine));
    if (!path.flag.empty() && std::find(flags.begin(), flags.end(), path.flag) == flags.end())
      flags.emplace_back(path.flag);
  }
  return flags;
}

bool runs_on(const Gpu& gpu, const Precision& p, bool has_experts, EngineKind engine) {
  const std::vector<PartPath> parts = parts_of_run(p, has_experts);
  return std::all_of(parts.begin(), parts.end(), [&](const PartPath& part) {
    const Format f = path_on(gpu, Kernel{part.shape, *part.format}, measured_as(engine)).format;
    return f.unpack_weights || gpu.has_tensor(f.math, f.accumulate);
  });
}

namespace {

double narrowest(const Precision& p, bool has_experts) {
  const double dense = std::min(p.linear.weight_bits, p.projections.weight_bits);
  return has_experts ? std::min(dense, p.experts.weight_bits) : dense;
}

}  // namespace

std::vector<Precision> wider_formats(const Precision& p, bool has_experts, const Gpu& gpu, EngineKind engine) {
  std::vector<Precision> wider;
  const double bits = narrowest(p, has_experts);
  if (bits >= 16) return wider;
  for (const std::string_view name : {"bf16", "fp8_block", "fp8"}) {
    const Format format = named(name);
    Precision other = p;
    other.set_products(format);
    if (format.weight_bits < bits || text_of(other) == text_of(p)) continue;
    if (runs_on(gpu, other, has_experts, engine)) wider.push_back(other);
  }
  return wider;
}

std::string slower_than_wider(const TimedFormat& own, const std::vector<TimedFormat>& wider) {
  constexpr double kWorthALine = 1.02;
  const TimedFormat *fastest = &own, *beats = nullptr;
  for (const TimedFormat& other : wider) {
    if (other.time < fastest->time) fastest = &other;
    // Formats of one width differ only in their scales: that one is faster says nothing about bits.
    const bool more_bits = other.precision.linear.weight_bits > 1 + narrowest(own.precision, true);
    if (more_bits && own.time > other.time * kWorthALine && (!beats || other.time < beats->time)) beats = &other;
  }
  if (!beats) return {};
  const auto named = [](const TimedFormat& of) {
    std::string flags;
    for (const std::string& flag : of.flags) flags += (flags.empty() ? " with " : ", ") + flag;
    return text_of(of.precision) + flags;
  };
  std::string note = fmt::format("{} is forecast slower than {}: {:.3g} against {:.3g} ms", text_of(own.precision),
                                 named(*beats), in_milliseconds(own.time), in_milliseconds(beats->time));
  if (fastest != beats)
    note += fmt::format("; {} is fastest, {:.3g} ms", named(*fastest), in_milliseconds(fastest->time));
  return note;
}

}  // namespace tilecast
