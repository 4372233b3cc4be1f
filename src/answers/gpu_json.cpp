// GPUs for programs (docs/json.md).
#include "answers/documents.h"
#include "support/json_value.h"

namespace tilecast {
namespace {

Json object_of(const GpuInfo& gpu) {
  Json peaks = Json::object();
  for (const GpuPeak& peak : gpu.peaks) peaks[peak.mode] = in_teraops_per_second(peak.rate);
  return Json{{"name", gpu.name},
              {"architecture", gpu.architecture},
              {"compute_capability", gpu.compute_capability},
              {"sms", gpu.sms},
              {"clock_mhz", {{"quoted", in_megahertz(gpu.clock_quoted)}, {"max", in_megahertz(gpu.clock_max)}}},
              {"power_w", in_watts(gpu.power)},
              {"usd_per_hour", gpu.usd_per_hour ? Json(*gpu.usd_per_hour) : Json()},
              {"price_source", gpu.price_source},
              {"peak_tflops", peaks},
              {"l2_bytes", in_bytes(gpu.l2)},
              {"dram_bytes", in_bytes(gpu.dram)},
              {"dram_bytes_per_s", gpu.dram_rate.base()},
              {"nvlink_bytes_per_s", gpu.nvlink.base()},
              {"pcie_bytes_per_s", gpu.pcie.base()}};
}

}  // namespace

std::string gpus_json(const std::vector<GpuInfo>& gpus) {
  Json list = Json::array();
  for (const GpuInfo& gpu : gpus) list.push_back(object_of(gpu));
  return json_text(list);
}

std::string gpu_json(const GpuInfo& gpu) { return json_text(object_of(gpu)); }

std::string constants_json(const GpuConstants& card) {
  Json list = Json::array();
  for (const ConstantInfo& c : card.constants)
    list.push_back(Json{{"name", c.name},
                        {"of", c.of},
                        {"value", c.value},
                        {"unit", c.unit},
                        {"kind", c.kind},
                        {"refitted", c.refitted},
                        {"what", c.about},
                        {"source", c.source}});
  return Json{{"gpu", card.gpu}, {"constants", list}}.dump(2) + "\n";
}

}  // namespace tilecast
