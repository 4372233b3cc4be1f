#include "kernel/streaming.h"

#include <algorithm>
#include <cmath>

#include "kernel/pytorch.h"

namespace tilecast {

Launch streaming_launch(const Stream& stream, std::initializer_list<Operand> operands) {
  Launch launch;
  launch.name = stream.name;
  launch.character = stream.character;
  launch.cta = stream.cta;
  launch.ctas = stream.ctas;
  Bytes loaded, stored;
  for (const Operand& operand : operands) {
    launch.operands.add(operand);
    if (operand.read) loaded += operand.size;
    if (operand.written) stored += operand.size;
  }
  const double share = 1.0 / static_cast<double>(stream.ctas);
  Demand each;
  each.vector = ops(2 * stream.slots * stream.elements * share);
  each.xu = ops(stream.xu * stream.elements * share);
  each.l2_load = loaded * (stream.passes * share);
  each.l2_store = stored * share;
  launch.tasks = {{stream.ctas, each, stream.steps}};
  launch.required.vector = ops(2 * stream.certain * stream.elements);
  return launch;
}

Stream pointwise_stream(std::string_view name, double elements, Bytes element, const Gpu& gpu, double slots, double xu,
                        TorchRelease release) {
  const int threads = pointwise_threads(gpu);
  const double per_cta = threads * pointwise_elements_per_thread(gpu, element, release);
  Stream stream;
  stream.name = name;
  stream.ctas = std::max<Count>(1, static_cast<Count>(std::ceil(elements / per_cta)));
  stream.cta = {threads, 32, bytes(0)};
  stream.elements = elements;
  stream.slots = slots;
  stream.xu = xu;
  return stream;
}

}  // namespace tilecast
