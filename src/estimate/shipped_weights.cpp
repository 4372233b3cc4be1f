#include "estimate/shipped_weights.h"

#include <cassert>

#include "estimate/packed.h"

// The assembler includes the file directly: a compiler would need minutes for megabytes of initialisers.
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
namespace {

std::string_view shipped_bytes() {
  return {tilecast_shipped_weights_begin,
          static_cast<std::size_t>(tilecast_shipped_weights_end - tilecast_shipped_weights_begin)};
}
constexpr const char* kPlace = "the shipped weights";

}  // namespace

std::uint32_t shipped_weights_checksum() {
  PackReader header(shipped_bytes().substr(8));  // behind the magic word (estimate/packed.h)
  header.number<std::uint32_t>();
  header.number<std::uint64_t>(), header.number<std::uint64_t>();
  return header.number<std::uint32_t>();
}

const Weights& shipped_weights() {
  static const Weights weights = [] {
    auto read = weights_from_bytes(shipped_bytes(), kPlace);
    assert(read);  // a test reads them; a build cannot ship others
    return read ? *std::move(read) : Weights{};
  }();
  return weights;
}

const ModelSource& shipped_models() {
  static const std::unique_ptr<LazyWeights> models = [] {
    auto read = LazyWeights::from_bytes(shipped_bytes(), kPlace);
    assert(read);
    return read ? *std::move(read) : std::make_unique<LazyWeights>();
  }();
  return *models;
}

}  // namespace tilecast
