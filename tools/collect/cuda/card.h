// What the driver says about the card, and the GPU description (docs/gpu-files.md) made of it.
#pragma once

#include <string>
#include <vector>

#include "sensors.h"

struct Card {
  std::string name;        // as the driver has it
  std::string built_in;    // the GPU of Tilecast that the description starts from
  bool same_card = false;  // built_in is this very card, not just one of its compute capability
  int major = 0, minor = 0;
  int sms = 0, registers_per_sm = 0, threads_per_sm = 0, ctas_per_sm = 0;
  int shared_per_sm = 0, shared_per_cta = 0, l2_bytes = 0;
  int sm_mhz = 0, memory_mhz = 0, bus_bits = 0;
  double watts = 0, memory_bytes = 0;
  std::string driver, cuda;

  std::string measured_as() const { return same_card ? built_in : name; }  // in the gpu column
};

// like: the built-in GPU to start from; empty: chosen by name, else by compute capability.
Card read_card(int device, const Sensors& sensors, const std::string& like);

// The JSON, with remarks of one line each. What no driver tells (operations per clock, bandwidth of L2, links) comes
// from `like`.
std::string description(const Card& card, const std::vector<std::string>& notes = {});
