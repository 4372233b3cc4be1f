#include "kernel/attention_sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "constants/attention.h"
#include "support/arithmetic.h"

namespace tilecast {

using namespace constants;

namespace {

constexpr int kRocmPartition = 256;  // keys of a CTA: vllm/attention/backends/rocm_flash_attn.py, _PARTITION_SIZE_ROCM

using Word = KernelSource::Word;

// TensorRT-LLM: its generated kernels on data-centre Blackwell for groups up to 32; before Blackwell XQA, if a group of
// 2 to 32 heads shares its keys, dimensions are multiples of 16 up to 256 and there is work for a quarter of the SMs
// (decoderXQARunner, mayHavePerfGain and supportConfig*); masked multi-head attention otherwise.
Decoder trtllm_decoder(const DecodeQuestion& q, const Gpu& gpu) {
  const Count group = q.heads.group();
  if (q.algorithm == AttentionAlgorithm::blackwell && group <= 32) return Decoder::generated;
  const Count parts = q.requests * q.heads.key * std::max<Count>(1, (q.keys - 1) / 128);
  const bool enough = 4 * parts >= gpu.sms || q.cache == CacheType::fp8;  // the exception is read off the tables
  if (group == 1 || group > 32 || q.heads.qk_dim > 256 || !enough) return Decoder::mmha;
  const bool hopper = gpu.tensor_generation() == TensorGeneration::wgmma;
  return hopper && q.cache == CacheType::fp8 ? Decoder::xqa_wgmma : Decoder::xqa;
}

// vllm/platforms/rocm.py, use_rocm_custom_paged_attention: heads of 64 or 128 elements in groups of up to 16; otherwise
// vLLM uses its plain kernel. There is no evidence for this before CDNA3, so decoding there stays with FlashAttention
// 2.
Decoder amd_decoder(const DecodeQuestion& q, const Context& context, const Gpu& gpu) {
  const KernelSource& source = context.kernel_source;
  if (source.says(Word::triton)) return Decoder::triton;
  if (source == KernelSource::vllm_paged_attention_v1) return Decoder::paged;
  if (source == KernelSource::rocm_paged_attention_2024) return Decoder::rocm_paged_2024;
  const bool recent = gpu.cdna3_or_later();
  if (!recent) return Decoder::fa2;
  if (q.algorithm == AttentionAlgorithm::aiter) return Decoder::aiter_paged;
  const bool taken = (q.heads.qk_dim == 64 || q.heads.qk_dim == 128) && q.heads.group() <= 16;
  return taken || context.engine != Launcher::vllm ? Decoder::rocm_paged : Decoder::paged;
}

}  // namespace

Decoder decoder_of(const DecodeQuestion& q, const Context& context, const Gpu& gpu) {
  const KernelSource& source = context.kernel_source;
  if (gpu.vendor == Vendor::amd) return amd_decoder(q, context, gpu);
  if (source.says(Word::triton)) return Decoder::triton;
  // FlashInfer passes requests on Blackwell to TRT-LLM-gen only if the source says so.
  if (own_flashinfer(context)) {
    const bool tensor = q.heads.group() >= 4 || q.cache == CacheType::fp8;
    return tensor ? Decoder::flashinfer : Decoder::flashinfer_vector;
  }
  if (context.engine == Launcher::trtllm && source == KernelSource::torch_flow) return trtllm_decoder(q, gpu);
  if (source == KernelSource::flash_attention) return Decoder::fa3;  // SGLang's build of FlashAttention 3 for Ampere
  switch (q.algorithm) {
    case AttentionAlgorithm::fa3: return Decoder::fa3;
    case AttentionAlgorithm::blackwell: return source == KernelSource::cudnn ? Decoder::cudnn : Decoder::generated;
    case AttentionAlgorithm::cudnn: return Decoder::cudnn;
    default: return Decoder::fa2;
  }
}

bool own_flashinfer(const Context& context) {
  const KernelSource& source = context.kernel_source;
  return source.says(Word::flashinfer) && !source.says(Word::trtllm) && !source.says(Word::torch_flow);
}

AttentionAlgorithm algorithm_named(const KernelSource& source) {
  if (source.says(Word::rocm_paged)) return AttentionAlgorithm::ck;
  switch (source.known()) {
    case KernelSource::flash_attention_2: return AttentionAlgorithm::fa2;
    case KernelSource::cudnn: return AttentionAlgorithm::cudnn;
    case KernelSource::efficient_attention: return AttentionAlgorithm::efficient;
    case KernelSource::ck_flash_attention:
    case KernelSource::vllm_paged_attention_v1: return AttentionAlgorithm::ck;
    case KernelSource::aiter_flash_attention:
    case KernelSource::aiter_paged_attention: return AttentionAlgorithm::aiter;
    default: return AttentionAlgorithm::automatic;
  }
}

Status check_source(const KernelSource& source, const Gpu& gpu) {
  constexpr std::array kNvidia = {Word::flashinfer, Word::flashmla,   Word::trtllm,     Word::torch_flow,
                                  Word::kin_of_fa3, Word::kin_of_fa4, Word::min_latency};
  const KernelSource::Known known = source.known();
  const bool amds = source.says(Word::rocm_paged) || known == KernelSource::rocm_triton_attention ||
                    known == KernelSource::ck_flash_attention || known == KernelSource::aiter_flash_attention ||
                    known == KernelSource::aiter_paged_attention;
  const bool nvidias = std::any_of(kNvidia.begin(), kNvidia.end(), [&](Word w) { return source.says(w); }) ||
                       known == KernelSource::cudnn || known == KernelSource::cublas || known == KernelSource::deepgemm;
  const auto refuse = [&](std::string_view whose) {
    return field_error("kernel-source", fmt::format("{} is {}, and {} is not", source.text(), whose, gpu.name),
                       "leave it out for the likeliest kernel there");
  };
  if (amds && gpu.vendor != Vendor::amd) return refuse("for AMD's cards");
  if (nvidias && gpu.vendor != Vendor::nvidia) return refuse("for NVIDIA's cards");
  const TensorGeneration generation = gpu.tensor_generation();
  if (known == KernelSource::flash_attention_3 && generation != TensorGeneration::wgmma) return refuse("for Hopper");
  if (known == KernelSource::flash_attention_4 && generation != TensorGeneration::tcgen05)
    return refuse("for data-centre Blackwell");
  if (!resolve_algorithm(algorithm_named(source), gpu)) return refuse("for later cards");
  return Ok{};
}

KernelSource kept_as(const KernelSource& source) {
  if (source == KernelSource::vllm_flash_attn) return KernelSource::vllm_flash_attn_fa2;  // vLLM 0.14 on A100
  if (source == KernelSource::flash_attention) return KernelSource::fa3;                  // SGLang 0.5.10 on A100
  return source;
}

bool honours_window(const Context& context, Count window) {
  // Read off the tables: SGLang's rows with 8192 take as long as without, except FlashAttention 3's.
  return !(context.engine == Launcher::sglang && window == 8192 && !context.kernel_source.says(Word::fa3));
}

namespace {

// Clocks, not nanoseconds, agree between A100 at 1.41 GHz and L40S at 2.52 GHz: one set for every card.
const DecoderConstants& waits_of(Decoder decoder, const Gpu& gpu) {
  switch (decoder) {
    case Decoder::fa2: break;
    case Decoder::fa3:  // before Hopper it is another kernel, without warps that only load
      return gpu.tensor_generation() == TensorGeneration::wgmma ? kFa3WgmmaDecoder : kFa3Decoder;
    case Decoder::generated: return kGeneratedDecoder;
    case Decoder::xqa: return kXqaDecoder;
    case Decoder::xqa_wgmma: return kXqaWgmmaDecoder;
    case Decoder::mmha: return kMmhaDecoder;
    case Decoder::flashinfer: return kFlashinferDecoder;
    case Decoder::flashinfer_vector: return kFlashinferVectorDecoder;
    case Decoder::triton: return kTritonDecoder;
    case Decoder::cudnn: return kCudnnDecoder;
    case Decoder::paged:
    case Decoder::rocm_paged_2024: return kPagedDecoder;
    case Decoder::rocm_paged:
    case Decoder::aiter_paged: return kAmdDecoder;
  }
  return kFa2Decoder;
}

// Cards with fp8 but older than Hopper convert an fp8 cache to what they multiply at a cost; newer ones handle its
// elements like 16-bit ones.
bool converts_slowly(const Gpu& gpu) {
  return gpu.tensor_generation() == TensorGeneration::mma && gpu.architecture < Architecture::hopper;
}
bool converts_for_free(const Gpu& gpu) {
  return gpu.tensor_generation() == TensorGeneration::mma && !converts_slowly(gpu);
}

PrefillWaits waits_of(const PrefillConstants& constants, const Gpu& gpu) {
  return {gpu.tuned(constants.task), gpu.tuned(constants.products)};
}

}  // namespace

int rows_up_to(Count rows, Count least, Count most) {
  return static_cast<int>(std::clamp(static_cast<Count>(std::bit_ceil(static_cast<std::uint64_t>(rows))), least, most));
}

DecoderShape decoder_shape(Decoder decoder, const DecodeQuestion& q, const Gpu& gpu) {
  DecoderShape s;
  s.packed = decoder != Decoder::mmha;  // masked multi-head attention has a CTA for every query head
  const DecoderConstants& waits = waits_of(decoder, gpu);
  const double dim = static_cast<double>(q.heads.qk_dim) / kReferenceHeadDim;
  s.task_clocks = gpu.tuned(waits.task) + gpu.tuned(waits.task_dim) * dim +
                  gpu.tuned(waits.row) * static_cast<double>(s.packed ? q.heads.group() : 1);
  s.step_clocks = gpu.tuned(waits.step);
  s.join_clocks = gpu.tuned(waits.join);
  s.clocks_per_kib = gpu.tuned(q.cache == CacheType::fp8 ? waits.fp8_kib : waits.kib);
  if (q.cache == CacheType::fp8 && converts_for_free(gpu))
    s.clocks_per_kib = std::min(s.clocks_per_kib, 2 * gpu.tuned(waits.kib));
  const double row_bytes = static_cast<double>(q.heads.qk_dim) * (q.cache == CacheType::fp8 ? 2 : 4);
  switch (decoder) {
    case Decoder::fa2:
    case Decoder::generated: break;  // their tiles are flash_tile.h's
    case Decoder::fa3:  // on Hopper too; elsewhere hopper/tile_size.h, tile_size_fwd_sm8x, for a paged cache
      s.rows = 64, s.keys = q.heads.qk_dim <= 128 ? 128 : 64;
      s.cta = {256, 255, bytes(0)};
      break;
    case Decoder::xqa:
      s.rows = rows_up_to(q.heads.group(), 16, 32), s.keys = 128;
      s.joins_itself = true;
      s.cta = {256, 255, bytes(0)};
      break;
    case Decoder::xqa_wgmma:
      s.rows = rows_up_to(q.heads.group(), 8, 32), s.keys = 64;
      s.joins_itself = true;
      s.cta = {384, 80, bytes(0)};
      break;
    case Decoder::mmha:
      // Converting an fp8 cache costs Ada three times the whole task (L40S tables, at any length); not Hopper.
      if (q.cache == CacheType::fp8 && converts_slowly(gpu))
        s.task_clocks *= gpu.tuned(kMmhaFp8), s.clocks_per_kib *= gpu.tuned(kMmhaFp8);
      s.rows = 1, s.keys = 64;
      s.vector = true, s.joins_itself = true;
      s.cta = {256, 64, bytes(0)};
      break;
    case Decoder::flashinfer:
      s.rows = q.heads.group() > 16 ? 64 : 16, s.keys = 64;
      s.cta = {128, 255, bytes(64 * row_bytes)};
      break;
    case Decoder::flashinfer_vector:
      s.rows = static_cast<int>(q.heads.group()), s.keys = 32;
      s.vector = true;
      s.cta = {128, 64, bytes(64 * row_bytes)};
      break;
    case Decoder::triton:
      s.rows = 16, s.keys = 32;
      s.cta = {128, 168, bytes(64 * row_bytes)};
      break;
    case Decoder::cudnn:  // cudnn_generated_fort_native_sdpa_sm80_flash_fprop_wmma ... 16x128
      s.rows = 16, s.keys = 128;
      s.cta = {128, 168, bytes(128 * row_bytes)};
      break;
    case Decoder::paged:  // csrc/attention/attention_kernels.cu: two waves, scores in the LDS
      s.rows = 1, s.keys = 16;
      s.packed = false, s.vector = true, s.serial = true;
      s.clocks_per_key = gpu.tuned(q.bfloat ? kPagedBfloat : kPagedHalf) * dim;
      s.cta = {128, 64, bytes(4.0 * static_cast<double>(q.keys))};
      break;
    case Decoder::rocm_paged:  // csrc/rocm/attention.cu, paged_attention_ll4mi_QKV_mfma*_kernel: four waves
    case Decoder::rocm_paged_2024:
      s.rows = 16, s.keys = kRocmPartition;
      s.serial = decoder == Decoder::rocm_paged_2024;
      if (s.serial) s.clocks_per_key = gpu.tuned(kRocmPaged) * dim * static_cast<double>(q.heads.group());
      s.cta = {256, 128, bytes(4.0 * kRocmPartition * 16)};
      break;
    case Decoder::aiter_paged:  // csrc/py_itfs_cu/asm_pa.cu: a CTA for each key head and request
      s.rows = 16, s.keys = 64;
      s.joins_itself = true;
      s.cta = {256, 128, bytes(64 * row_bytes)};
      break;
  }
  s.cta.shared_memory = std::min(s.cta.shared_memory, gpu.shared_memory.per_cta);
  return s;
}

Helpers decode_helpers(Decoder decoder, const DecodeQuestion& q, const Context& context, const Gpu& gpu) {
  Helpers h;
  // Steps by what a helper adds to the smallest shapes: FlashAttention 2's combine 6 us on A100 and 3.5 on L40S, its
  // copies 3 and 1.7, a cast 1.1 on H200.
  const bool fa3_before_hopper = decoder == Decoder::fa3 && gpu.tensor_generation() == TensorGeneration::mma;
  h.combine_steps = decoder == Decoder::fa2 || fa3_before_hopper ? kFa2CombineSteps : kCombineSteps;
  if (fa3_before_hopper) h.start_clocks = kFa3MmaStartClocks;
  // FlashAttention 2, mha_varlen_fwd: (key heads, group) are swapped, by copies unless one of the sizes is one.
  if (decoder == Decoder::fa2 && q.swapped() && q.requests > 1 && q.heads.key > 1)
    h.copies = 2, h.copy_steps = kFa2CopySteps;
  // TensorRT-LLM rotates queries and stores keys before all but the masked and Hopper kernels; the three of Blackwell
  // are its floor over Hopper's.
  if (context.engine == Launcher::trtllm)
    h.copies = decoder == Decoder::generated ? 3 : decoder == Decoder::xqa ? 1 : 0, h.copy_steps = kTrtllmCopySteps;
  else if (decoder == Decoder::generated) h.start_clocks = kGeneratedStartClocks;
  if (q.cache != CacheType::fp8) return h;
  if (context.engine == Launcher::sglang) h.copies = decoder == Decoder::triton ? 2 : 3, h.copy_steps = kCastSteps;
  if (context.engine == Launcher::vllm && decoder == Decoder::fa3) h.copies = 1, h.copy_steps = kCastSteps;
  return h;
}

Passes prefill_passes(const Context& context, const Gpu& gpu) {
  // Read off short prompts in large batches, which are limited by DRAM (A100, L40S): 2.9 to 3.1 reads of keys and
  // values for vLLM and SGLang, including the attention's own. TensorRT-LLM rotates queries before its kernel: 3 of
  // them more than other engines, 5 on data-centre Blackwell.
  if (context.engine == Launcher::trtllm) {
    const bool tcgen = gpu.tensor_generation() == TensorGeneration::tcgen05;
    return {tcgen ? kTrtllmTcgenQueryPasses : kTrtllmQueryPasses, kTrtllmKeyPasses, 0};
  }
  const bool plans =
      context.kernel_source == KernelSource::flashinfer && gpu.tensor_generation() == TensorGeneration::tcgen05;
  if (context.engine == Launcher::vllm || context.engine == Launcher::sglang)
    return {0, kServedKeyPasses, plans ? kFlashinferPlanKernels : 0};
  return {};
}

PrefillWaits prefill_waits(AttentionAlgorithm resolved, const Context& context, const Gpu& gpu) {
  // Fitted to the prefill rows of all six cards, like the decoders' clocks. Triton's kernels leave most of a wide
  // tensor pipe idle.
  if (context.kernel_source.says(Word::triton)) {
    switch (gpu.tensor_generation()) {
      case TensorGeneration::wgmma: return waits_of(kTritonWgmmaPrefill, gpu);
      case TensorGeneration::tcgen05: return waits_of(kTritonTcgenPrefill, gpu);
      default: return waits_of(kTritonPrefill, gpu);
    }
  }
  switch (resolved) {
    case AttentionAlgorithm::fa3: return waits_of(kFa3Prefill, gpu);
    case AttentionAlgorithm::blackwell: return waits_of(kBlackwellPrefill, gpu);
    default: return waits_of(kFa2Prefill, gpu);
  }
}

namespace {

PrefillWaits waits_of(const LoopConstants& constants, const LoopQuestion& q, Count tiles, const Gpu& gpu) {
  const double first = gpu.tuned(q.algorithm == AttentionAlgorithm::cudnn ? kFirstTileCudnn : kFirstTileOthers);
  const double on_an_sm = static_cast<double>(std::max<Count>(1, ceil_div(tiles, Count{gpu.sms})));
  // Wide heads wait for shared memory, which hides the masks.
  const bool guarded = q.algorithm == AttentionAlgorithm::fa2 && q.dim < q.compiled;
  const double products = gpu.tuned(constants.products) * (q.compiled > 128 ? gpu.tuned(constants.wide) : 1.0) *
                          (guarded ? gpu.tuned(kPaddedProducts) : 1.0);
  return {gpu.tuned(constants.task) + first / on_an_sm, products,
          gpu.tuned(constants.score) + (q.window && q.compiled <= 128 ? gpu.tuned(constants.window) : 0.0)};
}

}  // namespace

std::optional<PrefillWaits> loop_waits(const LoopQuestion& q, Count tiles, const Gpu& gpu) {
  const TensorGeneration generation = gpu.tensor_generation();
  const bool asynchronous = generation == TensorGeneration::wgmma || generation == TensorGeneration::tcgen05;
  switch (q.algorithm) {
    case AttentionAlgorithm::cudnn: return waits_of(q.backward ? kCudnnBackward : kCudnnForward, q, tiles, gpu);
    case AttentionAlgorithm::efficient:
      return waits_of(q.backward ? kEfficientBackward : kEfficientForward, q, tiles, gpu);
    case AttentionAlgorithm::ck:
    case AttentionAlgorithm::aiter:
      if (q.backward) return std::nullopt;
      return waits_of(q.algorithm == AttentionAlgorithm::ck ? kCkForward : kAiterForward, q, tiles, gpu);
    case AttentionAlgorithm::fa2:
      if (gpu.vendor != Vendor::nvidia) return std::nullopt;
      if (q.backward) return waits_of(kFa2Backward, q, tiles, gpu);
      // Forward, before Hopper, the engines' tables say more (prefill_waits).
      if (asynchronous) return waits_of(kFa2Forward, q, tiles, gpu);
      return std::nullopt;
    default:
      if (q.backward) return waits_of(kAsyncBackward, q, tiles, gpu);
      return std::nullopt;
  }
}

double instruction_share(AttentionAlgorithm resolved, const Gpu& gpu) {
  if (resolved != AttentionAlgorithm::fa2 && resolved != AttentionAlgorithm::efficient) return 1;
  switch (gpu.tensor_generation()) {
    case TensorGeneration::wgmma: return kMmaSyncShare;
    case TensorGeneration::tcgen05: return kMmaSyncShareTcgen;
    default: return 1;
  }
}

int decoder_splits(Decoder decoder, const DecodeQuestion& q, Count tiles, const Gpu& gpu) {
  if (decoder == Decoder::rocm_paged || decoder == Decoder::rocm_paged_2024)
    return static_cast<int>(std::max<Count>(1, ceil_div(q.keys, kRocmPartition)));
  const double sms = gpu.sms, all = static_cast<double>(std::max<Count>(1, tiles));
  switch (decoder) {
    case Decoder::xqa:
    case Decoder::xqa_wgmma: {
      // An fp8 cache before Hopper runs without splits: one CTA's time at any batch (L40S tables).
      if (decoder == Decoder::xqa && q.cache == CacheType::fp8) return 1;
      // computeMultiBlockCount: at least 128 tokens per block, growing with the root of the length, up to eight waves.
      const double blocks = std::floor(static_cast<double>(q.keys - 1) / 128);
      double count = std::max(1.0, std::min(blocks, std::round(std::sqrt(8 * blocks))));
      const double waves = all * count / sms;
      if (waves > 8) count = std::floor(count * 8 / waves);
      return static_cast<int>(std::max(1.0, count));
    }
    case Decoder::mmha:
      return static_cast<int>(
          std::clamp(std::ceil(4 * sms / all), 1.0, std::max(1.0, std::ceil(static_cast<double>(q.keys) / 256))));
    case Decoder::flashinfer:
    case Decoder::flashinfer_vector:
      return static_cast<int>(
          std::clamp(std::floor(2 * sms / all), 1.0, std::max(1.0, std::ceil(static_cast<double>(q.keys) / 128))));
    case Decoder::triton:  // SGLang's get_num_kv_splits_triton, at most eight
      return static_cast<int>(
          std::clamp(std::ceil(sms * std::max(1.0, std::log2(static_cast<double>(q.keys) / 64)) / all), 1.0,
                     std::clamp(std::ceil(static_cast<double>(q.keys) / 32), 1.0, 8.0)));
    case Decoder::cudnn: {
      // Read off the grids of 63 shapes on an H200 (data/measurements/h200_attention_kernels.csv.gz): a power of two
      // that keeps two CTAs per SM, with at least a block of 128 keys each; none below 1024 keys.
      if (q.keys < 1024) return 1;
      const double room = std::max(1.0, 2 * sms / all);
      return static_cast<int>(
          std::min(std::exp2(std::floor(std::log2(room))), std::ceil(static_cast<double>(q.keys) / 128)));
    }
    case Decoder::fa3:  // its build for Ampere keeps one wave
      return static_cast<int>(std::clamp(std::floor(sms / all), 1.0, std::ceil(static_cast<double>(q.keys) / 128)));
    default: return 1;
  }
}

}  // namespace tilecast
