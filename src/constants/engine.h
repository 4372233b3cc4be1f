// Engines: what the host takes, what memory is left, how kernels of one step are off together.
#pragma once

#include "constants/constant.h"

namespace tilecast::constants {

namespace sources {
inline constexpr std::string_view kArgonne =
    "A100 rows of Argonne's LLM-Inference-Bench (2024) after the kernels' time, judged on its H100's";
inline constexpr std::string_view kArgonneMi300x =
    "Argonne's LLM-Inference-Bench on MI300X (vLLM of 2024): Llama-2-7B, Llama-3-70B and Mixtral rows; judged on "
    "Llama-3-8B, Llama-2-70B, Qwen2-7B and Mistral-7B";
inline constexpr std::string_view kQuietHost =
    "host under an H200, tenth percentile of data/measurements/h200_models.csv";
inline constexpr std::string_view kVllmLogs =
    "public start-up logs of vLLM with Llama 3.1 8B on RTX A6000, 3090, 4090 and H100";
inline constexpr std::string_view kSglangArgs = "python/sglang/srt/server_args.py, _handle_gpu_memory_settings";
}  // namespace sources

// How a served model's tokens spread over its experts where nobody says. `tilecast-lab routing` prints what this and
// other laws make of measured times per token, the half of the runs that choices are made on and the other apart.
inline constexpr Number kUsualAlpha{"engine.routing",
                                    1.2,
                                    "1",
                                    published,
                                    "exponent of the power law by which tokens of inference visit experts",
                                    "AIConfigurator's collector of expert kernels (power_law_1.2)"};
inline constexpr Number kVllm2024Step{"host.step", 500, "us", fitted, "of a step", sources::kArgonne, "", "vllm, 2024"};
inline constexpr Number kVllm2024Sequence{"host.sequence",   95, "us",        fitted, "of a request in the batch",
                                          sources::kArgonne, "", "vllm, 2024"};
// vLLM of 2024 on ROCm, where products ran whatever rocBLAS picks for a shape it was not tuned to (Nscale's report of
// 2024 on MI300X: tuning them made whole models up to 7.2 times as fast).
inline constexpr Number kRocm2024Sequence{
    "host.sequence",   115, "us", fitted, "of a request in the batch", sources::kArgonneMi300x, "cdna3",
    "vllm, 2024, ROCm"};
// SGLang 0.5.5 of late 2025 waits no less: with these 9 us, fitted elsewhere, the median error of TPOT of DeepSeek-R1
// on eight cards falls from 39 to 8 % on MI325X and, which judges, from 37 to 11 % on MI300X (InferenceX, 15 rows
// each).
inline constexpr Number kHipGraphSwitch{"host.switch",
                                        9,
                                        "us",
                                        fitted,
                                        "from a kernel to the next in a HIP graph, beyond kernels alike in a row",
                                        sources::kArgonneMi300x,
                                        "cdna3 cdna4",
                                        "vllm, sglang, ROCm"};
inline constexpr Whole kPagedHeads{"engine.paged_heads",
                                   512,
                                   "heads",
                                   published,
                                   "of all requests together, beyond which keys are not split over CTAs",
                                   "vllm/attention/ops/paged_attn.py, forward_decode",
                                   "cdna3",
                                   "vllm, 2024, ROCm"};
inline constexpr Number kUntunedShare{"engine.untuned_share",
                                      0.414,
                                      "1",
                                      fitted,
                                      "of DRAM's bandwidth at which an untuned product of few rows reads its weights",
                                      sources::kArgonneMi300x,
                                      "cdna3",
                                      "vllm, 2024, ROCm"};
inline constexpr Whole kUntunedRows{"engine.untuned_rows",
                                    32,
                                    "rows",
                                    assumed,
                                    "that such a product takes in one reading of its weights",
                                    sources::kArgonneMi300x,
                                    "cdna3",
                                    "vllm, 2024, ROCm"};
inline constexpr Whole kUntunedStridedRows{"engine.untuned_rows",
                                           16,
                                           "rows",
                                           assumed,
                                           "the same where rows of weights lie a multiple of 16 KiB apart, on the "
                                           "same channels of memory",
                                           sources::kArgonneMi300x,
                                           "cdna3",
                                           "vllm, 2024, ROCm, strided"};
inline constexpr Whole kUntunedStride{"engine.untuned_stride",
                                      16384,
                                      "bytes",
                                      assumed,
                                      "between rows of weights that meet on the same channels",
                                      "8192 columns at 16 bits; one width of model shows it",
                                      "cdna3",
                                      "vllm, 2024, ROCm"};
inline constexpr Whole kUntunedMost{"engine.untuned_most_rows",
                                    256,
                                    "rows",
                                    assumed,
                                    "beyond which products count as tuned",
                                    "the largest batch measured; prompts behave as tuned",
                                    "cdna3",
                                    "vllm, 2024, ROCm"};
inline constexpr Number kTrtllm2024Step{"host.step",       50, "us",          fitted, "of a step",
                                        sources::kArgonne, "", "trtllm, 2024"};
inline constexpr Number kTrtllm2024Sequence{"host.sequence",   20, "us",          fitted, "of a request in the batch",
                                            sources::kArgonne, "", "trtllm, 2024"};
inline constexpr Number kPytorchLaunch{
    "host.launch",
    9,
    "us",
    assumed,
    "of a plain addition, from its call to the next one's",
    "hosts of two H200s, by the hour: 6.2 to 10 us (data/measurements/h200_host.csv) "
    "and 7.4 to 12 us (h200_steps.csv.gz)",
    "",
    "pytorch"};
inline constexpr Number kCompiledLaunch{"host.launch",       22, "us",     measured, "of a launch",
                                        sources::kQuietHost, "", "compile"};
inline constexpr Number kCompiledStep{"host.step", 50, "us", measured, "of a step", sources::kQuietHost, "", "compile"};
inline constexpr Number kGraphStep{
    "host.step", 10, "us", measured, "of a step", sources::kQuietHost, "", "cudagraph, pytorch-graph"};
inline constexpr Number kGraphSwitch{
    "host.switch",
    0.65,
    "us",
    fitted,
    "from a kernel to an unlike one, beyond kernels alike in a row",
    "decode steps of Llama 3.2 1B and 3.1 8B in plain PyTorch on an H200: the gap (0.26 "
    "to 0.41) and what a kernel takes longer than in a row of its like, median of what "
    "their kernels' forecasts leave (data/measurements/h200_steps.csv.gz)",
    "",
    "graphs"};
inline constexpr Number kEagerSwitch{"host.switch",
                                     1,
                                     "us",
                                     measured,
                                     "from a kernel to an unlike one, beyond kernels alike in a row",
                                     "steps of ViT, BERT and Llama whose host runs ahead on an H200: 0.6 to 2 "
                                     "(data/measurements/h200_steps.csv.gz)",
                                     "",
                                     "launched one by one"};
inline constexpr Number kAutogradFactor{
    "host.autograd",
    2.3,
    "1",
    measured,
    "a gradient's operator over the same without autograd, gradients of views in it",
    "steps that wait for the host (data/measurements/h200_host_steps.csv): 2.2; "
    "23 to 34 us a launch instead of 11 (h200_models.csv)"};
inline constexpr Number kTriton2023{"engine.triton_attention",
                                    1.6,
                                    "1",
                                    fitted,
                                    "Triton's attention of 2023 over FlashAttention 2's time",
                                    "MosaicML's rows of A100 80 GB; Dao 2023 says 1.3 to 2.5"};
inline constexpr Number kTriton2023Hopper{"engine.triton_attention_hopper",
                                          2.15,
                                          "1",
                                          fitted,
                                          "the same on Hopper, whose asynchronous products it did not use",
                                          "MosaicML's H100 rows of MPT-760m, 3b and 13b; 1b, 7b and 70b judge it"};
inline constexpr Number kWindowFactor{"engine.window_factor",
                                      1.25,
                                      "1",
                                      measured,
                                      "most by which decoding with a window is slower than without",
                                      "AIConfigurator's generation_attention on H100 and H200, window 128"};
inline constexpr std::string_view kScalingRows =
    "nanotron's scaling runs of 1B and 3B (the Ultra-Scale playbook's benchmarks), first ranks' peaks; 8B judges it";
inline constexpr Number kFragmentation{"memory.fragmentation",
                                       0.15,
                                       "1",
                                       fitted,
                                       "of the activations that PyTorch's allocator holds beyond what is in use",
                                       kScalingRows};
inline constexpr Number kAllocatorRest{"memory.allocator_rest",
                                       0.2,
                                       "GB",
                                       fitted,
                                       "that it holds whatever runs: small pools, libraries' buffers",
                                       kScalingRows};
inline constexpr Number kSameFamily{"engine.correlation_family",
                                    0.3,
                                    "1",
                                    measured,
                                    "of log errors of two kernels of one family on one card",
                                    "left-out cards: 0.08 to 0.38 (docs/method.md)"};
inline constexpr Number kAnyFamily{
    "engine.correlation", 0.05, "1", measured, "of any two kernels on one card", "left-out cards (docs/method.md)"};

inline constexpr Number kVisible{"memory.visible",
                                 0.987,
                                 "1",
                                 measured,
                                 "of the nominal memory that programs see",
                                 "public logs: 79.1 to 79.6 of 80 GiB, 23.6 of 24, 47.4 of 48, 178.4 of 180"};
inline constexpr Number kCorrected{"memory.corrected",
                                   15.0 / 16,
                                   "1",
                                   published,
                                   "of GDDR that error correction leaves",
                                   "44.4 of 48 GiB on L40S, 22.1 of 24 on A10G",
                                   "gddr-ecc"};
inline constexpr Number kOtherGib{"memory.other",
                                  0.1,
                                  "GiB",
                                  measured,
                                  "driver and libraries outside PyTorch",
                                  "0.05 to 0.12 in the logs' non_torch_memory"};
inline constexpr Number kSamplerBytes{"memory.sampler",  10, "bytes/logit", measured, "of vLLM's profile run",
                                      sources::kVllmLogs};
inline constexpr Number kProfileGib{
    "memory.profile", 0.9, "GiB", measured, "workspaces whatever the model in vLLM's profile run", sources::kVllmLogs};
inline constexpr Number kVllmShare{"memory.share",
                                   0.9,
                                   "1",
                                   published,
                                   "of the memory that vLLM takes by default",
                                   "vLLM up to 0.20; since 0.21 0.92 less its graphs, about the same",
                                   "",
                                   "vllm"};
inline constexpr Number kTrtllmShare{"memory.share",
                                     0.9,
                                     "1",
                                     published,
                                     "of what is left that TensorRT-LLM's cache takes",
                                     "tensorrt_llm/llmapi/llm_args.py, free_gpu_memory_fraction",
                                     "",
                                     "trtllm"};
inline constexpr Number kUnservedReserve{"memory.reserve",
                                         512,
                                         "MiB",
                                         assumed,
                                         "that plain PyTorch programs leave free",
                                         "driver, context, fragmentation",
                                         "",
                                         "pytorch, pytorch-graph, compile, cudagraph"};
inline constexpr Number kSglangReserve{"memory.sglang_reserve", 512, "MiB", published, "whatever the card",
                                       sources::kSglangArgs};
inline constexpr Number kSglangPerToken{"memory.sglang_per_token", 1.5, "MiB", published, "of a token of a chunk",
                                        sources::kSglangArgs};
inline constexpr Number kSglangPerGraph{"memory.sglang_per_graph", 2.0, "MiB", published, "of a captured batch size",
                                        sources::kSglangArgs};
inline constexpr Number kSglangParallel{
    "memory.sglang_parallel", 1024.0 / 8, "MiB", published, "of tensor and pipeline parallelism", sources::kSglangArgs};
inline constexpr Number kSglangPerPadded{
    "memory.sglang_per_padded", 3.0, "MiB", published, "of a captured batch size and rank with attention of its own",
    sources::kSglangArgs};
inline constexpr Number kSglangPerMany{"memory.sglang_per_many",
                                       1.5,
                                       "MiB",
                                       published,
                                       "the same beside it, where batches are captured beyond sglang_many_graphs",
                                       sources::kSglangArgs};
inline constexpr Number kSglangManyGraphs{
    "memory.sglang_many_graphs", 300, "sequences", published, "captured batch size beyond which more is kept",
    sources::kSglangArgs};
inline constexpr Number kSglangLeast{"memory.sglang_least",           10.0 * 1024,         "MiB", published,
                                     "reserve of cards above 60 GiB", sources::kSglangArgs};
inline constexpr Number kWorkspace{
    "memory.cublas_workspace", 32, "MiB", published, "of cuBLAS", "PyTorch's default workspace configuration",
    "hopper blackwell"};
inline constexpr Number kWorkspaceBefore{"memory.cublas_workspace",
                                         8,
                                         "MiB",
                                         published,
                                         "of cuBLAS",
                                         "PyTorch's default workspace configuration",
                                         "pascal volta turing ampere ada amd intel"};

}  // namespace tilecast::constants
