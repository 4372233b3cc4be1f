#include "cases.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace {

using Pairs = std::vector<std::pair<long, long>>;

// (n, k) of the linear layers of Llama 3 8B and 70B, Qwen2.5 7B, Qwen3 32B, Mistral, GPT-2, DeepSeek-V3.
const Pairs kLinear = {{4096, 4096},  {6144, 4096},  {28672, 4096}, {4096, 14336}, {8192, 8192},  {10240, 8192},
                       {57344, 8192}, {8192, 28672}, {3584, 3584},  {4608, 3584},  {37888, 3584}, {3584, 18944},
                       {5120, 5120},  {51200, 5120}, {5120, 25600}, {768, 768},    {2304, 768},   {3072, 768},
                       {768, 3072},   {1280, 1280},  {7168, 2048},  {2048, 7168},  {24576, 1536}, {128256, 4096},
                       {1024, 8192},  {2048, 2048},  {16384, 2048}, {2560, 2560},  {1536, 7168},  {512, 4096}};
const std::vector<long> kTokens = {1,   2,   4,   8,   16,  17,   32,   48,   64,  100,
                                   128, 256, 333, 512, 768, 1024, 2048, 4096, 8192};
const std::vector<long> kRowCounts = {1, 4, 16, 64, 128, 256, 512, 1000, 2048, 4096, 8192, 16384};
const std::vector<long> kRowLengths = {128, 256, 512, 768, 1024, 2048, 3072, 4096, 5120, 7168, 8192, 16384};

class Planner {
 public:
  Planner(int capability, bool full) : capability_(capability), factor_(full ? 6 : 2), random_(20261115) {}

  std::vector<Case> plan() {
    products("bf16", 260, 80);
    products("fp16", 40, 70);
    products("tf32", 40, 80);
    products("fp32", 40, 0);
    products("fp8_static", 60, 89);
    batched(50);
    for (const char* dtype : {"bf16", "fp32"}) {
      const int share = dtype[0] == 'b' ? 60 : 30;
      rows("rmsnorm", dtype, share);
      rows("softmax", dtype, share);
      rows("reduction", dtype, share / 2);
      pointwise(dtype, share / 2);
    }
    rows("gated_activation", "bf16", 40);
    copies(20);
    std::shuffle(found_.begin(), found_.end(), random_);
    return std::move(found_);
  }

 private:
  long pick(const std::vector<long>& from) { return from[random_() % from.size()]; }
  long log_uniform(long least, long most) {
    const double share = std::uniform_real_distribution<double>(0, 1)(random_);
    return static_cast<long>(std::lround(static_cast<double>(least) *
                                         std::pow(static_cast<double>(most) / static_cast<double>(least), share)));
  }

  void keep(Case item) {
    const auto same = [&](const Case& other) {
      return other.family == item.family && other.dtype == item.dtype && other.dims == item.dims && other.op == item.op;
    };
    if (std::none_of(found_.begin(), found_.end(), same)) found_.push_back(std::move(item));
  }

