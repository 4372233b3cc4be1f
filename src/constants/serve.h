// Servers: the host between steps, the schedulers' own constants, what is summed over ranks in one kernel.
#pragma once

#include "constants/constant.h"

namespace tilecast::constants {

namespace sources {
inline constexpr std::string_view kEngineLoop =
    "vLLM 0.27's engine loop on a CPU without a model (github openfabric-systems/simllm pull request 204)";
inline constexpr std::string_view kSglangEnviron = "sglang/srt/environ.py";
inline constexpr std::string_view kTrtllmSteps =
    "steps of Llama 3.1 8B over eight H100s under TensorRT-LLM 1.0 (AIConfigurator)";
inline constexpr std::string_view kTrtllmOffline =
    "as vLLM's; offline runs of Llama 3.1 8B on one H100 in TensorRT-LLM 0.21's performance overview agree";
inline constexpr std::string_view kHttp = "an HTTP request through a Python server takes 1 to 3 ms";
}  // namespace sources

inline constexpr Number kReceive{"serve.receive", 2, "ms", assumed, "a request until it is queued", sources::kHttp};
inline constexpr Number kReply{"serve.reply", 2, "ms", assumed, "a token from the step's end to the client",
                               sources::kHttp};
inline constexpr Number kPerRequest{"serve.request", 300, "us", assumed, "serial part of a request", sources::kHttp};
inline constexpr Number kPerPromptToken{
    "serve.prompt_token",
    4,
    "us",
    assumed,
    "tokenising",
    "an estimate: one to two MB of text a second on one thread of Hugging Face's tokenizers, some five bytes a token"};
inline constexpr Number kPerStreaming{
    "serve.streaming",
    500,
    "us",
    fitted,
    "of a request that streams its answer: what it holds up one that comes",
    "first tokens of Llama 3.1 70B, Kimi K2.5 and MiniMax-M2.5 in InferenceX's runs (AIConfigurator's sample): 0.4 to "
    "1.2 ms late for each request in flight from 16 on, whatever a step takes",
    "",
    "vllm"};
inline constexpr Number kPerStep{"serve.step",         400, "us",          published, "scheduling of a step",
                                 sources::kEngineLoop, "",  "vllm, sglang"};
inline constexpr Number kPerSequence{"serve.sequence",     12.7, "us",          published, "of a running request",
                                     sources::kEngineLoop, "",   "vllm, sglang"};
inline constexpr Number kTrtllmPerStep{"serve.step",          2,  "ms",    fitted, "scheduling of a step",
                                       sources::kTrtllmSteps, "", "trtllm"};
inline constexpr Number kTrtllmPerSequence{"serve.sequence",      68, "us",    fitted, "of a running request",
                                           sources::kTrtllmSteps, "", "trtllm"};
inline constexpr Whole kTrtllmDear{
    "serve.dear_sequences", 128, "requests", published, "the most that a request's cost was fitted on",
    sources::kTrtllmSteps,  "",  "trtllm"};
inline constexpr Number kTrtllmPerFurther{
    "serve.further_sequence", 12.7, "us",    assumed, "of a running request beyond those",
    sources::kTrtllmOffline,  "",   "trtllm"};
inline constexpr Number kPerLaunch{"serve.launch",       60, "us", fitted, "of an operator outside a graph",
                                   sources::kTrtllmSteps};
inline constexpr Number kInPromptsKernel{
    "serve.in_prompts_kernel",
    1.25,
    "1",
    assumed,
    "answers beside a prompt in FlashAttention 2 over answers alone, at most",
    "LLMServingSim's run on an RTX 4090: TPOT +2.9 % with 1, +3.2 with 1.25, +3.5 with 1.5, +6.0 without an end",
    "",
    "vllm on Ada"};
inline constexpr Number kGap{"serve.gap",
                             250,
                             "us",
                             published,
                             "between two decode steps",
                             "200 to 300 us once scheduling is asynchronous (vllm-project/vllm issue 10634)"};
inline constexpr Whole kLayerCalls{"serve.layer_calls",
                                   9,
                                   "operators",
                                   assumed,
                                   "that an engine's Python calls for a layer",
                                   "norms, projections, rotation, attention, activation, sums over ranks"};

inline constexpr Whole kLatentCalls{"serve.latent_calls",
                                    8,
                                    "operators",
                                    assumed,
                                    "more of a layer with latent attention",
                                    "norms, projections down and up, joined keys (sglang/srt/models/deepseek_v2.py)",
                                    "",
                                    "sglang"};
inline constexpr Whole kExpertCalls{"serve.expert_calls",
                                    8,
                                    "operators",
                                    assumed,
                                    "more of a layer with experts",
                                    "router, choice, sorting, quantising, sums (sglang/srt/layers/moe)",
                                    "",
                                    "sglang"};
inline constexpr Whole kLinearCalls{"serve.linear_calls",
                                    14,
                                    "operators",
                                    assumed,
                                    "more of a layer with linear attention",
                                    "gates, convolution, the kernels of a chunk (sglang/srt/layers/attention/fla)",
                                    "",
                                    "sglang"};

inline constexpr Whole kQuantiseCalls{"serve.quantise_calls",
                                      1,
                                      "operators",
                                      published,
                                      "more of a product whose input is quantised",
                                      "sglang/srt/layers/quantization/fp8_utils.py: a call that quantises, then the "
                                      "product's",
                                      "",
                                      "sglang"};
inline constexpr Whole kLatentQuantised{"serve.latent_quantised",
                                        4,
                                        "products",
                                        published,
                                        "of a layer with latent attention whose input is quantised",
                                        "sglang/srt/models/deepseek_v2.py: down to both latents, up to queries and to "
                                        "keys, out",
                                        "",
                                        "sglang"};
inline constexpr Whole kSglangDrafting{"serve.sglang.drafting",
                                       48,
                                       "requests",
                                       published,
                                       "that run at most where tokens are proposed",
                                       "python/sglang/srt/server_args.py: \"Max running requests is reset to 48 for "
                                       "speculative decoding\"",
                                       "",
                                       "sglang"};

inline constexpr Number kInitialRatio{
    "serve.sglang.new_token_ratio", 0.7, "1", published, "of an answer's tokens that are kept free at first",
    sources::kSglangEnviron};
inline constexpr Number kLeastRatio{
    "serve.sglang.least_new_token_ratio", 0.7 * 0.14, "1", published, "and in the long run", sources::kSglangEnviron};
inline constexpr Number kRatioDecaySteps{
    "serve.sglang.ratio_decay_steps", 600, "steps", published, "over which it falls", sources::kSglangEnviron};
inline constexpr Whole kRetractSteps{
    "serve.sglang.retract_steps", 20, "steps", published, "that a retracted request is estimated ahead",
    sources::kSglangEnviron};
inline constexpr Whole kMostPromised{
    "serve.sglang.most_promised", 4096, "tokens", published, "of an answer that are estimated at most",
    sources::kSglangEnviron};
inline constexpr Number kLongRunRatio{
    "serve.sglang.long_run_ratio", 0.098, "1", published, "least_new_token_ratio, as the steady state takes it",
    sources::kSglangEnviron};

inline constexpr Whole kVllmBeside{"serve.shared_beside",
                                   256,
                                   "tokens",
                                   published,
                                   "of a step whose shared experts run beside the routed ones",
                                   "vllm/envs.py, VLLM_SHARED_EXPERTS_STREAM_TOKEN_THRESHOLD, its default",
                                   "",
                                   "vllm"};
inline constexpr Whole kSglangBeside{
    "serve.shared_beside",
    256,
    "tokens",
    published,
    "of a step whose shared experts run beside the routed ones",
    "sglang/srt/models/deepseek_v2.py (0.5.6): in captured graphs, whose largest is 256",
    "",
    "sglang"};

inline constexpr Number kTrtllmPairSum{"serve.fused_sum",
                                       16e6,
                                       "bytes",
                                       published,
                                       "largest message summed together with the norm after it",
                                       "tensorrt_llm/plugin/plugin.py, max_workspace_size_auto",
                                       "",
                                       "trtllm, two ranks"};
inline constexpr Number kTrtllmSum{"serve.fused_sum",
                                   8e6,
                                   "bytes",
                                   published,
                                   "largest message summed together with the norm after it",
                                   "tensorrt_llm/plugin/plugin.py, max_workspace_size_auto",
                                   "",
                                   "trtllm, more ranks"};
inline constexpr Number kSglangSumTokens{"serve.fused_sum_tokens",
                                         2048,
                                         "tokens",
                                         published,
                                         "largest message summed together with the norm after it",
                                         "python/sglang/srt/layers/flashinfer_comm_fusion.py",
                                         "hopper blackwell",
                                         "sglang"};
inline constexpr std::string_view kVllmFusion = "vllm/config/compilation.py, FI_ALLREDUCE_FUSION_MAX_SIZE_MB";
inline constexpr Number kVllmPairSum{"serve.fused_sum",
                                     64,
                                     "MiB",
                                     published,
                                     "largest message summed together with the norm after it",
                                     kVllmFusion,
                                     "hopper blackwell",
                                     "vllm, two ranks"};
inline constexpr Number kVllmFourSum{"serve.fused_sum",
                                     2,
                                     "MiB",
                                     published,
                                     "largest message summed together with the norm after it",
                                     kVllmFusion,
                                     "hopper",
                                     "vllm, four ranks"};
inline constexpr Number kVllmFourSumBlackwell{"serve.fused_sum",
                                              32,
                                              "MiB",
                                              published,
                                              "largest message summed together with the norm after it",
                                              kVllmFusion,
                                              "blackwell",
                                              "vllm, four ranks"};
inline constexpr Number kVllmSum{"serve.fused_sum",
                                 1,
                                 "MiB",
                                 published,
                                 "largest message summed together with the norm after it",
                                 kVllmFusion,
                                 "hopper blackwell",
                                 "vllm, more ranks"};

inline constexpr Number kPlanDoubt{"serve.plan_doubt",
                                   0.15,
                                   "1",
                                   assumed,
                                   "a steady state that misses by less is simulated",
                                   "its error against simulations"};
inline constexpr Number kPlanSure{"serve.plan_sure",
                                  0.75,
                                  "1",
                                  assumed,
                                  "a plan is counted on from this chance of meeting the SLO; others stand after it",
                                  "a choice: three to one"};
inline constexpr Number kPlanQueueError{"serve.plan_queue_error",
                                        0.15,
                                        "1",
                                        assumed,
                                        "standard error of the queue that a plan's row is simulated with",
                                        "a choice: where a tenth of a machine is free, as much as 1.5 % of its speed"};
inline constexpr Number kPlanProbeError{"serve.plan_probe_error",
                                        0.4,
                                        "1",
                                        assumed,
                                        "... and that of runs which look for the rate at which an SLO breaks",
                                        "a choice: half as sure takes a quarter of the time"};
inline constexpr Number kPlanLeastCache{
    "serve.plan_least_cache",
    0.02,
    "1",
    assumed,
    "of a card's memory that a plan has for keys and values at least",
    "about what the forecast of an engine's memory is unsure of: with less, a server may not start"};
inline constexpr Number kPlanBusyNeighbours{
    "serve.plan_busy_neighbours",
    100,
    "requests",
    assumed,
    "over as many arrivals a trace's rate at a time is taken, by which replicas are counted before they are simulated",
    "a choice: Poisson arrivals then vary by a tenth"};
inline constexpr Number kSameTime{
    "serve.same_time", 1.02, "1", assumed, "times that are longer by less are not worth a line of the front",
    "a choice"};
inline constexpr Number kPlainKvLink{
    "serve.kv_link", 25, "GB/s", assumed, "between pools where no cluster is described", "a 200 Gbit/s network card"};
inline constexpr Number kPlainKvLatency{
    "serve.kv_latency", 20, "us", assumed, "of it", "a remote write and its notice"};

inline constexpr Number kNgramOnHost{"serve.ngram",
                                     10,
                                     "us",
                                     assumed,
                                     "of a request: drafts looked up in what it has said so far",
                                     "an estimate: a pass over a few thousand token ids by compiled code"};
inline constexpr Number kGuidedOnHost{
    "serve.guided",
    40,
    "us",
    assumed,
    "of a request whose token a grammar guides: the mask of the tokens that may follow",
    "at most that for JSON schemas in XGrammar's paper (arXiv 2411.15100); a step's masks are made one after the "
    "other"};
inline constexpr Number kHostLinkShare{
    "serve.host_link_share",
    0.8,
    "1",
    assumed,
    "of a link's peak that copies to and from the host reach: keys and values, adapters",
    "a choice: encoding and packet headers take an eighth, paged copies some more"};
inline constexpr Number kGraceLink{"serve.grace_link",
                                   450,
                                   "GB/s",
                                   published,
                                   "NVLink-C2C between a GPU and Grace, one direction",
                                   "data/gpus/gh200-144gb.json, notes"};
inline constexpr Number kPlainPcie{
    "serve.plain_pcie", 32, "GB/s", assumed, "a GPU's link to its host where its description has none",
    "PCIe 4, 16 lanes"};
inline constexpr Number kHostLatency{"serve.host_latency",
                                     20,
                                     "us",
                                     assumed,
                                     "of a transfer from the host's memory",
                                     "a choice: a copy's launch and notice"};
inline constexpr Number kDiskRate{"serve.disk_rate",
                                  5,
                                  "GB/s",
                                  assumed,
                                  "of a disk that a GPU's keys and values go to",
                                  "a choice: one NVMe disk of PCIe 4, four lanes at some two thirds of their 8 GB/s"};
inline constexpr Number kDiskLatency{"serve.disk_latency", 100, "us", assumed, "of a transfer from a disk", "a choice"};
inline constexpr Number kWeightsRate{"serve.weights_rate",
                                     2,
                                     "GB/s",
                                     assumed,
                                     "at which a GPU's weights are read as a replica starts",
                                     "a choice: a file system over the network, shared by the GPUs of a host"};
inline constexpr Number kEngineStart{"serve.engine_start",
                                     60,
                                     "s",
                                     assumed,
                                     "a replica's start beside its weights: container, imports, profile run, graphs",
                                     "a choice"};

}  // namespace tilecast::constants
