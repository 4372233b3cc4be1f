#include "abi/kernel_columns.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "support/workers.h"

namespace tilecast {
namespace {

// Rows a thread takes at a time: enough that looking up the GPU and the weights is nothing beside them.
constexpr std::size_t kPiece = 16384;

// "row 7" of a piece is a later one of the whole.
Error counted_from(Error problem, std::size_t first) {
  constexpr std::string_view kRow = "row ";
  if (problem.place.starts_with(kRow))
    problem.place = std::string(kRow) + std::to_string(first + std::stoull(problem.place.substr(kRow.size())));
  return problem;
}

Status piece_times(const KernelQuery& common, std::span<const DimColumn> columns, std::size_t first,
                   std::span<double> seconds) {
  std::vector<DimColumn> part;
  for (const DimColumn& column : columns) part.push_back({column.name, column.values.subspan(first, seconds.size())});
  std::vector<Seconds> times(seconds.size());
  if (auto done = forecast_times(common, part, times); !done) return counted_from(std::move(done).error(), first);
  std::transform(times.begin(), times.end(), seconds.begin(), [](Seconds time) { return time.base(); });
  return Ok{};
}

}  // namespace

Status kernel_times(const KernelQuery& common, std::span<const DimColumn> columns, std::span<double> seconds,
                    int threads) {
  const std::size_t pieces = (seconds.size() + kPiece - 1) / kPiece;
  if (pieces <= 1) return piece_times(common, columns, 0, seconds);
  const auto cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  Workers workers(static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(threads > 0 ? threads : cores), pieces)));
  std::vector<std::optional<Error>> problems(pieces);
  workers.each(pieces, [&](std::size_t i) {
    const std::size_t first = i * kPiece;
    auto done = piece_times(common, columns, first, seconds.subspan(first, std::min(kPiece, seconds.size() - first)));
    if (!done) problems[i] = std::move(done).error();
  });
  for (std::optional<Error>& problem : problems)
    if (problem) return *std::move(problem);
  return Ok{};
}

}  // namespace tilecast
