// Tests over thousands of cases alike try all of them as they ship, and a share of them under a sanitizer, which makes
// each several times slower and looks for what no case has to itself.
#pragma once

#include <cstddef>

namespace tilecast {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)  // GCC says so by macros, clang by features
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

// The step through such cases. Take an n that shares no factor with the loops they come from, so that all of those
// turn.
constexpr std::size_t one_of(std::size_t n) { return kSanitized ? n : 1; }

}  // namespace tilecast
