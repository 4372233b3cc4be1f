// Which kernel PyTorch's scaled_dot_product_attention runs, by release, card, number format and heads.
#pragma once

#include <compare>
#include <string_view>

#include "gpu/gpu.h"
#include "kernel/format.h"
#include "kernel/kernel.h"
#include "tilecast/result.h"
#include "tilecast/run.h"

namespace tilecast {

struct TorchRelease {
  int major = 2, minor = 11, patch = 0;  // the release that our own H200 was measured with
  friend constexpr auto operator<=>(const TorchRelease&, const TorchRelease&) = default;
};

// Of "2.6" or "2.5.1"; errors name the field "torch".
Result<TorchRelease> torch_from(std::string_view text);
// The release that stands for an era.
TorchRelease torch_of(EngineEra era);

// cudnn, flash2, xformers (PyTorch's "efficient") or math; `fused` where there is no more to say than that.
AttentionForm torch_attention(const Gpu& gpu, const Shape& attention, const Format& format,
                              TorchRelease release = {});

// Whether a kernel asked for by name runs there: hardware and format. The error names the field "attention" and what
// runs instead.
Status check_attention(AttentionForm form, const Gpu& gpu, const Format& format);

}  // namespace tilecast
