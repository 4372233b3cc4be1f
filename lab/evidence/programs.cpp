#include "lab/evidence/programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "engine/program_run.h"
#include "gpu/registry.h"
#include "support/csv.h"
#include "support/text.h"

namespace tilecast {
namespace {

constexpr std::array<std::string_view, 9> kProgramColumns = {
    "program", "half", "mode", "engine", "latency_ms", "kernel_sum_ms", "host_bound", "launches", "peak_bytes"};
enum ProgramColumn : std::uint8_t { kName, kHalf, kRunMode, kRunEngine, kLatency, kSum, kWaits, kLaunches, kPeak };
constexpr std::array<std::string_view, 3> kKernelColumns = {"program", "operator", "total_us"};

// Tables of programs, by the set in which they were measured.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kTables = {{{"h200_programs", "first"},
                                                                                   {"h200_programs_blind", "second"},
                                                                                   {"h200_programs_fresh", "third"},
                                                                                   {"h200_programs_untouched", "last"},
                                                                                   {"h200_programs_sealed", "sealed"}}};

// Where a table has its columns.
template <std::size_t n>
Result<std::array<std::size_t, n>> places_of(const CsvReader& reader, const std::array<std::string_view, n>& names) {
  std::array<std::size_t, n> places{};
  for (std::size_t i = 0; i < n; ++i) {
    const auto found = reader.column(names[i]);
    if (!found) return found.error();
    places[i] = *found;
  }
  return places;
}

double number_of(std::string_view text) { return to_double(text).value_or(0); }

Result<std::vector<JudgedProgram>> measured_programs(const std::string& path) {
  auto reader = CsvReader::open(path);
  if (!reader) return std::move(reader).error();
  const auto columns = places_of(*reader, kProgramColumns);
  if (!columns) return columns.error();
  std::vector<JudgedProgram> list;
  for (;;) {
    const auto more = reader->next();
    if (!more) return more.error();
    if (!*more) break;
    const auto cell = [&](ProgramColumn c) { return (*reader)[(*columns)[c]]; };
    JudgedProgram one;
    one.name = cell(kName), one.half = cell(kHalf), one.mode = cell(kRunMode), one.engine = cell(kRunEngine);
    one.host_bound = cell(kWaits) == "yes";
    one.measured = {number_of(cell(kSum)), number_of(cell(kLatency)), number_of(cell(kPeak)),
                    number_of(cell(kLaunches))};
    list.push_back(std::move(one));
  }
  return list;
}

// "aten::add_" -> "aten.add_".
std::string recorded_name(std::string_view profiled) {
  std::string name(profiled);
  if (const auto at = name.find("::"); at != std::string::npos) name.replace(at, 2, ".");
  return name;
}

Status add_recognised(std::vector<JudgedProgram>& programs, const std::string& path) {
  auto reader = CsvReader::open(path);
  if (!reader) return std::move(reader).error();
  const auto columns = places_of(*reader, kKernelColumns);
  if (!columns) return columns.error();
  std::map<std::string, std::pair<double, double>> times;  // all, known
  for (;;) {
    const auto more = reader->next();
    if (!more) return more.error();
    if (!*more) break;
    auto& [all, known] = times[std::string((*reader)[(*columns)[0]])];
    const double time = number_of((*reader)[(*columns)[2]]);
    all += time;
    if (find_program_rule(recorded_name((*reader)[(*columns)[1]]))) known += time;
  }
  for (JudgedProgram& program : programs)
    if (const auto at = times.find(program.name); at != times.end() && at->second.first > 0)
      program.recognised = at->second.second / at->second.first;
  return Ok{};
}

