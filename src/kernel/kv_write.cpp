#include "kernel/kv_write.h"

#include "kernel/checks.h"
#include "kernel/streaming.h"

namespace tilecast {
namespace {

// vLLM csrc/cache_kernels.cu, reshape_and_cache_flash: one CTA per token, up to 512 threads over its heads.
constexpr int kMostThreads = 512;

}  // namespace

Status KvWrite::check() const {
  if (auto positive = require_positive({{"tokens", tokens}, {"kv-heads", kv_heads}, {"head-dim", head_dim}}); !positive)
    return positive;
  return require_reasonable(2 * static_cast<double>(tokens) * static_cast<double>(kv_heads) *
                            static_cast<double>(head_dim));
}

Result<Plan> plan(const KvWrite& shape, const Format& format, const Gpu&, const Context&) {
  const double tokens = static_cast<double>(shape.tokens);
  const Count row = shape.kv_heads * shape.head_dim;
  const double elements = 2 * tokens * static_cast<double>(row);
  const int cache_bits = bits_of(format.math);
  const bool converts = cache_bits < bits_of(format.output);

  Stream stream;
  stream.name = "kv_write";
  stream.character = Character::gather;
  stream.ctas = shape.tokens;
  stream.cta = {threads_for(row, kMostThreads), 32, bytes(0)};
  stream.elements = elements;
  stream.slots = converts ? 2 : 0;  // scale and convert
  stream.steps = static_cast<double>(ceil_div(row, stream.cta.threads));
  return Plan{{streaming_launch(stream, {reads("keys_values", elements * in_bytes(size_of(format.output))),
                                         reads("slots", 8 * tokens), writes("cache", elements * cache_bits / 8)})}};
}

}  // namespace tilecast
