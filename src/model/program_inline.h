// Which results of a compiled graph are never materialised: Inductor computes pointwise operators inside the kernels
// that read them (PyTorch 2.11, torch/_inductor/ir.py, TensorBox.mark_reuse and realize_hint; config.py,
// realize_reads_threshold).
#pragma once

#include <vector>

#include "model/program_rules.h"

namespace tilecast {

enum class FuseKind : std::uint8_t { apart, quiet, pointwise, rows, columns, scattered };

// What a kernel actually reads: a storage, and this many of its bytes in elements of this size.
struct InlinedRead {
  int storage = 0;
  double bytes = 0, element = 4;
  const ProgramLayout* layout = nullptr;  // as the operator that reads it sees it
};

struct InlinedProgram {
  std::vector<bool> inlined;                    // by call: it runs inside its readers
  std::vector<std::vector<InlinedRead>> reads;  // by call, through everything that is inlined
  std::vector<double> work;                     // by call: instructions of all it computes, itself and what is inlined
  std::vector<bool> never_made;                 // by storage
};

// `kinds` says how each call is fused. Programs recorded as eager ones inline nothing.
InlinedProgram inline_pointwise(const ProgramFile& program, const std::vector<FuseKind>& kinds);

}  // namespace tilecast
