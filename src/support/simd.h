// One binary, several instruction sets: which of them this processor has.
//
// A hot loop is written once as an always-inlined template and instantiated in functions with a `target` attribute; the
// caller picks one by level. Nothing else in the program is compiled for more than the base instruction set.
#pragma once

#include <cstdint>

namespace tilecast {

enum class Simd : std::uint8_t { base, avx2, avx512 };

inline Simd simd_level() {
#if defined(__x86_64__)
  static const Simd level = __builtin_cpu_supports("avx512f")                                 ? Simd::avx512
                            : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? Simd::avx2
                                                                                              : Simd::base;
  return level;
#else
  return Simd::base;
#endif
}

}  // namespace tilecast

#define TILECAST_ALWAYS_INLINE inline __attribute__((always_inline))
#if defined(__x86_64__)
#define TILECAST_AVX2 __attribute__((target("avx2,fma")))
#define TILECAST_AVX512 __attribute__((target("avx512f,avx2,fma")))
#else
#define TILECAST_AVX2
#define TILECAST_AVX512
#endif
