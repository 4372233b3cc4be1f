#include "tilecast/gpu.h"

#include <algorithm>

#include "api/declare.h"
#include "cluster/prices.h"
#include "gpu/card_constants.h"
#include "gpu/registry.h"
#include "kernel/format.h"

namespace tilecast {
namespace {

void add_peak(GpuInfo& info, const Gpu& gpu, std::string mode, OpsPerSecond rate) {
  GpuPeak peak{std::move(mode), rate, {}};
  if (const auto published = gpu.published_peaks.find(peak.mode); published != gpu.published_peaks.end())
    peak.published = published->second;
  info.peaks.push_back(std::move(peak));
}

void add_peaks(GpuInfo& info, const Gpu& gpu) {
  for (int i = 0; i < kDTypeCount; ++i)
    for (int a = 0; a < kDTypeCount; ++a) {
      const auto input = static_cast<DType>(i), accumulate = static_cast<DType>(a);
      if (!gpu.has_tensor(input, accumulate)) continue;
      const Hertz clock = input == DType::fp64 ? gpu.clock.quoted_vector : gpu.clock.quoted;
      add_peak(info, gpu, "tensor " + std::string(name_of(input)) + "/" + std::string(name_of(accumulate)),
               gpu.tensor_peak(input, accumulate, clock));
    }
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto type = static_cast<DType>(i);
    if (gpu.vector_per_clock[static_cast<std::size_t>(i)] > 0)
      add_peak(info, gpu, "vector " + std::string(name_of(type)), gpu.vector_peak(type, gpu.clock.quoted_vector));
  }
}

GpuInfo info_of(const Gpu& gpu) {
  GpuInfo info;
  info.name = gpu.name, info.aliases = gpu.aliases;
  info.architecture = name_of(gpu.architecture), info.compute_capability = gpu.compute_capability;
  info.built_in = gpu.built_in, info.calibrated = gpu.calibration != nullptr;
  info.sms = gpu.sms, info.clock_quoted = gpu.clock.quoted, info.clock_max = gpu.clock.max, info.power = gpu.power;
  if (const auto price = shipped_prices().of(gpu.name); price && gpu.built_in) {
    info.usd_per_hour = price->usd_per_hour;
    info.price_source = price->provider + ", " + price->read_on;
  }
  add_peaks(info, gpu);
  info.sm = {gpu.registers_per_sm,        gpu.shared_memory.per_sm, gpu.shared_memory.per_cta,
             gpu.shared_memory.per_clock, gpu.max_threads_per_sm,   gpu.max_ctas_per_sm};
  info.l2 = gpu.l2.size, info.l2_rate = gpu.l2_peak(gpu.clock.max);
  if (gpu.last_level_cache) info.last_level_cache = {gpu.last_level_cache->size, gpu.last_level_cache->bandwidth};
  info.dram = gpu.dram.size, info.dram_type = gpu.dram.type, info.dram_rate = gpu.dram.bandwidth;
  info.dram_ecc = gpu.dram.ecc;
  info.nvlink = gpu.links.nvlink, info.pcie = gpu.links.pcie;
  info.notes = gpu.notes;
  info.sources.assign(gpu.sources.begin(), gpu.sources.end());
  return info;
}

}  // namespace

OpsPerSecond GpuInfo::tensor_peak(std::string_view inputs) const {
  const std::string start = "tensor " + std::string(inputs) + "/";
  OpsPerSecond best;
  for (const GpuPeak& one : peaks) {
    if (!one.mode.starts_with(start)) continue;
    // Products add up in 32 bits. GeForce cards do twice as many in 16, which no library asks for.
    if (one.mode.ends_with("/fp32") || one.mode.ends_with("/int32")) return one.rate;
    best = std::max(best, one.rate);
  }
  return best;
}

std::vector<GpuInfo> known_gpus() {
  std::vector<GpuInfo> all;
  for (const Gpu& gpu : built_in_gpus()) all.push_back(info_of(gpu));
  return all;
}

Result<GpuInfo> describe_gpu(const GpuQuery& query) {
  if (auto fine = check_arguments(query); !fine) return std::move(fine).error();
  const auto gpu = load_gpu(query.name);
  if (!gpu) return gpu.error();
  return info_of(*gpu);
}

Result<std::string> gpu_description(const GpuQuery& query) {
  if (auto fine = check_arguments(query); !fine) return std::move(fine).error();
  return built_in_gpu_text(query.name);
}

Result<GpuConstants> gpu_constants(const GpuQuery& query) {
  if (auto fine = check_arguments(query); !fine) return std::move(fine).error();
  const auto gpu = load_gpu(query.name);
  if (!gpu) return gpu.error();
  GpuConstants all{gpu->name, {}};
  for (const Constant* c : constants_of(*gpu))
    all.constants.push_back({std::string(c->name), std::string(c->of), c->value, std::string(c->unit),
                             std::string(name_of(c->kind)), c->tunable, std::string(c->about), std::string(c->source)});
  return all;
}

std::vector<NumberFormat> number_formats() {
  std::vector<NumberFormat> all;
  for (const Format& f : formats())
    all.push_back({std::string(f.name), std::string(name_of(f.math)), std::string(name_of(f.accumulate)), f.weight_bits,
                   f.activation_bits, std::string(name_of(f.output)), f.quantise != Quantise::none});
  return all;
}

const Question& gpus_question() {
  static const Question question{"gpus", "list the GPUs Tilecast knows", {"gpus"}};
  return question;
}

const Question& gpu_question() {
  static const Question question{
      "gpu show", "everything known about a GPU, with sources", {"gpu show H100-SXM", "gpu show H100-SXM --constants"}};
  return question;
}

std::vector<BoundArgument> arguments_of(GpuQuery& q) {
  Declare list;
  list.add(q.name, {.name = "name",
                    .help = "a GPU's name, or a description file",
                    .example = "H100-SXM",
                    .required = true,
                    .positional = true,
                    .touches = Touches::gpu});
  return list.take();
}

}  // namespace tilecast
