#include "cli/flags/row_examples.h"

#include <fmt/format.h>

#include <map>
#include <string_view>
#include <vector>

#include "cli/flags/arguments.h"
#include "support/amount.h"
#include "support/text.h"

namespace tilecast {
namespace {

const std::vector<std::string>& row_examples(const std::string& question) {
  static const std::map<std::string, std::vector<std::string>> all = {
      {"kernel",
       {"kernel gemm --m 1..4096*2 --n 4096 --k 4096 --gpu H100-SXM,B200 --plot gemm.svg",
        "kernel gemm --m 16,64..256:64 --n 4096 --k 4096 --gpu H100-SXM --csv"}},
      {"predict",
       {"predict Llama-3.1-8B --gpu H100-SXM,B200 --mode decode --batch 1..256*2 --context 2048 --plot decode.svg",
        "predict Llama-3.1-8B --gpu H100-SXM --mode decode --batch 32 --context 1k..8k:1k --csv"}},
      {"memory", {"memory Llama-3.1-8B --gpu H100-SXM --mode decode --batch 1,8..64:8 --context 8192 --csv"}},
      {"collective",
       {"collective all_reduce --bytes 64K..1G*4 --ranks 8 --cluster hgx-h100-8,hgx-b200-8 --plot allreduce.png",
        "collective all_reduce --bytes 1M --ranks 2..8*2 --cluster hgx-h100-8 --csv"}},
      {"simulate",
       {"simulate Llama-3.1-8B --gpu H100-SXM --rate 4..16:4 --num-prompts 100 --input 1024 --output 128 --plot ttft.svg",
        "simulate Llama-3.1-8B --gpu H100-SXM --concurrency 1,8 --num-prompts 50 --csv"}},
      {"plan serve", {"plan serve Llama-3.1-8B --slo ttft=1s,tpot=50ms --rate 5,10 --gpus H100-SXM --engine vllm --csv"}},
      {"plan train", {"plan train Llama-3.1-8B --gpus 8xH100-SXM --global-batch 64,128 --seq 4096 --csv"}},
      {"diagnose", {"diagnose data/measurements/traces/h200_serving.json.gz --gpu H200-SXM --csv"}},
      {"retime", {"retime data/measurements/traces/h200_eager.json.gz --gpu B200 --csv"}},
      {"tune fused-moe",
       {"tune fused-moe --gpu H200 --tokens 64,256 --experts 128 --hidden 2048 --inter 768 --topk 8 --csv"}},
      {"tune gemm", {"tune gemm --gpu H200 --m 64..256*2 --n 4096 --k 4096 --csv"}},
      {"gpus", {"gpus --csv"}},
      {"gpu show", {"gpu show H100-SXM --constants --csv"}},
      {"models", {"models --csv"}},
      {"clusters", {"clusters --csv"}}};
  static const std::vector<std::string> none;
  const auto found = all.find(question);
  return found == all.end() ? none : found->second;
}

// "--m 4096 --n 64" with the first number twice over: "--m 4096,8192 --n 64".
std::string over_two_values(const KernelFamily& family) {
  std::vector<std::string> words = split(family.example, ' ');
  for (std::size_t i = 0; i + 1 < words.size(); ++i)
    for (const Argument& dim : family.dims) {
      const auto value = whole_amount_from(words[i + 1]);
      if (words[i] != "--" + dim.name || dim.kind != ArgumentKind::count || !value) continue;
      words[i + 1] = fmt::format("{},{}", *value, 2 * *value);
      return join(words, " ");
    }
  return family.example;
}

}  // namespace

std::string all_examples(const Question& question) {
  Question with_rows = question;
  for (const std::string& example : row_examples(question.name)) with_rows.examples.push_back(example);
  return examples_text(with_rows);
}

std::string family_examples(const KernelFamily& family) {
  const std::string command = "tilecast kernel " + family.name + " ";
  return "Example:\n  " + command + family.example + " --gpu A100-SXM-80GB,H100-SXM,B200\n\nMore examples:\n  " + command +
         over_two_values(family) + " --gpu H100-SXM --csv";
}

}  // namespace tilecast
