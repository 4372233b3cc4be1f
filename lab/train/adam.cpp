#include "lab/train/adam.h"

#include <algorithm>
#include <cmath>

#include "support/simd.h"

namespace tilecast {
namespace {

constexpr double kBeta1 = 0.9, kBeta2 = 0.999, kEpsilon = 1e-8;

struct Step {
  float shrink;          // of weight decay
  float rate;            // with the first moment's bias correction
  float root_of_second;  // 1 / sqrt of the second moment's bias correction
};

// Vectorised only where sqrt need not set errno (CMakeLists.txt).
TILECAST_ALWAYS_INLINE void update(float* p, const float* g, float* m, float* v, std::size_t n, const Step& s) {
  constexpr auto b1 = static_cast<float>(kBeta1), b2 = static_cast<float>(kBeta2);
  constexpr auto epsilon = static_cast<float>(kEpsilon);
  for (std::size_t i = 0; i < n; ++i) {
    m[i] = b1 * m[i] + (1 - b1) * g[i];
    v[i] = b2 * v[i] + (1 - b2) * g[i] * g[i];
    p[i] = p[i] * s.shrink - s.rate * m[i] / (std::sqrt(v[i]) * s.root_of_second + epsilon);
  }
}
void update_base(float* p, const float* g, float* m, float* v, std::size_t n, const Step& s) {
  update(p, g, m, v, n, s);
}
TILECAST_AVX2 void update_avx2(float* p, const float* g, float* m, float* v, std::size_t n, const Step& s) {
  update(p, g, m, v, n, s);
}
TILECAST_AVX512 void update_avx512(float* p, const float* g, float* m, float* v, std::size_t n, const Step& s) {
  update(p, g, m, v, n, s);
}

}  // namespace

void AdamW::step(std::span<float> parameters, std::span<const float> gradients, double rate, Workers& workers) {
  ++steps_;
  const Step s{static_cast<float>(1 - rate * decay_), static_cast<float>(rate / (1 - std::pow(kBeta1, steps_))),
               static_cast<float>(1 / std::sqrt(1 - std::pow(kBeta2, steps_)))};
  const Simd level = simd_level();
  const auto loop = level == Simd::avx512 ? update_avx512 : level == Simd::avx2 ? update_avx2 : update_base;
  constexpr std::size_t kPiece = 1 << 16;
  workers.each((parameters.size() + kPiece - 1) / kPiece, [&](std::size_t i) {
    const std::size_t at = i * kPiece, n = std::min(kPiece, parameters.size() - at);
    loop(&parameters[at], &gradients[at], &first_[at], &second_[at], n, s);
  });
}

}  // namespace tilecast
