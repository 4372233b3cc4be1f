#include "estimate/price.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "estimate/shipped_weights.h"
#include "gpu/registry.h"
#include "kernel/attention_decode.h"
#include "kernel/attention_prefill.h"
#include "kernel/gemm.h"

namespace tilecast {
namespace {

Estimate priced(const Shape& shape, const char* format, const Gpu& gpu, const Context& context = {}) {
  return price({shape, *format_from(format)}, gpu, context, Method::tilecast, &shipped_models())->estimate;
}

// A run begins as a burst and may only be slowed down, whatever the card's limit.
TEST(Price, ALongRunIsNoFasterThanABurst) {
  AttentionPrefill attention;
  attention.q_len = 8192, attention.heads = 32, attention.kv_heads = 8;
  const std::pair<Shape, const char*> kernels[] = {{Gemm{8192, 8192, 8192}, "bf16"},
                                                   {Gemm{4096, 4096, 4096}, "fp16"},
                                                   {Gemm{2048, 8192, 8192}, "fp8"},
                                                   {attention, "bf16"}};
  int asked = 0;
  for (const char* parent : {"H200-SXM", "H100-SXM", "A100-SXM-80GB", "B200", "L40S", "L4", "T4", "V100-SXM"})
    for (const double share : {0.7, 0.9, 1.0, 1.1, 1.43, 2.0}) {
      const double watts = find_gpu(parent)->power.base() * share;
      const Result<Gpu> gpu =
          share == 1 ? Result<Gpu>(*find_gpu(parent))
                     : load_gpu(fmt::format(R"({{"like": "{}", "name": "limited", "power_w": {}}})", parent, watts));
      ASSERT_TRUE(gpu.ok()) << gpu.error().line();
      for (const auto& [shape, format] : kernels) {
        if (!math_path(*format_from(format), *gpu)) continue;
        Context burst, sustained;
        sustained.run = RunLength::sustained;
        const Estimate first = priced(shape, format, *gpu, burst), whole = priced(shape, format, *gpu, sustained);
        EXPECT_GE(in_seconds(whole.latency), in_seconds(first.latency) * (1 - 1e-6))
            << parent << " at " << watts << " W, " << format;
        EXPECT_LE(whole.interval.low, whole.latency);
        EXPECT_GE(whole.interval.high, whole.latency);
        ++asked;
      }
    }
  EXPECT_GT(asked, 150);
}

// Where the card has no pipe for a format its library multiplies in fp32: no faster than fp32 by more than what the
// bytes of its narrower operands save (seven percent at most), and nowhere near what fp16's own arithmetic would take
// on a P4.
TEST(Price, FormatsThatAreMultipliedInFp32TakeAsLongAsIt) {
  for (const char* name : {"P4", "P100-SXM", "T4", "V100-SXM"})
    for (const char* format : {"bf16", "fp16", "tf32"}) {
      const Gpu& gpu = *built_in_gpu(name);
      if (!widens_to_fp32(*format_from(format), gpu)) continue;
      const double ratio =
          priced(Gemm{8192, 8192, 8192}, format, gpu).latency / priced(Gemm{8192, 8192, 8192}, "fp32", gpu).latency;
      EXPECT_GT(ratio, 0.93) << name << " " << format;
      EXPECT_LT(ratio, 1.05) << name << " " << format;
    }
  EXPECT_TRUE(widens_to_fp32(*format_from("fp16"), *find_gpu("P4")));
  EXPECT_TRUE(widens_to_fp32(*format_from("fp16"), *find_gpu("P100-SXM")));
  EXPECT_FALSE(widens_to_fp32(*format_from("fp16"), *find_gpu("T4")));
  EXPECT_FALSE(widens_to_fp32(*format_from("bf16"), *find_gpu("A100-SXM-80GB")));
  EXPECT_FALSE(widens_to_fp32(*format_from("fp64"), *find_gpu("P4")));
}

// A name that nobody measured: the figure of the kernel that stands in for it, named, wider, and not seen.
TEST(Price, AnUnknownSourceIsNamedByWhatStandsInForItAndWider) {
  AttentionDecode decode;
  decode.batch = 16, decode.kv_len = 4096, decode.heads = 32, decode.kv_heads = 8;
  const std::pair<Shape, const char*> kernels[] = {{Gemm{512, 4096, 4096}, "fp8"}, {decode, "bf16"}};
  for (const auto& [shape, format] : kernels)
    for (const Launcher engine : {Launcher::vllm, Launcher::sglang}) {
      const Kernel kernel{shape, *format_from(format)};
      Context unnamed, unknown;
      unnamed.engine = unknown.engine = engine;
      unknown.kernel_source = KernelSource::named("brand_new");
      const Gpu& gpu = *built_in_gpu("H200-SXM");
      const auto usual = price(kernel, gpu, unnamed, Method::tilecast, &shipped_models());
      const auto guess = price(kernel, gpu, unknown, Method::tilecast, &shipped_models());
      ASSERT_TRUE(usual.ok() && guess.ok());
      EXPECT_FALSE(usual->guessed);
      EXPECT_TRUE(guess->guessed);
      EXPECT_FALSE(guess->ran_as.kernel_source.empty());
      EXPECT_EQ(guess->ran_as.kernel_source.text(), usual->ran_as.kernel_source.text());
      EXPECT_EQ(usual->estimate.seen, Seen::yes);
      EXPECT_EQ(guess->estimate.seen, Seen::no);
      const auto width = [](const Estimate& e) { return e.interval.high / e.interval.low; };
      EXPECT_GT(width(guess->estimate), 1.2 * width(usual->estimate)) << engine.text() << " " << format;
    }
}

}  // namespace
}  // namespace tilecast
