// Finds in an ONNX graph what exporters expanded: attention, norms, activations, rotary embeddings, biases.
//
// Each pattern rewrites its last step to read the pattern's inputs; steps that nothing reads any more are removed. So
// the result has the model's operators, as its configuration would give them, and engines fuse from there.
#pragma once

#include "model/onnx_net.h"

namespace tilecast {

// Shapes must be known.
void fuse_onnx(OnnxNet& net, const OnnxOptions& options);

}  // namespace tilecast
