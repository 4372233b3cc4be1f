// The promise of the public headers: any number of threads may ask at once, and each gets the answer it would get alone.
#include <tilecast/tilecast.h>

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace tilecast {
namespace {

const std::vector<std::string> kGpus{"H100-SXM", "A100-SXM-80GB", "L40S", "B200", "MI300X", "V100-SXM"};

// Every kind of question that is cheap enough to be asked many times; one text that holds all answers' figures.
std::string answers_on(const std::string& gpu) {
  std::string all;
  for (const char* m : {"1", "200", "4096"}) {
    const auto kernel = forecast(KernelQuery{.family = "gemm", .dims = {{"m", m}, {"n", "4096"}, {"k", "1024"}}, .gpu = gpu});
    all += kernel ? std::to_string(in_microseconds(kernel->latency)) : kernel.error().line();
    all += ' ';
  }
  StepQuery step;
  step.model = "Llama-3.1-8B", step.gpu = gpu, step.mode = Mode::decode, step.batch = 4, step.context = 512;
  const auto decode = forecast(step);
  all += decode ? std::to_string(in_microseconds(decode->time)) : decode.error().line();
  const auto memory = forecast(MemoryQuery{.step = step});
  all += memory ? std::to_string(memory->largest_batch) : memory.error().line();
  SimulateQuery load;
  load.model = "Llama-3.1-8B", load.gpu = gpu, load.load.rate = 4, load.num_prompts = 5;
  const auto served = simulate(load);
  all += served ? std::to_string(served->loads[0].metrics.ttft.mean) : served.error().line();
  return all;
}

TEST(Threads, AskAtOnceAndGetTheAnswersTheyWouldGetAlone) {
  std::vector<std::string> together(kGpus.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < kGpus.size(); ++i)
      threads.emplace_back([&, i] { together[i] = answers_on(kGpus[i]); });
  }
  for (std::size_t i = 0; i < kGpus.size(); ++i) EXPECT_EQ(together[i], answers_on(kGpus[i])) << kGpus[i];
}

}  // namespace
}  // namespace tilecast
