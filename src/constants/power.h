// What operations and bytes cost in joules, what a card draws without them, and how voltage follows the clock.
//
// Energies are those of 16 nm silicon at its highest voltage; `power.switching` turns them into another process's.
#pragma once

#include "constants/constant.h"

namespace tilecast::constants {

namespace sources {
inline constexpr std::string_view kFp32Plateaus =
    "NeuSight's fp32 products beyond 30 ms: T4 at 70 W 3.9, P4 at 75 W 4.7, A100 PCIe at 250 W 16.5 TFLOP/s; V100 at "
    "250 W and A100 at 300 W are not held back";
inline constexpr std::string_view kTensorPlateaus =
    "products beyond 10 ms at the power limit in AIConfigurator's gemm and power_gemm tables";
inline constexpr std::string_view kNodes =
    "steps of the foundries' nodes at one voltage, rounded to what fp32 products of T4, P4, A100 and H200 take";
inline constexpr std::string_view kTopClocks = "highest clock nvidia-smi lists for cards of the architecture";
inline constexpr std::string_view kRegimes =
    "an H200's meter and cycle counter at its limit (data/measurements/h200_regimes.csv.gz)";
inline constexpr std::string_view kDataWatts =
    "an H200's meter over two seconds of products, attention and additions (data/measurements/h200_regimes.csv.gz)";
inline constexpr std::string_view kDataClocks =
    "an H200's cycle counter over the same two seconds, products of zeros and constants";
inline constexpr std::string_view kMeter = "H200's energy counter (data/measurements/h200_power.csv)";
}  // namespace sources

// Process and architecture.
struct SiliconConstants {
  Number switching, top_clock;
};
constexpr SiliconConstants silicon_constants(std::string_view cards, double switching, double top_clock) {
  return {Number{"power.switching", switching, "1", fitted, "energy of an operation over 16 nm silicon's",
                 sources::kNodes, cards},
          Number{"power.top_clock", top_clock, "GHz", published,
                 "clock at the highest voltage; 0: the card's own highest clock", sources::kTopClocks, cards}};
}
inline constexpr SiliconConstants kPascalHbmSilicon = silicon_constants("6.0", 1.0, 1.48);
inline constexpr SiliconConstants kPascalSilicon = silicon_constants("6.1", 1.0, 1.911);
inline constexpr SiliconConstants kVoltaSilicon = silicon_constants("volta", 0.93, 1.912);
inline constexpr SiliconConstants kTuringSilicon = silicon_constants("turing", 0.93, 2.1);
inline constexpr SiliconConstants kAmpereHbmSilicon = silicon_constants("8.0", 0.68, 1.41);
inline constexpr SiliconConstants kAmpereSilicon = silicon_constants("8.6", 0.78, 2.1);
inline constexpr SiliconConstants kAdaSilicon = silicon_constants("ada", 0.47, 3.105);
inline constexpr SiliconConstants kHopperSilicon = silicon_constants("hopper", 0.52, 1.98);
inline constexpr SiliconConstants kBlackwellHbmSilicon = silicon_constants("tcgen05", 0.42, 2.07);
inline constexpr SiliconConstants kBlackwellSilicon = silicon_constants("12.0 12.1", 0.38, 3.09);
inline constexpr SiliconConstants kOtherSilicon = silicon_constants("amd intel", 0.55, 0);

// Operations, a multiply-add being two.
inline constexpr Tunable kVectorEnergy = Constant{
    "power.vector_operation", 20.5, "pJ", fitted, "an fp32 operation of the vector pipe, its operands' way included",
    sources::kFp32Plateaus};
inline constexpr Tunable kNarrowTensorEnergy = Constant{
    "power.tensor_operation",    3.6, "pJ", fitted, "a 16-bit operation of the tensor pipe", sources::kTensorPlateaus,
    "gddr gddr-ecc volta pascal"};
inline constexpr Tunable kWideTensorEnergy = Constant{
    "power.tensor_operation", 2.05, "pJ", fitted, "a 16-bit operation of the tensor pipe", sources::kTensorPlateaus,
    "8.0 wgmma cdna1 cdna2"};
inline constexpr Tunable kMfmaTensorEnergy = Constant{"power.tensor_operation",
                                                      1.2,
                                                      "pJ",
                                                      assumed,
                                                      "a 16-bit operation of the matrix cores",
                                                      "MI300X sustains 1,320 TFLOP/s of fp8 at 750 W in AITER's rows",
                                                      "cdna3 cdna4"};
inline constexpr Tunable kTcgenTensorEnergy =
    Constant{"power.tensor_operation", 1.6,      "pJ", fitted, "a 16-bit operation of the tensor pipe",
             sources::kTensorPlateaus, "tcgen05"};
inline constexpr Number kSpecialEnergy{"power.special",  26, "pJ", measured, "a special-function result",
                                       sources::kRegimes};
inline constexpr Number kDoubleWidth{"power.width",
                                     2.8,
                                     "1",
                                     measured,
                                     "energy of an operation over fp32's or bf16's",
                                     sources::kRegimes,
                                     "",
                                     "fp64 on the vector pipe"};
inline constexpr Number kTf32Width{"power.width",
                                   2.03,
                                   "1",
                                   measured,
                                   "energy of an operation over fp32's or bf16's",
                                   sources::kRegimes,
                                   "",
                                   "tf32 on the tensor pipe"};
inline constexpr Number kDoubleTensorWidth{"power.width",
                                           11.6,
                                           "1",
                                           measured,
                                           "energy of an operation over fp32's or bf16's",
                                           sources::kRegimes,
                                           "",
                                           "fp64 on the tensor pipe"};
inline constexpr Number kHalfWidth{"power.width",
                                   0.5,
                                   "1",
                                   assumed,
                                   "energy of an operation over fp32's or bf16's",
                                   "two share the wires of one",
                                   "",
                                   "16 bits on the vector pipe"};
inline constexpr Number kFp16Width{"power.width",
                                   1.13,
                                   "1",
                                   measured,
                                   "energy of an operation over fp32's or bf16's",
                                   sources::kRegimes,
                                   "",
                                   "fp16 on the tensor pipe"};
inline constexpr Number kByteWidth{"power.width",
                                   0.55,
                                   "1",
                                   measured,
                                   "energy of an operation over fp32's or bf16's",
                                   "H200 and GB200 at their limits, fp8 against bf16: 0.55, 0.6",
                                   "",
                                   "8 bits on the tensor pipe"};
inline constexpr Number kNarrowWidth{"power.width",
                                     0.37,
                                     "1",
                                     measured,
                                     "energy of an operation over fp32's or bf16's",
                                     "B200 and GB200 at their limits, nvfp4 against bf16: 0.39, 0.38",
                                     "",
                                     "4 and 6 bits on the tensor pipe"};

// Bytes: what the memory takes, and the way between it and an SM.
struct MemoryEnergy {
  std::string_view type;  // as GPU descriptions name it
  Number byte;
};
constexpr MemoryEnergy memory_energy(std::string_view type, double picojoules, ConstantKind kind,
                                     std::string_view source) {
  return {type, Number{"power.memory_byte", picojoules, "pJ", kind, "a byte in the memory and its interface", source,
                       "", type}};
}
inline constexpr MemoryEnergy kMemoryEnergies[] = {
    memory_energy("HBM2", 31, published, "3.9 pJ a bit (O'Connor et al., MICRO 2017)"),
    memory_energy("HBM2e", 31, assumed, "as HBM2"),
    memory_energy("HBM3", 31, assumed, "as HBM2: the voltage fell as the rate rose"),
    memory_energy("HBM3e", 30, assumed, "as HBM3"),
    memory_energy("GDDR5", 72, assumed, "a fifth more than GDDR6"),
    memory_energy("GDDR5X", 64, assumed, "between GDDR5 and GDDR6"),
    memory_energy("GDDR6", 60, published, "7.5 pJ a bit (Micron's GDDR6X brief)"),
    memory_energy("GDDR6X", 58, published, "7.25 pJ a bit (Micron's GDDR6X brief)"),
    memory_energy("GDDR7", 48, assumed, "a fifth less than GDDR6"),
};
inline constexpr Number kOnChipByte{
    "power.chip_byte",
    80,
    "pJ",
    measured,
    "a byte between L2 and an SM",
    "sums of tensors that stay in an H200's L2: 42 pJ a byte, over Hopper's power.switching of 0.52 "
    "(data/measurements/h200_regimes.csv.gz)"};
inline constexpr Number kFabricByte{
    "power.fabric_byte",
    80,
    "pJ",
    measured,
    "a byte between the memory's controllers and L2",
    "streams from an H200's memory: 115 to 134 pJ a byte, less HBM3e's 30 and L2's 42, over 0.52 "
    "(data/measurements/h200_power.csv, h200_regimes.csv.gz)"};
inline constexpr Number kFunctionShare{"power.function_share",
                                       0.7,
                                       "1",
                                       measured,
                                       "energy of an elementwise kernel's issue slot over a multiply-add's: many are "
                                       "moves, tests and conversions",
                                       "GELU on an H200, from L2 and from memory: 0.85 and 0.64 "
                                       "(data/measurements/h200_regimes.csv.gz)"};

// What flows without work. Boards are built for their limits, so idle cards draw a share of it; memory that is clocked
// through wires on the board takes more than memory on the package.
inline constexpr Tunable kHbmIdle =
    Constant{"power.idle_share", 0.19, "1", measured, "of the limit, by a card that is clocked and idle",
             sources::kMeter,    "hbm"};
inline constexpr Tunable kGddrIdle = Constant{"power.idle_share",
                                              0.25,
                                              "1",
                                              measured,
                                              "of the limit, by a card that is clocked and idle",
                                              "idle cards in P0: T4 27 W, L4 28 W, A40 75 W, L40S 85 W",
                                              "gddr gddr-ecc"};
inline constexpr Tunable kHbmBoard =
    Constant{"power.idle_board", 0, "W", assumed, "and whatever the limit", "no small card has HBM", "hbm"};
inline constexpr Tunable kGddrBoard = Constant{"power.idle_board",
                                               9,
                                               "W",
                                               measured,
                                               "and whatever the limit",
                                               "idle cards in P0: T4 27 W, L4 28 W, A40 75 W, L40S 85 W",
                                               "gddr gddr-ecc"};

// Voltage and regimes.
inline constexpr Tunable kVoltageSlope = Constant{"power.voltage_slope",
                                                  0.55,
                                                  "1",
                                                  measured,
                                                  "share of the voltage that falls in proportion to the clock",
                                                  "the same products on an H200 in bursts and long: 0.43 to 0.61 "
                                                  "(data/measurements/h200_regimes.csv.gz)"};
inline constexpr Tunable kVoltageFloor = Constant{"power.voltage_floor",
                                                  0.72,
                                                  "1",
                                                  fitted,
                                                  "least voltage over the highest",
                                                  "T4 and P4 against A100; GA102 runs at 0.71 V below 1.1 GHz"};
inline constexpr Tunable kBurstLimit = Constant{"power.burst_limit",
                                                1.31,
                                                "1",
                                                measured,
                                                "what a card may draw for milliseconds, over its limit",
                                                "products that run part of the time on an H200: 915 to 940 W of 700 "
                                                "(data/measurements/h200_regimes.csv.gz)",
                                                "hbm"};
inline constexpr Tunable kGddrBurstLimit = Constant{"power.burst_limit",
                                                    1,
                                                    "1",
                                                    fitted,
                                                    "what a card may draw for milliseconds, over its limit",
                                                    "large products on L40S (AIConfigurator), which 1.31 leaves 12 % "
                                                    "too fast; T4's fp32 rows (NeuSight), not looked at for it, agree",
                                                    "gddr gddr-ecc"};
inline constexpr Number kHeldLimit{"power.held_limit",
                                   0.98,
                                   "1",
                                   measured,
                                   "of the limit that long runs are held at",
                                   "682 to 692 W of 700 on an H200, 985 of 1000 on a B200, 1170 of 1200 on a GB200"};
// What operands hold decides how many bits change from one operation to the next, and so what it draws: shares of what
// normally distributed numbers draw. A limit counts a tensor pipe's work for more than it draws: a card whose products
// of zeros stay far below the limit is held at a lower clock by it all the same.
struct DataConstants {
  Number tensor, counted, other;
};
constexpr DataConstants data_constants(std::string_view data, double tensor, double counted, double other) {
  return {Number{"power.data_tensor", tensor, "1", measured,
                 "of the tensor pipe's energy with normally distributed data", sources::kDataWatts, "", data},
          Number{"power.data_counted", counted, "1", fitted, "the same as a power limit counts it",
                 sources::kDataClocks, "", data},
          Number{"power.data_other", other, "1", measured, "of the energy of vector operations and bytes on the chip",
                 sources::kDataWatts, "", data}};
}
inline constexpr DataConstants kBitsData = data_constants("bits", 1.05, 1.05, 1.05);
inline constexpr DataConstants kConstantData = data_constants("constant", 0.38, 0.74, 0.55);
inline constexpr DataConstants kZerosData = data_constants("zeros", 0.34, 0.74, 0.5);
inline constexpr Number kLeastClock{"power.least_clock",
                                    0.1,
                                    "1",
                                    assumed,
                                    "of the highest clock; no limit takes more",
                                    "lowest clocks of the cards: 135 to 345 MHz"};
inline constexpr Number kThermalTime{
    "power.thermal_time",
    2.5,
    "ms",
    measured,
    "length of a benchmark's kernel at which half of the fall has set in",
    "falls begin at 1 to 6 ms in AIConfigurator's tables; an H200's clock falls 10 to 80 ms after a pause"};
inline constexpr Number kThermalExponent{"power.thermal_exponent", 1.5, "1", fitted, "how sharply it does",
                                         sources::kTensorPlateaus};

}  // namespace tilecast::constants
