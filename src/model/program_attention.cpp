// scaled_dot_product_attention by the backend that the record names, forward and backward.
#include "kernel/attention.h"
#include "kernel/attention_backward.h"
#include "kernel/attention_prefill.h"
#include "model/program_rules.h"

namespace tilecast {
namespace {

bool takes_efficient(std::string_view name) { return name.find("efficient") != std::string_view::npos; }

// Queries, keys and values are [batch, heads, length, width].
bool fill_heads(const OperatorView& view, AttentionPrefill& shape) {
  const ProgramLayout *q = view.tensor("query"), *k = view.tensor("key"), *v = view.tensor("value");
  if (!q || !k || !v || q->shape.size() != 4 || k->shape.size() != 4 || v->shape.size() != 4) return false;
  shape.batch = q->shape[0], shape.heads = q->shape[1], shape.q_len = q->shape[2], shape.head_dim = q->shape[3];
  shape.kv_heads = k->shape[1], shape.kv_len = k->shape[2], shape.v_head_dim = v->shape[3];
  const bool causal = view.truth("is_causal") && shape.kv_len >= shape.q_len;
  shape.mask = causal ? AttentionMask::causal : AttentionMask::full;
  return shape.batch > 0 && shape.heads > 0 && shape.q_len > 0 && shape.kv_heads > 0 && shape.kv_len > 0 &&
         shape.heads % shape.kv_heads == 0;
}

void finish(ProgramKernel& kernel, std::string_view name) {
  if (takes_efficient(name)) kernel.source = KernelSource::efficient_attention;
}

void lower_attention(const OperatorView& view, KernelList& list) {
  const ProgramLayout* q = view.tensor("query");
  AttentionPrefill shape;
  if (!fill_heads(view, shape)) return;
  if (takes_efficient(view.name())) shape.algorithm = AttentionAlgorithm::efficient;
  ProgramKernel& kernel = list.add("attention", shape, priced_as(q->dtype).format);
  finish(kernel, view.name());
  if (view.tensor("attn_bias")) kernel.manner = Manner::attention_bias;
  if (view.number("dropout_p", 0) > 0) kernel.manner = Manner::attention_dropout;
}

void lower_attention_gradient(const OperatorView& view, KernelList& list) {
  const ProgramLayout* q = view.tensor("query");
  AttentionBackward shape;
  if (!fill_heads(view, shape.forward)) return;
  if (takes_efficient(view.name())) shape.forward.algorithm = AttentionAlgorithm::efficient;
  ProgramKernel& kernel = list.add("attention gradient", shape, priced_as(q->dtype).format);
  finish(kernel, view.name());
  if (view.number("dropout_p", 0) > 0) kernel.manner = Manner::attention_dropout_backward;
}

}  // namespace

std::span<const ProgramRule> program_attention_rules() {
  static const std::vector<ProgramRule> rules = {
      {"_scaled_dot_product_cudnn_attention", lower_attention},
      {"_scaled_dot_product_flash_attention", lower_attention},
      {"_scaled_dot_product_efficient_attention", lower_attention},
      // As the profiler names what they call.
      {"_cudnn_attention_forward", lower_attention},
      {"_flash_attention_forward", lower_attention},
      {"_efficient_attention_forward", lower_attention},
      {"_cudnn_attention_backward", lower_attention_gradient},
      {"_flash_attention_backward", lower_attention_gradient},
      {"_efficient_attention_backward", lower_attention_gradient},
      {"_scaled_dot_product_cudnn_attention_backward", lower_attention_gradient},
      {"_scaled_dot_product_flash_attention_backward", lower_attention_gradient},
      {"_scaled_dot_product_efficient_attention_backward", lower_attention_gradient}};
  return rules;
}

}  // namespace tilecast
