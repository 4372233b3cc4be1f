#include "estimate/matrix.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "support/simd.h"

namespace tilecast {
namespace {

struct Sides {
  std::size_t rows, inner, cols;
};

// A block of `Rows` x (`Vectors` x `Lanes`) of c stays in registers while the inner index runs.
template <int Lanes, int Rows, int Vectors>
TILECAST_ALWAYS_INLINE void block(const float* a, const float* b, float* c, const Sides& s) {
  typedef float Vector __attribute__((vector_size(Lanes * sizeof(float))));
  Vector sum[Rows][Vectors];
  for (int r = 0; r < Rows; ++r)
    for (int v = 0; v < Vectors; ++v)
      std::memcpy(&sum[r][v], c + static_cast<std::size_t>(r) * s.cols + v * Lanes, sizeof(Vector));
  for (std::size_t i = 0; i < s.inner; ++i) {
    Vector right[Vectors];
    for (int v = 0; v < Vectors; ++v) std::memcpy(&right[v], b + i * s.cols + v * Lanes, sizeof(Vector));
    for (int r = 0; r < Rows; ++r) {
      const float left = a[static_cast<std::size_t>(r) * s.inner + i];
      for (int v = 0; v < Vectors; ++v) sum[r][v] += left * right[v];
    }
  }
  for (int r = 0; r < Rows; ++r)
    for (int v = 0; v < Vectors; ++v)
      std::memcpy(c + static_cast<std::size_t>(r) * s.cols + v * Lanes, &sum[r][v], sizeof(Vector));
}

// Columns that fill no vector.
TILECAST_ALWAYS_INLINE void narrow(const float* a, const float* b, float* c, const Sides& s, std::size_t first) {
  for (std::size_t r = 0; r < s.rows; ++r)
    for (std::size_t j = first; j < s.cols; ++j) {
      float sum = c[r * s.cols + j];
      for (std::size_t i = 0; i < s.inner; ++i) sum += a[r * s.inner + i] * b[i * s.cols + j];
      c[r * s.cols + j] = sum;
    }
}

template <int Lanes, int Rows, int Vectors>
TILECAST_ALWAYS_INLINE void panels(const float* a, const float* b, float* c, const Sides& s, std::size_t& column) {
  for (; column + Vectors * Lanes <= s.cols; column += Vectors * Lanes) {
    std::size_t r = 0;
    for (; r + Rows <= s.rows; r += Rows)
      block<Lanes, Rows, Vectors>(a + r * s.inner, b + column, c + r * s.cols + column, s);
    for (; r < s.rows; ++r) block<Lanes, 1, Vectors>(a + r * s.inner, b + column, c + r * s.cols + column, s);
  }
}

template <int Lanes, int Rows, int Vectors>
TILECAST_ALWAYS_INLINE void product(const float* a, const float* b, float* c, const Sides& s) {
  std::size_t column = 0;
  panels<Lanes, Rows, Vectors>(a, b, c, s, column);
  panels<Lanes, Rows, 1>(a, b, c, s, column);
  if (column < s.cols) narrow(a, b, c, s, column);
}

void product_base(const float* a, const float* b, float* c, const Sides& s) { product<4, 4, 2>(a, b, c, s); }
TILECAST_AVX2 void product_avx2(const float* a, const float* b, float* c, const Sides& s) {
  product<8, 6, 2>(a, b, c, s);
}
TILECAST_AVX512 void product_avx512(const float* a, const float* b, float* c, const Sides& s) {
  product<16, 12, 2>(a, b, c, s);
}

}  // namespace

void add_product(std::span<const float> a, std::span<const float> b, std::span<float> c, std::size_t inner,
                 std::size_t cols) {
  if (c.empty()) return;
  const Sides sides{c.size() / cols, inner, cols};
  assert(a.size() == sides.rows * inner && b.size() == inner * cols && c.size() == sides.rows * cols);
  switch (simd_level()) {
    case Simd::avx512: return product_avx512(a.data(), b.data(), c.data(), sides);
    case Simd::avx2: return product_avx2(a.data(), b.data(), c.data(), sides);
    case Simd::base: return product_base(a.data(), b.data(), c.data(), sides);
  }
}

void transpose(std::span<const float> in, std::span<float> out, std::size_t cols) {
  constexpr std::size_t kBlock = 16;  // a block of both sides fits the first cache
  const std::size_t rows = in.size() / cols;
  for (std::size_t r0 = 0; r0 < rows; r0 += kBlock)
    for (std::size_t c0 = 0; c0 < cols; c0 += kBlock)
      for (std::size_t r = r0; r < std::min(r0 + kBlock, rows); ++r)
        for (std::size_t c = c0; c < std::min(c0 + kBlock, cols); ++c) out[c * rows + r] = in[r * cols + c];
}

}  // namespace tilecast
