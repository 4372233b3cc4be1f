#include "lab/commands/fit_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "gpu/registry.h"
#include "lab/commands/shared.h"
#include "lab/evaluate/evaluate.h"
#include "lab/fit/constants_report.h"
#include "lab/fit/refitted_training.h"
#include "measure/traps.h"
#include "support/file.h"
#include "support/text.h"

namespace tilecast {
namespace {

constexpr std::string_view kArchitecture = "architecture:";
using Rows = std::vector<const Measurement*>;

bool is_left_out(const Measurement& row, std::string_view what) {
  if (!what.starts_with(kArchitecture)) return name_key(row.gpu) == name_key(what);
  const Gpu* gpu = built_in_gpu(row.gpu);
  return gpu && name_of(gpu->architecture) == what.substr(kArchitecture.size());
}

Status check(const FitCommand& command) {
  if (command.sample < 1) return Error{"", "sample", "must be at least 1", "for example 12"};
  if (command.passes < 1 || command.passes > static_cast<Count>(fit_steps().size()))
    return Error{"", "passes", fmt::format("must lie between 1 and {}", fit_steps().size()), "for example 6"};
  if (command.learned < 0) return Error{"", "learned", "must be zero (no trainings) or more", "for example 60"};
  if (command.trees < 1 || command.trees > 5000)
    return Error{"", "trees", "must lie between 1 and 5000", "200 are usual"};
  if (command.threads < 1 || command.threads > 256)
    return Error{"", "threads", "must lie between 1 and 256", "as many as there are cores"};
  for (const std::string& what : command.leave_out) {
    const auto known = std::find(kArchitectureNames.begin(), kArchitectureNames.end(),
                                 std::string_view(what).substr(std::min(kArchitecture.size(), what.size())));
    if (what.starts_with(kArchitecture)) {
      if (known == kArchitectureNames.end())
        return Error{"", "leave-out", "unknown " + what,
                     "one of " + join({kArchitectureNames.begin(), kArchitectureNames.end()}, ", ")};
    } else if (const auto gpu = find_gpu(what); !gpu) {
      return gpu.error();
    }
  }
  return Ok{};
}

Result<SampledRows> rows_of(const FitCommand& command, Count sample, Names& names) {
  const auto paths = tables_of(command.data, {});
  if (!paths) return paths.error();
  auto sampled = read_sampled(*paths, {sample, 0}, ReadOptions{}, names);
  if (!sampled) return sampled;
  std::erase_if(sampled->rows, [&](const Measurement& row) {
    const std::string own = name_key(family_of(row.kernel.shape));
    const auto wanted = [&](const std::string& family) { return name_key(family) == own; };
    return !trap_of(row).empty() || !built_in_gpu(row.gpu) ||
           (!command.families.empty() && std::none_of(command.families.begin(), command.families.end(), wanted));
  });
  return sampled;
}

// A fit that resumes from its saved state and keeps it up to date; `left_out` is empty for the fit to all rows.
Result<ConstantsFit> fitted(const FitCommand& command, const Rows& rows, const std::string& left_out) {
  const std::string about = fmt::format("{} rows, sample {}, without {}", rows.size(), command.sample,
                                        left_out.empty() ? "nothing" : left_out);
  std::string file = left_out;
  std::replace(file.begin(), file.end(), ':', '-');
  const std::string path = command.state.empty() ? "" : command.state + "." + (left_out.empty() ? "all" : file);
  ConstantsFit start = shipped_constants();
  std::error_code ignored;
  if (!path.empty() && std::filesystem::exists(path, ignored)) {
    const auto text = read_text_file(path, 1 << 20);
    if (!text) return text.error();
    auto state = state_from(*text, about);
    if (!state) return state;
    start = *std::move(state);
  }
  ConstantsFitOptions options;
  options.passes = static_cast<int>(command.passes);
  options.threads = command.threads;
  options.progress = terminal_progress();
  if (!path.empty())
    options.keep = [&](const ConstantsFit& fit) { return write_text_file(path, state_text(fit, about)); };
  return fit_constants(rows, start, options);
}

std::string summary_of_fit(const ConstantsFit& fit) {
  return fmt::format("loss {:.4f} with the shipped constants, {:.4f} refitted; {} of {} moved, {} without rows",
                     fit.loss_before, fit.loss, fit.moved(), fit.constants.size(), fit.idle());
}

struct Halves {
  Rows kept, left;
};
Halves halves_of(const Rows& all, const std::string& what) {
  Halves halves;
  for (const Measurement* row : all) (is_left_out(*row, what) ? halves.left : halves.kept).push_back(row);
  return halves;
}

std::string family_label(const Measurement& row) { return std::string(family_of(row.kernel.shape)); }
std::string model_label(const Measurement& row) { return model_key(row.kernel); }

// `many`: rows to train on; empty: no trainings.
Result<LeftOutFit> leave_out(const FitCommand& command, const Rows& all, const Rows& many, const ConstantsFit& with,
                             const std::string& what) {
  const Halves halves = halves_of(all, what);
  if (halves.left.empty())
    return Error{"", "leave-out", what + " has no rows in --data", "name a card or an architecture of the tables"};
  auto without = fitted(command, halves.kept, what);
  if (!without) return without.error();
  LeftOutFit fit{what, *std::move(without), {}, {}};
  const auto analytic = [&](const TunedConstants& c) { return errors_under(halves.left, c, command.threads); };
  fit.families = left_out_errors(halves.left, with, fit.without, analytic, family_label);
  if (many.empty()) return fit;
  const Halves trained = halves_of(many, what);
  const TrainOptions options = train_options({}, command.trees, command.threads).train;
  const auto learned = [&](const TunedConstants& c) {
    return learned_errors_under(trained.left, trained.kept, c, options);
  };
  fit.learned = left_out_errors(trained.left, with, fit.without, learned, model_label);
  return fit;
}

Rows pointers_to(const SampledRows& sampled) {
  Rows rows;
  for (const Measurement& row : sampled.rows) rows.push_back(&row);
  return rows;
}

}  // namespace

Result<std::string> run_fit(const FitCommand& command) {
  if (auto right = check(command); !right) return std::move(right).error();
  if (!command.out.empty())
    if (auto writable = check_writable(command.out); !writable) return std::move(writable).error();
  Names names;
  const auto sampled = rows_of(command, command.sample, names);
  if (!sampled) return sampled.error();
  const Rows rows = pointers_to(*sampled);
  auto more = command.learned > 0 ? rows_of(command, command.learned, names) : Result<SampledRows>(SampledRows{});
  if (!more) return std::move(more).error();
  const Rows many = pointers_to(*more);
  ConstantsReport report{
      command.sample, static_cast<Count>(rows.size()), command.learned, static_cast<int>(command.passes), {}, {}};
  report.of_families = command.families;
  auto with = fitted(command, rows, "");
  if (!with) return with.error();
  report.with = *std::move(with);
  std::string out = fmt::format("{} rows\nall of them: {}\n", rows.size(), summary_of_fit(report.with));
  for (const std::string& what : command.leave_out) {
    auto fit = leave_out(command, rows, many, report.with, what);
    if (!fit) return fit.error();
    out +=
        fmt::format("\nwithout {}: {}\n\n{}", what, summary_of_fit(fit->without), left_out_table(fit->families, false));
    if (!fit->learned.empty()) out += "\nlearned, trained without it:\n\n" + left_out_table(fit->learned, false);
    report.fits.push_back(*std::move(fit));
  }
  if (!command.out.empty()) {
    if (auto written = write_text_file(command.out, constants_page(report)); !written)
      return std::move(written).error();
    out += "\nwritten: " + command.out + "\n";
  }
  return out;
}

}  // namespace tilecast
