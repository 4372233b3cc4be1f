// Models: those Tilecast knows by name, and those of a file.
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
  bool allow_unknown = false;          // ONNX: operators that nobody knows are taken as memory traffic
};

// Layers alike. Counts are 0 where they mean nothing: heads of a state space, experts of a dense layer.
struct ModelLayers {
  std::string stack;  // "encoder" or "decoder"
  Count layers = 0;
  std::string mixer;  // "attention", "latent attention", "linear attention", "state space"; empty: none
  Count heads = 0, kv_heads = 0, head_dim = 0;
  Count window = 0;          // keys a query sees at most; 0: all
  std::string feed_forward;  // "dense" or "experts"; empty: none
  Count width = 0;           // of the feed-forward layer, or of one expert
  Count experts = 0, experts_per_token = 0;
  Count shared_width = 0;  // of the experts that every token visits, together
};

struct ModelInfo {
  std::string name;
  std::vector<std::string> aliases;
  std::string architecture;  // "LlamaForCausalLM"; "graph" where shapes are given (ONNX, a graph file)
  Count parameters = 0;
  Count active_parameters = 0;         // what one token's pass multiplies
  Count layers = 0;                    // 0 of a graph
  std::vector<ModelLayers> kinds;      // of layers, in order of their first
  Count hidden = 0, vocabulary = 0;    // 0 of a graph
  Count cache_elements_per_token = 0;  // keys and values of a token, all layers; 0 where nothing is kept
  Bytes cache_per_token;               // ... in the checkpoint's format
  Count context = 0;                   // tokens it was made for; 0: not said
  std::string dtype;                   // of the checkpoint
  std::string formats;                 // ... part by part, where parts differ: "mxfp4, head bf16"
  bool generates = false;              // text, token by token
  std::vector<std::string> left_out;   // parts of the checkpoint that are not modelled: "vision_config"
  std::string source;                  // where its figures come from, of bundled ones
};

// The bundled models, by name.
std::vector<ModelInfo> known_models();
// One of them, or one in a file; errors name the file and its field.
Result<ModelInfo> describe_model(const ModelQuery& query);
// Stems of the classes that a config.json may name: "Llama" of LlamaForCausalLM.
std::vector<std::string> model_classes();

const Question& models_question();
std::vector<BoundArgument> arguments_of(ModelQuery& query);

}  // namespace tilecast
