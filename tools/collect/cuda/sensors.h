// Clocks, power and temperature of the card through NVML, loaded at run time: no header and no link needed. Only reads;
// the card's settings are never changed.
#pragma once

#include <string>

struct Reading {
  int sm_mhz = 0, memory_mhz = 0, celsius = 0;  // 0: the card does not say
  double watts = 0;
};

class Sensors {
 public:
  explicit Sensors(int device);
  Reading read() const;
  double power_limit_w() const;
  int highest_sm_mhz() const;
  int highest_memory_mhz() const;
  std::string driver() const;

 private:
  template <class... Arguments>
  bool call(const char* function, Arguments... arguments) const;
  int clock(const char* function, int kind) const;

  void* library_ = nullptr;
  void* card_ = nullptr;
};
