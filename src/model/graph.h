// A network as operators with shapes: what every importer produces and everything after it reads.
//
// An operator is a kernel's shape (kernel/kernel.h), the tensors it reads and writes, and the weights it owns. Engines
// (src/engine) decide which neighbours run as one kernel. Operators stand in the order they run, in sections: a layer
// that repeats is written once.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernel/kernel.h"

namespace tilecast {

// Weights an operator owns, in elements.
struct OwnedWeights {
  Count matrix = 0;    // products' operands: what quantisation shrinks
  Count vector = 0;    // biases, scales, gates: kept in the type of activations
  bool table = false;  // `matrix` is looked up by row, not multiplied (embeddings)
  bool tied = false;   // `matrix` is another operator's as well, and counted there; `vector` is not
  Count total() const { return (tied ? 0 : matrix) + vector; }
};

// What a tensor's elements are; their size follows from the precision of a run.
enum class TensorKind : std::uint8_t { activation, index, logits, mask, statistic };
struct Tensor {
  std::string name;
  Count elements = 0;
  TensorKind kind = TensorKind::activation;
};

struct Operator {
  std::string name;  // "attention.qkv"; unique within its section
  Shape shape;
  std::vector<int> inputs, outputs;  // tensors of the section
  OwnedWeights weights;
  // Nothing is known about it but its bytes (--allow-unknown).
  bool unknown = false;
};

// A run of operators and how often it is repeated. Tensor 0, if any, is what comes in from the section before.
struct Section {
  std::string name;  // "layer"
  Count repeats = 1;
  std::vector<Tensor> tensors;
  std::vector<Operator> operators;
};

struct Graph {
  std::string name;
  std::vector<Section> sections;
};

Count parameters(const Graph& graph);

// Multiply-adds count as two. Products, convolutions and attention only: what "model FLOPs" means.
double model_flops(const Operator& op);
double model_flops(const Graph& graph);

// What breakdowns group by.
enum class OpClass : std::uint8_t {
  linear,
  attention,
  experts,
  convolution,
  scan,
  norm,
  activation,
  pointwise,
  movement,
  embedding,
  head,
  loss,
  optimizer,
  other
};
std::string_view name_of(OpClass c);
OpClass class_of(const Operator& op);

}  // namespace tilecast
