#include "estimate/power.h"

#include <algorithm>
#include <cmath>

#include "support/arithmetic.h"

namespace tilecast {

using namespace constants;

namespace {

constexpr double kPico = 1e-12;

const SiliconConstants& silicon_of(const Gpu& gpu) {
  const bool hbm = gpu.has_hbm();
  switch (gpu.architecture) {
    case Architecture::pascal: return hbm ? kPascalHbmSilicon : kPascalSilicon;
    case Architecture::volta: return kVoltaSilicon;
    case Architecture::turing: return kTuringSilicon;
    case Architecture::ampere: return hbm ? kAmpereHbmSilicon : kAmpereSilicon;
    case Architecture::ada: return kAdaSilicon;
    case Architecture::hopper: return kHopperSilicon;
    case Architecture::blackwell: return hbm ? kBlackwellHbmSilicon : kBlackwellSilicon;
    default: return kOtherSilicon;
  }
}

// Tensor pipes of the large HBM chips multiply wider fragments, so operands travel less; wgmma reads them from shared
// memory, tcgen05 keeps its sums beside the pipe.
const Tunable& tensor_energy_of(const Gpu& gpu) {
  if (gpu.tensor_generation() == TensorGeneration::tcgen05) return kTcgenTensorEnergy;
  if (gpu.cdna3_or_later()) return kMfmaTensorEnergy;
  const bool wide =
      gpu.has_hbm() && gpu.architecture != Architecture::volta && gpu.architecture != Architecture::pascal;
  return wide ? kWideTensorEnergy : kNarrowTensorEnergy;
}

double memory_picojoules(const Gpu& gpu) {
  for (const MemoryEnergy& energy : kMemoryEnergies)
    if (gpu.dram.type == energy.type) return energy.byte;
  return kMemoryEnergies[0].byte;
}

// An operation of the tensor pipe relative to bf16: longer mantissas have larger multipliers, wider operands more
// wires.
double tensor_width(DType input) {
  switch (input) {
    case DType::fp64: return kDoubleTensorWidth;
    case DType::fp32:
    case DType::tf32: return kTf32Width;
    case DType::fp16: return kFp16Width;
    case DType::bf16: return 1;
    default: return bits_of(input) == bits_of(DType::fp8) ? kByteWidth : kNarrowWidth;
  }
}

// The same for the vector pipe, relative to fp32.
double vector_width(DType type) {
  if (type == DType::fp64) return kDoubleWidth;
  return bits_of(type) < bits_of(DType::fp32) ? kHalfWidth : 1.0;
}

}  // namespace

PowerLaw power_law(const Gpu& gpu) {
  const SiliconConstants& silicon = silicon_of(gpu);
  const double unit = silicon.switching * kPico;
  const double clock = in_gigahertz(gpu.clock.max);
  PowerLaw law;
  law.limit = gpu.power * kHeldLimit;
  const bool hbm = gpu.has_hbm();
  law.burst = gpu.power * gpu.tuned(hbm ? kBurstLimit : kGddrBurstLimit);
  law.idle = gpu.power * gpu.tuned(hbm ? kHbmIdle : kGddrIdle) + watts(gpu.tuned(hbm ? kHbmBoard : kGddrBoard));
  law.tensor = gpu.tuned(tensor_energy_of(gpu)) * unit;
  law.vector = gpu.tuned(kVectorEnergy) * unit;
  law.special = kSpecialEnergy * unit;
  law.chip_byte = kOnChipByte * unit;
  law.fabric_byte = kFabricByte * unit;
  law.memory_byte = memory_picojoules(gpu) * kPico;
  // Hopper's tensor pipes never run faster than the clock its tensor peaks are quoted at: 1800 to 1820 MHz of 1980 when
  // multiplying only zeros (data/measurements/h200_regimes.csv.gz), H20 the same.
  if (gpu.architecture == Architecture::hopper && gpu.clock.quoted > hertz(0))
    law.tensor_clock = std::min(1.0, gpu.clock.quoted / gpu.clock.max);
  law.reach = clock / std::max<double>(clock, silicon.top_clock);
  law.slope = gpu.tuned(kVoltageSlope);
  law.floor = gpu.tuned(kVoltageFloor);
  return law;
}

std::optional<PowerLaw> metered_law(const Gpu& gpu) {
  if (gpu.vendor != Vendor::nvidia || !(gpu.power > watts(0))) return std::nullopt;
  return power_law(gpu);
}

namespace {

const DataConstants* constants_of(OperandData data) {
  switch (data) {
    case OperandData::normal: return nullptr;
    case OperandData::bits: return &kBitsData;
    case OperandData::constant: return &kConstantData;
    case OperandData::zeros: return &kZerosData;
  }
  return nullptr;
}

}  // namespace

DataEnergy energy_drawn(OperandData data) {
  const DataConstants* c = constants_of(data);
  return c ? DataEnergy{c->tensor, c->other} : DataEnergy{};
}

DataEnergy energy_counted(OperandData data) {
  const DataConstants* c = constants_of(data);
  return c ? DataEnergy{c->counted, c->other} : DataEnergy{};
}

PowerWork energy_of(const PowerLaw& law, const Launch& launch, Bytes dram, DataEnergy data) {
  const Demand all = launch.total();
  const bool streams = launch.character == Character::streaming || launch.character == Character::gather;
  PowerWork work;
  work.core = in_ops(all.tensor) * law.tensor * tensor_width(launch.math.input) * data.tensor +
              in_ops(all.vector) * law.vector * vector_width(launch.vector_type) * (streams ? kFunctionShare : 1.0) *
                  data.other +
              in_ops(all.xu) * law.special * data.other;
  // Moving a main loop's data from L2 is part of its operations' energy; moving it from DRAM is not.
  const Bytes moved = streams ? std::max(dram, all.l2_load + all.l2_store) : dram;
  work.core += (in_bytes(moved) * law.chip_byte + in_bytes(dram) * law.fabric_byte) * data.other;
  work.memory = in_bytes(dram) * law.memory_byte;
  return work;
}

double voltage(const PowerLaw& law, double clock) {
  return std::max(law.floor, 1 - law.slope * (1 - clock * law.reach));
}

double joules_at(const PowerLaw& law, const PowerWork& work, double clock) {
  const double v = voltage(law, clock);
  return work.core * v * v + work.memory;
}

Watts watts_at(const PowerLaw& law, const PowerWork& work, double clock) {
  const Seconds time = work.at(clock);
  return time > seconds(0) ? law.idle + watts(joules_at(law, work, clock) / time.base()) : law.idle;
}

double heated_by(Seconds length) { return 1 / (1 + power(length / milliseconds(kThermalTime), -kThermalExponent)); }

PowerExcess excess_at(const PowerLaw& law, const PowerWork& work, Watts limit, double clock, const ClockedTime& time) {
  const double left = in_watts(limit - law.idle) * time.time;
  const double v = voltage(law, clock), rise = at_floor(law, clock) ? 0 : law.slope * law.reach;
  return {work.core * v * v + work.memory - left, 2 * work.core * v * rise + left * time.share / clock,
          2 * work.core * rise * rise - left * (time.share * (1 + time.share) - time.bend) / (clock * clock)};
}

double clock_under(const PowerLaw& law, const PowerWork& work, Watts limit) {
  return ClockSearch(law, work, WorkTime{work}).under(limit);
}

}  // namespace tilecast
