// Engines: what the host takes, what memory is left, how kernels of one step are off together.
#pragma once

#include "constants/constant.h"

namespace tilecast::constants {

namespace sources {
inline constexpr std::string_view kArgonne =
    "A100 rows of Argonne's LLM-Inference-Bench (2024) after the kernels' time, judged on its H100's";
inline constexpr std::string_view kQuietHost =
    "host under an H200, tenth percentile of data/measurements/h200_models.csv";
inline constexpr std::string_view kVllmLogs =
    "public start-up logs of vLLM with Llama 3.1 8B on RTX A6000, 3090, 4090 and H100";
inline constexpr std::string_view kSglangArgs = "python/sglang/srt/server_args.py, _handle_gpu_memory_settings";
}  // namespace sources

inline constexpr Number kVllm2024Step{"host.step", 500, "us", fitted, "of a step", sources::kArgonne, "", "vllm, 2024"};
inline constexpr Number kVllm2024Sequence{"host.sequence",   95, "us",        fitted, "of a request in the batch",
                                          sources::kArgonne, "", "vllm, 2024"};
inline constexpr Number kTrtllm2024Step{"host.step",       50, "us",          fitted, "of a step",
                                        sources::kArgonne, "", "trtllm, 2024"};
inline constexpr Number kTrtllm2024Sequence{"host.sequence",   20, "us",          fitted, "of a request in the batch",
                                            sources::kArgonne, "", "trtllm, 2024"};
inline constexpr Number kPytorchLaunch{"host.launch",
                                       9,
                                       "us",
                                       measured,
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
inline constexpr Number kGraphSwitch{"host.switch",
                                     0.35,
                                     "us",
                                     measured,
                                     "from a kernel to an unlike one, beyond kernels alike in a row",
                                     "decode steps of Llama 3.2 1B and 3.1 8B in plain PyTorch on an H200, graph less "
                                     "kernels: 0.26 to 0.41 (data/measurements/h200_steps.csv.gz)",
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
inline constexpr Number kAutogradFactor{"host.autograd",
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
inline constexpr Number kWindowFactor{"engine.window_factor",
                                      1.25,
                                      "1",
                                      measured,
                                      "most by which decoding with a window is slower than without",
                                      "AIConfigurator's generation_attention on H100 and H200, window 128"};
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
