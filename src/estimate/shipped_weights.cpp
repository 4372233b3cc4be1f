#include "estimate/shipped_weights.h"

#include <cassert>

// The assembler takes the file in as it is: a compiler would need minutes for megabytes of initialisers.
// TILECAST_WEIGHTS_FILE comes from CMakeLists.txt.
asm(".section .rodata\n"
    ".balign 16\n"
    ".global tilecast_shipped_weights_begin\n"
    "tilecast_shipped_weights_begin:\n"
    ".incbin \"" TILECAST_WEIGHTS_FILE
    "\"\n"
    ".global tilecast_shipped_weights_end\n"
    "tilecast_shipped_weights_end:\n"
    ".byte 0\n"
    ".text\n");
extern "C" const char tilecast_shipped_weights_begin[], tilecast_shipped_weights_end[];

namespace tilecast {

const Weights& shipped_weights() {
  static const Weights weights = [] {
    const auto size = static_cast<std::size_t>(tilecast_shipped_weights_end - tilecast_shipped_weights_begin);
    auto read = weights_from_bytes({tilecast_shipped_weights_begin, size}, "the shipped weights");
    assert(read);  // a test reads them; a build cannot ship others
    return read ? *std::move(read) : Weights{};
  }();
  return weights;
}

}  // namespace tilecast
