// A hypothetical card: a real one with some figures changed.
#include <tilecast/kernel.h>

#include <cstdio>

int main() {
  using namespace tilecast;
  KernelQuery query;
  query.family = "attention_decode";
  query.dims = {{"batch", "32"}, {"kv-len", "8192"}, {"heads", "64"}, {"kv-heads", "8"}};
  for (const char* gpu : {"H100-SXM", R"({"like": "H100-SXM", "name": "H100-6TB", "dram": {"gb_per_s": 6000}})"}) {
    query.gpu = gpu;
    const auto answer = forecast(query);
    if (!answer) return std::fprintf(stderr, "%s\n", answer.error().line().c_str()), 1;
    std::printf("%-10s %6.1f us, bound %6.1f us\n", answer->gpu.c_str(), in_microseconds(answer->latency),
                in_microseconds(answer->bound));
  }
}
