// The number formats of a run, one per kind of operator.
#pragma once

#include <string_view>

#include "engine/kinds.h"
#include "kernel/attention.h"
#include "kernel/format.h"
#include "model/graph.h"
#include "model/spec.h"
#include "tilecast/result.h"
#include "tilecast/run.h"

namespace tilecast {

struct Precision {
  Format linear;       // dense feed-forward products, and products of which nothing is known
  Format projections;  // into and out of attention, linear attention and state spaces
  Format shared;       // shared experts
  Format experts;      // products of a mixture of experts
  Format head;         // logits
  Format attention;    // queries, keys and values as multiplied
  Format activation;   // everything between products
  CacheType cache = CacheType::same;
  MixedPrecision mixed = MixedPrecision::none;
  bool as_checkpoint = false;  // what the checkpoint leaves unquantised stays so

  void set_products(const Format& format) { linear = projections = shared = experts = format; }
};

// From a format's name ("bf16", "fp8_block"): quantised formats quantise products, attention and the head stay in bf16.
// Parts may differ: "fp8,experts=mxfp4,attention=bf16" (attention, mlp, shared, experts, head).
Result<Precision> precision_from(std::string_view dtype, std::string_view cache_dtype = {});

// ... of a model's checkpoint: `dtype` empty, or the checkpoint's own, is what its files hold, part by part; a list
// that begins with a part changes that one. `cache_dtype` auto or empty: as the checkpoint asks.
Result<Precision> precision_of(const ModelSpec& model, std::string_view dtype = {}, std::string_view cache_dtype = {});

// The format of an operator's product and of its weights; `unquantised` are its section's.
const Format& product_format(const Operator& op, const Precision& precision, const WideProducts& unquantised = {});

// Formats in one line: "fp8_block", or by parts where they differ: "bf16, experts mxfp4".
std::string text_of(const Precision& precision);

// The format of optimizer states and losses.
Format full_precision();

}  // namespace tilecast
