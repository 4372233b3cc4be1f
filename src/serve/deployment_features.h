// What adapters, drafts and images take of a deployment: memory that keys and values would have had, and time in its
// steps (serve/request_features.h).
#pragma once

#include <optional>

#include "serve/deployment.h"

namespace tilecast {

// Where drafts come from.
enum class Drafting : std::uint8_t {
  share,  // at a stated share of a step's time each
  ngram,  // the host looks them up in what the request has said so far
  model,  // a smaller model makes them, token by token
  eagle,  // a dense layer on top of the model's own hidden states, and its head
  mtp,    // a layer of the model's own kind (multi-token prediction), and its head
};

struct FeatureOptions {
  Drafting drafting = Drafting::share;
  std::optional<ModelSpec> draft_model = {};  // of Drafting::model
  Count adapter_rank = 0;                     // of LoRA adapters as they come; 0: none
  Count adapter_slots = 0;                    // that a GPU holds (max_loras)
  Count slot_rank = 0;                        // that a slot has room for (max_lora_rank)
  std::optional<ModelSpec> encoder = {};      // one pass over an image, a tile of it, or a window of sound
  Count encoder_passes = 1;                   // of one image or clip
  bool encoder_is_tower = false;              // the model's own description has it (ModelSpec::tower)
};

// Makes the deployment one that has them. Refuses what does not go together or does not fit.
Status equip(Deployment& deployment, const DeploymentOptions& options, const FeatureOptions& features, Method method,
             const ModelSource* weights);

// A draft layer as a model of its own: the target's last layer, dense where `dense`, and its head.
ModelSpec draft_layer(const ModelSpec& target, bool dense);
// Bytes of a LoRA adapter of this rank on one GPU: two thin matrices beside each product of attention and of dense
// feed-forward layers. Experts have none.
Result<Bytes> adapter_bytes(const DeploymentOptions& options, Count rank);

}  // namespace tilecast
