// What a model has to do in one step.
#pragma once

#include <vector>

#include "kernel/fields.h"
#include "tilecast/result.h"
#include "tilecast/run.h"
#include "tilecast/units.h"

namespace tilecast {

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