  void products(const char* dtype, int count, int least_capability) {
    if (capability_ < least_capability) return;
    for (int index = 0; index < count * factor_; ++index) {
      const bool of_model = index % 4 != 3;
      auto [n, k] = kLinear[random_() % kLinear.size()];
      long m = pick(kTokens);
      if (!of_model) {
        m = log_uniform(1, 8192);
        n = log_uniform(64, 16384) / 16 * 16;
        k = log_uniform(64, 16384) / 16 * 16;
      }
      const bool slow = std::string(dtype) == "fp32";
      if (static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) > (slow ? 7e10 : 1e12))
        m = std::max(1L, m / 16);
      if (std::string(dtype) == "fp8_static") m = (m + 15) / 16 * 16;
      keep({"gemm", dtype, "cublas", {{"m", m}, {"n", n}, {"k", k}}, "", false});
    }
  }

  void batched(int count) {
    for (int index = 0; index < count * factor_; ++index) {
      const long batch = log_uniform(4, 128), m = log_uniform(16, 2048) / 8 * 8, n = log_uniform(16, 2048) / 8 * 8;
      const long k = pick({64, 128, 256, 512, 1024});
      if (batch * (m * n + k * (m + n)) < 300000000)
        keep({"bmm", "bf16", "cublas", {{"batch", batch}, {"m", m}, {"n", n}, {"k", k}}, "", false});
    }
  }

  void rows(const char* family, const char* dtype, int count) {
    for (int index = 0; index < count * factor_; ++index) {
      const long rows = pick(kRowCounts), cols = pick(kRowLengths);
      keep({family, dtype, "tilecast_cuda", {{"rows", rows}, {"cols", cols}}, "", index % 5 == 4});
    }
  }

  void pointwise(const char* dtype, int count) {
    for (int index = 0; index < count * factor_; ++index) {
      const bool two = index % 2 == 0;
      const long elements = log_uniform(1 << 12, 1 << 28) / 4096 * 4096;
      keep({"elementwise",
            dtype,
            "tilecast_cuda",
            {{"elements", elements}, {"inputs", two ? 2 : 1}},
            two ? "add" : "silu",
            index % 5 == 4});
    }
  }

  void copies(int count) {
    for (int index = 0; index < count * factor_; ++index)
      keep({"copy", "bf16", "cuda_memcpy", {{"elements", log_uniform(1 << 12, 1 << 28) / 4096 * 4096}}, "", false});
  }

  int capability_, factor_;
  std::mt19937 random_;
  std::vector<Case> found_;
};

}  // namespace

long Case::dim(const std::string& name) const {
  const auto found = std::find_if(dims.begin(), dims.end(), [&](const auto& pair) { return pair.first == name; });
  return found == dims.end() ? 1 : found->second;
}

std::string Case::dims_text() const {
  std::string text;
  for (const auto& [name, value] : dims) text += (text.empty() ? "" : ";") + name + "=" + std::to_string(value);
  return op.empty() ? text : text + ";op=" + op;
}

std::vector<Case> plan(int compute_capability, bool full) { return Planner(compute_capability, full).plan(); }

std::vector<Case> sustained_plan(int compute_capability, bool full) {
  const double seconds = full ? 2.0 : 1.6;
  std::vector<Case> cases;
  const auto product = [&](const char* dtype, int least_capability, long m, long n, long k) {
    if (compute_capability < least_capability) return;
    cases.push_back({"gemm", dtype, "cublas", {{"m", m}, {"n", n}, {"k", k}}, "", false, seconds});
  };
  product("bf16", 80, 4096, 28672, 4096);
  product("fp8_static", 89, 4096, 28672, 4096);
  product("tf32", 80, 2048, 14336, 4096);
  product("fp32", 0, 1024, 6144, 4096);
  product("fp16", 70, 2048, 10240, 8192);
  product("bf16", 80, 256, 10240, 8192);
  cases.push_back({"rmsnorm", "bf16", "tilecast_cuda", {{"rows", 16384}, {"cols", 4096}}, "", false, seconds});
  cases.push_back(
      {"elementwise", "bf16", "tilecast_cuda", {{"elements", 1 << 26}, {"inputs", 2}}, "add", false, seconds});
  if (!full) return cases;
  product("bf16", 80, 8192, 8192, 3584);
  product("bf16", 80, 1024, 4608, 3584);
  product("bf16", 80, 16, 57344, 8192);
  product("fp8_static", 89, 512, 10240, 8192);
  product("tf32", 80, 4096, 5120, 5120);
  product("fp32", 0, 2048, 5120, 5120);
  cases.push_back(
      {"bmm", "bf16", "cublas", {{"batch", 64}, {"m", 1024}, {"n", 1024}, {"k", 128}}, "", false, seconds});
  return cases;
}
