#include "lab/evidence/power_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "estimate/power.h"
#include "estimate/price.h"
#include "gpu/registry.h"
#include "kernel/shape_text.h"
#include "support/csv.h"
#include "support/statistics.h"
#include "support/text.h"

namespace tilecast {
namespace {

constexpr std::array<std::string_view, 10> kLoadColumns = {"what", "shape",   "dtype",        "data",      "regime",
                                                           "duty", "time_us", "energy_watts", "cycle_mhz", "launches"};
enum Column : std::uint8_t { kWhat, kShape, kType, kData, kRegime, kDuty, kTime, kEnergyWatts, kCycleMhz, kInStretch };

// Rows of a table of loads by those columns.
class Loads {
 public:
  static Result<Loads> open(const std::string& path) {
    auto csv = CsvReader::open(path);
    if (!csv) return std::move(csv).error();
    Loads loads(*std::move(csv));
    for (std::size_t i = 0; i < kLoadColumns.size(); ++i) {
      const auto found = loads.csv_.column(kLoadColumns[i]);
      if (!found) return found.error();
      loads.at_[i] = *found;
    }
    return loads;
  }
  Result<bool> next() { return csv_.next(); }
  std::string_view field(Column column) const { return csv_[at_[column]]; }
  std::optional<double> number(Column column) const { return to_double(field(column)); }
  bool broken() const { return !csv_.problem().empty(); }

