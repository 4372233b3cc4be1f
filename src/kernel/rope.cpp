#include "kernel/rope.h"

#include "kernel/checks.h"
#include "kernel/streaming.h"

namespace tilecast {
namespace {

// vLLM csrc/pos_encoding_kernels.cu, rotary_embedding: one CTA per token, one thread per rotated pair of the query, up
// to 512.
constexpr int kMostThreads = 512;

}  // namespace

Status Rope::check() const {
  if (auto positive = require_positive({{"tokens", tokens}, {"heads", heads}, {"head-dim", head_dim}}); !positive)
    return positive;
  if (head_dim % 2 != 0) return field_error("head-dim", "must be even: elements rotate in pairs");
  return require_reasonable(static_cast<double>(tokens) * static_cast<double>(heads + kv_heads) *
                            static_cast<double>(head_dim));
}

Result<Plan> plan(const Rope& shape, const Format& format, const Gpu&, const Context&) {
  const double element = in_bytes(size_of(format.output));
  const double tokens = static_cast<double>(shape.tokens), dim = static_cast<double>(shape.head_dim);
  const Count kv_heads = shape.kv_heads > 0 ? shape.kv_heads : shape.heads;
  const double queries = tokens * static_cast<double>(shape.heads) * dim;
  const double keys = tokens * static_cast<double>(kv_heads) * dim;

  // One row of cosines and sines per token. The table serves every layer and sequence, and equal positions share a row,
  // so only one row is certain to be read.
  Operand table = reads("cos_sin", tokens * dim * element);
  table.certain = bytes(dim * element);

  Stream stream;
  stream.name = "rope";
  stream.ctas = shape.tokens;
  const Count pairs = shape.heads * shape.head_dim / 2;
  stream.cta = {threads_for(pairs, kMostThreads), 32, bytes(0)};
  stream.elements = queries + keys;
  stream.slots = 2;    // x*cos - y*sin: a multiply and a fused multiply-add
  stream.certain = 1;  // both can run packed, two 16-bit values a slot
  stream.steps = static_cast<double>(ceil_div(pairs, stream.cta.threads));
  return Plan{{streaming_launch(stream, {updates("queries", queries * element), updates("keys", keys * element), table,
                                         reads("positions", 8 * tokens)})}};
}

}  // namespace tilecast
