// How a planned deployment is started: where its servers lie, and the command of each, with the flags of `vllm serve`,
// `python -m sglang.launch_server` and `trtllm-serve`.
//
// Addresses are not known yet when a plan is made, and differ between a shell, containers and pods. Words of commands
// and configuration files therefore have places for them, which whoever writes them out fills in
// (serve/launch_words.h):
//   {server:3}   the host of the fourth server (of its first node where it has several)
//   {node:1}     the second host
//   {self}       the host itself
//   {here}       the folder with the plan's files
//   {rank}       which of a server's nodes it is; {rank*4}: times four
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/kinds.h"
#include "parallel/layout.h"
#include "serve/deployment_features.h"
#include "serve/metrics.h"
#include "serve/scheduler.h"
#include "serve/workload.h"

namespace tilecast {

enum class ServerRole : std::uint8_t { whole, prefill, decode };
std::string_view name_of(ServerRole role);  // "server", "prefill", "decode"

// What requests ask for beside tokens, and where keys, values and experts lie; by default nothing.
struct LaunchFeatures {
  Count draft = 0;  // tokens of a step that are drafted
  Drafting drafting = Drafting::share;
  std::string draft_model;
  Count adapter_slots = 0, slot_rank = 0;  // LoRA
  Bytes offload_host, offload_disk;        // of each GPU
  RankVariants variants = {};
  bool by_priority = false;
  Router router = Router::round_robin;
  PrefixRouting prefixes = {};
};

// Servers alike.
struct LaunchOptions {
  std::string model;  // as the engine finds it: a path, or a name on Hugging Face
  EngineKind engine = EngineKind::vllm;
  std::string dtype, kv_dtype;
  std::string quantisation = {};  // the checkpoint's own; empty: it has sixteen bits
  bool too_wide = false;          // it has, and its weights as they are do not fit the GPUs
  std::string checkpoint;         // one in `dtype`, where somebody published it
  RankLayout layout;
  Count copies = 1;  // of the layout, each on GPUs of its own
  int gpus_per_node = 8;
  std::string gpu;   // its name, for people
  bool amd = false;  // else NVIDIA's
  std::string chip;  // AMD's: "gfx942"
  SchedulerLimits limits;
  double memory_fraction = 0.9;
  Count block_tokens = 16;
  Count context_limit = 0;              // 0: the model's
  std::string attention;                // SGLang's attention backend, where it does not choose one; empty: it does
  std::vector<std::string> path_flags;  // what the kernels that were priced have to be asked for by (engine/path.h)
  ServerRole role = ServerRole::whole;
  LaunchFeatures features = {};
};

// What a benchmark has to ask to see what was forecast.
struct BenchLoad {
  LengthDistribution input, output;
  double rate = 0;
  Count in_flight = 0;  // 0: requests come at the rate
  Count requests = 0;
  Count prefixes = 0, prefix_tokens = 0;
  std::uint64_t seed = 0;
  Slo slo;
  double burstiness = 1;  // of arrivals at the rate; 1: Poisson
  bool alike = true;      // no trace, conversations, classes, adapters or images, which the client does not send
};

struct DeploymentLaunch {
  std::vector<LaunchOptions> pools;  // one, or those for prompts and for answers
  BenchLoad bench;
  std::vector<std::string> headline;  // what the plan is, and what was forecast
  const LaunchOptions& any() const { return pools.front(); }
};

// Where one server lies. No two share a GPU, nor a port of a host.
struct ServerPlace {
  std::size_t pool = 0;
  int index = 0;                // among all servers of the deployment
  int node = 0, nodes = 1;      // its first host, and how many it takes
  int first_gpu = 0, gpus = 1;  // on each of them
  int port = 0;                 // of its HTTP server
  int side_port = 0;            // NIXL's handshakes: this one and as many more as it has data parallel ranks
  int bootstrap_port = 0;       // SGLang's, of prompts
  int group_port = 0;           // where its ranks find each other, and the hundred after it
};
// Where its first node is, as a place: "{server:0}".
std::string head_of(const ServerPlace& place);
constexpr int kRouterPort = 8000;
// One after the other over hosts; a server that needs more than one has them to itself.
std::vector<ServerPlace> server_places(const std::vector<LaunchOptions>& pools);
// Each in a pod of its own (of each node), where nothing else has ports or GPUs.
std::vector<ServerPlace> pod_places(const std::vector<LaunchOptions>& pools);
int host_count(const std::vector<ServerPlace>& places);

struct LaunchCommand {
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::string> words;
  bool empty() const { return words.empty(); }
};
// Of one of the server's nodes (0: the first; kAnyRank: whichever of the others it is, by its places). Empty where the
// engine's launcher starts them all from the first.
constexpr int kAnyRank = -1;
LaunchCommand server_command(const LaunchOptions& options, const ServerPlace& place, int rank);

// What requests are sent to where there is more than one server.
struct RouterLaunch {
  LaunchCommand command;
  std::string config_name, config;  // a file of its own, where it has one
  std::string fetch_url, fetched;   // a program that no package holds, and its name here
  std::string image;                // of a container it runs in
  bool empty() const { return command.empty(); }
};
RouterLaunch router_launch(const std::vector<LaunchOptions>& pools, const std::vector<ServerPlace>& places);

// What trtllm-serve has no flags for; empty for other engines.
std::string engine_config(const LaunchOptions& options);
std::string engine_config_name(const LaunchOptions& options);

// What a server is told to load: the model, or where the engine does not quantise it, or has no room to, a checkpoint
// in the format; a name to fill in where none is known.
std::string served_model(const LaunchOptions& options);
bool lacks_checkpoint(const LaunchOptions& options);  // ... such a name

// Release whose flags and defaults are meant: "vLLM 0.14.0", and its container.
std::string_view release_of(EngineKind engine);
std::string image_of(const LaunchOptions& options);
// What has to be there before a server starts, if anything: "a checkpoint in fp8".
std::vector<std::string> launch_notes(const LaunchOptions& options);

}  // namespace tilecast
