// The door libFuzzer comes in by; TILECAST_FUZZ_TARGET names the function behind it.
#include <cstdio>
#include <cstdlib>

#include "targets.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string wrong = tilecast::TILECAST_FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  if (wrong.empty()) return 0;
  std::fprintf(stderr, "%s\n", wrong.c_str());
  std::abort();
}
