#include "kernel/cublas_nets.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <string>

#include "kernel/embedded_plans.h"
#include "support/number.h"

namespace tilecast {
namespace {

// Words of the text; comments run from # to the end of a line. A missing or wrong word sets `failed` permanently.
class Words {
 public:
  explicit Words(std::string_view text) : rest_(text) {}

  std::string_view next() {
    constexpr std::string_view kSpace = " \t\r\n";
    while (true) {
      rest_.remove_prefix(std::min(rest_.find_first_not_of(kSpace), rest_.size()));
      if (!rest_.starts_with('#')) break;
      rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
    }
    const std::string_view word = rest_.substr(0, rest_.find_first_of(kSpace));
    rest_.remove_prefix(word.size());
    return word;
  }
  int number(int least, int most) {
    const std::string_view word = next();
    if (const auto value = number_between(word, least, most)) return *value;
    if (!failed) wrong = word;
    failed = true;
    return least;
  }
  float weight() { return static_cast<float>(number(-1'000'000, 1'000'000)) / 1000; }

  bool failed = false;
  std::string_view wrong;

 private:
  std::string_view rest_;
};

// Inputs of the fitted network in the file's order (candidate_features in tools/plans/fit_cublas_fp32.py), with s =
// log2(split) and n the logarithm of the reduction's length.
enum Input : std::size_t {
  kSplit,       // s / 2 - 1
  kTiles,       // log2 of waves without the split, / 2
  kCtas,        // log2 of waves with it, / 2 - 1
  kSplitDepth,  // (n - s) / 2 - 4
  kDepth,       // n / 2 - 5
  kRows,
  kColumns,
  kPartials,       // log2 of partial sums over the workspace, / 2
  kFits,           // 1/2 when they fit, -1/2 when not
  kFill,           // of waves of 1, 2, 3 and 4 CTAs on an SM
  kPadding = 13,   // log2 of padded over useful results, * 2
  kTileFill = 14,  // of waves of 1, 2 and 4 unsplit tiles on an SM
  kInputs = 17
};

KernelNet read_kernel(Words& words) {
  KernelNet net;
  net.sliced = words.next().ends_with("sliced1x4");
  net.tile_m = words.number(1, 1024);
  net.tile_n = words.number(1, 1024);
  net.tile_k = words.number(1, 1024);
  net.threads = words.number(32, 1024);
  net.log_area = std::log2(static_cast<float>(net.tile_m * net.tile_n));
  const auto hidden = static_cast<std::size_t>(words.number(1, kHiddenUnits));
  net.splits.resize(static_cast<std::size_t>(words.number(1, 32)));
  for (SplitNet& s : net.splits) {
    s.split = words.number(1, 1 << 16);
    s.log_split = std::log2(static_cast<float>(s.split));
  }
  const auto row = [&](auto values, std::size_t count) {
    for (std::size_t j = 0; j < count; ++j) values[j / kLanes][j % kLanes] = words.weight();
    return values;
  };
  std::array<HiddenUnits, kInputs> w{};
  for (HiddenUnits& input : w) input = row(HiddenUnits{}, hidden);
  const HiddenUnits bias = row(HiddenUnits{}, hidden);
  net.output = row(HiddenUnits{}, hidden);
  for (SplitNet& s : net.splits) s.linear = row(ProblemFeatures{}, kProblemFeatures);

  net.by_problem = {w[kTiles],   {},           w[kRows],         w[kColumns],
                    w[kPadding], w[kTileFill], w[kTileFill + 1], w[kTileFill + 2]};
  net.by_launch = {w[kCtas], w[kPartials], w[kFill], w[kFill + 1], w[kFill + 2], w[kFill + 3]};
  for (std::size_t j = 0; j < kHiddenUnits / kLanes; ++j) {
    net.by_problem[1][j] = w[kDepth][j] + w[kSplitDepth][j];
    // Constants of kSplit, kCtas and kSplitDepth = kDepth + 1 - s / 2.
    net.bias[j] = bias[j] - w[kSplit][j] - w[kCtas][j] + w[kSplitDepth][j];
    for (SplitNet& s : net.splits) {
      const Lanes own = s.log_split / 2 * (w[kSplit][j] - w[kSplitDepth][j]);
      s.fitting[j] = own + w[kFits][j] / 2;
      s.exceeding[j] = own - w[kFits][j] / 2;
    }
  }
  return net;
}

void set_groups(KernelNets& nets) {
  for (KernelNet& net : nets) {
    const auto same = std::find_if(nets.begin(), nets.end(), [&](const KernelNet& other) {
      return other.tile_m == net.tile_m && other.tile_n == net.tile_n;
    });
    net.group = static_cast<std::size_t>(same - nets.begin());
  }
}

bool complete(const std::array<KernelNets, kCublasGpuNames.size()>& nets) {
  return std::none_of(nets.begin(), nets.end(), [](const KernelNets& kernels) { return kernels.empty(); });
}

CublasNets parse_embedded() {
  for (const EmbeddedFile& file : embedded_plan_files()) {
    if (file.name != "cublas_fp32.txt") continue;
    auto nets = parse_cublas_nets(file.text);
    assert(nets.ok() && "data/plans/cublas_fp32.txt is broken; cublas_simt_test says where");
    if (nets) return *std::move(nets);
  }
  assert(false && "data/plans/cublas_fp32.txt is not embedded");
  return {};
}

}  // namespace

Result<CublasNets> parse_cublas_nets(std::string_view text) {
  CublasNets all;
  Words words(text);
  for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
    const std::string_view operation = words.next(), gpu = words.next();
    const auto name = std::find(kCublasGpuNames.begin(), kCublasGpuNames.end(), gpu);
    if (word != "net" || (operation != "linear" && operation != "bmm") || name == kCublasGpuNames.end())
      return error("expected 'net linear|bmm GPU', not '" + std::string(word) + " " + std::string(operation) + " " +
                   std::string(gpu) + "'");
    KernelNets& nets =
        (operation == "bmm" ? all.batched : all.linear)[static_cast<std::size_t>(name - kCublasGpuNames.begin())];
    const int kernels = words.number(1, kMostKernels);
    std::size_t candidates = 0;
    for (int i = 0; i < kernels; ++i) {
      if (words.next() != "kernel") return error("expected 'kernel' in net " + std::string(gpu));
      nets.push_back(read_kernel(words));
      candidates += nets.back().splits.size();
      if (words.failed)
        return error("'" + std::string(words.wrong) + "' in net " + std::string(gpu) + " is no number in its range");
    }
    if (candidates > kMostCandidates)
      return error("more candidates in net " + std::string(gpu) + " than kMostCandidates");
    set_groups(nets);
  }
  if (!complete(all.linear) || !complete(all.batched)) return error("nets are missing");
  return all;
}

const CublasNets& cublas_nets() {
  static const CublasNets nets = parse_embedded();
  return nets;
}

}  // namespace tilecast
