// collect: describes the card at hand, measures its physics and times a short sweep of kernels.
//
//   collect --quick --out mine      # about one minute
//   collect --full --out mine       # a few minutes; resumes from what is there
//
//   mine/gpu.json      a GPU description for `tilecast --gpu`
//   mine/physics.csv   launch floor, bandwidths, sustained rates, each with spread, clocks and power
//   mine/sweep.csv     kernel times for `tilecast calibrate --data`
//
// Control-C ends it after the case at hand; started again with the same --out, it resumes where it stopped.
#include <sys/stat.h>

#include <cstring>
#include <fstream>

#include "sweep.h"

namespace {

struct Options {
  bool full = false, quick = false, describe = false, check = false;
  int device = 0;
  std::string out = "collected", like;
};

constexpr double kQuickSeconds = 58;  // of the whole run

[[noreturn]] void usage(int code) {
  std::printf(
      "collect (--quick | --full | --describe) [--out FOLDER] [--device N] [--like GPU]\n"
      "  --quick     physics and as many kernels as one minute allows\n"
      "  --full      longer loads and the whole sweep, a few minutes\n"
      "  --describe  prints the GPU description and ends\n"
      "  --check     compares the kernels' results with the host's and ends\n"
      "  --like      the built-in GPU the description starts from (default: by name)\n");
  std::exit(code);
}

Options parse(int count, char** arguments) {
  Options options;
  for (int index = 1; index < count; ++index) {
    const std::string given = arguments[index];
    const auto value = [&]() -> std::string {
      if (++index >= count) give_up(given + " needs a value");
      return arguments[index];
    };
    if (given == "--quick") options.quick = true;
    else if (given == "--full") options.full = true;
    else if (given == "--describe") options.describe = true;
    else if (given == "--check") options.check = true;
    else if (given == "--out") options.out = value();
    else if (given == "--like") options.like = value();
    else if (given == "--device") options.device = std::atoi(value().c_str());
    else if (given == "--help" || given == "-h") usage(0);
    else give_up("unknown option " + given + "; see --help");
  }
  if (options.quick + options.full + options.describe + options.check != 1) usage(2);
  return options;
}

// "measured dram_read: 4646.5 GB/s" and so on: the first three fields of each row.
std::vector<std::string> physics_notes(const Table& physics) {
  std::vector<std::string> notes;
  for (const std::string& line : physics.lines()) {
    const std::size_t unit = line.find(',') + 1, value = line.find(',', unit) + 1;
    notes.push_back("measured " + line.substr(0, unit - 1) + ": " + line.substr(value, line.find(',', value) - value) +
                    " " + line.substr(unit, value - unit - 1));
  }
  return notes;
}

void write_description(const std::string& folder, const std::string& text) {
  std::ofstream file(folder + "/gpu.json");
  if (!(file << text << std::flush)) give_up(folder + "/gpu.json: cannot be written");
}

int ended(bool whole, const Table& physics, const Table& rows, const std::string& out) {
  std::fprintf(stderr, "%s: %d quantities, %d kernels%s\n", out.c_str(), physics.rows(), rows.rows(),
               whole ? "" : "; stopped: start again with the same --out to go on");
  return whole ? 0 : 130;
}

}  // namespace

bool check_kernels(Bench& bench);  // check_kernels.cu

int main(int count, char** arguments) {
  const double began = seconds_now();
  const Options options = parse(count, arguments);
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices <= options.device)
    give_up("no CUDA GPU number " + std::to_string(options.device) + " here");
  must(cudaSetDevice(options.device), "GPU");
  const Sensors sensors(options.device);
  const Card card = read_card(options.device, sensors, options.like);
  if (options.describe) return std::fputs(description(card).c_str(), stdout) < 0 || std::fflush(stdout) != 0;
  listen_for_interrupts();
  Timer timer(sensors);
  Matmul matmul(timer.stream());
  Arena arena(std::size_t{3} << 30, timer.stream());
  Bench bench{card, timer, matmul, arena};
  if (options.check) return check_kernels(bench) ? 0 : 1;
  mkdir(options.out.c_str(), 0777);
  write_description(options.out, description(card));
  Table physics(options.out + "/physics.csv", kPhysicsHeader, 1);
  Table rows(options.out + "/sweep.csv", kSweepHeader, kSweepKeys);
  bool whole = measure_physics(bench, options.full ? 1.5 : 0.5, physics);
  write_description(options.out, description(card, physics_notes(physics)));
  const double deadline = options.full ? began + 3600 : began + kQuickSeconds;
  const int capability = card.major * 10 + card.minor;
  const std::vector<Case> lasting = sustained_plan(capability, options.full);
  double load_seconds = 0;
  for (const Case& item : lasting) load_seconds += item.load_seconds;
  if (whole) whole = sweep(bench, plan(capability, options.full), deadline - load_seconds, rows);
  if (whole) whole = sweep(bench, lasting, deadline, rows);
  return ended(whole, physics, rows, options.out);
}
