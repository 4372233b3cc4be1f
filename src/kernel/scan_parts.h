// What the forms of a scan share: its sizes with defaults resolved. Private to scan*.cpp.
#pragma once

#include "kernel/scan.h"
#include "kernel/streaming.h"

namespace tilecast {

struct ScanSizes {
  double batch, tokens, heads, key_heads, value, key;  // tokens of all sequences; value and key: elements of a head
  double element, state_element;                       // bytes
  Count length, chunk, channels;

  double qk_bytes() const { return tokens * key_heads * key * element; }  // queries, or keys
  double v_bytes() const { return tokens * heads * value * element; }     // values, or the result
  double state_bytes() const { return batch * heads * key * value * state_element; }
};

ScanSizes scan_sizes(const Scan& scan, const Format& format);

// scan_chunk.cpp
Plan chunk_delta_plan(const Scan& scan, const ScanSizes& z, const MathPath& math, const Gpu& gpu,
                      const Context& context);
Plan chunk_ssd_plan(const Scan& scan, const ScanSizes& z, const MathPath& math, const Gpu& gpu);

}  // namespace tilecast
