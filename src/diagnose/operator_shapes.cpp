// Operators to shapes that can be forecast: one table, a line each.
#include <algorithm>

#include "diagnose/shape_parts.h"
#include "kernel/attention_backward.h"
#include "kernel/attention_decode.h"
#include "kernel/attention_prefill.h"
#include "kernel/conv2d.h"
#include "kernel/copy.h"
#include "kernel/elementwise.h"
#include "kernel/embedding.h"
#include "kernel/gated_activation.h"
#include "kernel/gemm.h"
#include "kernel/kv_write.h"
#include "kernel/layernorm.h"
#include "kernel/moe.h"
#include "kernel/optimizer.h"
#include "kernel/reduction.h"
#include "kernel/rmsnorm.h"
#include "kernel/softmax.h"

namespace tilecast {
namespace {

using F = WorkFamily;
using Dimensions = std::vector<Count>;

const Dimensions kNone;
const Dimensions& input(const OperatorCall& op, std::size_t i) { return i < op.dims.size() ? op.dims[i] : kNone; }
std::string_view scalar(const OperatorCall& op, std::size_t i) {
  return i < op.scalars.size() ? std::string_view(op.scalars[i]) : std::string_view();
}

Count product(const Dimensions& dims, std::size_t from = 0, std::size_t to = 16) {
  double all = 1;
  for (std::size_t i = from; i < std::min(to, dims.size()); ++i) all *= static_cast<double>(dims[i]);
  return all < 1e14 ? static_cast<Count>(all) : 0;
}
Count rows_of(const Dimensions& dims) { return dims.empty() ? 0 : product(dims, 0, dims.size() - 1); }
Count last_of(const Dimensions& dims) { return dims.empty() ? 0 : dims.back(); }

// A maker returns nothing where the dims do not fit the operator it reads.
using Made = std::optional<Shape>;
using Maker = Made (*)(const OperatorCall&, std::string_view kernel_name);

Made product_of(const Dimensions& a, const Dimensions& b) {
  if (a.size() == 2 && b.size() == 2 && a[1] == b[0]) return Gemm{a[0], b[1], a[1]};
  if (a.size() == 3 && b.size() == 3 && a[0] == b[0] && a[2] == b[1]) return Bmm{a[0], a[1], b[2], a[2]};
  return std::nullopt;
}
Made first_two(const OperatorCall& op, std::string_view) { return product_of(input(op, 0), input(op, 1)); }
Made after_bias(const OperatorCall& op, std::string_view) { return product_of(input(op, 1), input(op, 2)); }
Made linear(const OperatorCall& op, std::string_view) {
  const Dimensions &x = input(op, 0), &w = input(op, 1);
  if (x.empty() || w.size() != 2 || x.back() != w[1]) return std::nullopt;
  return Gemm{rows_of(x), w[0], w[1]};
}

bool is_true(std::string_view scalar) { return scalar == "True" || scalar == "true" || scalar == "1"; }

// The stride that gives a result of `to` from a side of `from`, without padding where one does, else with the least.
// Several strides can; they do the same work.
struct Step {
  Count stride = 0, padding = 0;
};
std::optional<Step> step_between(Count from, Count to, Count filter) {
  for (Count padding = 0; padding < filter; ++padding) {
    const Count reach = from + 2 * padding - filter;
    if (reach < 0 || to < 1 || to > reach + 1) continue;
    const Count stride = to == 1 ? reach + 1 : reach / (to - 1);
    if (reach / stride + 1 == to) return Step{stride, padding};
  }
  return std::nullopt;
}

// Where the values of stride and padding were not recorded, the dims of the result tell them; without either there is
// no shape, because a stride of sixteen means a 256th of the work.
Made convolution(const OperatorCall& op, std::size_t stride, std::size_t padding, std::size_t dilation) {
  const Dimensions &x = input(op, 0), &w = input(op, 1);
  if (x.size() != 4 || w.size() != 4 || w[1] < 1 || x[1] % w[1] != 0) return std::nullopt;
  Conv2d conv;
  conv.batch = x[0], conv.in_channels = x[1], conv.height = x[2], conv.width = x[3];
  conv.out_channels = w[0], conv.kernel_h = w[2], conv.kernel_w = w[3];
  conv.groups = x[1] / w[1];
  if (!scalar(op, stride).empty() && !scalar(op, padding).empty() && !scalar(op, dilation).empty()) {
    conv.stride = std::max<Count>(1, first_number(scalar(op, stride)));
    conv.padding = first_number(scalar(op, padding));
    conv.dilation = std::max<Count>(1, first_number(scalar(op, dilation)));
    return conv;
  }
  if (op.result.size() != 4) return std::nullopt;
  const auto down = step_between(x[2], op.result[2], w[2]), across = step_between(x[3], op.result[3], w[3]);
  if (!down || !across || down->stride != across->stride || down->padding != across->padding) return std::nullopt;
  conv.stride = down->stride, conv.padding = down->padding;
  return conv;
}
// aten::cudnn_convolution(input, weight, padding, stride, dilation, groups, ...)
Made cudnn_convolution(const OperatorCall& op, std::string_view) { return convolution(op, 3, 2, 4); }
// aten::convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
Made plain_convolution(const OperatorCall& op, std::string_view) {
  return is_true(scalar(op, 6)) ? std::nullopt : convolution(op, 3, 4, 5);
}

// Queries of this many or fewer against more keys are decoding.
constexpr Count kMostNewTokens = 8;

// Inputs q, k, v from `first`; tokens stand on axis 1 of [batch, tokens, heads, dim], or on axis 2 where heads come
// first. `mask` is the scalar that says causal.
Made attention(const OperatorCall& op, std::size_t first, bool heads_first, std::size_t mask, bool backward,
               std::string_view kernel_name) {
  const Dimensions &q = input(op, first), &k = input(op, first + 1), &v = input(op, first + 2);
  if (q.size() != 4 || k.size() != 4 || v.size() != 4) return std::nullopt;  // packed: lengths are not recorded
  const std::size_t tokens = heads_first ? 2 : 1, heads = heads_first ? 1 : 2;
  const bool causal = is_true(scalar(op, mask));
  if (!backward && q[tokens] <= kMostNewTokens && k[tokens] > 4 * q[tokens]) {
    AttentionDecode decode;
    decode.batch = q[0], decode.kv_len = k[tokens], decode.heads = q[heads], decode.kv_heads = k[heads];
    decode.head_dim = q[3], decode.q_len = q[tokens], decode.page_size = 0;
    decode.algorithm = algorithm_of(kernel_name);
    return decode;
  }
  AttentionPrefill prefill;
  prefill.batch = q[0], prefill.q_len = q[tokens], prefill.kv_len = k[tokens];
  prefill.heads = q[heads], prefill.kv_heads = k[heads];
  prefill.head_dim = q[3];
  if (v[3] != q[3]) prefill.v_head_dim = v[3];
  prefill.mask = causal && k[tokens] >= q[tokens] ? AttentionMask::causal : AttentionMask::full;
  prefill.algorithm = algorithm_of(kernel_name);
  if (backward) return AttentionBackward{prefill};
  return prefill;
}
// aten::_flash_attention_forward(q, k, v, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal, ...)
Made flash_forward(const OperatorCall& op, std::string_view name) { return attention(op, 0, false, 8, false, name); }
// aten::_flash_attention_backward(grad_out, q, k, v, out, lse, cum_q, cum_k, max_q, max_k, dropout_p, is_causal, ...)
Made flash_backward(const OperatorCall& op, std::string_view name) { return attention(op, 1, false, 11, true, name); }
// aten::_cudnn_attention_forward(q, k, v, bias, cum_q, cum_k, max_q, max_k, log_sumexp, dropout_p, is_causal, ...)
Made cudnn_forward(const OperatorCall& op, std::string_view name) { return attention(op, 0, true, 10, false, name); }
// aten::_scaled_dot_product_cudnn_attention(q, k, v, bias, log_sumexp, dropout_p, is_causal, ...)
Made cudnn_sdpa(const OperatorCall& op, std::string_view name) { return attention(op, 0, true, 6, false, name); }
// aten::_scaled_dot_product_flash_attention(q, k, v, dropout_p, is_causal, ...)
Made flash_sdpa(const OperatorCall& op, std::string_view name) { return attention(op, 0, true, 4, false, name); }
// aten::_efficient_attention_forward(q, k, v, bias, cu_q, cu_k, max_q, max_k, dropout_p, custom_mask_type, ...)
Made efficient_forward(const OperatorCall& op, std::string_view name) {
  return attention(op, 0, false, 9, false, name);
}

template <class Norm, bool backward, std::size_t at>
Made norm(const OperatorCall& op, std::string_view) {
  const Dimensions& x = input(op, at);
  if (x.size() < 2) return std::nullopt;
  Norm made;
  made.rows = rows_of(x), made.cols = last_of(x), made.backward = backward;
  return made;
}
Made residual_norm(const OperatorCall& op, std::string_view) {
  const Dimensions& x = input(op, 0);
  if (x.size() < 2) return std::nullopt;
  return RmsNorm{rows_of(x), last_of(x), true};
}
template <bool backward>
Made softmax(const OperatorCall& op, std::string_view) {
  const Dimensions& x = input(op, 0);
  if (x.empty()) return std::nullopt;
  return Softmax{rows_of(x), last_of(x), backward};
}
Made reduction(const OperatorCall& op, std::string_view) {
  const Dimensions& x = input(op, 0);
  if (x.empty()) return std::nullopt;
  return Reduction{rows_of(x), last_of(x)};
}

double width_of(std::string_view type) {
  constexpr std::pair<std::string_view, double> kWidths[] = {{"Float8", 1}, {"BFloat16", 2}, {"Half", 2}, {"double", 8},
                                                             {"float", 4},  {"long", 8},     {"bool", 1}, {"int", 4}};
  for (const auto& [word, width] : kWidths)
    if (contains(type, word)) return width;
  return 0;
}

// Tensors are read from memory once each; those much smaller than the largest cost nothing. Wider types count as
// several of the narrowest, whose format the shape gets.
struct Sizes {
  Count largest = 0, tensors = 0;
};
Sizes sizes_of(const OperatorCall& op) {
  Sizes sizes;
  double narrowest = 8, widths = 0;
  for (const Dimensions& dims : op.dims)
    if (!dims.empty()) sizes.largest = std::max(sizes.largest, product(dims));
  const auto width_at = [&](std::size_t i) {
    const double width = i < op.types.size() ? width_of(op.types[i]) : 0;
    return width > 0 ? width : 2;
  };
  const auto large = [&](std::size_t i) { return !op.dims[i].empty() && product(op.dims[i]) * 4 >= sizes.largest; };
  for (std::size_t i = 0; i < op.dims.size(); ++i)
    if (large(i)) narrowest = std::min(narrowest, width_at(i)), widths += width_at(i);
  sizes.tensors = static_cast<Count>(widths / narrowest);
  return sizes;
}
PointwiseOp pointwise_op(std::string_view name) {
  constexpr std::pair<std::string_view, PointwiseOp> kOps[] = {
      {"gelu", PointwiseOp::gelu}, {"silu", PointwiseOp::silu}, {"tanh", PointwiseOp::tanh},
      {"relu", PointwiseOp::relu}, {"exp", PointwiseOp::exp},   {"pow", PointwiseOp::square},
      {"div", PointwiseOp::div},   {"mul", PointwiseOp::mul},   {"copy", PointwiseOp::copy}};
  for (const auto& [word, op] : kOps)
    if (contains(name, word)) return op;
  return PointwiseOp::add;
}
Made pointwise(const OperatorCall& op, std::string_view) {
  const Sizes sizes = sizes_of(op);
  if (sizes.largest == 0) return std::nullopt;
  Elementwise made;
  made.elements = sizes.largest, made.inputs = std::clamp<Count>(sizes.tensors, 1, 8);
  made.op = pointwise_op(op.name);
  return made;
}
// A compiled kernel names its results among its inputs.
Made compiled(const OperatorCall& op, std::string_view) {
  const Sizes sizes = sizes_of(op);
  if (sizes.largest == 0 || sizes.tensors < 2) return std::nullopt;
  Elementwise made;
  made.elements = sizes.largest, made.inputs = std::clamp<Count>(sizes.tensors - 1, 1, 8);
  return made;
}
Made moved(const OperatorCall& op, std::string_view) {
  const Sizes sizes = sizes_of(op);
  if (sizes.largest == 0) return std::nullopt;
  if (op.name == "aten::copy_" && sizes.tensors > 2) {  // a cast: the wider side counts for more
    Elementwise cast;
    cast.elements = sizes.largest, cast.inputs = std::min<Count>(8, sizes.tensors - 1), cast.op = PointwiseOp::copy;
    return cast;
  }
  Copy copy;
  copy.elements = sizes.largest;
  return copy;
}
// aten::index_select(table, dim, index), aten::embedding(table, index)
Made looked_up(const OperatorCall& op, std::string_view) {
  const Dimensions& table = input(op, 0);
  const Dimensions& index = op.name == "aten::embedding" ? input(op, 1) : input(op, 2);
  if (table.size() != 2 || index.empty()) return std::nullopt;
  Embedding made;
  made.tokens = product(index), made.vocab = table[0], made.cols = table[1];
  return made;
}
// aten::_fused_adamw_(params, grads, exp_avgs, exp_avg_sqs, ...): lists, of which the reader keeps all elements.
Made fused_optimizer(const OperatorCall& op, std::string_view) {
  if (input(op, 0).size() != 1) return std::nullopt;
  Optimizer made;
  made.params = input(op, 0)[0];
  made.kind = contains(op.name, "adamw")  ? OptimizerKind::adamw
              : contains(op.name, "adam") ? OptimizerKind::adam
                                          : OptimizerKind::sgd;
  return made;
}
// vllm::inplace_fused_experts(tokens, gate and up, down, weights, experts of tokens, ...), SGLang's, and our own of
// tools/.
Made experts(const OperatorCall& op, std::string_view kernel_name) {
  const Dimensions &x = input(op, 0), &up = input(op, 1), &down = input(op, 2), &chosen = input(op, 3);
  if (x.size() != 2 || up.size() != 3 || down.size() != 3 || chosen.size() != 2 || up[0] != down[0] || up[2] != x[1])
    return std::nullopt;
  Moe moe;
  moe.tokens = x[0], moe.hidden = x[1], moe.inter = down[2], moe.experts = up[0], moe.topk = chosen[1];
  moe.gated = up[1] == 2 * down[2];
  if (contains(kernel_name, "fused_moe_kernel")) moe.style = MoeStyle::triton;
  return moe;
}
Made gated(const OperatorCall& op, std::string_view) {
  const Dimensions &out = input(op, 0), &in = input(op, 1);
  if (out.size() < 2 || in.size() != out.size() || in.back() != 2 * out.back()) return std::nullopt;
  GatedActivation made;
  made.rows = rows_of(out), made.cols = out.back();
  if (contains(op.name, "gelu")) made.act = Gate::gelu;
  return made;
}
Made cache_write(const OperatorCall& op, std::string_view) {
  const Dimensions& k = input(op, 0);
  if (k.size() != 3) return std::nullopt;
  return KvWrite{k[0], k[1], k[2]};
}

struct OperatorRule {
  std::string_view op;  // whole, or the beginning before '*'
  F family;
  Maker make;  // null: the dims do not tell
};
// The first that matches speaks. Argument orders from PyTorch's native_functions.yaml (2.11), vLLM's
// torch_bindings.cpp (0.11) and SGLang's fused_moe_triton/fused_moe.py (0.5).
constexpr OperatorRule kOperators[] = {
    {"aten::mm", F::gemm, first_two},
    {"aten::bmm", F::gemm, first_two},
    {"aten::addmm", F::gemm, after_bias},
    {"aten::_addmm_activation", F::gemm, after_bias},
    {"aten::baddbmm", F::gemm, after_bias},
    {"aten::_scaled_mm", F::gemm, first_two},
    {"aten::_int_mm", F::gemm, first_two},
    {"aten::linear", F::gemm, linear},
    {"aten::cudnn_convolution", F::convolution, cudnn_convolution},
    {"aten::convolution", F::convolution, plain_convolution},
    {"aten::_convolution", F::convolution, plain_convolution},
    {"aten::convolution_backward", F::convolution, nullptr},
    {"aten::_flash_attention_forward", F::attention, flash_forward},
    {"aten::_flash_attention_backward", F::attention, flash_backward},
    {"aten::_cudnn_attention_forward", F::attention, cudnn_forward},
    {"aten::_scaled_dot_product_cudnn_attention", F::attention, cudnn_sdpa},
    {"aten::_scaled_dot_product_flash_attention", F::attention, flash_sdpa},
    {"aten::_efficient_attention_forward", F::attention, efficient_forward},
    {"aten::_efficient_attention_backward", F::attention, nullptr},
    {"vllm::inplace_fused_experts", F::moe, experts},
    {"vllm::outplace_fused_experts", F::moe, experts},
    {"sglang::inplace_fused_experts", F::moe, experts},
    {"sglang::outplace_fused_experts", F::moe, experts},
    {"tilecast::fused_moe", F::moe, experts},
    {"vllm::unified_attention*", F::attention, nullptr},
    {"_vllm_fa*", F::attention, nullptr},
    {"flash_attn::*", F::attention, nullptr},
    {"aten::native_layer_norm", F::norm, norm<LayerNorm, false, 0>},
    {"aten::native_layer_norm_backward", F::norm, norm<LayerNorm, true, 1>},
    {"aten::_fused_rms_norm", F::norm, norm<RmsNorm, false, 0>},
    {"aten::_fused_rms_norm_backward", F::norm, norm<RmsNorm, true, 1>},
    {"aten::rms_norm", F::norm, norm<RmsNorm, false, 0>},
    {"_C::rms_norm", F::norm, norm<RmsNorm, false, 0>},
    {"_C::fused_add_rms_norm", F::norm, residual_norm},
    {"_C::silu_and_mul", F::pointwise, gated},
    {"_C::gelu_and_mul", F::pointwise, gated},
    {"_C::gelu_tanh_and_mul", F::pointwise, gated},
    {"_C::rotary_embedding", F::rope, nullptr},
    {"_C_cache_ops::reshape_and_cache*", F::cache, cache_write},
    {"aten::_softmax", F::softmax, softmax<false>},
    {"aten::_log_softmax", F::softmax, softmax<false>},
    {"aten::_softmax_backward_data", F::softmax, softmax<true>},
    {"aten::_log_softmax_backward_data", F::softmax, softmax<true>},
    {"aten::nll_loss*", F::loss, nullptr},
    {"aten::sum", F::reduction, reduction},
    {"aten::mean", F::reduction, reduction},
    {"aten::amax", F::reduction, reduction},
    {"aten::max", F::reduction, reduction},
    {"aten::argmax", F::sampling, reduction},
    {"aten::topk", F::sampling, nullptr},
    {"aten::multinomial", F::sampling, nullptr},
    {"aten::sort", F::sort, nullptr},
    {"aten::cumsum", F::sort, nullptr},
    {"aten::cat", F::layout, moved},
    {"aten::copy_", F::layout, moved},
    {"aten::clone", F::layout, moved},
    {"aten::contiguous", F::layout, moved},
    {"aten::_to_copy", F::layout, moved},
    {"aten::index_select", F::gather, looked_up},
    {"aten::embedding", F::gather, looked_up},
    {"aten::embedding_dense_backward", F::gather, nullptr},
    {"aten::index*", F::gather, nullptr},
    {"aten::gather*", F::gather, nullptr},
    {"aten::scatter*", F::gather, nullptr},
    {"aten::_fused_adam*", F::optimizer, fused_optimizer},
    {"aten::_fused_sgd_", F::optimizer, fused_optimizer},
    {"aten::_foreach_*", F::optimizer, pointwise},
    {"aten::fill_", F::fill, nullptr},
    {"aten::zero_", F::fill, nullptr},
    {"aten::native_dropout*", F::random, pointwise},
    {"aten::normal_", F::random, nullptr},
    {"aten::uniform_", F::random, nullptr},
    {"aten::bernoulli*", F::random, nullptr},
    {"aten::exponential_", F::random, nullptr},
    {"triton_tem_*", F::gemm, nullptr},
    {"triton_*", F::fused, compiled},
    {"record_param_comms", F::collective, nullptr},
    {"nccl:*", F::collective, nullptr},
    {"c10d::*", F::collective, nullptr},
    {"aten::*", F::pointwise, pointwise},
};

const OperatorRule* rule_of(std::string_view op) {
  for (const OperatorRule& rule : kOperators) {
    const bool open = rule.op.ends_with('*');
    if (open ? op.starts_with(rule.op.substr(0, rule.op.size() - 1)) : op == rule.op) return &rule;
  }
  return nullptr;
}

// The narrowest of the tensors' types: with several, traffic is then never counted too high.
std::optional<std::string_view> format_of_types(const OperatorCall& op, std::string_view kernel_name, F family) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kTypes = {{{"Float8_e4m3", "fp8_static"},
                                                                                    {"Float8_e5m2", "fp8_static"},
                                                                                    {"BFloat16", "bf16"},
                                                                                    {"Half", "fp16"},
                                                                                    {"float", "fp32"},
                                                                                    {"double", "fp64"}}};
  for (const auto& [type, format] : kTypes)
    for (std::size_t i = 0; i < op.types.size(); ++i) {
      if (!contains(op.types[i], type) || input(op, i).empty()) continue;
      // cuBLAS multiplies fp32 on tensor cores only as TF32: its tensor kernels say so, or are none of the SIMT ones.
      if (format == "fp32" && family == F::gemm &&
          (contains(kernel_name, "tf32") || contains(kernel_name, "1688") || contains(kernel_name, "nvjet")))
        return "tf32";
      return format;
    }
  return std::nullopt;
}

// fp8 experts with a scale for every 128 x 128 weights name those scales among their inputs: [experts, rows / 128,
// columns / 128].
bool has_block_scales(const OperatorCall& op) {
  constexpr Count kSide = 128;
  const Dimensions& up = input(op, 1);
  return up.size() == 3 && std::any_of(op.dims.begin(), op.dims.end(), [&](const Dimensions& dims) {
           return dims.size() == 3 && dims[0] == up[0] && dims[1] == ceil_div(up[1], kSide) &&
                  dims[2] == ceil_div(up[2], kSide);
         });
}

// Without the values of its inputs no attention tells its mask, and a causal one does half of the work.
bool mask_assumed(const OperatorCall& op, const Kernel& kernel) {
  const bool masked = kernel.shape.get_if<AttentionPrefill>() || kernel.shape.get_if<AttentionBackward>();
  return masked && op.scalars.empty();
}

}  // namespace

WorkFamily family_of_operator(std::string_view op) {
  const OperatorRule* rule = rule_of(op);
  // Most of PyTorch's other operators are pointwise, but not all: that is no ground to name a kernel by.
  return rule && rule->op != "aten::*" ? rule->family : F::unknown;
}

std::optional<OperatorShape> shape_of_operator(const OperatorCall& op, std::string_view kernel_name) {
  const OperatorRule* rule = rule_of(op.name);
  if (!rule || !rule->make) return std::nullopt;
  Made made = rule->make(op, kernel_name);
  if (!made) return std::nullopt;
  auto format = format_of_types(op, kernel_name, rule->family);
  if (rule->family == F::moe && format == "fp8_static" && has_block_scales(op)) format = "fp8_block";
  auto kernel = kernel_of(*std::move(made), format ? *format : format_of_name(kernel_name));
  if (!kernel) return std::nullopt;
  OperatorShape read{rule->family, {*std::move(kernel), ShapeOrigin::operator_dims}};
  read.shape.mask_assumed = mask_assumed(op, read.shape.kernel);
  return read;
}

}  // namespace tilecast
