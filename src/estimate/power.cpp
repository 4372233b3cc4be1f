#include "estimate/power.h"

#include <algorithm>

#include "constants/estimate.h"

namespace tilecast {

using namespace constants;

namespace {

// Measured on an H200 by its energy counter, two seconds a case (data/measurements/h200_power.csv): streams of random
// numbers take 115 to 124 pJ a byte at 2.8 to 4.4 TB/s (addition 118, product of one row 115, decoding attention 124),
// a whole decode step of Llama 3.1 8B 115. A product of few rows in aiconfigurator's power_gemm: 112 on H200, 80 on
// B200, 97 on GB200. HBM itself is some 4 pJ a bit of it; the rest is the way to the SMs.
double picojoules_per_byte(const Gpu& gpu) {
  return gpu.tensor_generation() == TensorGeneration::tcgen05 ? kTcgenMeteredByte : kMeteredByte;
}

}  // namespace

std::optional<PowerDraw> power_draw(const Gpu& gpu) {
  if (gpu.vendor != Vendor::nvidia || !(gpu.power > watts(0))) return std::nullopt;
  // What arithmetic does not get of the limit (estimate/physics.h). On the H200 140 W: products and additions that run
  // half and a quarter of the time give 145 and 141 W for the rest of it. After seconds without work it draws 78 W.
  return PowerDraw{gpu.power, gpu.power - default_physics(gpu).compute_power, picojoules_per_byte(gpu) * 1e-12};
}

double drawn_joules(const PowerDraw& draw, const Physics& physics, const Plan& plan, Bytes dram) {
  return tensor_joules(physics, plan) + in_bytes(dram) * draw.joules_per_byte;
}

double within_limit(const PowerDraw& draw, double joules, Seconds time) {
  return std::min(joules, in_watts(draw.limit - draw.idle) * time.base());
}

}  // namespace tilecast
