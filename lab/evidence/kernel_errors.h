// Learned forecasts of measured kernels, with what was left out of the training behind them: kernels' intervals are
// fitted to these and judged by them. Trainings take minutes, so their errors can be kept in a file.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "lab/evidence/coverage.h"
#include "measure/measurement.h"
#include "measure/outcome.h"

namespace tilecast {

// What a row's training was not shown. `shape`: it was shown rows of the same table at other shapes.
enum class Unseen : std::uint8_t { shape, source, gpu, architecture };
inline constexpr std::array<std::string_view, 4> kUnseenNames = {"shape", "source", "gpu", "architecture"};
constexpr std::string_view name_of(Unseen u) { return kUnseenNames[static_cast<std::size_t>(u)]; }

struct KernelError {
  Unseen unseen = Unseen::shape;
  std::string source, gpu, family, dtype;
  Footing footing = {.doubt = Doubt::architecture, .kernel_known = false};
  double error = 0;     // log of measured over forecast
  double to_bound = 0;  // log of forecast over bound
  Width own;            // of the interval: what the model's rows leave unexplained

  Width whole() const;  // ... as a forecast says it
  bool held() const;
};
using KernelErrors = std::vector<KernelError>;

// Of rows that a model forecast.
KernelErrors kernel_errors(const std::vector<Measurement>& rows, const std::vector<Outcome>& outcomes, Unseen unseen);
CoverageRows coverage_rows(const KernelErrors& errors);
// What sums of kernels keep, by kind: how far the medians of a source's kernels of one family on one card lie from
// their forecasts, in a source like most.
Widths shared_widths(const KernelErrors& errors);
// Of every kind in the rows, and of sums of these kernels.
Widths fit_widths(const CoverageRows& rows, const KernelErrors& kernels);

std::string kernel_errors_csv(const KernelErrors& errors);
Result<KernelErrors> read_kernel_errors(const std::string& path);

}  // namespace tilecast
