// Number formats of a run: one for each kind of operator.
#pragma once

#include <string_view>

#include "kernel/attention.h"
#include "kernel/format.h"
#include "support/result.h"
#include "tilecast/run.h"

namespace tilecast {

struct Precision {
  Format linear;      // projections and feed-forward products
  Format experts;     // products of a mixture of experts
  Format attention;   // queries, keys and values as multiplied
  Format activation;  // everything between products; the head too
  CacheType cache = CacheType::same;
  MixedPrecision mixed = MixedPrecision::none;
};

// From a format's name ("bf16", "fp8_block"): quantised formats quantise products, attention and the head stay in bf16.
Result<Precision> precision_from(std::string_view dtype, std::string_view cache_dtype = {});

// The format of optimizer states and losses.
Format full_precision();

}  // namespace tilecast
