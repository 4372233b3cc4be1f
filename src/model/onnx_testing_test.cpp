// The networks of onnx_testing.h.
#include "model/onnx_testing.h"

#include <fmt/format.h>

namespace tilecast::onnx_testing {
namespace {

using Names = std::vector<std::string>;

// Constants that several layers share.
void add_constants(Writer& w) {
  w.number("half", 0.5f), w.number("one", 1), w.number("two", 2), w.number("three", 3), w.number("eps", 1e-5f);
  w.number("cubic", 0.044715f), w.number("sqrt_2_pi", 0.7978846f), w.number("lowest", -3.4e38f);
  w.integers("axis_0", {0}), w.integers("axis_1", {1}), w.integers("axis_2", {2});
  w.integers("to_end", {9223372036854775807});
}

std::string layer_norm(Writer& w, const std::string& name, const std::string& x, Count width) {
  w.weight(name + ".weight", {width}), w.weight(name + ".bias", {width});
  const std::string mean = w.node("ReduceMean", name + "/ReduceMean", {x}, {{"axes", std::vector<Count>{-1}}});
  const std::string difference = w.node("Sub", name + "/Sub", {x, mean});
  const std::string square = w.node("Pow", name + "/Pow", {difference, "two"});
  const std::string variance =
      w.node("ReduceMean", name + "/ReduceMean_1", {square}, {{"axes", std::vector<Count>{-1}}});
  const std::string shifted = w.node("Add", name + "/Add", {variance, "eps"});
  const std::string root = w.node("Sqrt", name + "/Sqrt", {shifted});
  const std::string normal = w.node("Div", name + "/Div", {difference, root});
  const std::string scaled = w.node("Mul", name + "/Mul", {normal, name + ".weight"});
  return w.node("Add", name + "/Add_1", {scaled, name + ".bias"});
}

std::string rms_norm(Writer& w, const std::string& name, const std::string& x, Count width) {
  w.weight(name + ".weight", {width});
  const std::string wide = w.node("Cast", name + "/Cast", {x}, {{"to", Count{onnx_type::kFloat}}});
  const std::string square = w.node("Pow", name + "/Pow", {wide, "two"});
  const std::string mean = w.node("ReduceMean", name + "/ReduceMean", {square}, {{"axes", std::vector<Count>{-1}}});
  const std::string root = w.node("Sqrt", name + "/Sqrt", {w.node("Add", name + "/Add", {mean, "eps"})});
  const std::string inverse = w.node("Div", name + "/Div", {"one", root});
  const std::string normal = w.node("Mul", name + "/Mul", {wide, inverse});
  const std::string narrow = w.node("Cast", name + "/Cast_1", {normal}, {{"to", Count{onnx_type::kFloat}}});
  return w.node("Mul", name + "/Mul_1", {name + ".weight", narrow});
}

// Conv1D of GPT-2: a Gemm over all tokens at once.
std::string conv1d(Writer& w, const std::string& name, const std::string& x, Count in, Count out,
                   const std::string& shape) {
  w.weight(name + ".weight", {in, out}), w.weight(name + ".bias", {out});
  w.integers(name + ".flat", {-1, in});
  const std::string flat = w.node("Reshape", name + "/Reshape", {x, name + ".flat"});
  const std::string product = w.node("Gemm", name + "/Gemm", {flat, name + ".weight", name + ".bias"});
  return w.node("Reshape", name + "/Reshape_1", {product, shape});
}

std::string linear(Writer& w, const std::string& name, const std::string& x, Count in, Count out) {
  w.weight(name + ".weight", {in, out});
  return w.node("MatMul", name + "/MatMul", {x, name + ".weight"});
}

std::string heads_first(Writer& w, const std::string& name, const std::string& x, const std::string& shape) {
  const std::string split = w.node("Reshape", name + "/Reshape", {x, shape});
  return w.node("Transpose", name + "/Transpose", {split}, {{"perm", std::vector<Count>{0, 2, 1, 3}}});
}

std::string gelu_new(Writer& w, const std::string& name, const std::string& x) {
  const std::string half = w.node("Mul", name + "/Mul", {x, "half"});
  const std::string cube = w.node("Pow", name + "/Pow", {x, "three"});
  const std::string inner = w.node("Add", name + "/Add", {x, w.node("Mul", name + "/Mul_1", {cube, "cubic"})});
  const std::string scaled = w.node("Mul", name + "/Mul_2", {inner, "sqrt_2_pi"});
  const std::string sum = w.node("Add", name + "/Add_1", {w.node("Tanh", name + "/Tanh", {scaled}), "one"});
  return w.node("Mul", name + "/Mul_3", {half, sum});
}

std::string gpt2_layer(Writer& w, const std::string& name, const std::string& x, const TransformerSizes& s) {
  const Count h = s.hidden;
  const std::string normal = layer_norm(w, name + "/ln_1", x, h);
  const std::string qkv = conv1d(w, name + "/attn/c_attn", normal, h, 3 * h, "shape_qkv");
  const Names parts = {name + "/q", name + "/k", name + "/v"};
  w.node("Split", name + "/attn/Split", {qkv}, {{"axis", Count{2}}}, parts);
  const std::string q = heads_first(w, name + "/attn/q", parts[0], "shape_heads");
  const std::string v = heads_first(w, name + "/attn/v", parts[2], "shape_heads");
  const std::string k =
      w.node("Transpose", name + "/attn/k_t", {w.node("Reshape", name + "/attn/k_heads", {parts[1], "shape_heads"})},
             {{"perm", std::vector<Count>{0, 2, 3, 1}}});
  const std::string scores =
      w.node("Div", name + "/attn/Div", {w.node("MatMul", name + "/attn/MatMul", {q, k}), "scale"});
  const std::string masked = w.node("Where", name + "/attn/Where", {"mask", scores, "lowest"});
  const std::string weights = w.node("Softmax", name + "/attn/Softmax", {masked}, {{"axis", Count{-1}}});
  const std::string mixed = w.node("MatMul", name + "/attn/MatMul_1", {weights, v});
  const std::string back =
      w.node("Transpose", name + "/attn/back", {mixed}, {{"perm", std::vector<Count>{0, 2, 1, 3}}});
  const std::string joined = w.node("Reshape", name + "/attn/join", {back, "shape_hidden"});
  const std::string projected = conv1d(w, name + "/attn/c_proj", joined, h, h, "shape_hidden");
  const std::string sum = w.node("Add", name + "/Add", {projected, x});
  const std::string up =
      conv1d(w, name + "/mlp/c_fc", layer_norm(w, name + "/ln_2", sum, h), h, s.inter, "shape_inter");
  const std::string down =
      conv1d(w, name + "/mlp/c_proj", gelu_new(w, name + "/mlp/act", up), s.inter, h, "shape_hidden");
  return w.node("Add", name + "/Add_1", {sum, down});
}

// x cos + rotate(x) sin.
std::string rotate(Writer& w, const std::string& name, const std::string& x, Count head_dim) {
  w.integers(name + ".half", {head_dim / 2}), w.integers(name + ".last", {3});
  const std::string first = w.node("Slice", name + "/Slice", {x, "axis_0", name + ".half", name + ".last"});
  const std::string second = w.node("Slice", name + "/Slice_1", {x, name + ".half", "to_end", name + ".last"});
  const std::string turned =
      w.node("Concat", name + "/Concat", {w.node("Neg", name + "/Neg", {second}), first}, {{"axis", Count{-1}}});
  return w.node("Add", name + "/Add",
                {w.node("Mul", name + "/Mul", {x, "cos"}), w.node("Mul", name + "/Mul_1", {turned, "sin"})});
}

// Each key head for all query heads of its group, as repeat_kv does.
std::string repeat_heads(Writer& w, const std::string& name, const std::string& x) {
  const std::string five = w.node("Unsqueeze", name + "/Unsqueeze", {x, "axis_2"});
  const std::string wide = w.node("Expand", name + "/Expand", {five, "shape_repeat"});
  return w.node("Reshape", name + "/Reshape", {wide, "shape_repeated"});
}

std::string llama_layer(Writer& w, const std::string& name, const std::string& x, const TransformerSizes& s) {
  const Count h = s.hidden, dim = h / s.heads;
  const std::string attn = name + "/self_attn";
  const std::string normal = rms_norm(w, name + "/input_layernorm", x, h);
  std::string q = heads_first(w, attn + "/q", linear(w, attn + "/q_proj", normal, h, h), "shape_heads");
  std::string k = heads_first(w, attn + "/k", linear(w, attn + "/k_proj", normal, h, s.kv_heads * dim), "shape_kv");
  std::string v = heads_first(w, attn + "/v", linear(w, attn + "/v_proj", normal, h, s.kv_heads * dim), "shape_kv");
  q = rotate(w, attn + "/rope_q", q, dim);
  k = repeat_heads(w, attn + "/repeat_k", rotate(w, attn + "/rope_k", k, dim));
  v = repeat_heads(w, attn + "/repeat_v", v);
  const std::string turned = w.node("Transpose", attn + "/k_t", {k}, {{"perm", std::vector<Count>{0, 1, 3, 2}}});
  const std::string scores = w.node("Mul", attn + "/Mul", {w.node("MatMul", attn + "/MatMul", {q, turned}), "scale"});
  const std::string masked = w.node("Add", attn + "/Add", {scores, "mask"});
  const std::string weights = w.node("Softmax", attn + "/Softmax", {masked}, {{"axis", Count{-1}}});
  const std::string back = w.node("Transpose", attn + "/back", {w.node("MatMul", attn + "/MatMul_1", {weights, v})},
                                  {{"perm", std::vector<Count>{0, 2, 1, 3}}});
  const std::string joined = w.node("Reshape", attn + "/join", {back, "shape_hidden"});
  const std::string sum = w.node("Add", name + "/Add", {x, linear(w, attn + "/o_proj", joined, h, h)});
  const std::string second = rms_norm(w, name + "/post_attention_layernorm", sum, h);
  const std::string gate = linear(w, name + "/mlp/gate_proj", second, h, s.inter);
  const std::string active =
      w.node("Mul", name + "/mlp/act/Mul", {gate, w.node("Sigmoid", name + "/mlp/act/Sigmoid", {gate})});
  const std::string up = linear(w, name + "/mlp/up_proj", second, h, s.inter);
  const std::string gated = w.node("Mul", name + "/mlp/Mul", {active, up});
  return w.node("Add", name + "/Add_1", {sum, linear(w, name + "/mlp/down_proj", gated, s.inter, h)});
}

// Convolution and norm, with the norm's parameters and running statistics.
std::string conv_norm(Writer& w, const std::string& name, const std::string& x, Count in, Count out, Count kernel,
                      Count stride) {
  const Count pad = kernel / 2;
  w.weight(name + ".weight", {out, in, kernel, kernel});
  for (const char* part : {".gamma", ".beta", ".mean", ".var"}) w.weight(name + part, {out});
  const std::string result = w.node("Conv", name + "/Conv", {x, name + ".weight"},
                                    {{"kernel_shape", std::vector<Count>{kernel, kernel}},
                                     {"strides", std::vector<Count>{stride, stride}},
                                     {"pads", std::vector<Count>{pad, pad, pad, pad}}});
  return w.node("BatchNormalization", name + "/BatchNormalization",
                {result, name + ".gamma", name + ".beta", name + ".mean", name + ".var"});
}

std::string bottleneck(Writer& w, const std::string& name, const std::string& x, Count in, Count width, Count stride,
                       bool first) {
  std::string y = w.node("Relu", name + "/relu1", {conv_norm(w, name + "/conv1", x, in, width, 1, 1)});
  y = w.node("Relu", name + "/relu2", {conv_norm(w, name + "/conv2", y, width, width, 3, stride)});
  y = conv_norm(w, name + "/conv3", y, width, 4 * width, 1, 1);
  const std::string skip = first ? conv_norm(w, name + "/downsample", x, in, 4 * width, 1, stride) : x;
  return w.node("Relu", name + "/relu3", {w.node("Add", name + "/Add", {y, skip})});
}

}  // namespace

std::string gpt2_onnx(const TransformerSizes& s) {
  Writer w;
  add_constants(w);
  const Count dim = s.hidden / s.heads;
  w.integers("shape_qkv", {s.batch, s.seq, 3 * s.hidden}), w.integers("shape_hidden", {s.batch, s.seq, s.hidden});
  w.integers("shape_inter", {s.batch, s.seq, s.inter}), w.integers("shape_heads", {0, 0, s.heads, dim});
  w.number("scale", 8);
  w.input("input_ids", {s.batch, s.seq}, onnx_type::kInt64).input("position_ids", {s.batch, s.seq}, onnx_type::kInt64);
  w.weight("wte", {s.vocab, s.hidden}), w.weight("wpe", {s.positions, s.hidden});
  // The mask follows from the shape of the input alone.
  w.integers("zero", {0}, true), w.integers("step", {1}, true), w.integers("which", {1}, true);
  const std::string length = w.node("Gather", "length", {w.node("Shape", "shape", {"input_ids"}), "which"});
  const std::string range = w.node("Range", "range", {"zero", length, "step"});
  const std::string down = w.node("Unsqueeze", "down", {range, "axis_1"});
  w.node("LessOrEqual", "mask", {range, down});
  const std::string tokens = w.node("Gather", "/wte/Gather", {"wte", "input_ids"});
  const std::string places = w.node("Gather", "/wpe/Gather", {"wpe", "position_ids"});
  std::string x = w.node("Add", "/Add", {tokens, places});
  for (Count i = 0; i < s.layers; ++i) x = gpt2_layer(w, fmt::format("/h.{}", i), x, s);
  x = layer_norm(w, "/ln_f", x, s.hidden);
  const std::string table = w.node("Transpose", "/lm_head/Transpose", {"wte"}, {{"perm", std::vector<Count>{1, 0}}});
  w.output(w.node("MatMul", "/lm_head/MatMul", {x, table}, {}, {"logits"}));
  return w.file("gpt2");
}

std::string llama_onnx(const TransformerSizes& s) {
  Writer w;
  add_constants(w);
  const Count dim = s.hidden / s.heads, group = s.heads / s.kv_heads;
  w.number("scale", 0.125f);
  w.input("input_ids", {"batch", "sequence"}, onnx_type::kInt64);
  w.weight("embed_tokens", {s.vocab, s.hidden});
  w.integers("shape_heads", {0, 0, s.heads, dim}), w.integers("shape_kv", {0, 0, s.kv_heads, dim});
  // Shapes computed from the input's, as exporters leave them.
  w.node("Shape", "shape", {"input_ids"});
  w.integers("kv_heads", {s.kv_heads}), w.integers("group", {group}), w.integers("heads", {s.heads});
  w.integers("dim", {dim}), w.integers("hidden", {s.hidden}), w.integers("minus", {-1});
  const std::string batch = w.node("Slice", "batch", {"shape", "axis_0", "axis_1"});
  const std::string length = w.node("Gather", "length", {"shape", "axis_1"});
  const std::vector<Attribute> first = {{"axis", Count{0}}};
  w.node("Concat", "shape_repeat", {batch, "kv_heads", "group", length, "dim"}, first);
  w.node("Concat", "shape_repeated", {batch, "heads", length, "dim"}, first);
  w.node("Concat", "shape_hidden", {batch, length, "minus"}, first);
  const std::string square =
      w.node("ConstantOfShape", "square", {w.node("Concat", "shape_square", {length, length}, first)});
  w.node("Trilu", "mask", {square}, {{"upper", Count{1}}});
  const std::string angles =
      w.node("ConstantOfShape", "angles", {w.node("Concat", "shape_angles", {length, "dim"}, first)});
  w.node("Cos", "cos", {angles}), w.node("Sin", "sin", {angles});
  std::string x = w.node("Gather", "/model/embed_tokens/Gather", {"embed_tokens", "input_ids"});
  for (Count i = 0; i < s.layers; ++i) x = llama_layer(w, fmt::format("/model/layers.{}", i), x, s);
  x = rms_norm(w, "/model/norm", x, s.hidden);
  w.weight("lm_head", {s.hidden, s.vocab});
  w.output(w.node("MatMul", "/lm_head/MatMul", {x, "lm_head"}, {}, {"logits"}));
  return w.file("llama");
}

std::string resnet_onnx(Count batch, Count image, const std::vector<Count>& blocks) {
  Writer w;
  w.input("pixels", {batch, Count{3}, image, image});
  std::string x = w.node("Relu", "/relu", {conv_norm(w, "/conv1", "pixels", 3, 64, 7, 2)});
  x = w.node("MaxPool", "/maxpool", {x},
             {{"kernel_shape", std::vector<Count>{3, 3}},
              {"strides", std::vector<Count>{2, 2}},
              {"pads", std::vector<Count>{1, 1, 1, 1}}});
  Count channels = 64;
  for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
    const Count width = Count{64} << stage;
    for (Count i = 0; i < blocks[stage]; ++i) {
      const Count stride = stage > 0 && i == 0 ? 2 : 1;
      x = bottleneck(w, fmt::format("/layer{}.{}", stage + 1, i), x, channels, width, stride, i == 0);
      channels = 4 * width;
    }
  }
  x = w.node("Flatten", "/Flatten", {w.node("GlobalAveragePool", "/avgpool", {x})}, {{"axis", Count{1}}});
  w.weight("fc.weight", {1000, channels}), w.weight("fc.bias", {1000});
  w.output(w.node("Gemm", "/fc/Gemm", {x, "fc.weight", "fc.bias"}, {{"transB", Count{1}}}, {"logits"}));
  return w.file("resnet");
}

}  // namespace tilecast::onnx_testing
