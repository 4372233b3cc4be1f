// Matrix products: by weights they are linear layers (gemm), of activations batched products (bmm).
#include <fmt/format.h>

#include <algorithm>

#include "kernel/gemm.h"
#include "model/onnx_rules.h"

namespace tilecast {
namespace {

std::vector<Count> front(const std::vector<Count>& dims) {
  return dims.size() > 2 ? std::vector<Count>(dims.begin(), dims.end() - 2) : std::vector<Count>{};
}
Count batches(const std::vector<Count>& dims) { return onnx_elements(front(dims)).value_or(0); }

Error misfit(const std::vector<Count>& a, const std::vector<Count>& b) {
  return error(fmt::format("cannot multiply {} by {}", onnx_dims_text(a), onnx_dims_text(b)),
               "check the dimensions that were given");
}

// Vectors become matrices of one row or column.
std::vector<Count> left_matrix(std::vector<Count> dims) {
  if (dims.size() == 1) dims.insert(dims.begin(), 1);
  return dims;
}
std::vector<Count> right_matrix(std::vector<Count> dims) {
  if (dims.size() == 1) dims.push_back(1);
  return dims;
}

Status infer_matmul(OnnxInfer& n) {
  if (n.dims(0).empty() || n.dims(1).empty()) return misfit(n.dims(0), n.dims(1));
  const std::vector<Count> a = left_matrix(n.dims(0)), b = right_matrix(n.dims(1));
  if (a.back() != b[b.size() - 2]) return misfit(n.dims(0), n.dims(1));
  auto dims = onnx_broadcast(front(a), front(b));
  if (!dims) return std::move(dims).error();
  if (n.dims(0).size() > 1) dims->push_back(a[a.size() - 2]);
  if (n.dims(1).size() > 1) dims->push_back(b.back());
  return n.set(0, *std::move(dims), n.step.op == "MatMulInteger" ? onnx_type::kInt32 : 0);
}

Gemm gemm_shape(Count m, Count n, Count k) {
  Gemm shape;
  shape.m = m, shape.n = n, shape.k = k;
  return shape;
}
Bmm bmm_shape(Count batch, Count m, Count n, Count k) {
  Bmm shape;
  shape.batch = batch, shape.m = m, shape.n = n, shape.k = k;
  return shape;
}

// The bias, if any, is input 2: of a Gemm, or what fusion found added to a MatMul.
Status emit_linear(OnnxLower& lower, const OnnxStep& step, const Gemm& shape, std::size_t weights_at) {
  OwnedWeights weights = lower.own_matrix(step.inputs[weights_at]);
  if (step.has(2) && step.op != "MatMulInteger") lower.own_vector(weights, step.inputs[2]);
  return lower.emit(step, shape, weights);
}

Status lower_matmul(OnnxLower& lower, const OnnxStep& step) {
  const std::vector<Count> a = left_matrix(lower.in(step, 0).dims), b = right_matrix(lower.in(step, 1).dims);
  const Count m = a[a.size() - 2], n = b.back(), k = a.back();
  if (lower.in(step, 1).constant && b.size() == 2) return emit_linear(lower, step, gemm_shape(batches(a) * m, n, k), 1);
  if (lower.in(step, 0).constant && a.size() == 2) return emit_linear(lower, step, gemm_shape(batches(b) * n, m, k), 0);
  const Count batch = lower.out(step).elements() / std::max<Count>(1, m * n);
  const std::size_t constant = lower.in(step, 1).constant ? 1 : 0;
  // Of an outer product the constant is no matrix: positions times frequencies.
  const OwnedWeights weights = k > 1 ? lower.own_matrix(step.inputs[constant]) : OwnedWeights{};
  if (batches(b) == 1) return lower.emit(step, bmm_shape(1, batch * m, n, k), weights);
  return lower.emit(step, bmm_shape(batch, m, n, k), weights);
}

Status infer_gemm(OnnxInfer& n) {
  std::vector<Count> a = n.dims(0), b = n.dims(1);
  if (a.size() != 2 || b.size() != 2) return misfit(a, b);
  if (n.node().integer("transA", 0)) std::swap(a[0], a[1]);
  if (n.node().integer("transB", 0)) std::swap(b[0], b[1]);
  if (a[1] != b[0]) return misfit(n.dims(0), n.dims(1));
  return n.set(0, {a[0], b[1]});
}

Status lower_gemm(OnnxLower& lower, const OnnxStep& step) {
  const OnnxValue &a = lower.in(step, 0), &out = lower.out(step);
  const Count k = a.dims[step.node->integer("transA", 0) ? 0 : 1];
  const bool turned = a.constant && !lower.in(step, 1).constant;
  if (!turned && !lower.in(step, 1).constant) return lower.emit(step, bmm_shape(1, out.dims[0], out.dims[1], k));
  return emit_linear(lower, step, gemm_shape(out.dims[turned ? 1 : 0], out.dims[turned ? 0 : 1], k), turned ? 0 : 1);
}

// Weights of a few bits with scales: K and N are attributes.
Status infer_matmul_bits(OnnxInfer& n) {
  const Count k = n.node().integer("K", 0), columns = n.node().integer("N", 0);
  if (n.dims(0).empty() || n.dims(0).back() != k || columns < 1) return misfit(n.dims(0), {k, columns});
  std::vector<Count> dims = n.dims(0);
  dims.back() = columns;
  return n.set(0, std::move(dims));
}
Status lower_matmul_bits(OnnxLower& lower, const OnnxStep& step) {
  const Count k = lower.in(step, 0).dims.back(), n = lower.out(step).dims.back();
  OwnedWeights weights = lower.own_matrix(step.inputs[1]);
  weights.matrix = k * n;
  if (step.has(5)) lower.own_vector(weights, step.inputs[5]);
  return lower.emit(step, gemm_shape(n > 0 ? lower.out(step).elements() / n : 0, n, k), weights);
}

// What the letters of a two-operand Einsum stand for.
struct Letters {
  std::string left, right, out;
  std::vector<Count> sizes = std::vector<Count>(128, 1);
};
Result<Letters> letters_of(const OnnxNode& node, const std::vector<Count>& a, const std::vector<Count>& b) {
  Letters l;
  std::string text;
  for (const char c : node.text("equation", ""))
    if (c != ' ') text += c;
  const auto comma = text.find(','), arrow = text.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || comma > arrow)
    return error(fmt::format("equation '{}' is not 'ab,bc->ac' of two operands", text));
  l.left = text.substr(0, comma), l.right = text.substr(comma + 1, arrow - comma - 1), l.out = text.substr(arrow + 2);
  for (const std::string* word : {&l.left, &l.right, &l.out})
    for (std::size_t i = 0; i < word->size(); ++i)
      if ((*word)[i] < 'A' || (*word)[i] > 'z' || word->find((*word)[i], i + 1) != std::string::npos)
        return error(fmt::format("equation '{}' has more than letters, or one of them twice in a term", text));
  if (l.left.size() != a.size() || l.right.size() != b.size())
    return error(fmt::format("equation '{}' does not fit {} and {}", text, onnx_dims_text(a), onnx_dims_text(b)));
  for (std::size_t i = 0; i < a.size(); ++i) l.sizes[static_cast<std::size_t>(l.left[i])] = a[i];
  for (std::size_t i = 0; i < b.size(); ++i) l.sizes[static_cast<std::size_t>(l.right[i])] = b[i];
  return l;
}

Status infer_einsum(OnnxInfer& n) {
  auto l = letters_of(n.node(), n.dims(0), n.dims(1));
  if (!l) return std::move(l).error();
  std::vector<Count> dims;
  for (const char c : l->out) dims.push_back(l->sizes[static_cast<std::size_t>(c)]);
  return n.set(0, std::move(dims));
}

Status lower_einsum(OnnxLower& lower, const OnnxStep& step) {
  auto l = letters_of(*step.node, lower.in(step, 0).dims, lower.in(step, 1).dims);
  if (!l) return std::move(l).error();
  const auto has = [](const std::string& word, char c) { return word.find(c) != std::string::npos; };
  Count batch = 1, m = 1, n = 1, k = 1;
  for (const char c : l->left) {
    const Count size = l->sizes[static_cast<std::size_t>(c)];
    if (has(l->right, c)) (has(l->out, c) ? batch : k) *= size;
    else m *= size;
  }
  for (const char c : l->right)
    if (!has(l->left, c)) n *= l->sizes[static_cast<std::size_t>(c)];
  const OwnedWeights weights = lower.own_matrix(step.inputs[lower.in(step, 1).constant ? 1 : 0]);
  if (batch == 1 && lower.in(step, 1).constant) return lower.emit(step, gemm_shape(m, n, k), weights);
  return lower.emit(step, bmm_shape(batch, m, n, k), weights);
}

}  // namespace

std::span<const OnnxRule> onnx_product_rules() {
  static const std::vector<OnnxRule> rules = {
      {"MatMul", 2, infer_matmul, lower_matmul},
      {"MatMulInteger", 2, infer_matmul, lower_matmul},
      {"MatMulNBits", 2, infer_matmul_bits, lower_matmul_bits},
      {"Gemm", 2, infer_gemm, lower_gemm},
      {"Einsum", 2, infer_einsum, lower_einsum},
  };
  return rules;
}

}  // namespace tilecast
