// What a model is asked to do in one step.
#pragma once

#include <vector>

#include "kernel/fields.h"
#include "support/result.h"
#include "units/units.h"

namespace tilecast {

enum class Mode : std::uint8_t {
  prefill,  // all tokens of new prompts; of an encoder, its one pass
  decode,   // one token (or a few) of each request against its cache
  mixed,    // some requests of each kind in one batch
  train,    // forward, backward and the optimizer's step
};
constexpr std::string_view name_of(Mode m) {
  return m == Mode::prefill ? "prefill" : m == Mode::decode ? "decode" : m == Mode::mixed ? "mixed" : "train";
}

// Requests alike: `new_tokens` each, after `cached` ones whose keys are kept.
struct Requests {
  Count count = 1;
  Count new_tokens = 0;
  Count cached = 0;
};

struct Workload {
  Mode mode = Mode::prefill;
  std::vector<Requests> requests;
  Count source_len = 0;     // encoder-decoder models: tokens of the encoder (0: as many as new tokens)
  bool keep_cache = true;   // keys and values are written to a cache, where the model generates
  bool all_logits = false;  // the head runs on every token, as in training and plain Hugging Face forward passes

  Count tokens() const {
    Count sum = 0;
    for (const Requests& r : requests) sum += r.count * r.new_tokens;
    return sum;
  }
  Count sequences() const {
    Count sum = 0;
    for (const Requests& r : requests) sum += r.count;
    return sum;
  }
};

}  // namespace tilecast
