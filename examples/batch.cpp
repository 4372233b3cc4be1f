// Times of a million matrix products, from columns of numbers.
#include <tilecast/kernel.h>

#include <chrono>
#include <cstdio>
#include <vector>

int main() {
  using namespace tilecast;
  constexpr std::size_t kRows = 1'000'000;
  std::vector<Count> m(kRows), n(kRows), k(kRows);
  for (std::size_t i = 0; i < kRows; ++i) {
    const auto step = static_cast<Count>(i);
    m[i] = 1 + step * 37 % 8192, n[i] = 512 + step * 64 % 16384, k[i] = 512 + step * 192 % 12288;
  }
  const std::vector<DimColumn> columns = {{"m", m}, {"n", n}, {"k", k}};
  std::vector<Seconds> times(kRows);
  KernelQuery common;
  common.family = "gemm", common.gpu = "H100-SXM";
  const auto start = std::chrono::steady_clock::now();
  if (const auto done = forecast_times(common, columns, times); !done)
    return std::fprintf(stderr, "%s\n", done.error().line().c_str()), 1;
  const double spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  Seconds total;
  for (const Seconds time : times) total += time;
  std::printf("%zu products would take %.1f s; forecast in %.2f s (%.0f thousand a second)\n", kRows, in_seconds(total),
              spent, static_cast<double>(kRows) / spent / 1e3);
}
