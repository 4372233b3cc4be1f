#include "card.h"

#include <cmath>
#include <cstring>

#include "check.h"

namespace {

// Part of the driver's name, longest first where one contains another; our name. Rates per SM and clock differ between
// cards of one compute capability, so the name is asked first.
constexpr const char* kByName[][2] = {{"GH200 144G", "GH200-144GB"},
                                      {"GH200", "GH200"},
                                      {"H200", "H200-SXM"},
                                      {"H100 NVL", "H100-NVL"},
                                      {"H100 PCIe", "H100-PCIe"},
                                      {"H100", "H100-SXM"},
                                      {"H800 PCIe", "H800-PCIe"},
                                      {"H800", "H800-SXM"},
                                      {"H20", "H20"},
                                      {"A100-SXM4-40", "A100-SXM-40GB"},
                                      {"A100-SXM", "A100-SXM-80GB"},
                                      {"A100-PCIE-40", "A100-PCIe-40GB"},
                                      {"A100 80GB PCIe", "A100-PCIe-80GB"},
                                      {"A800-SXM", "A800-SXM"},
                                      {"A800", "A800-PCIe"},
                                      {"RTX A6000", "RTX-A6000"},
                                      {"A40", "A40"},
                                      {"A30", "A30"},
                                      {"A10", "A10"},
                                      {"L40S", "L40S"},
                                      {"L40", "L40"},
                                      {"L20", "L20"},
                                      {"L4", "L4"},
                                      {"6000 Ada", "RTX-6000-Ada"},
                                      {"RTX 3090", "RTX-3090"},
                                      {"RTX 4090", "RTX-4090"},
                                      {"RTX 5090", "RTX-5090"},
                                      {"GB300", "GB300"},
                                      {"GB200", "GB200"},
                                      {"B300", "B300"},
                                      {"B200", "B200"},
                                      {"Tesla T4", "T4"},
                                      {"V100-SXM", "V100-SXM"},
                                      {"V100-PCIE", "V100-PCIe"}};

struct ByCapability {
  int major, minor;
  const char* name;
};
constexpr ByCapability kByCapability[] = {{7, 0, "V100-SXM"}, {7, 5, "T4"},    {8, 0, "A100-SXM-80GB"},
                                          {8, 6, "A40"},      {8, 9, "L40S"},  {9, 0, "H100-SXM"},
                                          {10, 0, "B200"},    {10, 3, "B300"}, {12, 0, "RTX-5090"}};

void choose_built_in(Card& card, const std::string& like) {
  card.built_in = like;
  if (!like.empty()) return;
  for (const auto& [part, name] : kByName)
    if (card.name.find(part) != std::string::npos) {
      card.built_in = name;
      card.same_card = true;
      return;
    }
  for (const ByCapability& known : kByCapability)
    if (known.major == card.major && known.minor <= card.minor) card.built_in = known.name;
  if (card.built_in.empty())
    give_up("no GPU of Tilecast is like compute capability " + std::to_string(card.major) + "." +
            std::to_string(card.minor) + ": name the nearest one with --like");
}

int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  must(cudaDeviceGetAttribute(&value, which, device), "attribute of the GPU");
  return value;
}

std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

}  // namespace

Card read_card(int device, const Sensors& sensors, const std::string& like) {
  cudaDeviceProp properties{};
  must(cudaGetDeviceProperties(&properties, device), "properties of the GPU");
  Card card;
  card.name = properties.name;
  card.major = properties.major;
  card.minor = properties.minor;
  choose_built_in(card, like);
  card.sms = properties.multiProcessorCount;
  card.registers_per_sm = properties.regsPerMultiprocessor;
  card.threads_per_sm = properties.maxThreadsPerMultiProcessor;
  card.ctas_per_sm = attribute(cudaDevAttrMaxBlocksPerMultiprocessor, device);
  card.shared_per_sm = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor, device);
  card.shared_per_cta = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  card.l2_bytes = properties.l2CacheSize;
  card.bus_bits = properties.memoryBusWidth;
  card.memory_bytes = static_cast<double>(properties.totalGlobalMem);
  card.sm_mhz = sensors.highest_sm_mhz();
  if (card.sm_mhz == 0) card.sm_mhz = attribute(cudaDevAttrClockRate, device) / 1000;
  card.memory_mhz = sensors.highest_memory_mhz();
  if (card.memory_mhz == 0) card.memory_mhz = attribute(cudaDevAttrMemoryClockRate, device) / 1000;
  card.watts = sensors.power_limit_w();
  card.driver = sensors.driver();
  int version = 0;
  must(cudaRuntimeGetVersion(&version), "version of CUDA");
  card.cuda = std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  return card;
}

std::string description(const Card& card, const std::vector<std::string>& notes) {
  const auto kib = [](int bytes) { return number(bytes / 1024.0); };
  std::string text = "{\n";
  const auto line = [&](const std::string& field, const std::string& value, const char* end = ",\n") {
    text += "  \"" + field + "\": " + value + end;
  };
  line("like", "\"" + card.built_in + "\"");
  line("name", "\"" + card.name + " (this card)\"");
  line("compute_capability", "\"" + std::to_string(card.major) + "." + std::to_string(card.minor) + "\"");
  line("sms", std::to_string(card.sms));
  // The clock at which a vendor quotes its peaks is known only for that very card.
  const std::string mhz = std::to_string(card.sm_mhz);
  const std::string quoted = card.same_card ? "" : "\"quoted\": " + mhz + ", \"quoted_vector\": " + mhz + ", ";
  if (card.sm_mhz > 0) line("clock_mhz", "{" + quoted + "\"max\": " + mhz + "}");
  if (card.watts > 0) line("power_w", number(card.watts));
  line("registers_per_sm", std::to_string(card.registers_per_sm));
  line("shared_memory",
       "{\"per_sm_kib\": " + kib(card.shared_per_sm) + ", \"per_cta_kib\": " + kib(card.shared_per_cta) + "}");
  line("max_threads_per_sm", std::to_string(card.threads_per_sm));
  line("max_ctas_per_sm", std::to_string(card.ctas_per_sm));
  line("l2", "{\"mib\": " + number(card.l2_bytes / 1048576.0) + "}");
  std::string dram = "{\"gib\": " + number(std::floor(card.memory_bytes / 1073741824.0 * 10 + 0.5) / 10);
  // Two transfers per clock of the pins, as every memory since GDDR5 reports its clock.
  if (card.memory_mhz > 0 && card.bus_bits > 0)
    dram += ", \"gb_per_s\": " + number(card.memory_mhz * 2e6 * card.bus_bits / 8 / 1e9);
  line("dram", dram + "}");
  std::string list;
  for (const std::string& note : notes) list += (list.empty() ? "\n    \"" : ",\n    \"") + note + "\"";
  if (!list.empty()) line("notes", "[" + list + "\n  ]");
  line("sources",
       "{\"sms,clock_mhz.max,power_w,registers_per_sm,shared_memory,max_threads_per_sm,max_ctas_per_sm,"
       "l2.mib,dram\": \"driver " +
           card.driver + " and CUDA " + card.cuda +
           " on the card; gb_per_s: memory clock x 2 x bus width; everything else from " + card.built_in + "\"}",
       "\n");
  return text + "}\n";
}
