#include "kernel/scan.h"

#include <algorithm>
#include <utility>

#include "constants/scan.h"
#include "kernel/checks.h"
#include "kernel/scan_parts.h"

namespace tilecast {
namespace {

// The Triton causal_conv1d of vLLM and SGLang (mamba/ops/causal_conv1d.py): a program of four warps takes 8 tokens of
// 256 channels, and re-reads the tokens that its first taps reach back to; the update form takes a whole sequence.
constexpr Count kConvTokens = 8;
constexpr Count kConvChannels = 256;
constexpr int kConvThreads = 128;
constexpr Count kConvVector = 8;
constexpr double kSiluSlots = 5, kSiluXu = 2;  // exp and reciprocal

// fused_recurrent_* of flash-linear-attention as vLLM and SGLang vendor it: one warp holds all keys of up to 32 values
// of a head's state in registers. Mamba's selective_state_update: four warps, fewer values the larger the state
// dimension.
constexpr Count kDeltaValues = 32;
constexpr int kDeltaThreads = 32;
constexpr Count update_values(Count state_dim) {
  return state_dim <= 16 ? 32 : state_dim <= 32 ? 16 : state_dim <= 64 ? 8 : 4;
}
constexpr int update_threads(Count state_dim) { return state_dim <= 128 ? 128 : 256; }

constexpr double kDeltaSlots = 4;  // FMA slots per state element and token: decay, k.S, rank-one update, q.S
constexpr int kDeltaRegisters = 200, kUpdateRegisters = 32;

double conv_state_bytes(const Scan& s, const ScanSizes& z) {
  return z.batch * static_cast<double>(z.channels) * static_cast<double>(s.conv_width - 1) * z.element;
}

// TensorRT-LLM, like SGLang before 0.5.11, runs Tri Dao's CUDA kernels (causal_conv1d_fwd.cu): one CTA of 128 threads
// per channel of a sequence, eight tokens per thread, so short sequences leave most threads idle.
bool in_cuda(const Context& context) {
  return context.engine == Launcher::trtllm || context.kernel_source == KernelSource::causal_conv1d_cuda;
}
bool by_channel(const Scan& s, const Context& context) { return in_cuda(context) && s.phase == ScanPhase::context; }

Stream conv_stream(const Scan& s, const ScanSizes& z, const Gpu& gpu, const Context& context) {
  const Count channels = z.channels / s.convolutions;
  const bool whole = s.phase == ScanPhase::context;
  Stream stream;
  stream.name = whole ? "causal_conv1d" : "causal_conv1d_update";
  stream.cta = {kConvThreads, 40, bytes(0)};
  stream.steps = gpu.tuned(in_cuda(context) ? whole ? constants::kCudaConvTrips : constants::kCudaUpdateTrips
                                            : constants::kConvTrips);
  stream.xu = kSiluXu;
  stream.certain = static_cast<double>(s.conv_width) / 2;  // 16-bit values in pairs
  if (by_channel(s, context)) {
    const Count rounds = ceil_div(z.length, kConvThreads * kConvVector);
    stream.ctas = s.batch * channels;
    stream.elements = static_cast<double>(stream.ctas * rounds * kConvThreads * kConvVector);
    stream.slots = gpu.tuned(constants::kCudaConvSlots);
    if (z.length % kConvVector != 0) stream.slots *= gpu.tuned(constants::kScalarConv);
    stream.certain *= z.tokens * static_cast<double>(channels) / stream.elements;
    stream.xu *= z.tokens * static_cast<double>(channels) / stream.elements;
    return stream;
  }
  const Count pieces = whole ? ceil_div(z.length, kConvTokens) : 1;
  stream.ctas = s.batch * pieces * ceil_div(channels, kConvChannels);
  stream.elements = z.tokens * static_cast<double>(channels);
  stream.slots = gpu.tuned(constants::kTritonConvSlots);
  stream.steps +=
      gpu.tuned(constants::kConvTokenTrips) * static_cast<double>(std::min<Count>(z.length, kConvTokens) - 1);
  return stream;
}

Launch conv_launch(const Scan& s, const ScanSizes& z, const Gpu& gpu, const Context& context) {
  const double parts = static_cast<double>(s.convolutions), channels = static_cast<double>(z.channels) / parts;
  const Stream stream = conv_stream(s, z, gpu, context);
  const bool whole = s.phase == ScanPhase::context;
  const double x = z.tokens * channels * z.element, taps = channels * static_cast<double>(s.conv_width) * z.element;
  const double state = conv_state_bytes(s, z) / parts;
  // A new sequence only writes a state; later tokens shift it.
  const Operand kept = whole ? writes("conv_state", state) : updates("conv_state", state);
  Launch launch = whole ? streaming_launch(stream, {reads("x", x), writes("output", x), weights("taps", taps), kept})
                        : streaming_launch(stream, {updates("x", x), weights("taps", taps), kept});
  // What neighbouring CTAs load again: the taps, and the tokens before a piece.
  const Count pieces = whole && !by_channel(s, context) ? ceil_div(z.length, kConvTokens) : 1;
  const double reach = static_cast<double>(s.batch * (pieces - 1)) * static_cast<double>(s.conv_width - 1) * channels;
  const double again = taps * static_cast<double>(s.batch * pieces - 1) + reach * z.element;
  launch.tasks[0].each.l2_load += bytes(again / static_cast<double>(stream.ctas));
  return launch;
}

Plan conv_plan(const Scan& s, const ScanSizes& z, const Gpu& gpu, const Context& context) {
  return Plan{std::vector<Launch>(static_cast<std::size_t>(s.convolutions), conv_launch(s, z, gpu, context))};
}

// Operands of a recurrence: its inputs, its result, and the state before and after.
void add_recurrent_operands(Launch& launch, const Scan& s, const ScanSizes& z) {
  const double gates = z.tokens * z.heads * (s.kda() ? z.key : 1) * z.element;
  launch.operands.add(reads("queries_keys", 2 * z.qk_bytes()));
  launch.operands.add(reads("values", z.v_bytes()));
  launch.operands.add(reads("gates", gates));
  launch.operands.add(writes("output", z.v_bytes()));
  if (s.phase == ScanPhase::verify) {
    launch.operands.add(reads("state", z.state_bytes()));
    launch.operands.add(writes("checkpoints", z.state_bytes() * static_cast<double>(z.length)));
  } else if (s.carry) {
    // fused_recurrent_gated_delta_rule returns the state in fp32, whatever it was given.
    const bool widens = s.kind == ScanKind::recurrent_gated_delta && s.state == StateType::bf16;
    launch.operands.add(updates("state", z.state_bytes()));
    if (widens) launch.operands.add(scratch("widened", z.state_bytes()));
  }
  if (s.kind == ScanKind::fused_kda_decode) launch.operands.add(updates("conv_state", conv_state_bytes(s, z)));
}

Plan recurrent_plan(const Scan& s, const ScanSizes& z, const Gpu& gpu) {
  const bool mamba = s.kind == ScanKind::state_update;
  const Count values = mamba ? update_values(static_cast<Count>(z.key)) : kDeltaValues;
  const Count blocks = ceil_div(s.head_dim, values);
  Launch launch;
  launch.name = kScanKindNames[static_cast<std::size_t>(s.kind)];
  // Programs of the update hold so little that plenty of them hide each other's loads: a stream.
  launch.character = mamba ? Character::streaming : Character::scan;
  launch.ctas = blocks * s.batch * s.heads;
  const int threads = mamba ? update_threads(static_cast<Count>(z.key)) : kDeltaThreads;
  launch.cta = {threads, mamba ? kUpdateRegisters : kDeltaRegisters, bytes(0)};
  launch.plan_known = false;  // the values a program holds differ between versions (8 or 32)
  add_recurrent_operands(launch, s, z);

  Demand total;
  const double state_steps = z.tokens * z.heads * z.key * z.value;
  const double update_slots =
      gpu.tuned(constants::kUpdateSlots) * threads * static_cast<double>(launch.ctas * z.length);
  total.vector = ops(2 * (mamba ? update_slots : kDeltaSlots * state_steps));
  total.xu = ops(z.tokens * z.heads * (s.kda() ? z.key : 1));
  for (const Operand& operand : launch.operands) {
    if (operand.read) total.l2_load += operand.size;
    if (operand.written) total.l2_store += operand.size;
  }
  // Every block of values of every head loads its queries and keys itself.
  const double loaded_qk = 2 * z.tokens * z.heads * z.key * z.element * static_cast<double>(blocks);
  total.l2_load += bytes(loaded_qk - 2 * z.qk_bytes());
  if (s.kind == ScanKind::fused_kda_decode) {
    const double convolved = z.tokens * static_cast<double>(z.channels);
    total.vector += ops(2 * (static_cast<double>(s.conv_width) + kSiluSlots) * convolved);
    total.xu += ops(kSiluXu * convolved);
  }
  const bool fused = s.kind == ScanKind::fused_kda_decode;
  const double trips = gpu.tuned(mamba   ? constants::kUpdateTrips
                                 : fused ? constants::kFusedDecodeTrips
                                         : constants::kRecurrentTrips) +
                       gpu.tuned(constants::kTokenTrips) * static_cast<double>(z.length - 1);
  launch.tasks = {{launch.ctas, total * (1 / static_cast<double>(launch.ctas)), trips}};
  launch.required.vector = ops(2 * state_steps);  // the update; dot products could run on the tensor pipe
  return Plan{{launch}};
}

Status check_phase(const Scan& s) {
  if (s.chunked() && s.phase != ScanPhase::context)
    return field_error("phase", "a chunked scan belongs to context", "generation and verify use the recurrent kinds");
  if (s.phase == ScanPhase::generation && s.seq_len != 1)
    return field_error("seq-len", "must be 1 in generation", "use phase verify for several tokens");
  if (s.fused && !s.chunked()) return field_error("fused", "belongs to the chunked kinds");
  return Ok{};
}

}  // namespace

ScanSizes scan_sizes(const Scan& s, const Format& format) {
  const Count key_heads = s.key_heads > 0 ? s.key_heads : s.heads, key_dim = s.key_dim > 0 ? s.key_dim : s.head_dim;
  ScanSizes z{};
  z.batch = static_cast<double>(s.batch);
  z.tokens = z.batch * static_cast<double>(s.seq_len);
  z.heads = static_cast<double>(s.heads);
  z.key_heads = static_cast<double>(key_heads);
  z.value = static_cast<double>(s.head_dim);
  z.key = static_cast<double>(key_dim);
  z.element = in_bytes(size_of(format.output));
  z.state_element = s.state == StateType::fp32 ? 4 : 2;
  z.length = s.seq_len;
  z.chunk = s.chunk > 0 ? s.chunk : s.kind == ScanKind::ssd_chunk ? 256 : 64;
  z.channels = s.channels > 0 ? s.channels : 2 * key_heads * key_dim + s.heads * s.head_dim;
  return z;
}

Status Scan::check() const {
  if (auto positive = require_positive({{"batch", batch},
                                        {"seq-len", seq_len},
                                        {"heads", heads},
                                        {"head-dim", head_dim},
                                        {"conv-width", conv_width},
                                        {"convolutions", convolutions}});
      !positive)
    return positive;
  if (auto phase_ok = check_phase(*this); !phase_ok) return phase_ok;
  constexpr Count kMost = 1 << 20;  // of any dimension of a head, far beyond registers
  for (const Named& dim : {Named{"heads", heads}, Named{"head-dim", head_dim}, Named{"key-heads", key_heads},
                           Named{"key-dim", key_dim}, Named{"conv-width", conv_width}, Named{"chunk", chunk}})
    if (dim.value > kMost) return field_error(std::string(dim.name), fmt::format("must be at most {}", kMost));
  if (key_heads > heads || (key_heads > 0 && heads % key_heads != 0))
    return field_error("key-heads", "must divide heads");
  const ScanSizes z = scan_sizes(*this, Format{});
  if (convolutions > 16 || z.channels % convolutions != 0)
    return field_error("convolutions", "must divide the channels and be at most 16");
  return require_reasonable(z.tokens * (z.heads * (z.value + 2 * z.key) + static_cast<double>(z.channels)) +
                            (phase == ScanPhase::verify ? z.tokens : z.batch) * z.heads * z.key * z.value);
}

Result<Plan> plan(const Scan& shape, const Format& format, const Gpu& gpu, const Context& context) {
  const ScanSizes sizes = scan_sizes(shape, format);
  if (shape.kind == ScanKind::conv1d) return conv_plan(shape, sizes, gpu, context);
  if (!shape.chunked()) return recurrent_plan(shape, sizes, gpu);
  auto math = math_path(format, gpu);
  if (!math) return std::move(math).error();
  return shape.kind == ScanKind::ssd_chunk ? chunk_ssd_plan(shape, sizes, *math, gpu)
                                           : chunk_delta_plan(shape, sizes, *math, gpu, context);
}

}  // namespace tilecast
