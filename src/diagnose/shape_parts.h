// What reading shapes off operators and off launches have in common.
#pragma once

#include <optional>
#include <string_view>

#include "diagnose/recognise.h"
#include "kernel/attention.h"
#include "support/text.h"

namespace tilecast {

// Of "[1, 1]" or "1"; zero where there is none.
Count first_number(std::string_view text);

// FlashAttention 2 calls its kernels flash_fwd_kernel and so on, whoever built them.
AttentionAlgorithm algorithm_of(std::string_view kernel_name);

// The number format that a kernel's name tells; bf16 where it tells none.
std::string_view format_of_name(std::string_view name);

// Nothing where the shape makes no sense.
std::optional<Kernel> kernel_of(Shape shape, std::string_view format);

}  // namespace tilecast
