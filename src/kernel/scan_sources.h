// The scan kernels that measurement tables name, and what each of them computes.
#pragma once

#include "kernel/context.h"
#include "kernel/scan.h"

namespace tilecast {

struct ScanSource {
  std::string_view name;
  ScanKind kind;
  ScanPhase phase;
  bool fused = false;
  Count convolutions = 1;
};

// Null: no table has a scan kernel of that name.
const ScanSource* scan_source(std::string_view name);

// How much of a shape a kernel fits: 0 where it computes something else, more for the right form and phase.
int fit_of(const ScanSource& source, const Scan& shape);

}  // namespace tilecast
