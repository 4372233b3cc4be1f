#include "sensors.h"

#include <dlfcn.h>

#include "check.h"

namespace {
// nvml.h: nvmlClockType_t and nvmlTemperatureSensors_t.
constexpr int kSmClock = 1, kMemoryClock = 2, kDie = 0;
}  // namespace

template <class... Arguments>
bool Sensors::call(const char* function, Arguments... arguments) const {
  if (library_ == nullptr) return false;
  using Function = int (*)(Arguments...);
  const auto found = reinterpret_cast<Function>(dlsym(library_, function));
  return found != nullptr && found(arguments...) == 0;
}

Sensors::Sensors(int device) {
  library_ = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  char bus[32] = "";
  must(cudaDeviceGetPCIBusId(bus, sizeof bus, device), "PCI bus of the GPU");
  const bool found =
      call("nvmlInit_v2") && call("nvmlDeviceGetHandleByPciBusId_v2", static_cast<const char*>(bus), &card_);
  if (!found) {
    std::fprintf(stderr, "collect: NVML does not answer; clocks and power stay empty\n");
    library_ = nullptr;
  }
}

int Sensors::clock(const char* function, int kind) const {
  unsigned mhz = 0;
  return call(function, card_, kind, &mhz) ? static_cast<int>(mhz) : 0;
}

Reading Sensors::read() const {
  Reading now;
  now.sm_mhz = clock("nvmlDeviceGetClockInfo", kSmClock);
  now.memory_mhz = clock("nvmlDeviceGetClockInfo", kMemoryClock);
  unsigned value = 0;
  if (call("nvmlDeviceGetPowerUsage", card_, &value)) now.watts = value / 1000.0;
  if (call("nvmlDeviceGetTemperature", card_, kDie, &value)) now.celsius = static_cast<int>(value);
  return now;
}

double Sensors::power_limit_w() const {
  unsigned milliwatts = 0;
  return call("nvmlDeviceGetEnforcedPowerLimit", card_, &milliwatts) ? milliwatts / 1000.0 : 0;
}

int Sensors::highest_sm_mhz() const { return clock("nvmlDeviceGetMaxClockInfo", kSmClock); }

int Sensors::highest_memory_mhz() const { return clock("nvmlDeviceGetMaxClockInfo", kMemoryClock); }

std::string Sensors::driver() const {
  char version[80] = "";
  return call("nvmlSystemGetDriverVersion", static_cast<char*>(version), 80u) ? version : "";
}
