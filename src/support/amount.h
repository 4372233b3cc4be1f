// Numbers as people write them on command lines, in JSON and in sweeps: one grammar for the whole program.
//
// Counts and other numbers take k, M, B (or G) and T, powers of 1000: 800k, 2.5B, 15T; and Ki, Mi, Gi and Ti, powers of
// 1024: 8Ki is 8192. A capital K alone is rejected: SGLang has none, and vLLM reads 8K as 8192 and 8k as 8000.
//
// Bytes take KB, MB, GB and TB, powers of 1000, and KiB, MiB, GiB and TiB, powers of 1024. Without the B, 64K and 64Ki
// are both 64 KiB, as in nccl-tests, whose sizes are often pasted.
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
// A whole number that fits in 64 bits.
std::optional<std::int64_t> whole_amount_from(std::string_view text);
// Bytes, zero or more.
std::optional<double> bytes_from(std::string_view text);

// The remedy for a text that is not an amount: a way to write it, or else `otherwise`.
std::string amount_remedy(std::string_view text, std::string otherwise);
inline constexpr std::string_view kBytesRemedy = "for example 256, 64K or 64KiB (65536), 64KB (64000), 1.5GiB";

}  // namespace tilecast
