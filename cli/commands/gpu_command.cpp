#include "cli/commands/gpu_command.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/terminal/units_text.h"
#include "constants/format.h"
#include "gpu/card_constants.h"
#include "gpu/registry.h"
#include "support/json.h"
#include "support/table.h"
#include "support/text.h"

namespace tilecast {
namespace {

using Json = nlohmann::ordered_json;

std::string tera(OpsPerSecond rate) { return rate.base() > 0 ? three_digits(in_teraops_per_second(rate)) : "–"; }

OpsPerSecond best_tensor(const Gpu& gpu, DType input) {
  OpsPerSecond best;
  for (int a = 0; a < kDTypeCount; ++a)
    best = std::max(best, gpu.tensor_peak(input, static_cast<DType>(a), gpu.clock.quoted));
  return best;
}

Json peaks_json(const Gpu& gpu) {
  Json peaks = Json::object();
  for (int i = 0; i < kDTypeCount; ++i)
    for (int a = 0; a < kDTypeCount; ++a) {
      const auto input = static_cast<DType>(i), accumulate = static_cast<DType>(a);
      if (!gpu.has_tensor(input, accumulate)) continue;
      const Hertz clock = input == DType::fp64 ? gpu.clock.quoted_vector : gpu.clock.quoted;
      peaks[fmt::format("tensor {}/{}", name_of(input), name_of(accumulate))] =
          in_teraops_per_second(gpu.tensor_peak(input, accumulate, clock));
    }
  for (int i = 0; i < kDTypeCount; ++i)
    if (gpu.vector_per_clock[static_cast<std::size_t>(i)] > 0)
      peaks[fmt::format("vector {}", name_of(static_cast<DType>(i)))] =
          in_teraops_per_second(gpu.vector_peak(static_cast<DType>(i), gpu.clock.quoted_vector));
  return peaks;
}

Json gpu_json(const Gpu& gpu) {
  return Json{{"name", gpu.name},
              {"architecture", name_of(gpu.architecture)},
              {"compute_capability", gpu.compute_capability},
              {"sms", gpu.sms},
              {"clock_mhz", {{"quoted", in_megahertz(gpu.clock.quoted)}, {"max", in_megahertz(gpu.clock.max)}}},
              {"power_w", in_watts(gpu.power)},
              {"peak_tflops", peaks_json(gpu)},
              {"l2_bytes", in_bytes(gpu.l2.size)},
              {"dram_bytes", in_bytes(gpu.dram.size)},
              {"dram_bytes_per_s", gpu.dram.bandwidth.base()},
              {"nvlink_bytes_per_s", gpu.links.nvlink.base()},
              {"pcie_bytes_per_s", gpu.links.pcie.base()}};
}

Json constants_json(const std::vector<const Constant*>& constants) {
  Json list = Json::array();
  for (const Constant* c : constants)
    list.push_back(Json{{"name", c->name},
                        {"of", c->of},
                        {"value", c->value},
                        {"unit", c->unit},
                        {"kind", name_of(c->kind)},
                        {"refitted", c->tunable},
                        {"what", c->about},
                        {"source", c->source}});
  return list;
}

std::string peaks_text(const Gpu& gpu) {
  Table table({{"peak at the quoted clock", Align::left}, {"T/s"}, {"published"}});
  const Json peaks = peaks_json(gpu);
  for (const auto& [mode, tflops] : peaks.items()) {
    const auto published = gpu.published_peaks.find(mode);
    table.add({mode, three_digits(tflops.get<double>()),
               published == gpu.published_peaks.end() ? "" : three_digits(in_teraops_per_second(published->second))});
  }
  return table.text(2);
}

std::string show_text(const Gpu& gpu) {
  std::string out =
      fmt::format("{}  ({} {}, {} SMs)\n", gpu.name, name_of(gpu.architecture), gpu.compute_capability, gpu.sms);
  if (!gpu.aliases.empty()) out += fmt::format("  also known as {}\n", join(gpu.aliases, ", "));
  out += fmt::format("  clock   {} MHz quoted, {} MHz at most; {} W\n", in_megahertz(gpu.clock.quoted),
                     in_megahertz(gpu.clock.max), in_watts(gpu.power));
  out += fmt::format(
      "  SM      {} registers, {} KiB of shared memory ({} KiB a CTA, {} B/clock), {} threads, {} CTAs\n",
      gpu.registers_per_sm, in_bytes(gpu.shared_memory.per_sm) / 1024, in_bytes(gpu.shared_memory.per_cta) / 1024,
      in_bytes(gpu.shared_memory.per_clock), gpu.max_threads_per_sm, gpu.max_ctas_per_sm);
  out += fmt::format("  L2      {} MiB, {} at the highest clock\n", three_digits(in_mebibytes(gpu.l2.size)),
                     text_of(gpu.l2_peak(gpu.clock.max)));
  if (gpu.last_level_cache)
    out += fmt::format("  LLC     {} MiB, {}\n", three_digits(in_mebibytes(gpu.last_level_cache->size)),
                       text_of(gpu.last_level_cache->bandwidth));
  out += fmt::format("  DRAM    {} GiB {}, {}\n", three_digits(in_gibibytes(gpu.dram.size)), gpu.dram.type,
                     text_of(gpu.dram.bandwidth));
  out += fmt::format("  links   NVLink {}, PCIe {} (each direction)\n",
                     gpu.links.nvlink.base() > 0 ? text_of(gpu.links.nvlink) : "none",
                     gpu.links.pcie.base() > 0 ? text_of(gpu.links.pcie) : "none");
  out += "\n" + peaks_text(gpu);
  for (const std::string& note : gpu.notes) out += "\n  note: " + note + "\n";
  if (!gpu.sources.empty()) out += "\n  sources\n";
  for (const auto& [field, source] : gpu.sources) out += fmt::format("    {}: {}\n", field, source);
  return out;
}

}  // namespace

Result<std::string> run_gpus(bool json) {
  if (json) {
    Json list = Json::array();
    for (const Gpu& gpu : built_in_gpus()) list.push_back(gpu_json(gpu));
    return json_text(list);
  }
  Table table({{"GPU", Align::left},
               {"architecture", Align::left},
               {"SMs"},
               {"max MHz"},
               {"W"},
               {"fp32 T/s"},
               {"bf16 T/s"},
               {"fp8 T/s"},
               {"L2 MiB"},
               {"DRAM GiB"},
               {"GB/s"}});
  for (const Gpu& gpu : built_in_gpus()) {
    const OpsPerSecond half = std::max(best_tensor(gpu, DType::bf16), best_tensor(gpu, DType::fp16));
    table.add({gpu.name, fmt::format("{} {}", name_of(gpu.architecture), gpu.compute_capability),
               std::to_string(gpu.sms), fmt::format("{}", in_megahertz(gpu.clock.max)),
               fmt::format("{}", in_watts(gpu.power)), tera(gpu.vector_peak(DType::fp32, gpu.clock.quoted_vector)),
               tera(half), tera(best_tensor(gpu, DType::fp8)), three_digits(in_mebibytes(gpu.l2.size)),
               three_digits(in_gibibytes(gpu.dram.size)), three_digits(in_gigabytes_per_second(gpu.dram.bandwidth))});
  }
  return table.text() +
         "\nPeaks are dense, at the clock the vendor quotes them at; bf16 stands for fp16 where there is no bf16.\n";
}

Result<std::string> run_gpu_show(const std::string& name_or_file, bool json) {
  auto gpu = load_gpu(name_or_file);
  if (!gpu) return std::move(gpu).error();
  return json ? json_text(gpu_json(*gpu)) : show_text(*gpu);
}

Result<std::string> run_gpu_constants(const std::string& name_or_file, bool json) {
  auto gpu = load_gpu(name_or_file);
  if (!gpu) return std::move(gpu).error();
  const auto constants = constants_of(*gpu);
  if (json) return Json{{"gpu", gpu->name}, {"constants", constants_json(constants)}}.dump(2) + "\n";
  Table table({{"constant", Align::left},
               {"of", Align::left},
               {"value"},
               {"unit", Align::left},
               {"kind", Align::left},
               {"what", Align::left},
               {"source", Align::left}});
  for (const Constant* c : constants)
    table.add({std::string(c->name), std::string(c->of), constant_text(c->value), std::string(c->unit),
               std::string(name_of(c->kind)), std::string(c->about), std::string(c->source)});
  return fmt::format("{}: {} constants (docs/constants.md)\n\n{}", gpu->name, constants.size(), table.text());
}

Result<std::string> run_gpu_check(const std::string& file) {
  auto gpu = load_gpu(file.find('/') == std::string::npos ? "./" + file : file);
  if (!gpu) return std::move(gpu).error();
  return fmt::format("{}: ok: {}, {} SMs at up to {} MHz, {} bf16, {}\n", file, gpu->name, gpu->sms,
                     in_megahertz(gpu->clock.max), text_of(best_tensor(*gpu, DType::bf16)),
                     text_of(gpu->dram.bandwidth));
}

}  // namespace tilecast
