#include "gpu/gpu_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "gpu/calibration_file.h"
#include "support/json.h"
#include "support/json_fields.h"
#include "support/number.h"
#include "support/text.h"

namespace tilecast {
namespace {

using Json = nlohmann::json;

// Vendor peaks are rounded to three digits or fewer; if the difference is larger than this, one of the figures is
// wrong.
constexpr double kPeakTolerance = 0.02;

constexpr const char* kMissing = "see docs/gpu-files.md, or start from \"like\"";

// Fields of each object of the file; anything else is a mistake worth naming.
const JsonObjectFields kFields = {{"",
                                   {"name",
                                    "aliases",
                                    "vendor",
                                    "architecture",
                                    "compute_capability",
                                    "sms",
                                    "clock_mhz",
                                    "power_w",
                                    "tensor_ops_per_clock_per_sm",
                                    "vector_ops_per_clock_per_sm",
                                    "registers_per_sm",
                                    "shared_memory",
                                    "max_threads_per_sm",
                                    "max_ctas_per_sm",
                                    "l2",
                                    "last_level_cache",
                                    "dram",
                                    "links",
                                    "grace_host",
                                    "vllm",
                                    "published_peak_tflops",
                                    "notes",
                                    "sources",
                                    "calibration",
                                    "like"}},
                                  {"clock_mhz", {"quoted", "quoted_vector", "max"}},
                                  {"shared_memory", {"per_sm_kib", "per_cta_kib", "bytes_per_clock_per_sm"}},
                                  {"l2", {"mib", "bytes_per_clock"}},
                                  {"last_level_cache", {"mib", "gb_per_s"}},
                                  {"dram", {"gib", "type", "gb_per_s", "ecc"}},
                                  {"links", {"nvlink_gb_per_s", "pcie_gb_per_s"}},
                                  {"vllm", {"max_num_seqs", "max_num_batched_tokens"}},
                                  {"vector_ops_per_clock_per_sm", {"fp64", "fp32", "fp16", "bf16", "int32", "xu"}}};

using Reader = JsonFields;

struct TensorMode {
  DType input, accumulate;
};
std::optional<TensorMode> tensor_mode(std::string_view key) {
  const auto slash = key.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto input = dtype_from(key.substr(0, slash));
  const auto accumulate = dtype_from(key.substr(slash + 1));
  if (!input || !accumulate) return std::nullopt;
  return TensorMode{*input, *accumulate};
}

// Number formats, tiles and the kernels of engines go by both; a card that says two things would be priced as neither.
void check_capability(Reader& read, const Gpu& gpu) {
  const auto capability = finite_number(gpu.compute_capability);
  if (!capability || read.failure()) return;
  struct Range {
    Architecture architecture;
    double from, below;
  };
  constexpr std::array<Range, 7> kRanges = {{{Architecture::pascal, 6, 7},
                                             {Architecture::volta, 7, 7.5},
                                             {Architecture::turing, 7.5, 8},
                                             {Architecture::ampere, 8, 8.9},
                                             {Architecture::ada, 8.9, 9},
                                             {Architecture::hopper, 9, 10},
                                             {Architecture::blackwell, 10, 1e9}}};
  for (const Range& range : kRanges)
    if (range.architecture == gpu.architecture && (*capability < range.from || *capability >= range.below))
      read.fail("compute_capability",
                fmt::format("is {}, which no card of {} has", gpu.compute_capability, name_of(gpu.architecture)),
                "give architecture, compute_capability and tensor_ops_per_clock_per_sm together, or start from a card "
                "of that architecture");
}

// NVIDIA's tensor cores multiply fp8 from Ada on, and fp4 from Blackwell on.
void check_narrow_pipes(Reader& read, const Gpu& gpu) {
  const auto has = [&](DType type) { return gpu.has_tensor(type, DType::fp32); };
  const bool fp8 = has(DType::fp8) && gpu.architecture < Architecture::ada;
  const bool fp4 = has(DType::fp4) && gpu.architecture < Architecture::blackwell;
  if (gpu.vendor == Vendor::nvidia && (fp8 || fp4))
    read.fail(
        fmt::format("tensor_ops_per_clock_per_sm.{}", fp8 ? "fp8/fp32" : "fp4/fp32"),
        fmt::format("is given, and no tensor core of {} multiplies {}", name_of(gpu.architecture), fp8 ? "fp8" : "fp4"),
        "leave it out (null beside \"like\"), or start from a card of that architecture");
}

void read_identity(Reader& read, Gpu& gpu) {
  gpu.name = read.text("name");
  gpu.aliases = read.texts("aliases");
  const std::string vendor = read.text("vendor");
  if (vendor == "NVIDIA") gpu.vendor = Vendor::nvidia;
  else if (vendor == "AMD") gpu.vendor = Vendor::amd;
  else if (vendor == "Intel") gpu.vendor = Vendor::intel;
  else read.fail("vendor", "must be NVIDIA, AMD or Intel, not '" + vendor + "'");
  const std::string architecture = read.text("architecture");
  const auto known = std::find(kArchitectureNames.begin(), kArchitectureNames.end(), architecture);
  if (known == kArchitectureNames.end()) {
    std::vector<std::string> names(kArchitectureNames.begin(), kArchitectureNames.end());
    read.fail("architecture", "unknown architecture '" + architecture + "'", "known: " + join(names, ", "));
  } else {
    gpu.architecture = static_cast<Architecture>(known - kArchitectureNames.begin());
  }
  gpu.compute_capability = read.text("compute_capability");
  if (gpu.vendor == Vendor::nvidia) check_capability(read, gpu);
  gpu.notes = read.texts("notes");
}

void read_pipes(Reader& read, Gpu& gpu) {
  gpu.sms = read.whole("sms", 1, 10000);
  gpu.clock.quoted = megahertz(read.number("clock_mhz.quoted", 100, 20000));
  gpu.clock.quoted_vector = read.find("clock_mhz.quoted_vector")
                                ? megahertz(read.number("clock_mhz.quoted_vector", 100, 20000))
                                : gpu.clock.quoted;
  gpu.clock.max = megahertz(read.number("clock_mhz.max", 100, 20000));
  if (const Hertz quoted = std::max(gpu.clock.quoted, gpu.clock.quoted_vector); gpu.clock.max < quoted)
    read.fail("clock_mhz.max",
              fmt::format("is below the quoted clock ({} < {})", in_megahertz(gpu.clock.max), in_megahertz(quoted)));
  gpu.power = watts(read.number("power_w", 1, 100000));
  read.numbers("tensor_ops_per_clock_per_sm", [&](const std::string& key, double rate) {
    const auto mode = tensor_mode(key);
    if (!mode)
      return read.fail("tensor_ops_per_clock_per_sm." + key, "is not <input>/<accumulate>",
                       "for example \"bf16/fp32\"");
    gpu.tensor_per_clock[static_cast<std::size_t>(mode->input)][static_cast<std::size_t>(mode->accumulate)] = rate;
  });
  check_narrow_pipes(read, gpu);
  read.numbers("vector_ops_per_clock_per_sm", [&](const std::string& key, double rate) {
    if (key == "xu") gpu.xu_per_clock = rate;
    else if (const auto type = dtype_from(key)) gpu.vector_per_clock[static_cast<std::size_t>(*type)] = rate;
  });
  if (gpu.xu_per_clock <= 0) read.fail("vector_ops_per_clock_per_sm.xu", "is missing");
  if (gpu.vector_per_clock[static_cast<std::size_t>(DType::fp32)] <= 0)
    read.fail("vector_ops_per_clock_per_sm.fp32", "is missing");
}

bool flag_or(Reader& read, const std::string& path, bool otherwise) {
  const Json* value = read.find(path);
  if (!value) return otherwise;
  if (!value->is_boolean()) return read.fail(path, "must be true or false"), otherwise;
  return value->get<bool>();
}

// What software derives from the card's name, as figures: renaming a card does not make it another card.
void read_software(Reader& read, Gpu& gpu) {
  gpu.grace_host = flag_or(read, "grace_host", false);
  if (read.find("vllm"))
    gpu.vllm_limits = Gpu::BatchLimits{read.whole("vllm.max_num_seqs", 1, 1 << 20),
                                       read.whole("vllm.max_num_batched_tokens", 1, 1 << 24)};
}

// Zero where the card has no such link; nothing joins cards at a millionth of PCIe's first generation.
BytesPerSecond link_rate(Reader& read, const std::string& path) {
  constexpr double kSlowest = 0.01;  // GB/s
  const double rate = read.number(path, 0, 1e6);
  if (rate > 0 && rate < kSlowest)
    read.fail(path, fmt::format("must be 0 (no such link) or at least {} GB/s, not {}", kSlowest, rate));
  return gigabytes_per_second(rate);
}

void read_memory(Reader& read, Gpu& gpu) {
  gpu.registers_per_sm = read.whole("registers_per_sm", 1024, 1 << 24);
  gpu.shared_memory.per_sm = kibibytes(read.number("shared_memory.per_sm_kib", 1, 65536));
  gpu.shared_memory.per_cta = kibibytes(read.number("shared_memory.per_cta_kib", 1, 65536));
  gpu.shared_memory.per_clock = bytes(read.number("shared_memory.bytes_per_clock_per_sm", 1, 65536));
  if (gpu.shared_memory.per_cta > gpu.shared_memory.per_sm)
    read.fail("shared_memory.per_cta_kib", "is above shared_memory.per_sm_kib");
  gpu.max_threads_per_sm = read.whole("max_threads_per_sm", 32, 65536);
  gpu.max_ctas_per_sm = read.whole("max_ctas_per_sm", 1, 1024);
  gpu.l2.size = mebibytes(read.number("l2.mib", 0.125, 65536));
  gpu.l2.per_clock = bytes(read.number("l2.bytes_per_clock", 32, 1e7));
  if (read.find("last_level_cache"))
    gpu.last_level_cache = Gpu::LastLevelCache{mebibytes(read.number("last_level_cache.mib", 1, 1 << 20)),
                                               gigabytes_per_second(read.number("last_level_cache.gb_per_s", 1, 1e7))};
  gpu.dram.size = gibibytes(read.number("dram.gib", 0.25, 1 << 20));
  gpu.dram.type = read.text("dram.type");
  gpu.dram.bandwidth = gigabytes_per_second(read.number("dram.gb_per_s", 1, 1e6));
  gpu.dram.ecc = flag_or(read, "dram.ecc", true);
  gpu.links.nvlink = link_rate(read, "links.nvlink_gb_per_s");
  gpu.links.pcie = link_rate(read, "links.pcie_gb_per_s");
}

// A published peak must be what SMs x quoted clock x throughput gives.
void read_published_peaks(Reader& read, Gpu& gpu) {
  if (!read.find("published_peak_tflops")) return;
  read.numbers("published_peak_tflops", [&](const std::string& key, double tflops) {
    const std::string path = "published_peak_tflops." + key;
    const auto space = key.find(' ');
    const std::string pipe = key.substr(0, space), type = space == std::string::npos ? "" : key.substr(space + 1);
    OpsPerSecond derived;
    Hertz clock = gpu.clock.quoted;
    if (const auto mode = tensor_mode(type); pipe == "tensor" && mode) {
      if (mode->input == DType::fp64) clock = gpu.clock.quoted_vector;
      derived = gpu.tensor_peak(mode->input, mode->accumulate, clock);
    } else if (const auto vector = dtype_from(type); pipe == "vector" && vector) {
      clock = gpu.clock.quoted_vector;
      derived = gpu.vector_peak(*vector, clock);
    } else {
      return read.fail(path, "is neither 'tensor <input>/<accumulate>' nor 'vector <type>'");
    }
    if (std::abs(in_teraops_per_second(derived) - tflops) > kPeakTolerance * tflops)
      return read.fail(path,
                       fmt::format("contradicts the rest: {} SMs x {} MHz x throughput give {:.1f}, not {}", gpu.sms,
                                   in_megahertz(clock), in_teraops_per_second(derived), tflops),
                       "correct sms, clock_mhz.quoted, the throughput or the peak");
    gpu.published_peaks[key] = teraops_per_second(tflops);
  });
}

Result<Json> parse_description(std::string_view text, const std::string& place) {
  return parse_json_object(text, place, "see docs/gpu-files.md");
}

// A derived description has its own values for these or none, because they describe the other card.
constexpr std::array kNotInherited = {"published_peak_tflops", "aliases", "sources", "notes", "name", "calibration"};

// The description `like` names.
Result<Json> parent_of(const Json& own, const std::string& place, const GpuTextLookup& like) {
  if (!own["like"].is_string()) return Error{place, "like", "must be the name of a GPU", "for example \"H100-SXM\""};
  auto base_text = like(own["like"].get<std::string>());
  if (!base_text) return Error{place, "like", base_text.error().problem, base_text.error().remedy};
  return parse_description(*base_text, place);
}

Json bare(Json description) {
  for (const char* name : kNotInherited) description.erase(name);
  description.erase("like");
  return description;
}

// This file's fields merged over its parent's.
Json laid_over(const Json& parent, const Json& own) {
  Json merged = bare(parent);
  // vLLM's limits depend on the memory: with another size they are not the parent's.
  const Json::json_pointer size("/dram/gib");
  if (own.contains(size) && (!parent.contains(size) || own[size] != parent[size])) merged.erase("vllm");
  merged.merge_patch(own);
  merged.erase("like");
  return merged;
}

// What a card made like another cannot be without saying more.
Status check_against(const Gpu& parent, const Gpu& gpu, const std::string& place) {
  // The parent's server joins its cards by these links.
  if (parent.links.nvlink.base() > 0 && gpu.links.nvlink.base() <= 0)
    return Error{place, "links.nvlink_gb_per_s", "is 0, and servers of " + parent.name + " join their cards by NVLink",
                 "start from a card without NVLink, for example \"like\": \"L40S\""};
  if (parent.links.pcie.base() > 0 && gpu.links.pcie.base() <= 0)
    return Error{place, "links.pcie_gb_per_s", "is 0, and " + parent.name + " has PCIe", "leave it out"};
  return Ok{};
}

bool goes_by(const Gpu& gpu, const std::string& name) {
  const auto same = [&](const std::string& own) { return name_key(own) == name_key(name); };
  return same(gpu.name) || std::any_of(gpu.aliases.begin(), gpu.aliases.end(), same);
}

// A description with nothing left to look up.
Result<Gpu> read_gpu(const Json& description, const std::string& place) {
  Reader read(description, place, kMissing);
  Gpu gpu;
  read_identity(read, gpu);
  read_pipes(read, gpu);
  read_memory(read, gpu);
  read_software(read, gpu);
  if (!read.failure()) read_published_peaks(read, gpu);
  gpu.sources = read.text_map("sources");
  if (read.failure()) return *read.failure();
  if (const Json* section = read.find("calibration")) {
    auto calibration = parse_calibration(*section, place);
    if (!calibration) return std::move(calibration).error();
    const auto power = parse_card_power(*section, place);
    if (!power) return power.error();
    gpu.calibration = std::make_shared<const Calibration>(*std::move(calibration));
    gpu.constants = constants_of(*power);
  }
  return gpu;
}

}  // namespace

Result<Gpu> parse_gpu(std::string_view json_text, const std::string& place, const GpuTextLookup& like) {
  auto parsed = parse_description(json_text, place);
  if (!parsed) return std::move(parsed).error();
  Reader own(*parsed, place, kMissing);
  own.refuse_unknown_fields(kFields);
  if (own.failure()) return *own.failure();
  if (!parsed->contains("like")) return read_gpu(*parsed, place);
  const auto base = parent_of(*parsed, place, like);
  if (!base) return base.error();
  auto parent = read_gpu(*base, place);
  if (!parent) return std::move(parent).error();
  const Json merged = laid_over(*base, *parsed);
  auto gpu = read_gpu(merged, place);
  if (!gpu) return gpu;
  if (auto fine = check_against(*parent, *gpu, place); !fine) return fine.error();
  gpu->as_parent = bare(merged) == bare(*base);
  if (!gpu->as_parent && goes_by(*parent, gpu->name))
    return Error{place, "name", "'" + gpu->name + "' is " + parent->name + "'s own, and this card differs from it",
                 "another name, or no answer tells the two apart"};
  gpu->parent = std::make_shared<const Gpu>(*std::move(parent));
  return gpu;
}

}  // namespace tilecast
