// A network as operators with shapes: what every importer produces and everything after it reads.
//
// An operator is a kernel's shape (kernel/kernel.h), the tensors it reads and writes, and the weights it owns. Engines
// (src/engine) decide which neighbours run as one kernel. Operators are listed in the order they run, in sections: a
// repeated layer is written once.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernel/kernel.h"
#include "kernel/torch_walk.h"
#include "model/role.h"
#include "model/wide_products.h"

namespace tilecast {

// Weights an operator owns, in elements.
struct OwnedWeights {
  Count matrix = 0;     // products' operands: what quantisation shrinks
  Count vector = 0;     // biases, scales, gates: kept in the type of activations
  bool table = false;   // `matrix` is looked up by row, not multiplied (embeddings)
  bool tied = false;    // `matrix` is another operator's as well, and counted there; `vector` is not
  bool frozen = false;  // training leaves them as they are: no gradient, no optimizer
  bool packed = false;  // `matrix` is kept in four bits and unpacked before each product (NF4)
  Count trained() const { return frozen ? 0 : total(); }
  Count total() const { return (tied ? 0 : matrix) + vector; }
};

// What a tensor's elements are; their size follows from the precision of a run.
enum class TensorKind : std::uint8_t {
  activation,
  index,
  logits,
  mask,
  statistic,  // computed and kept in fp32 whatever the precision of the run
  wide,       // kept in fp32, computed in the precision of the run
};
struct Tensor {
  std::string name;
  Count elements = 0;
  TensorKind kind = TensorKind::activation;
};

// How the model's own code writes an operator, if that differs from an engine's kernel for it.
enum class Spelling : std::uint8_t {
  plain,
  gelu_new,       // GPT-2's activation: eight pointwise kernels
  masked_where,   // attention that scales the scores and masks them by a choice (GPT-2)
  masked_add,     // attention that scales the scores and adds a mask (BERT and most)
  clamped,        // attention that scales queries, adds a mask and clamps the scores (OPT)
  unscaled,       // attention that adds a bias to unscaled scores (T5)
  fused_loss,     // cross-entropy as one reduction over the logits, which its gradient reads again
  in_place_loss,  // cross-entropy whose softmax overwrites the logits
  dropout,        // random zeros; one byte per element records which
};

struct Operator {
  std::string name;  // "attention.qkv"; unique within its section, and shown to people only
  Shape shape;
  std::vector<int> inputs, outputs;  // tensors of the section
  OwnedWeights weights;
  Spelling spelling = Spelling::plain;
  Count times = 1;  // runs this often in a row (experts one by one)
  // Only its bytes are known (--allow-unknown).
  bool unknown = false;
  Role role = Role::other;
  int block = kNoBlock;                    // operators of one block of the section have the same number
  bool weight_gradient = false;            // computes the gradient of a weight: a pipeline may put it off
  TorchWalk walk = TorchWalk::vectorized;  // PyTorch: how its pointwise or copying kernel walks the tensors
  const Format* runs_as = nullptr;         // a product's own format, of a static table; none: as the run has it
  double wgmma_longer = 1;                 // on Hopper, than the product of its shape and format
  bool turns = false;                      // writes a transpose, which only cards that multiply fp8 row by row need
  bool stays_wide = false;                 // in the type of activations, whatever a training's products run in
};

// Which part of a training step a section belongs to; inference is all forward.
enum class Pass : std::uint8_t { forward, backward, optimizer };
std::string_view name_of(Pass p);

// A sequence of operators and how often it is repeated. Tensor 0, if any, comes from the previous section.
struct Section {
  std::string name;  // "layer"
  Count repeats = 1;
  Pass pass = Pass::forward;
  std::vector<Tensor> tensors;
  std::vector<Operator> operators;
  SectionPart part = {};
  bool recomputed = false;  // runs forward again for its gradients: the model has no more work for it
  bool reference = false;   // runs forward alone, beside the section that learns
  int forward = -1;         // of gradients and what runs again: the forward section they belong to
  WideProducts unquantised = {};
};
// Everything in a section except its operators.
Section emptied(const Section& section);

struct Graph {
  std::string name;
  std::vector<Section> sections;
};

Count parameters(const Graph& graph);
Count trained_parameters(const Graph& graph);

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
