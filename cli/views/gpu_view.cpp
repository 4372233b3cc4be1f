#include "cli/views/gpu_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/terminal/marked_text.h"
#include "cli/terminal/units_text.h"
#include "support/table.h"
#include "support/text.h"

namespace tilecast {
namespace {

std::string tera(OpsPerSecond rate) { return rate.base() > 0 ? three_digits(in_teraops_per_second(rate)) : "–"; }

std::string peaks_text(const GpuInfo& gpu) {
  Table table({{"peak at the quoted clock", Align::left}, {"T/s"}, {"published"}});
  for (const GpuPeak& peak : gpu.peaks)
    table.add({peak.mode, three_digits(in_teraops_per_second(peak.rate)),
               peak.published ? three_digits(in_teraops_per_second(*peak.published)) : ""});
  return table.shown(2);
}

}  // namespace

std::string gpus_table(const std::vector<GpuInfo>& gpus) {
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
  for (const GpuInfo& gpu : gpus) {
    const OpsPerSecond half = std::max(gpu.tensor_peak("bf16"), gpu.tensor_peak("fp16"));
    table.add({gpu.name, fmt::format("{} {}", gpu.architecture, gpu.compute_capability), std::to_string(gpu.sms),
               fmt::format("{}", in_megahertz(gpu.clock_max)), fmt::format("{}", in_watts(gpu.power)),
               tera(gpu.peak("vector fp32")), tera(half), tera(gpu.tensor_peak("fp8")),
               three_digits(in_mebibytes(gpu.l2)), three_digits(in_gibibytes(gpu.dram)),
               three_digits(in_gigabytes_per_second(gpu.dram_rate))});
  }
  return table.shown() +
         "\nPeaks are dense, at the clock the vendor quotes them at; bf16 stands for fp16 where there is no bf16.\n";
}

std::string gpu_text(const GpuInfo& gpu) {
  std::string out = fmt::format("{}  ({} {}, {} SMs)\n", gpu.name, gpu.architecture, gpu.compute_capability, gpu.sms);
  if (!gpu.aliases.empty()) out += fmt::format("  also known as {}\n", join(gpu.aliases, ", "));
  out += fmt::format("  clock   {} MHz quoted, {} MHz at most; {} W\n", in_megahertz(gpu.clock_quoted),
                     in_megahertz(gpu.clock_max), in_watts(gpu.power));
  out += fmt::format(
      "  SM      {} registers, {} KiB of shared memory ({} KiB a CTA, {} B/clock), {} threads, {} CTAs\n",
      gpu.sm.registers, in_bytes(gpu.sm.shared_memory) / 1024, in_bytes(gpu.sm.shared_memory_per_cta) / 1024,
      in_bytes(gpu.sm.shared_memory_per_clock), gpu.sm.threads, gpu.sm.ctas);
  out += fmt::format("  L2      {} MiB, {} at the highest clock\n", three_digits(in_mebibytes(gpu.l2)),
                     text_of(gpu.l2_rate));
  if (gpu.last_level_cache)
    out += fmt::format("  LLC     {} MiB, {}\n", three_digits(in_mebibytes(gpu.last_level_cache->size)),
                       text_of(gpu.last_level_cache->rate));
  out += fmt::format("  DRAM    {} GiB {}, {}\n", three_digits(in_gibibytes(gpu.dram)), gpu.dram_type,
                     text_of(gpu.dram_rate));
  out += fmt::format("  links   NVLink {}, PCIe {} (each direction)\n",
                     gpu.nvlink.base() > 0 ? text_of(gpu.nvlink) : "none",
                     gpu.pcie.base() > 0 ? text_of(gpu.pcie) : "none");
  out += "\n" + peaks_text(gpu);
  for (const std::string& note : gpu.notes) out += "\n  " + note_word("Note:") + " " + note + "\n";
  if (!gpu.sources.empty()) out += "\n  sources\n";
  for (const auto& [field, source] : gpu.sources) out += fmt::format("    {}: {}\n", field, source);
  return out;
}

std::string gpu_line(const GpuInfo& gpu) {
  return fmt::format("ok: {}, {} SMs at up to {} MHz, {} bf16, {}\n", gpu.name, gpu.sms, in_megahertz(gpu.clock_max),
                     text_of(gpu.tensor_peak("bf16")), text_of(gpu.dram_rate));
}

std::string constants_table(const GpuConstants& card) {
  Table table({{"constant", Align::left},
               {"of", Align::left},
               {"value"},
               {"unit", Align::left},
               {"kind", Align::left},
               {"what", Align::left},
               {"source", Align::left}});
  for (const ConstantInfo& c : card.constants)
    table.add({c.name, c.of, fmt::format("{:.4g}", c.value), c.unit, c.kind, c.about, c.source});
  return fmt::format("{}: {} constants (docs/constants.md)\n\n{}", card.gpu, card.constants.size(), table.shown());
}

}  // namespace tilecast
