#include "engine/engine_cards.h"

#include <fmt/format.h>

#include <optional>

#include "support/number.h"

namespace tilecast {
namespace {

std::optional<double> capability_of(const Gpu& gpu) {
  if (gpu.vendor != Vendor::nvidia) return std::nullopt;
  return finite_number(gpu.compute_capability);
}

std::string below(std::string_view engine, const Gpu& gpu, double least, std::string_view since) {
  const auto capability = capability_of(gpu);
  if (!capability || *capability >= least) return {};
  return fmt::format("{} needs compute capability {:.1f} ({}) or later, and {} has {}", engine, least, since, gpu.name,
                     gpu.compute_capability);
}

}  // namespace

// TensorRT-LLM 1.2's page of supported hardware and 0.18's support matrix: Ampere (SM 8.0, 8.6), Ada, Hopper,
// Blackwell. vLLM 0.14's installation page: compute capability 7.0, MI200, MI300 and MI350, Intel's cards. SGLang
// (model_executor/model_runner.py): "SGLang only supports sm75 and above".
std::string why_not_on(EngineKind engine, const Gpu& gpu) {
  constexpr double kTrtllm = 8.0, kVllm = 7.0, kSglang = 7.5;
  switch (engine) {
    case EngineKind::trtllm:
      if (gpu.vendor != Vendor::nvidia)
        return fmt::format("TensorRT-LLM runs on NVIDIA's cards alone, and {} is not one of them", gpu.name);
      return below("TensorRT-LLM", gpu, kTrtllm, "Ampere");
    case EngineKind::vllm:
      if (gpu.architecture == Architecture::cdna1)
        return fmt::format("vLLM runs on MI200 and later of AMD's cards, not on {}", gpu.name);
      return below("vLLM", gpu, kVllm, "Volta");
    case EngineKind::sglang: return below("SGLang", gpu, kSglang, "Turing");
    default: return {};
  }
}

Status check_card_of(EngineKind engine, const Gpu& gpu) {
  if (const std::string why = why_not_on(engine, gpu); !why.empty())
    return field_error("engine", why, engine == EngineKind::trtllm ? "vllm or sglang" : "another card");
  return Ok{};
}

}  // namespace tilecast
