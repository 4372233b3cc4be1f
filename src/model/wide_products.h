// Which products of a layer stay wide in a quantised checkpoint.
#pragma once

namespace tilecast {

// Products of a layer that a checkpoint left in the type of activations where it quantised others of the kind.
struct WideProducts {
  bool mixer_in = false;   // into attention, linear attention, state spaces; latent attention: down to the latents
  bool mixer_up = false;   // latent attention: from latents to heads
  bool mixer_out = false;  // out of them
  bool gate_up = false, down = false;
  bool shared = false, experts = false;
  bool any() const { return *this != WideProducts{}; }
  friend bool operator==(const WideProducts&, const WideProducts&) = default;
};

}  // namespace tilecast
