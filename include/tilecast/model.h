// Models: those Tilecast knows by name, and those in files.
//
//   auto model = tilecast::describe_model({.model = "Llama-3.1-8B"});
//   if (model) use(model->parameters, model->cache_per_token);
//
// Everything here is a value or a pure function; any number of threads may call any of it.
#pragma once

#include <string>
#include <vector>

#include "tilecast/arguments.h"
#include "tilecast/result.h"
#include "tilecast/units.h"

namespace tilecast {

struct ModelQuery {
  std::string
      model;  // a name, a Hugging Face config.json or its folder, an ONNX file, or a graph file (docs/graphs.md)
  std::vector<std::string> dims = {};  // ONNX: "name=value" of dynamic dimensions
  bool allow_unknown = false;          // ONNX: unknown operators are priced as memory traffic
};

// Identical layers. Counts that do not apply are 0: heads of a state space, experts of a dense layer.
struct ModelLayers {
  std::string stack;  // "encoder" or "decoder"
  Count layers = 0;
  std::string mixer;  // "attention", "latent attention", "linear attention", "state space"; empty: none
  Count heads = 0, kv_heads = 0, head_dim = 0;
  Count window = 0;          // the most keys a query sees; 0: all
  std::string feed_forward;  // "dense" or "experts"; empty: none
  Count width = 0;           // of the feed-forward layer, or of one expert
  Count experts = 0, experts_per_token = 0;
  Count shared_width = 0;  // total width of the experts that every token visits
};

struct ModelInfo {
  std::string name;
  std::vector<std::string> aliases;
  std::string architecture;  // "LlamaForCausalLM"; "graph" if shapes are given (ONNX, a graph file)
  Count parameters = 0;
  Count active_parameters = 0;         // what one token's pass multiplies
  Count layers = 0;                    // 0 for a graph
  std::vector<ModelLayers> kinds;      // kinds of layers, in order of first appearance
  Count hidden = 0, vocabulary = 0;    // 0 for a graph
  Count cache_elements_per_token = 0;  // keys and values per token, all layers; 0 if nothing is kept
  Bytes cache_per_token;               // ... in the checkpoint's format
  Count context = 0;                   // tokens it was made for; 0: not stated
  std::string dtype;                   // of the checkpoint
  std::string formats;                 // ... part by part, if parts differ: "mxfp4, head bf16"
  bool generates = false;              // text, token by token
  std::vector<std::string> left_out;   // parts of the checkpoint that are not modelled: "vision_config"
  std::string source;                  // where its figures come from, for bundled models
};

// The bundled models, by name.
std::vector<ModelInfo> known_models();
// One of them, or one in a file; errors name the file and its field.
Result<ModelInfo> describe_model(const ModelQuery& query);
// Stems of the classes that a config.json may name: "Llama" for LlamaForCausalLM.
std::vector<std::string> model_classes();

const Question& models_question();
std::vector<BoundArgument> arguments_of(ModelQuery& query);

}  // namespace tilecast
