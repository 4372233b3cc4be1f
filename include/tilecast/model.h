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
  std::string model;  // a name, a Hugging Face config.json or its folder, an ONNX file, or a graph file (docs/graphs.md)
  std::vector<std::string> dims = {};  // ONNX: "name=value" of dynamic dimensions
  bool allow_unknown = false;          // ONNX: operators that nobody knows are taken as memory traffic
};

struct ModelInfo {
  std::string name;
  std::vector<std::string> aliases;
  std::string architecture;     // "LlamaForCausalLM"; "graph" where shapes are given (ONNX, a graph file)
  Count parameters = 0;
  Count active_parameters = 0;  // what one token's pass multiplies
  Count layers = 0;             // 0 of a graph
  Count cache_elements_per_token = 0;  // keys and values of a token, all layers; 0 where nothing is kept
  Bytes cache_per_token;               // ... in the checkpoint's format
  Count context = 0;                   // tokens it was made for; 0: not said
  std::string dtype;                   // of the checkpoint
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
