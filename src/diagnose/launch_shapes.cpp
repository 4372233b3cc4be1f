// Launches, and the texts of our own tables, to shapes that can be forecast.
#include <algorithm>
#include <charconv>

#include "diagnose/shape_parts.h"
#include "kernel/attention_prefill.h"
#include "kernel/elementwise.h"
#include "kernel/shape_text.h"

namespace tilecast {

Count first_number(std::string_view text) {
  const auto digit = text.find_first_of("0123456789");
  Count number = 0;
  if (digit != std::string_view::npos) std::from_chars(text.data() + digit, text.data() + text.size(), number);
  return number;
}

AttentionAlgorithm algorithm_of(std::string_view kernel_name) {
  const bool second = contains(kernel_name, "flash_fwd_") || contains(kernel_name, "flash_bwd_");
  return second ? AttentionAlgorithm::fa2 : AttentionAlgorithm::automatic;
}

std::string_view format_of_name(std::string_view name) {
  if (contains(name, "e4m3") || contains(name, "Float8")) return "fp8_static";
  if (contains(name, "BFloat16") || contains(name, "bfloat16") || contains(name, "bf16")) return "bf16";
  if (contains(name, "Half") || contains(name, "half") || contains(name, "f16")) return "fp16";
  if (contains(name, "double")) return "fp64";
  if (contains(name, "float") || contains(name, "f32")) return "fp32";
  return "bf16";
}

std::optional<Kernel> kernel_of(Shape shape, std::string_view format) {
  auto found = format_from(format);
  if (!found) return std::nullopt;
  const auto fine = check(shape).ok();
  if (!fine) return std::nullopt;
  return Kernel{std::move(shape), *found};
}

namespace {

// The n-th number or word of a template list that starts at `from`: "<128, 64, true" -> argument(…, 2) is "true".
std::string_view argument(std::string_view list, std::size_t n) {
  int depth = 0;
  std::size_t from = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const char c = list[i];
    if (c == '<' || c == '(') {
      if (++depth == 1) from = i + 1;
    } else if (c == '>' || c == ')' || (c == ',' && depth == 1)) {
      if (c != ',') --depth;
      if (c == ',' || depth == 0) {
        if (n-- == 0) {
          while (from < i && list[from] == ' ') ++from;
          return list.substr(from, i - from);
        }
        from = i + 1;
        if (depth == 0) return {};
      }
    }
  }
  return {};
}

// flash_fwd_kernel<Flash_fwd_kernel_traits<head dim, rows, ...>, dropout, causal, ...> over (row blocks, batch, heads).
// With one block of rows nothing tells how many there are; more blocks are taken for a whole prompt.
std::optional<Shape> flash_launch(const WorkKind& kind) {
  const auto at = kind.name.find("flash_fwd_kernel<");
  const auto traits = kind.name.find("kernel_traits<");
  if (at == std::string::npos || traits == std::string::npos || kind.launch.grid[0] < 2) return std::nullopt;
  const std::string_view name = kind.name;
  const Count head_dim = first_number(argument(name.substr(traits), 0));
  const Count rows = first_number(argument(name.substr(traits), 1));
  AttentionPrefill prefill;
  prefill.q_len = prefill.kv_len = rows * kind.launch.grid[0];
  prefill.batch = kind.launch.grid[1], prefill.heads = prefill.kv_heads = kind.launch.grid[2];
  prefill.head_dim = head_dim;
  prefill.algorithm = algorithm_of(name);
  prefill.mask = argument(name.substr(at), 2) == "true" ? AttentionMask::causal : AttentionMask::full;
  return prefill;
}

// vectorized_elementwise_kernel<vector, functor, array<char*, tensors>>: 1024 elements a CTA (PyTorch 2.11 on an H200:
// 10^6 bf16 elements take 977 CTAs, 10^8 fp32 ones 97 657). Older versions give four-wide kernels half of that.
std::optional<Shape> vectorized_launch(const WorkKind& kind) {
  if (!contains(kind.name, "vectorized_elementwise_kernel<")) return std::nullopt;
  const auto tensors = kind.name.find("array<char*, ");
  if (tensors == std::string::npos || kind.launch.grid[0] < 1) return std::nullopt;
  Elementwise made;
  made.elements = Count{kind.launch.grid[0]} * 1024;
  made.inputs = std::clamp<Count>(first_number(std::string_view(kind.name).substr(tensors + 13)) - 1, 0, 8);
  if (made.inputs == 0) return std::nullopt;
  return made;
}

}  // namespace

std::optional<ReadShape> shape_of_launch(const WorkKind& kind) {
  auto made = flash_launch(kind);
  if (!made) made = vectorized_launch(kind);
  if (!made) return std::nullopt;
  auto kernel = kernel_of(*std::move(made), format_of_name(kind.name));
  if (!kernel) return std::nullopt;
  return ReadShape{*std::move(kernel), ShapeOrigin::launch};
}

Result<ReadShape> shape_of_text(std::string_view text) {
  const auto first = text.find(' '), second = text.find(' ', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos)
    return field_error("shape", "must be a family, a format and dims, not '" + std::string(text) + "'",
                       "for example: gemm bf16 m=512;n=6144;k=4096");
  auto shape = read_dims(text.substr(0, first), text.substr(second + 1));
  if (!shape) return std::move(shape).error();
  auto format = format_from(text.substr(first + 1, second - first - 1));
  if (!format) return std::move(format).error();
  return ReadShape{Kernel{*std::move(shape), *format}, ShapeOrigin::table};
}

}  // namespace tilecast
