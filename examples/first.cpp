// A kernel, a model and a deployment, in twenty lines.
#include <tilecast/tilecast.h>

#include <cstdio>

int main() {
  using namespace tilecast;
  const auto kernel =
      forecast(KernelQuery{.family = "gemm", .dims = {{"m", "4096"}, {"n", "4096"}, {"k", "4096"}}, .gpu = "H100-SXM"});
  if (!kernel) return std::fprintf(stderr, "%s\n", kernel.error().line().c_str()), 1;
  std::printf("gemm      %8.1f us, limited by %s\n", in_microseconds(kernel->latency),
              name_of(kernel->limited_by).data());

  StepQuery step;
  step.model = "Llama-3.1-8B", step.gpu = "H100-SXM", step.mode = Mode::decode, step.batch = 32, step.context = 2048;
  const auto decode = forecast(step);
  if (!decode) return std::fprintf(stderr, "%s\n", decode.error().line().c_str()), 1;
  std::printf("decode    %8.2f ms (%.2f to %.2f)\n", in_milliseconds(decode->time),
              in_milliseconds(decode->interval.low), in_milliseconds(decode->interval.high));

  SimulateQuery load;
  load.model = "Llama-3.1-8B", load.gpu = "H100-SXM", load.load.rate = 8, load.num_prompts = 100;
  const auto served = simulate(load);
  if (!served) return std::fprintf(stderr, "%s\n", served.error().line().c_str()), 1;
  std::printf("serving   %8.1f ms to the first token, on average\n", 1e3 * served->loads[0].metrics.ttft.mean);
}