 private:
  explicit Loads(CsvReader csv) : csv_(std::move(csv)) {}
  CsvReader csv_;
  std::array<std::size_t, kLoadColumns.size()> at_{};
};

// A kernel of the table in our terms.
struct Asked {
  std::string name;  // under which it is counted
  Kernel kernel;
  Context context;
};

// As tools/collect/windows/regimes.py takes turns: products of few rows had several copies of their weights, 300 MB in
// all at most.
int weight_copies(const std::vector<std::string>& side, const std::string& type) {
  const auto m = to_double(side[0]), n = to_double(side[1]), k = to_double(side[2]);
  if (!m || !n || !k || !(*n > 0) || !(*k > 0) || *m >= std::floor(*n / 4)) return 1;
  const double bytes = type == "fp8" || type == "int8" ? 1 : type == "bf16" || type == "fp16" ? 2 : 4;
  return static_cast<int>(std::clamp(3e8 / (*n * *k * bytes), 1.0, 8.0));
}

Result<Asked> asked_for(std::string_view kind, const std::string& sides, const std::string& type) {
  const std::vector<std::string> side = split(sides, 'x');
  const auto none = [&] {
    return error("not a kernel of ours: " + std::string(kind) + " " + type, "the kinds are those of tools/collect");
  };
  Asked asked;
  asked.context.engine = Launcher::pytorch, asked.context.warmth = Warmth::warm;
  std::string family, dims;
  if (kind == "gemm" && side.size() == 3) {
    family = "gemm", dims = fmt::format("m={};n={};k={}", side[0], side[1], side[2]);
    asked.name = "products, " + type, asked.context.kernel_source = KernelSource::cublas;
    asked.context.weight_copies = weight_copies(side, type);
  } else if (kind.starts_with("attention_") && side.size() == 4) {
    const bool flash = kind == "attention_flash";
    if (!flash && kind != "attention_cudnn") return none();
    family = "attention_prefill", asked.name = "attention";
    dims = fmt::format("batch={};q-len={};heads={};kv-heads={};head-dim={};mask=causal{}", side[0], side[1], side[2],
                       side[2], side[3], flash ? ";algorithm=fa2" : "");
    asked.context.kernel_source = flash ? KernelSource::flash_attention_2 : KernelSource::cudnn;
  } else if (kind == "add" || kind == "gelu") {
    family = "elementwise", asked.name = "streams", asked.context.kernel_source = KernelSource::torch;
    dims = fmt::format("elements={};inputs={};op={}", sides, kind == "add" ? 2 : 1, kind);
  } else {
    return none();
  }
  auto format = format_from(type == "fp8" ? "fp8_static" : type);
  auto read = read_dims(family, dims);
  if (!format || !read) return none();
  asked.kernel.format = *std::move(format), asked.kernel.shape = *std::move(read);
  return asked;
}

std::optional<OperandData> data_from(std::string_view name) {
  for (std::size_t i = 0; i < kOperandDataNames.size(); ++i)
    if (kOperandDataNames[i] == name) return static_cast<OperandData>(i);
  return std::nullopt;
}

Result<Figures> forecast_of(const Asked& asked, const Gpu& gpu, double busy, const ModelSource& weights) {
  const auto priced = price(asked.kernel, gpu, asked.context, Method::tilecast, &weights);
  if (!priced) return priced.error();
  const Estimate& e = priced->estimate;
  const PowerLaw law = power_law(gpu);
  double joules = 0, cycles = 0, clocked = 0;
  for (const LaunchEstimate& launch : e.launches) {
    joules += joules_at(law, launch.work, launch.clock);
    const double time = launch.work.at(launch.clock).base();
    cycles += time * launch.clock, clocked += time;
  }
  // Clock and watts come from the law, at the physics' own time: what is learned about a time says nothing about its
  // energy.
  return Figures{e.latency.base(), cycles / clocked * gpu.clock.max.base(), law.idle.base() + busy * joules / clocked};
}

using Ratio = double (*)(const PowerRow&);
constexpr double kNone = -1;
double time_ratio(const PowerRow& row) { return row.forecast.time / row.measured.time; }
double clock_ratio(const PowerRow& row) {
  return row.measured.clock ? *row.forecast.clock / *row.measured.clock : kNone;
}
double watts_ratio(const PowerRow& row) {
  return row.measured.watts ? *row.forecast.watts / *row.measured.watts : kNone;
}

std::string cells(const std::vector<const PowerRow*>& rows) {
  std::string text;
  for (const Ratio ratio : {time_ratio, clock_ratio, watts_ratio}) {
    const FigureErrors e = errors_of(rows, ratio);
    text += e.rows == 0 ? " – | – |" : fmt::format(" {:.1f} % | {:+.1f} % |", e.mean * 100, e.bias * 100);
  }
  return text;
}

using Groups = std::map<std::pair<std::string, std::string>, std::vector<const PowerRow*>>;
std::string table_of(const Groups& groups, std::string_view second) {
  std::string text = fmt::format(
      "| run | {} | rows | time | bias | clock | bias | watts | bias |\n|---|---|---:|---:|---:|---:|---:|---:|---:|\n",
      second);
  for (const auto& [name, rows] : groups)
    text += fmt::format("| {} | {} | {} |{}\n", name.first, name.second, rows.size(), cells(rows));
  return text + "\n";
}

std::string words_of(const std::string& run) {
  return run == "window" ? "20 ms" : run == "steady" ? "2 s" : run == "duty" ? "part of the time" : run;
}

}  // namespace

Result<BurstStart> burst_start(const std::string& path) {
  auto loads = Loads::open(path);
  if (!loads) return std::move(loads).error();
  struct Times {
    std::optional<double> burst, window;
    double launches = 0;
  };
  std::map<std::string, Times> kernels;
  while (true) {
    const auto more = loads->next();
    if (!more) return more.error();
    if (!*more) break;
    const std::string_view type = loads->field(kType);
    const bool judged = loads->field(kWhat) == "gemm" && (type == "bf16" || type == "fp8");
    if (loads->broken() || judged || loads->field(kData) != "normal") continue;
    Times& times = kernels[fmt::format("{} {} {}", loads->field(kWhat), loads->field(kShape), type)];
    if (loads->field(kRegime) == "window") times.window = loads->number(kTime);
    if (loads->field(kRegime) != "burst") continue;
    times.burst = loads->number(kTime), times.launches = loads->number(kInStretch).value_or(0);
  }
  std::vector<double> more;
  for (const auto& [name, times] : kernels)
    if (times.burst && times.window) more.push_back((*times.burst - *times.window) * times.launches);
  if (more.empty()) return BurstStart{};
  const auto count = static_cast<Count>(more.size());
  return BurstStart{std::max(0.0, upper_median(std::move(more))) * 1e-6, count};
}

Result<PowerRows> judge_power(const std::string& path, const std::string& name, const ModelSource& weights) {
  const auto gpu = find_gpu(name);
  if (!gpu) return gpu.error();
  const auto start = burst_start(path);
  if (!start) return start.error();
  auto loads = Loads::open(path);
  if (!loads) return std::move(loads).error();
  PowerRows judged;
  judged.start = *start;
  while (true) {
    const auto more = loads->next();
    if (!more) return more.error();
    if (!*more) return judged;
    const auto time = loads->number(kTime), busy = loads->number(kDuty);
    if (loads->broken() || !time || !busy || !(*time > 0)) {
      ++judged.left_out["no time"];
      continue;
    }
    auto asked = asked_for(loads->field(kWhat), std::string(loads->field(kShape)), std::string(loads->field(kType)));
    if (!asked) {
      ++judged.left_out[asked.error().problem];
      continue;
    }
    const std::string regime(loads->field(kRegime));
    const auto data = data_from(loads->field(kData));
    if (!data) {
      ++judged.left_out["data of no kind of ours: " + std::string(loads->field(kData))];
      continue;
    }
    asked->context.data = *data;
    if (regime == "steady") asked->context.run = RunLength::sustained;
    const auto forecast = forecast_of(*asked, *gpu, *busy, weights);
    if (!forecast) {
      ++judged.left_out["no forecast: " + forecast.error().problem];
      continue;
    }
    PowerRow& row = judged.rows.emplace_back();
    row.what = asked->name, row.regime = regime, row.data = loads->field(kData);
    row.forecast = *forecast, row.measured.time = *time * 1e-6;
    if (const auto launches = loads->number(kInStretch); regime == "burst" && launches && *launches >= 1)
      row.forecast.time += start->seconds / *launches;
    if (const auto mhz = loads->number(kCycleMhz); mhz && *mhz > 0) row.measured.clock = *mhz * 1e6;
    if (const auto drawn = loads->number(kEnergyWatts); drawn && *drawn > 0) row.measured.watts = *drawn;
  }
}

FigureErrors errors_of(const std::vector<const PowerRow*>& rows, Ratio ratio) {
  FigureErrors e;
  for (const PowerRow* row : rows) {
    const double r = ratio(*row);
    if (!(r > 0)) continue;
    ++e.rows, e.mean += std::abs(r - 1), e.bias += r - 1;
  }
  if (e.rows > 0) e.mean /= static_cast<double>(e.rows), e.bias /= static_cast<double>(e.rows);
  return e;
}

std::string power_report(const PowerRows& judged) {
  Groups by_data, by_kind;
  for (const PowerRow& row : judged.rows) {
    by_data[{words_of(row.regime), row.data}].push_back(&row);
    if (row.data == "normal") by_kind[{words_of(row.regime), row.what}].push_back(&row);
  }
  std::string text =
      "## Power and clocks\n\nAn H200 in bursts of ten launches, windows of 20 ms after a pause, two seconds of load, "
      "and loads that run for a part of\nevery 10 ms: mean error and bias of a launch's time, of the clock that its "
      "SMs "
      "ran at (counted on the card) and of what the\ncard drew (its energy counter, where it ran long enough for one), "
      "by the shipped weights and the power law of\n[method.md](../method.md#power-and-clocks). Loads of two seconds "
      "are forecast as `--run sustained`, all others as bursts, and\neach with the data it was measured with "
      "(`--data`). "
      "What data draw was read off the watts of the two\nseconds, what a limit counts of it off their clocks; no time "
      "was fitted.\n\n" +
      fmt::format(
          "The first replay of a graph after a pause takes longer than its kernels, a loop in registers as much as a "
          "product,\nof whatever length: that is in the time of ten launches and hardly in that of 20 ms. The middle "
          "of "
          "what {} kernels take\nmore so, products of bf16 and fp8 not among them, is {:.1f} us per burst; each of a "
          "burst's launches is forecast with its share.\n\n",
          judged.start.kernels, judged.start.seconds * 1e6) +
      table_of(by_data, "data") + "Normal data, by kind of kernel:\n\n" + table_of(by_kind, "kernels");
  for (const auto& [why, rows] : judged.left_out) text += fmt::format("- left out: {} rows, {}\n", rows, why);
  return text;
}

}  // namespace tilecast