Status add_forecast(JudgedProgram& program, const std::string& folder, const Gpu& gpu, const ModelSource& weights) {
  const auto file = program_from_file(fmt::format("{}/programs/{}.json.gz", folder, program.name));
  if (!file) return file.error();
  const EngineKind kind = program.engine == "compile" ? EngineKind::compile : EngineKind::pytorch;
  const RecordedProgram recorded = as_kernels(*file, gpu, {kind});
  const auto forecast = forecast_recorded(recorded, gpu, Method::tilecast, &weights);
  if (!forecast) return forecast.error();
  program.forecast = {in_milliseconds(forecast->kernels), in_milliseconds(forecast->step.total),
                      static_cast<double>(allocate(*file, recorded.libraries).peak),
                      static_cast<double>(recorded.program.launches())};
  return Ok{};
}

double error_of(double forecast, double measured) { return measured > 0 ? forecast / measured - 1 : 0; }

// A compiler's kernels belong to no operator.
std::string recognised_text(const std::string& engine, double share) {
  return engine == "eager" ? fmt::format("{:.1f}", 100 * share) : "–";
}

std::string summary_line(const std::vector<JudgedProgram>& programs, const std::string& set, const std::string& half,
                         const std::string& engine) {
  const ProgramErrors e = program_errors(programs, set, half, engine);
  if (e.programs == 0) return "";
  return fmt::format("| {} | {} | {} | {} | {:.1f} | {:.1f} | {:.1f} | {} |\n", engine, set, half, e.programs,
                     100 * e.kernels, 100 * e.wall, 100 * e.peak, recognised_text(engine, e.recognised));
}

std::string program_line(const JudgedProgram& p) {
  const auto cell = [](double forecast, double measured) {
    return fmt::format("{:.2f} | {:+.1f}", measured, 100 * error_of(forecast, measured));
  };
  return fmt::format("| {} | {} | {} | {} | {}{} | {} | {:.0f} / {:.0f} | {} |\n", p.name, p.set, p.half,
                     cell(p.forecast.kernels, p.measured.kernels), cell(p.forecast.wall, p.measured.wall),
                     p.host_bound ? " (host)" : "", cell(p.forecast.peak / 1e9, p.measured.peak / 1e9),
                     p.forecast.launches, p.measured.launches, recognised_text(p.engine, p.recognised));
}

}  // namespace

Result<std::vector<JudgedProgram>> judge_programs(const std::string& folder, const std::string& gpu,
                                                  const ModelSource& weights) {
  const auto card = find_gpu(gpu);
  if (!card) return card.error();
  std::vector<JudgedProgram> programs;
  for (const auto& [table, set] : kTables) {
    const std::string path = fmt::format("{}/measurements/{}", folder, table);
    auto some = measured_programs(path + ".csv");
    if (!some) return std::move(some).error();
    if (auto fine = add_recognised(*some, path + "_kernels.csv.gz"); !fine) return std::move(fine).error();
    for (JudgedProgram& program : *some) program.set = set;
    programs.insert(programs.end(), some->begin(), some->end());
  }
  for (JudgedProgram& program : programs)
    if (auto fine = add_forecast(program, folder, *card, weights); !fine) return std::move(fine).error();
  return programs;
}

ProgramErrors program_errors(const std::vector<JudgedProgram>& programs, const std::string& set,
                             const std::string& half, const std::string& engine) {
  ProgramErrors e;
  for (const JudgedProgram& p : programs) {
    if (p.set != set || p.half != half || p.engine != engine) continue;
    ++e.programs;
    e.kernels += std::abs(error_of(p.forecast.kernels, p.measured.kernels));
    e.peak += std::abs(error_of(p.forecast.peak, p.measured.peak));
    e.recognised = std::min(e.recognised, p.recognised);
    if (p.host_bound) ++e.waiting;
    else e.wall += std::abs(error_of(p.forecast.wall, p.measured.wall));
  }
  if (e.programs > 0) e.kernels /= e.programs, e.peak /= e.programs;
  if (e.programs > e.waiting) e.wall /= e.programs - e.waiting;
  return e;
}

