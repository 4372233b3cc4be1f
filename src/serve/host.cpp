#include "serve/host.h"

#include <algorithm>

#include "constants/serve.h"

namespace tilecast {

using namespace constants;

namespace {

// vllm/config/vllm.py, _set_cudagraph_sizes: 1, 2, 4, multiples of 8 below 256, of 16 up to twice the sequences, at
// most 512, or up to what max_cudagraph_capture_size says.
std::vector<Count> vllm_graphs(Count max_sequences, Count max_tokens, Count asked) {
  const Count most = std::min(max_tokens, asked > 0 ? asked : std::min(2 * max_sequences, Count{512}));
  std::vector<Count> sizes = {1, 2, 4};
  for (Count n = 8; n < 256; n += 8) sizes.push_back(n);
  for (Count n = 256; n <= most; n += 16) sizes.push_back(n);
  std::erase_if(sizes, [&](Count n) { return n > most; });
  return sizes;
}

// python/sglang/srt/server_args.py, _generate_cuda_graph_batch_sizes; cuda_graph_max_bs is 256 on one card of 80 GB
// (engine/serving_memory.h has it by card and ranks).
std::vector<Count> sglang_graphs(Count asked) {
  const Count most = asked > 0 ? asked : 256;
  std::vector<Count> sizes = {1, 2, 4, 8, 12};
  for (Count n = 16; n <= 256; n += 8) sizes.push_back(n);
  for (Count n = 272; n < 512; n += 16) sizes.push_back(n);
  for (Count n = 512; n <= most; n += 32) sizes.push_back(n);
  std::erase_if(sizes, [&](Count n) { return n > most; });
  return sizes;
}

// tensorrt_llm/llmapi/llm_args.py, CudaGraphConfig: 1, 2, 4, multiples of 8 to 128, then powers of two and the largest
// batch itself; padding, which is off by default and on in NVIDIA's own benchmark configurations, is taken as on.
std::vector<Count> trtllm_graphs(Count max_sequences) {
  std::vector<Count> sizes = {1, 2, 4};
  for (Count n = 8; n <= 128; n += 8) sizes.push_back(n);
  for (Count n = 256; n < max_sequences; n *= 2) sizes.push_back(n);
  if (max_sequences > sizes.back()) sizes.push_back(max_sequences);
  return sizes;
}

}  // namespace

Seconds between_steps(const HostTimes& host, Count sequences) {
  const Count dear = host.dear > 0 ? std::min(sequences, host.dear) : sequences;
  return host.per_step + host.per_sequence * static_cast<double>(dear) +
         host.per_further * static_cast<double>(sequences - dear);
}

Count captured_size(const std::vector<Count>& graphs, Count tokens) {
  const auto at = std::lower_bound(graphs.begin(), graphs.end(), tokens);
  return at == graphs.end() ? 0 : *at;
}

// Where the figures come from:
// - per_step, per_sequence: vLLM 0.27's engine loop on a CPU without a model takes 541 us a step at its workload's mean
//   batch and 12.7 us a running request at the largest (github openfabric-systems/simllm pull request 204).
// - gap: 200 to 300 us between two decode steps once scheduling is asynchronous (github vllm-project/vllm issue 10634).
//   What AIConfigurator's serving points leave unexplained, 0 to 1 ms a step (engine/host.cpp), agrees and says no
//   more.
// - per_launch: of an operator outside a graph, from one call in Python to the next, kernels of some. Chosen on
//   AIConfigurator's points of Llama 3.1 8B under TensorRT-LLM 1.0 over eight GPUs, where a prompt of 1024 tokens holds
//   the others up for 20 ms though its kernels take 6; Llama 3.1 70B under vLLM 0.11 on B200 (prompts without graphs)
//   then comes out right. 11 us are our own measurement of one eager PyTorch kernel (engine/host.cpp).
// - reply: an estimate like receive, by the same round trips.
// - receive, per_request, per_prompt_token: estimates, not measured here: an HTTP request through a Python server takes
//   1 to 3 ms, its serial part some 0.3 ms, Hugging Face's tokeniser reads a quarter of a million tokens a second.
// - per_streaming: chosen on vLLM's runs that stream every token. The same harness streams every tenth of
//   TensorRT-LLM's and SGLang's, whose first tokens show nothing of the kind: they are given none.
// - TensorRT-LLM's: steps of Llama 3.1 8B over eight H100s, whose kernels take less, in AIConfigurator's points
//   (release 1.0): 2.7, 3.3, 4.4, 6.6 and 10.2 ms with 8, 16, 32, 64 and 128 requests. Beyond those a request costs
//   less: its own overview's offline runs hold a thousand and more at once. With vLLM's 12.7 us for each further one
//   Llama 3.1 8B's on H100 (the rows it was chosen on: 0, 12.7, 25 and 68 us) and H200 come out within 5 % at 128
//   tokens in and out, with 68 us at half.
// SGLang's loop is of the same kind as vLLM's and is given the same figures for want of others.
HostTimes host_times(EngineKind engine, Count max_sequences, Count max_tokens, Count most_captured) {
  HostTimes host;
  host.receive = milliseconds(kReceive);
  host.per_request = microseconds(kPerRequest);
  host.per_prompt_token = microseconds(kPerPromptToken);
  host.reply = milliseconds(kReply);
  host.per_step = microseconds(kPerStep);
  host.per_sequence = microseconds(kPerSequence);
  host.per_launch = microseconds(kPerLaunch);
  host.gap = microseconds(kGap);
  if (engine == EngineKind::sglang) {
    host.graphs = sglang_graphs(most_captured);
  } else if (engine == EngineKind::trtllm) {
    host.per_step = milliseconds(kTrtllmPerStep), host.per_sequence = microseconds(kTrtllmPerSequence);
    host.dear = kTrtllmDear, host.per_further = microseconds(kTrtllmPerFurther);
    host.graphs = trtllm_graphs(max_sequences);
  } else {
    host.graphs = vllm_graphs(max_sequences, max_tokens, most_captured);
    host.per_streaming = microseconds(kPerStreaming);
    host.graphs_for_prompts = true;
  }
  return host;
}

}  // namespace tilecast
