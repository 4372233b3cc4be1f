#include "kernel/mla_sources.h"

#include <algorithm>

#include "constants/mla.h"
#include "kernel/streaming.h"

namespace tilecast {

using namespace constants;

namespace {

const MlaConstants& constants_of(MlaDecoder decoder) {
  switch (decoder) {
    case MlaDecoder::flash_mla: break;
    case MlaDecoder::generated: return kGeneratedMla;
    case MlaDecoder::unsplit: return kUnsplitMla;
    case MlaDecoder::xqa: return kXqaMla;
    case MlaDecoder::triton: return kTritonMla;
  }
  return kFlashMla;
}

constexpr Count kXqaHeads = 128;     // what mla_sm120.cu is compiled for
constexpr double kCopyBytes = 8192;  // of a CTA: 128 threads, four loads of 16 bytes each

}  // namespace

MlaDecoder mla_decoder(const MlaQuestion& q, const Context& context, const Gpu& gpu) {
  if (context.kernel_source.says(KernelSource::Word::triton)) return MlaDecoder::triton;
  if (q.algorithm == AttentionAlgorithm::fa3) return MlaDecoder::flash_mla;
  if (q.algorithm == AttentionAlgorithm::blackwell) return MlaDecoder::generated;
  if (context.engine != Launcher::trtllm || gpu.vendor != Vendor::nvidia) return MlaDecoder::triton;
  const bool workstation = gpu.architecture == Architecture::blackwell;
  return workstation && q.cache == CacheType::fp8 && q.heads == kXqaHeads ? MlaDecoder::xqa : MlaDecoder::unsplit;
}

MlaWaits mla_waits(MlaDecoder decoder, CacheType cache, const Gpu& gpu) {
  const MlaConstants& c = constants_of(decoder);
  MlaWaits waits{gpu.tuned(c.task), gpu.tuned(c.row), gpu.tuned(c.block), gpu.tuned(kIdleMla)};
  const bool narrow = cache == CacheType::fp8 && gpu.architecture == Architecture::blackwell;
  if (decoder == MlaDecoder::unsplit && narrow) waits.block *= gpu.tuned(kUnsplitFp8);
  return waits;
}

Launch mla_copy(std::string_view name, double read, double written, double trips) {
  Stream stream;
  stream.name = name;
  stream.ctas = std::max<Count>(1, static_cast<Count>((read + written) / kCopyBytes));
  stream.cta = {128, 32, bytes(0)};
  stream.elements = written;
  stream.slots = 1;
  stream.steps = trips;
  Launch launch = streaming_launch(stream, {rereads("copied", read), scratch("copied", written)});
  launch.plan_known = false;
  return launch;
}

bool whole_layer(const Context& context) { return context.engine == Launcher::vllm && context.runtime == Runtime::eager; }

Seconds host_time(const Plan& plan, const Context& context) {
  const bool latent = !plan.launches.empty() && plan.launches.front().name.starts_with("mla_");
  if (!latent || !whole_layer(context)) return seconds(0);
  const KernelSource& source = context.kernel_source;
  return microseconds(source.says(KernelSource::Word::triton)     ? kMlaHostTriton
                      : source.says(KernelSource::Word::flashmla) ? kMlaHostFlashMla
                                                                  : kMlaHostFlash);
}

bool absorbed_prefill(const Context& context) {
  return context.engine == Launcher::sglang &&
         (context.kernel_source == KernelSource::flash_attention || context.kernel_source == KernelSource::triton);
}

}  // namespace tilecast
