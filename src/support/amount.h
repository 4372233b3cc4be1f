// Numbers as people write them on command lines, in JSON and in sweeps: one grammar for the whole program.
//
// Counts and other numbers take k, M, B (or G) and T, powers of 1000: 800k, 2.5B, 15T; and Ki, Mi, Gi and Ti, powers of
// 1024: 8Ki is 8192. A capital K alone is refused: SGLang knows none, and vLLM takes 8K for 8192 and 8k for 8000.
//
// Bytes take KB, MB, GB and TB, powers of 1000, and KiB, MiB, GiB and TiB, powers of 1024. Without the B, 64K and 64Ki
// are both 64 KiB, as in nccl-tests, whose sizes people paste.
//
// docs/glossary.md says the same to users.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tilecast {

// A finite number, or nothing.
std::optional<double> amount_from(std::string_view text);
// A whole one that 64 bits hold.
std::optional<std::int64_t> whole_amount_from(std::string_view text);
// Bytes, zero or more.
std::optional<double> bytes_from(std::string_view text);

// What to do about a text that is no amount: a way to write it, else `otherwise`.
std::string amount_remedy(std::string_view text, std::string otherwise);
inline constexpr std::string_view kBytesRemedy = "for example 256, 64K or 64KiB (65536), 64KB (64000), 1.5GiB";

}  // namespace tilecast
