// Every kernel family with its fields, and visiting whichever family a shape has. A source that knows which families it
// deals with includes their headers instead.
#pragma once

#include "kernel/attention_backward.h"
#include "kernel/attention_decode.h"
#include "kernel/attention_prefill.h"
#include "kernel/conv2d.h"
#include "kernel/copy.h"
#include "kernel/cross_entropy.h"
#include "kernel/custom.h"
#include "kernel/elementwise.h"
#include "kernel/embedding.h"
#include "kernel/gated_activation.h"
#include "kernel/gemm.h"
#include "kernel/kernel.h"
#include "kernel/kv_write.h"
#include "kernel/layernorm.h"
#include "kernel/mla_decode.h"
#include "kernel/mla_prefill.h"
#include "kernel/moe.h"
#include "kernel/optimizer.h"
#include "kernel/quantize.h"
#include "kernel/reduction.h"
#include "kernel/rmsnorm.h"
#include "kernel/rope.h"
#include "kernel/sampling.h"
#include "kernel/scan.h"
#include "kernel/softmax.h"

namespace tilecast {

struct ShapeVisit {
  template <class S, class Answer, class Ask, class SomeShape>
  static Answer one(Ask& ask, SomeShape& shape) {
    return ask(shape.template held<S>());
  }
  template <class Ask, class SomeShape, class... S>
  static decltype(auto) any(Ask& ask, SomeShape& shape, FamilyList<S...>) {
    using Answer = decltype(ask(shape.template held<Gemm>()));
    static constexpr Answer (*kCalls[])(Ask&, SomeShape&) = {one<S, Answer, Ask, SomeShape>...};
    return kCalls[shape.index()](ask, shape);
  }
};

// ask(shape of its family): as std::visit, every family gives an answer of the same type.
template <class Ask>
decltype(auto) visit(Ask&& ask, const Shape& shape) {
  return ShapeVisit::any(ask, shape, KernelFamilies{});
}
template <class Ask>
decltype(auto) visit(Ask&& ask, Shape& shape) {
  return ShapeVisit::any(ask, shape, KernelFamilies{});
}

}  // namespace tilecast
