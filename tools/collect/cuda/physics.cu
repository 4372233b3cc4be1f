#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "physics.h"

namespace {

// Amounts per second, as the value; a time, where amount is 0.
struct Quantity {
  std::string name, unit;
  double amount;  // of one launch, in the unit's counterpart (1e9 bytes for GB/s, 1e12 operations for TFLOP/s)
  std::function<Sample()> measure;
  bool steady = false;  // a load of its own length, after all short ones
};

// Before a short load: a card that has just met its power limit runs below its highest clock for a while.
constexpr std::chrono::milliseconds kPause{200};

std::string row_of(const Quantity& quantity, const Sample& sample) {
  const auto value = [&](double us) { return quantity.amount > 0 ? quantity.amount / (us * 1e-6) : us; };
  const bool rate = quantity.amount > 0;
  const Reading& now = sample.sensors;
  return quantity.unit + "," + number(value(sample.us)) + "," + number(sample.spread, "%.4f") + "," +
         number(value(rate ? sample.highest_us : sample.lowest_us)) + "," +
         number(value(rate ? sample.lowest_us : sample.highest_us)) + "," + std::to_string(sample.repeats) + "," +
         std::to_string(now.sm_mhz) + "," + std::to_string(now.memory_mhz) + "," + number(now.watts, "%.1f") + "," +
         std::to_string(now.celsius);
}

void add_launches(std::vector<Quantity>& list, Bench& bench) {
  Timer& timer = bench.timer;
  const auto empty = [&](int ctas) { return [&timer, ctas](int) { launch_empty(ctas, timer.stream()); }; };
  const Limits often{.seconds = 20e-3, .fewest = 15, .most = 60};
  const int all = bench.card.sms;
  list.push_back({"launch_graph_1_cta", "us", 0, [=, &timer]() { return timer.graph(256, empty(1), often); }});
  list.push_back({"launch_graph_full", "us", 0, [=, &timer]() { return timer.graph(256, empty(all), often); }});
  list.push_back({"launch_eager", "us", 0, [=, &timer]() { return timer.eager(512, empty(1), often); }});
  // Two events, a launch of a graph and one empty kernel between them.
  list.push_back({"launch_replay", "us", 0, [&timer]() {
                    Sample sample;
                    summarise({timer.replay_us()}, sample);
                    return sample;
                  }});
}

void add_memory(std::vector<Quantity>& list, Bench& bench, double seconds) {
  Timer& timer = bench.timer;
  Arena& arena = bench.arena;
  const int sms = bench.card.sms;
  const std::size_t all = arena.bytes();
  const double bytes = static_cast<double>(all);
  const Limits limits{.seconds = 40e-3, .fewest = 9, .most = 40};
  const auto read = [&arena, all, sms, &timer](int) {
    read_all(arena.data(), all, sms, arena.result(), timer.stream());
  };
  list.push_back({"dram_read", "GB/s", bytes / 1e9, [=, &timer]() { return timer.graph(1, read, limits); }});
  list.push_back(
      {"dram_read_steady", "GB/s", bytes / 1e9, [=, &timer]() { return timer.steady(4, read, seconds); }, true});
  list.push_back({"dram_write", "GB/s", bytes / 1e9, [=, &arena, &timer]() {
                    return timer.graph(
                        1, [&](int) { write_all(arena.out(), all, sms, timer.stream()); }, limits);
                  }});
  list.push_back({"dram_copy", "GB/s", 2 * bytes / 1e9, [=, &arena, &timer]() {
                    return timer.graph(
                        1, [&](int) { copy_all(arena.data(), arena.out(), all, sms, timer.stream()); }, limits);
                  }});
  constexpr int kPasses = 4;
  for (const int part : {16, 8, 4, 2}) {
    const std::size_t small = static_cast<std::size_t>(bench.card.l2_bytes / part) / 65536 * 65536;
    const double moved = 2.0 * sms * kPasses * static_cast<double>(small);
    list.push_back({"l2_read_1/" + std::to_string(part), "GB/s", moved / 1e9, [=, &arena, &timer]() {
                      return timer.graph(
                          1, [&](int) { read_l2(arena.data(), small, kPasses, sms, arena.result(), timer.stream()); },
                          limits);
                    }});
  }
}

void add_pipes(std::vector<Quantity>& list, Bench& bench) {
  struct Named {
    Pipe pipe;
    const char *name, *unit;
    double scale;
    int steps;
  };
  constexpr Named kPipes[] = {
      {Pipe::fp32, "fma_fp32", "TFLOP/s", 1e12, 2000},     {Pipe::fp16x2, "fma_fp16x2", "TFLOP/s", 1e12, 2000},
      {Pipe::bf16x2, "fma_bf16x2", "TFLOP/s", 1e12, 2000}, {Pipe::fp64, "fma_fp64", "TFLOP/s", 1e12, 400},
      {Pipe::xu, "xu_exp2", "Top/s", 1e12, 400},           {Pipe::shared, "shared_read", "GB/s", 1e9, 2000}};
  Timer& timer = bench.timer;
  Arena& arena = bench.arena;
  const int sms = bench.card.sms;
  for (const Named& named : kPipes) {
    const auto run = [=, &timer, &arena](int) {
      busy_pipe(named.pipe, named.steps, sms, arena.result(), timer.stream());
    };
    const double amount = busy_pipe(named.pipe, named.steps, sms, arena.result(), timer.stream()) / named.scale;
    list.push_back({named.name, named.unit, amount,
                    [=, &timer]() { return timer.graph(1, run, {.seconds = 40e-3, .fewest = 9, .most = 40}); }});
  }
}

void add_tensor(std::vector<Quantity>& list, Bench& bench, double seconds) {
  struct Named {
    Number type;
    const char* name;
    Fill fill;
    int least_capability;  // major * 10 + minor
  };
  constexpr Named kTypes[] = {
      {Number::bf16, "tensor_bf16", Fill::bf16, 80},  {Number::fp16, "tensor_fp16", Fill::fp16, 70},
      {Number::tf32, "tensor_tf32", Fill::fp32, 80},  {Number::fp8, "tensor_fp8", Fill::fp8, 89},
      {Number::int8, "tensor_int8", Fill::bytes, 75}, {Number::fp32, "gemm_fp32", Fill::fp32, 0}};
  for (const Named& named : kTypes) {
    if (bench.card.major * 10 + bench.card.minor < named.least_capability) continue;
    const long side = named.type == Number::fp32 ? 4096 : 8192;
    const Size size{side, side, side};
    const auto square = static_cast<std::size_t>(side * side);
    const auto multiply = [&bench, named, size, square] {
      char* x = bench.arena.data();
      return bench.matmul.run(named.type, size, x, x + square * bytes_in(named.type), bench.arena.out());
    };
    if (const auto problem = multiply()) {
      std::fprintf(stderr, "skipped %s: %s\n", named.name, *problem);
      continue;
    }
    const auto run = [multiply](int) { multiply(); };
    const double amount =
        2.0 * static_cast<double>(side) * static_cast<double>(side) * static_cast<double>(side) / 1e12;
    const char* unit = named.type == Number::int8 ? "Top/s" : "TFLOP/s";
    // The first milliseconds after a pause run at the highest clock; under load the card meets its power limit.
    list.push_back({named.name, unit, amount, [=, &bench]() {
                      bench.arena.fill_with(named.fill);
                      bench.timer.guess_us(run);
                      return bench.timer.graph(1, run, {.seconds = 15e-3, .fewest = 5, .most = 15});
                    }});
    list.push_back({std::string(named.name) + "_steady", unit, amount,
                    [=, &bench]() {
                      bench.arena.fill_with(named.fill);
                      return bench.timer.steady(8, run, seconds);
                    },
                    true});
  }
}

}  // namespace

bool measure_physics(Bench& bench, double seconds, Table& table) {
  std::vector<Quantity> list;
  add_launches(list, bench);
  add_memory(list, bench, seconds);
  add_pipes(list, bench);
  add_tensor(list, bench, seconds);
  std::stable_partition(list.begin(), list.end(), [](const Quantity& quantity) { return !quantity.steady; });
  Progress progress("physics", static_cast<int>(list.size()));
  for (const Quantity& quantity : list) {
    if (interrupted()) return false;
    if (!table.has(quantity.name)) {
      if (!quantity.steady) std::this_thread::sleep_for(kPause);
      table.add(quantity.name, row_of(quantity, quantity.measure()));
    }
    progress.step(quantity.name);
  }
  return true;
}