std::string programs_report(const std::vector<JudgedProgram>& programs) {
  std::string out =
      "# Recorded PyTorch programs\n\n"
      "Programs of data/programs, recorded without a card, beside their steps on an H200 (PyTorch 2.11.0; "
      "[data/measurements/README.md](../../data/measurements/README.md), Programs). Generated by "
      "`TILECAST_UPDATE_DOCS=1 build/release/lab/test_lab_evidence --gtest_filter='Programs.*'`.\n\n"
      "Kinds of programs are halved by a hash of their names: rules and constants of src/constants/program.h were "
      "chosen on "
      "`choose`. Of `judge` the totals were seen while rules were written: operators that occur there alone (depthwise "
      "convolutions channels first, interpolation, training norms of cuDNN) got rules because those totals were far "
      "off, that "
      "of the norms with the grid and block of these programs' own kernels. The half is not blind. In the half to "
      "judge by, the least recognised is the program with an operator "
      "of its own in Triton. Mean absolute errors in percent; wall time without programs that wait for the host; "
      "recognised: "
      "the least "
      "share of a program's profiled time whose operators have a rule.\n\n"
      "Sets: `first`, 73 programs of 31 kinds. `second`, 25 of 15 others, measured once before the rules of "
      "convolutions "
      "and grouped norms, and `third`, 19 of 13 others, measured once after them: both were blind when they were "
      "measured, and have been looked at since. They are halved by the same hash now: Inductor's layouts of images, "
      "sums in "
      "parts, operands across rows, padded products, what is kept for gradients, group norms and norms of few channels "
      "were "
      "mended by programs of `choose` alone (`mixer`, `latent-decoder`, `gnn`, `mnasnet`), with one exception: that "
      "plain recurrent cells were far "
      "off was known by their total, and their rule was made with the profile of `plain-recurrent`. Before that, means "
      "of "
      "the second and third set were 5.0 and 16.2 % eager, 16.0 and 20.5 % compiled. `last`, 16 of 13 further kinds, "
      "was "
      "measured once and kept from whoever wrote rules until they stood: no half of it was chosen by. `sealed`, 13 of "
      "12 further kinds, was "
      "written before the rules of compiled programs' memory (the order of kernels, places taken over, what gradients "
      "give up), "
      "and measured, recorded and forecast once after them. These rules are Inductor's own, checked on `choose` "
      "against "
      "the code that Inductor writes for `registers`, `resnet50`, `mixer`, `gnn`, `latent-decoder`, `shared-layers` "
      "and "
      "`t5`; before them the mean error of compiled programs' peak memory was 5.2 % on `choose`, 6.7 % on `judge`, and "
      "5.7 % on `last`.\n\n"
      "| engine | set | half | programs | sum of kernels | wall time | peak memory | recognised |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- |\n";
  for (const char* engine : {"eager", "compile"})
    for (const char* set : {"first", "second", "third", "last", "sealed"})
      for (const char* half : {"choose", "judge", "untouched"}) out += summary_line(programs, set, half, engine);
  out +=
      "\nCompiled: records are the graphs that Inductor got; rules of fusion were chosen on "
      "`choose`, of "
      "`judge` totals were seen, and two rules came of it: `segformer` showed that indexing fuses, `super-resolution` "
      "that a "
      "permuted copy takes no place of its input. `encoder` and `generator` were left alone by the compiler, "
      "so that they are eager programs here. That depthwise "
      "convolutions of compiled programs are channels last was found in `mobilenet`, a judged one.\n";
  for (const char* engine : {"eager", "compile"}) {
    out += fmt::format(
        "\n## {}\n\nMeasured milliseconds and gigabytes, and the forecast's error in percent; launches forecast / "
        "measured.\n\n"
        "| program | set | half | kernels | error | step | error | peak | error | launches | recognised |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
        engine == std::string_view("eager") ? "Eager" : "Compiled");
    for (const JudgedProgram& program : programs)
      if (program.engine == engine) out += program_line(program);
  }
  return out;
}

}  // namespace tilecast
