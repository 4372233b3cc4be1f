#include "kernel/custom.h"

#include <fmt/format.h>

#include "kernel/checks.h"

namespace tilecast {

Status Custom::check() const {
  if (auto positive = require_positive({{"ctas", ctas}, {"threads", threads}, {"registers", registers}}); !positive)
    return positive;
  if (threads > 1024) return field_error("threads", fmt::format("must be at most 1024, not {}", threads));
  if (registers > 255) return field_error("registers", fmt::format("must be at most 255, not {}", registers));
  if (l2_load_bytes > 0 && l2_load_bytes < load_bytes)
    return field_error("l2-load-bytes", "cannot be less than load-bytes: every byte read passes L2");
  if (l2_store_bytes > 0 && l2_store_bytes < store_bytes)
    return field_error("l2-store-bytes", "cannot be less than store-bytes: every byte written passes L2");
  if (tensor_ops + vector_ops + xu_ops + load_bytes + store_bytes + l2_load_bytes + l2_store_bytes + shared_bytes <= 0)
    return error("the kernel does nothing",
                 "give at least one of tensor-ops, vector-ops, xu-ops, load-bytes, store-bytes");
  return Ok{};
}

Result<Plan> plan(const Custom& shape, const Format& format, const Gpu& gpu, const Context&) {
  Launch launch;
  launch.name = "custom";
  launch.character = shape.character;
  launch.cta = {static_cast<int>(shape.threads), static_cast<int>(shape.registers), kibibytes(shape.shared_kib)};
  launch.ctas = shape.ctas;
  const bool fits = shape.threads <= gpu.max_threads_per_sm &&
                    shape.threads * shape.registers <= gpu.registers_per_sm &&
                    launch.cta.shared_memory <= gpu.shared_memory.per_cta;
  if (!fits)
    return error("a CTA of this shape does not fit an SM of " + gpu.name,
                 "fewer threads, registers or less shared memory");
  if (shape.tensor_ops > 0) {
    auto path = math_path(format, gpu);
    if (!path) return std::move(path).error();
    launch.math = *path;
  }
  Demand total;
  total.tensor = ops(shape.tensor_ops);
  total.vector = ops(shape.vector_ops);
  total.xu = ops(shape.xu_ops);
  total.shared = bytes(shape.shared_bytes);
  total.l2_load = bytes(shape.l2_load_bytes > 0 ? shape.l2_load_bytes : shape.load_bytes);
  total.l2_store = bytes(shape.l2_store_bytes > 0 ? shape.l2_store_bytes : shape.store_bytes);
  launch.required = total;  // the user's counts are the kernel
  launch.tasks = {{shape.ctas, total * (1.0 / static_cast<double>(shape.ctas)), shape.steps}};
  if (shape.load_bytes > 0)
    launch.operands.add({"loads", bytes(shape.load_bytes), Operand::Role::activation, true, false});
  if (shape.store_bytes > 0)
    launch.operands.add({"stores", bytes(shape.store_bytes), Operand::Role::activation, false, true});
  return Plan{{launch}};
}

}  // namespace tilecast
