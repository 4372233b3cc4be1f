// Compares what our kernels and cuBLAS compute with the host: a kernel that skips its work must not pass for a fast
// one.
#include <cuda_bf16.h>

#include <cmath>
#include <vector>

#include "physics.h"

namespace {

using Floats = std::vector<float>;

Floats fetch(const void* from, std::size_t count, Type type, cudaStream_t stream) {
  must(cudaStreamSynchronize(stream), "kernels");
  Floats out(count);
  if (type == Type::fp32) {
    must(cudaMemcpy(out.data(), from, 4 * count, cudaMemcpyDeviceToHost), "copy");
    return out;
  }
  std::vector<__nv_bfloat16> half(count);
  must(cudaMemcpy(half.data(), from, 2 * count, cudaMemcpyDeviceToHost), "copy");
  for (std::size_t i = 0; i < count; ++i) out[i] = __bfloat162float(half[i]);
  return out;
}

bool report(const char* name, Type type, const Floats& got, const Floats& right) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < right.size(); ++i) {
    const double apart = static_cast<double>(got[i]) - static_cast<double>(right[i]);
    difference += apart * apart;
    size += static_cast<double>(right[i]) * static_cast<double>(right[i]);
  }
  const double error = std::sqrt(difference / size);
  const bool fine = error < (type == Type::bf16 ? 1e-2 : 1e-4);  // false for not a number too
  std::printf("%-18s %s error %.2e%s\n", name, type == Type::bf16 ? "bf16" : "fp32", error, fine ? "" : "  WRONG");
  return fine;
}

float silu_of(float value) { return value / (1 + std::exp(-value)); }

bool check_type(Bench& bench, Type type, Rows size) {
  const cudaStream_t stream = bench.timer.stream();
  bench.arena.fill_with(type == Type::bf16 ? Fill::bf16 : Fill::fp32);
  const auto rows = static_cast<std::size_t>(size.rows), cols = static_cast<std::size_t>(size.cols), all = rows * cols;
  char* in = bench.arena.data();
  char* other = in + (64 << 20);
  char* out = bench.arena.out();
  const Floats x = fetch(in, 2 * all, type, stream), w = fetch(other, all, type, stream);
  Floats norm(all), soft(all), sums(rows), gated(all), added(all), bent(all), product(rows * rows);
  for (std::size_t r = 0; r < rows; ++r) {
    double squares = 0, total = 0, exponents = 0;
    for (std::size_t c = 0; c < cols; ++c) {
      const double value = x[r * cols + c];
      squares += value * value, total += value, exponents += std::exp(value);
    }
    sums[r] = static_cast<float>(total);
    const double scale = 1 / std::sqrt(squares / static_cast<double>(cols) + 1e-6);
    for (std::size_t c = 0; c < cols; ++c) {
      const std::size_t at = r * cols + c;
      norm[at] = static_cast<float>(x[at] * scale * w[c]);
      soft[at] = static_cast<float>(std::exp(static_cast<double>(x[at])) / exponents);
      gated[at] = silu_of(x[2 * r * cols + c]) * x[2 * r * cols + cols + c];
      added[at] = x[at] + w[at];
      bent[at] = silu_of(x[at]);
    }
    for (std::size_t n = 0; n < rows; ++n) {
      double dot = 0;
      for (std::size_t c = 0; c < cols; ++c) dot += static_cast<double>(x[r * cols + c]) * w[n * cols + c];
      product[r * rows + n] = static_cast<float>(dot);
    }
  }
  bool fine = true;
  const auto compare = [&](const char* name, const Floats& right) {
    fine &= report(name, type, fetch(out, right.size(), type, stream), right);
    must(cudaMemset(out, 0xff, all * bytes_of(type)), "poison");
  };
  must(cudaMemset(out, 0xff, all * bytes_of(type)), "poison");
  rmsnorm(type, in, other, out, size, stream), compare("rmsnorm", norm);
  softmax(type, in, out, size, stream), compare("softmax", soft);
  row_sum(type, in, out, size, stream), compare("reduction", sums);
  if (type == Type::bf16) gated_silu(in, out, size, stream), compare("gated_activation", gated);
  add(type, in, other, out, all, stream), compare("add", added);
  silu(type, in, out, all, stream), compare("silu", bent);
  copy_all(in, out, all * bytes_of(type), bench.card.sms, stream);
  compare("copy", Floats(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(all)));
  const auto problem = bench.matmul.run(type == Type::bf16 ? Number::bf16 : Number::fp32,
                                        {size.rows, size.rows, size.cols}, in, other, out);
  if (problem) give_up(std::string("product: ") + *problem);
  compare("gemm", product);
  return fine;
}

}  // namespace

bool check_kernels(Bench& bench) {
  bool fine = true;
  for (const Rows size : {Rows{48, 768}, Rows{16, 16384}})
    for (const Type type : {Type::bf16, Type::fp32}) fine &= check_type(bench, type, size);
  std::printf(fine ? "all agree\n" : "WRONG RESULTS\n");
  return fine;
}
