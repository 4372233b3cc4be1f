#include "serve/launch_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "serve/launch_blanks.h"
#include "serve/launch_files.h"
#include "serve/launch_words.h"

namespace tilecast {
namespace {

using testing::HasSubstr;
using testing::Not;

LaunchOptions options_of(EngineKind engine, int tp, Count copies) {
  LaunchOptions o;
  o.model = "org/model";
  o.engine = engine;
  o.dtype = "bf16";
  o.layout.tp = tp;
  o.copies = copies;
  o.limits.max_sequences = 256, o.limits.max_tokens = 8192, o.limits.chunk = 4096;
  return o;
}
DeploymentLaunch launch_of(std::vector<LaunchOptions> pools) {
  DeploymentLaunch d;
  d.pools = std::move(pools);
  d.bench.input.mean = 1024, d.bench.output.mean = 128, d.bench.rate = 5, d.bench.requests = 300;
  d.bench.slo.ttft = milliseconds(500);
  d.headline = {"a plan"};
  return d;
}
DeploymentLaunch apart(EngineKind engine, Count prompts, Count answers) {
  LaunchOptions p = options_of(engine, 1, prompts), a = options_of(engine, 2, answers);
  p.role = ServerRole::prefill, a.role = ServerRole::decode;
  return launch_of({p, a});
}
std::string all_of(const LaunchOptions& o) {
  std::string text;
  for (const std::string& line : launch_lines(launch_of({o}))) text += line + "\n";
  return text;
}
std::string file_of(const DeploymentLaunch& d, const std::string& name) {
  for (const LaunchFile& file : launch_files(d))
    if (file.name == name) return file.text;
  return "";
}

TEST(ServeLaunch, Vllm) {
  LaunchOptions o = options_of(EngineKind::vllm, 4, 1);
  o.dtype = "fp8", o.kv_dtype = "fp8", o.context_limit = 4096;
  EXPECT_EQ(all_of(o),
            "CUDA_VISIBLE_DEVICES=0,1,2,3 vllm serve org/model --host 0.0.0.0 --port 8000 --tensor-parallel-size 4 "
            "--max-num-seqs 256 --max-num-batched-tokens 8192 --gpu-memory-utilization 0.9 --block-size 16 "
            "--quantization fp8 --kv-cache-dtype fp8 --max-model-len 4096 &\n");
  EXPECT_THAT(all_of(o), Not(HasSubstr("name a checkpoint")));
  o.too_wide = true;  // in 16 bits: what the file names would not start
  EXPECT_THAT(all_of(o), HasSubstr("which have no room for them: name a checkpoint in fp8 for NAME-A-CHECKPOINT-IN-FP8-"
                                   "OF-model\n"));
  EXPECT_THAT(all_of(o), HasSubstr("vllm serve NAME-A-CHECKPOINT-IN-FP8-OF-model --host"));
  EXPECT_THAT(all_of(o), Not(HasSubstr("--quantization")));
  o.checkpoint = "other/model-FP8";
  EXPECT_THAT(all_of(o), HasSubstr("no room for them: other/model-FP8 is org/model in fp8\n"));
  EXPECT_THAT(all_of(o), HasSubstr("vllm serve other/model-FP8 --host"));
  EXPECT_THAT(file_of(launch_of({o}), "bench.sh"), HasSubstr("--model other/model-FP8 "));
  o.too_wide = false;  // the one that was asked for, where it fits
  EXPECT_THAT(all_of(o), HasSubstr("vllm serve org/model --host"));
  o.quantisation = o.dtype;
  EXPECT_THAT(all_of(o), Not(HasSubstr("--quantization")));
  o.layout = {}, o.layout.dp = o.layout.ep = 8;
  EXPECT_THAT(all_of(o), HasSubstr("--data-parallel-size 8 --enable-expert-parallel --data-parallel-rpc-port 15000"));
  o.role = ServerRole::prefill;
  EXPECT_THAT(all_of(o), HasSubstr("'{\"kv_connector\":\"NixlConnector\",\"kv_role\":\"kv_producer\"}'"));
  EXPECT_THAT(all_of(o), HasSubstr("VLLM_NIXL_SIDE_CHANNEL_PORT=10000 "));
  o.amd = true;
  EXPECT_THAT(all_of(o), HasSubstr("HIP_VISIBLE_DEVICES=0,1"));
  o.engine = EngineKind::sglang;
  EXPECT_THAT(all_of(o), HasSubstr("--disaggregation-transfer-backend mooncake"));
}

// Engines serve a quantised checkpoint in its own format alone.
TEST(ServeLaunch, AsksForAnotherCheckpointWhereTheModelsOwnIsInAnotherFormat) {
  LaunchOptions o = options_of(EngineKind::vllm, 1, 1);
  o.quantisation = "fp8_block";
  for (const char* other : {"nvfp4", "bf16", "fp8"}) {
    o.dtype = other;
    EXPECT_THAT(all_of(o), HasSubstr("org/model is in fp8_block, which engines serve as it is: name a checkpoint in "));
    EXPECT_THAT(all_of(o), Not(HasSubstr("vllm serve org/model ")));
    EXPECT_THAT(all_of(o), Not(HasSubstr("--quantization")));
  }
  o.checkpoint = "other/model-FP4", o.dtype = "nvfp4";
  EXPECT_THAT(all_of(o), HasSubstr("vllm serve other/model-FP4 --host"));
  o.dtype = "fp8_block";
  EXPECT_THAT(all_of(o), HasSubstr("vllm serve org/model --host"));
}

TEST(ServeLaunch, Sglang) {
  LaunchOptions o = options_of(EngineKind::sglang, 2, 3);
  o.block_tokens = 1, o.memory_fraction = 0.8765, o.kv_dtype = "fp8";
  const std::string text = all_of(o);
  EXPECT_THAT(text, HasSubstr("CUDA_VISIBLE_DEVICES=4,5 python3 -m sglang.launch_server --model-path org/model --host "
                              "0.0.0.0 --port 8102 --tp-size 2 --max-running-requests 256 --chunked-prefill-size 4096 "
                              "--max-prefill-tokens 8192 --mem-fraction-static 0.876 --page-size 1 --kv-cache-dtype "
                              "fp8_e4m3 &"));
  EXPECT_THAT(text, HasSubstr("sglang_router.launch_router --host 0.0.0.0 --port 8000 --policy round_robin "
                              "--worker-urls \"http://127.0.0.1:8100\" \"http://127.0.0.1:8101\""));
  EXPECT_THAT(text, Not(HasSubstr("--attention-backend")));
  o.attention = "fa3";
  EXPECT_THAT(all_of(o), HasSubstr("--attention-backend fa3 "));
  // Attention of each rank its own: flags count all ranks together.
  o.layout = {}, o.layout.dp = o.layout.ep = 4, o.copies = 1;
  EXPECT_THAT(all_of(o), HasSubstr("--tp-size 4 --dp-size 4 --enable-dp-attention --ep-size 4 --dist-init-addr"));
  EXPECT_THAT(all_of(o), HasSubstr("--max-running-requests 1024 --chunked-prefill-size 16384 "));
}

// A server that is not told runs other kernels than were priced.
TEST(ServeLaunch, KernelsThatWerePricedAreAskedFor) {
  LaunchOptions o = options_of(EngineKind::vllm, 1, 1);
  o.path_flags = {"VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8=1"};
  EXPECT_THAT(all_of(o), HasSubstr("CUDA_VISIBLE_DEVICES=0 VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8=1 vllm serve"));
  EXPECT_THAT(file_of(launch_of({o}), "compose.yaml"), HasSubstr("VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8"));
  EXPECT_THAT(file_of(launch_of({o}), "kubernetes.yaml"), HasSubstr("VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8"));
  LaunchOptions t = options_of(EngineKind::trtllm, 1, 1);
  EXPECT_THAT(file_of(launch_of({t}), "serve.yaml"), Not(HasSubstr("moe_config")));
  t.path_flags = {"moe_config.backend: TRTLLM"};
  EXPECT_THAT(file_of(launch_of({t}), "serve.yaml"), HasSubstr("moe_config:\n  backend: TRTLLM\n"));
}

TEST(ServeLaunch, Trtllm) {
  LaunchOptions o = options_of(EngineKind::trtllm, 1, 2);
  o.limits.policy = Policy::trtllm_no_evict, o.limits.chunked_prefill = false, o.kv_dtype = "fp8", o.block_tokens = 32;
  EXPECT_EQ(file_of(launch_of({o}), "serve.yaml"),
            "cuda_graph_config:\n  enable_padding: true\n  max_batch_size: 256\nkv_cache_config:\n  tokens_per_block: "
            "32\n  free_gpu_memory_fraction: 0.9\n  dtype: fp8\nscheduler_config:\n  capacity_scheduler_policy: "
            "GUARANTEED_NO_EVICT\n");
  EXPECT_THAT(all_of(o), HasSubstr("CUDA_VISIBLE_DEVICES=1 trtllm-serve org/model --host 0.0.0.0 --port 8101 --backend "
                                   "pytorch --max_batch_size 256 --max_num_tokens 8192 "
                                   "--kv_cache_free_gpu_memory_fraction 0.9 --config \"$PWD/serve.yaml\" &"));
  EXPECT_THAT(file_of(launch_of({o}), "nginx.conf"), HasSubstr("server 127.0.0.1:8101;"));
  o.limits.chunked_prefill = true;
  EXPECT_THAT(all_of(o), HasSubstr("--enable_chunked_prefill"));
  o.dtype = "fp8";
  EXPECT_THAT(file_of(launch_of({o}), "launch.sh"), HasSubstr("# Note: TensorRT-LLM 1.2.0 does not quantise to fp8"));
  EXPECT_THAT(file_of(launch_of({o}), "launch.sh"), HasSubstr("trtllm-serve NAME-A-CHECKPOINT-IN-FP8-OF-model "));
}

// Whatever the pools: no two servers share a GPU, a port or a neighbour's range of ports on a host.
TEST(ServeLaunch, NothingCollides) {
  for (const Count prompts : {1, 3, 8, 11})
    for (const Count answers : {1, 4, 9}) {
      const DeploymentLaunch d = apart(EngineKind::vllm, prompts, answers);
      const std::vector<ServerPlace> places = server_places(d.pools);
      ASSERT_EQ(static_cast<Count>(places.size()), prompts + answers);
      std::map<int, std::set<int>> gpus, ports;
      int used = 0;
      for (const ServerPlace& p : places) {
        EXPECT_LE(p.first_gpu + p.gpus, 8);
        for (int node = p.node; node < p.node + p.nodes; ++node) {
          for (int i = 0; i < p.gpus; ++i) EXPECT_TRUE(gpus[node].insert(p.first_gpu + i).second);
          for (int i = 0; i < 64; ++i) EXPECT_TRUE(ports[node].insert(p.side_port + i).second);
          for (int i = 0; i < 100; ++i) EXPECT_TRUE(ports[node].insert(p.group_port + i).second);
          EXPECT_TRUE(ports[node].insert(p.port).second);
          EXPECT_TRUE(ports[node].insert(p.bootstrap_port).second);
          EXPECT_TRUE(p.port != kRouterPort);
        }
        used += p.gpus * p.nodes;
      }
      EXPECT_EQ(used, prompts + 2 * answers);
    }
}

TEST(ServeLaunch, ServersOverSeveralHosts) {
  LaunchOptions o = options_of(EngineKind::vllm, 8, 2);
  o.layout.pp = 2;
  const std::vector<ServerPlace> places = server_places({o});
  EXPECT_EQ(host_count(places), 4);
  const std::string text = all_of(o);
  EXPECT_THAT(text, HasSubstr("--nnodes 2 --node-rank 0 --master-addr \"${hosts[2]}\" --master-port 15000"));
  EXPECT_THAT(text, HasSubstr("--node-rank 1 --master-addr \"${hosts[2]}\" --master-port 15000 --headless"));
  o.layout = {}, o.layout.dp = o.layout.ep = 16, o.copies = 1;
  EXPECT_THAT(all_of(o), HasSubstr("--data-parallel-size-local 8 --data-parallel-address \"${hosts[0]}\" "
                                   "--data-parallel-rpc-port 15000 --data-parallel-start-rank 8 --headless"));
  o.engine = EngineKind::sglang;
  EXPECT_THAT(all_of(o), HasSubstr("--dist-init-addr \"${hosts[0]}:15000\" --nnodes 2 --node-rank 1"));
  o.engine = EngineKind::trtllm;
  EXPECT_THAT(
      all_of(o),
      HasSubstr(
          "mpirun --allow-run-as-root -H \"${hosts[0]}:8,${hosts[1]}:8\" -n 16 trtllm-llmapi-launch trtllm-serve"));
}

// Of two servers over two nodes each: an MPI world a server, whose first pod is what the router asks.
TEST(ServeLaunch, TensorRtLlmOverSeveralNodesIsAnMpiJob) {
  LaunchOptions o = options_of(EngineKind::trtllm, 8, 2);
  o.layout.pp = 2;
  const std::string text = file_of(launch_of({o}), "kubernetes.yaml");
  for (const char* part :
       {"kind: MPIJob\nmetadata:\n  name: tilecast-server-0\n", "  name: tilecast-server-1\n", "slotsPerWorker: 8\n",
        "runLauncherAsWorker: true\n", "      replicas: 1\n", "mpirun --allow-run-as-root -n 16 trtllm-llmapi-launch",
        "--config \"/plan/serve.yaml\"", "server tilecast-server-0-http:8100;", "server tilecast-server-1-http:8100;",
        "app: tilecast-server-1-head\n"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(text, Not(HasSubstr("kind: StatefulSet")));
  EXPECT_THAT(text, Not(HasSubstr("-H ")));
  o.copies = 1;
  EXPECT_THAT(file_of(launch_of({o}), "kubernetes.yaml"),
              HasSubstr("name: tilecast\nspec:\n  selector:\n    app: tilecast-server-0-head\n"));
}

// The pods of a server's other nodes have no API: whoever sends requests must not reach them.
TEST(ServeLaunch, TheServiceOfAServerOverSeveralNodesIsItsFirstPod) {
  for (const EngineKind engine : {EngineKind::vllm, EngineKind::sglang}) {
    LaunchOptions o = options_of(engine, 8, 1);
    o.layout.pp = 2;
    const std::string text = file_of(launch_of({o}), "kubernetes.yaml");
    EXPECT_THAT(text, HasSubstr("  name: tilecast\nspec:\n  selector:\n"
                                "    statefulset.kubernetes.io/pod-name: tilecast-server-0\n"));
    // Not ready before its server is; the others are from the start.
    EXPECT_THAT(text, HasSubstr("readinessProbe:\n            exec:\n"));
    EXPECT_THAT(text, HasSubstr("[ \"$(( ${HOSTNAME##*-} % 2 ))\" -ne 0 ] || exec python3 -c '"));
    EXPECT_THAT(text, HasSubstr("http://127.0.0.1:8100/health"));
    o.copies = 2;  // behind a router, which knows the first pod of each
    const std::string two = file_of(launch_of({o}), "kubernetes.yaml");
    EXPECT_THAT(two, HasSubstr("  name: tilecast\nspec:\n  selector:\n    app: tilecast-router\n"));
    EXPECT_THAT(two, HasSubstr("tilecast-server-0.tilecast-server"));
    EXPECT_THAT(two, HasSubstr("tilecast-server-2.tilecast-server"));
    EXPECT_THAT(two, Not(HasSubstr("tilecast-server-1.tilecast-server")));
    o.layout.pp = 1, o.copies = 1;
    const std::string one = file_of(launch_of({o}), "kubernetes.yaml");
    EXPECT_THAT(one, HasSubstr("  name: tilecast\nspec:\n  selector:\n    app: tilecast-server\n"));
    EXPECT_THAT(one, HasSubstr("readinessProbe:\n            httpGet:\n"));
  }
}

// Containers do not answer mpirun's ssh: no file rather than one that cannot start, and the reason where people look.
TEST(ServeLaunch, NoComposeFileForAnMpiWorldOverHosts) {
  LaunchOptions o = options_of(EngineKind::trtllm, 8, 1);
  o.layout.pp = 2;
  EXPECT_EQ(file_of(launch_of({o}), "compose.yaml"), "");
  EXPECT_THAT(file_of(launch_of({o}), "launch.sh"), HasSubstr("# No compose.yaml: mpirun starts "));
  EXPECT_THAT(file_of(launch_of({o}), "launch.sh"), HasSubstr("mpirun --allow-run-as-root -H "));
  o.layout.pp = 1;
  EXPECT_THAT(file_of(launch_of({o}), "compose.yaml"), HasSubstr("services:\n"));
  EXPECT_THAT(file_of(launch_of({o}), "launch.sh"), Not(HasSubstr("No compose.yaml")));
}

TEST(ServeLaunch, NamesToFillInStopWhatNeedsThem) {
  LaunchOptions o = options_of(EngineKind::trtllm, 1, 1);
  EXPECT_TRUE(launch_blanks({o}).empty());
  EXPECT_THAT(file_of(launch_of({o}), "launch.sh"), Not(HasSubstr("fill in")));
  o.dtype = "fp8";
  const std::vector<LaunchBlank> blanks = launch_blanks({o, o});
  ASSERT_EQ(blanks.size(), 1U);
  EXPECT_EQ(blanks.front().what, "a checkpoint of org/model in fp8");
  for (const char* script : {"launch.sh", "bench.sh"})
    EXPECT_THAT(file_of(launch_of({o}), script),
                HasSubstr("blank=NAME-A-CHECKPOINT-IN-FP8-OF-model\nif [ \"${blank#NAME-A}\" != \"$blank\" ]; then\n"));
  for (const char* manifest : {"compose.yaml", "kubernetes.yaml"})
    EXPECT_THAT(file_of(launch_of({o}), manifest), HasSubstr("# First fill in a checkpoint of org/model in fp8 in "));
  // A draft's head is the server's alone.
  LaunchOptions drafts = options_of(EngineKind::sglang, 1, 1);
  drafts.features.draft = 2, drafts.features.drafting = Drafting::eagle;
  EXPECT_THAT(file_of(launch_of({drafts}), "launch.sh"), HasSubstr("blank=NAME-AN-EAGLE3-HEAD"));
  EXPECT_THAT(file_of(launch_of({drafts}), "bench.sh"), Not(HasSubstr("blank=")));
}

TEST(ServeLaunch, ImagesForRocm) {
  LaunchOptions o = options_of(EngineKind::vllm, 1, 1);
  o.amd = true, o.chip = "gfx942";
  EXPECT_EQ(image_of(o), "vllm/vllm-openai-rocm:v0.14.0");
  EXPECT_TRUE(launch_blanks({o}).empty());
  o.engine = EngineKind::sglang;
  EXPECT_EQ(image_of(o), "lmsysorg/sglang:v0.5.6.post1-rocm700-mi30x");
  o.chip = "gfx950";
  EXPECT_EQ(image_of(o), "lmsysorg/sglang:v0.5.6.post1-rocm700-mi35x");
  // Of older cards nobody says so: a name to fill in where containers start, and nowhere else.
  o.chip = "gfx90a";
  ASSERT_EQ(launch_blanks({o}).size(), 1U);
  EXPECT_THAT(file_of(launch_of({o}), "compose.yaml"), HasSubstr("# First fill in an image of SGLang"));
  EXPECT_THAT(file_of(launch_of({o}), "launch.sh"), Not(HasSubstr("blank=")));
}

TEST(ServeLaunch, PoolsApartSayWhatTheyNeed) {
  const std::string vllm = file_of(apart(EngineKind::vllm, 1, 1), "launch.sh");
  EXPECT_THAT(vllm, HasSubstr("# Keys and values go by NIXL: pip install nixl"));
  EXPECT_THAT(vllm, HasSubstr("# The router is the example proxy of vLLM's tests"));
  EXPECT_THAT(file_of(apart(EngineKind::sglang, 1, 1), "launch.sh"), HasSubstr("pip install sglang-router"));
  EXPECT_THAT(file_of(launch_of({options_of(EngineKind::vllm, 1, 2)}), "launch.sh"), Not(HasSubstr("nixl")));
}

// vLLM's size is that of all ranks of an engine, in GiB.
TEST(ServeLaunch, VllmsHostMemory) {
  LaunchOptions o = options_of(EngineKind::vllm, 4, 1);
  o.layout.pp = 2, o.features.offload_host = gibibytes(10);
  EXPECT_THAT(all_of(o), HasSubstr("--kv-offloading-backend native --kv-offloading-size 80 "));
  o.features.offload_host = bytes(0);
  EXPECT_THAT(all_of(o), Not(HasSubstr("kv-offloading")));
}

// A router reads no checkpoint, so no token; nginx keeps its files where anyone may write; pods find their node's
// checkpoints again.
TEST(ServeLaunch, EachPartGetsWhatItNeeds) {
  const DeploymentLaunch d = launch_of({options_of(EngineKind::vllm, 1, 2)});
  const std::string compose = file_of(d, "compose.yaml");
  const std::size_t router = compose.find("  router:");
  ASSERT_NE(router, std::string::npos);
  EXPECT_THAT(compose.substr(0, router), HasSubstr("HF_TOKEN"));
  EXPECT_THAT(compose.substr(router), Not(HasSubstr("environment")));
  EXPECT_THAT(file_of(d, "nginx.conf"), HasSubstr("  client_body_temp_path /tmp/tilecast-nginx-client_body;\n"));
  LaunchOptions nodes = options_of(EngineKind::trtllm, 8, 1);
  nodes.layout.pp = 2;
  for (const DeploymentLaunch& each : {d, launch_of({nodes})}) {
    const std::string kubernetes = file_of(each, "kubernetes.yaml");
    EXPECT_THAT(kubernetes, HasSubstr("mountPath: /root/.cache/huggingface\n"));
    EXPECT_THAT(kubernetes, HasSubstr("path: /var/cache/huggingface\n"));
  }
  EXPECT_THAT(compose.substr(0, router), HasSubstr("      memlock: -1\n"));
  EXPECT_THAT(compose.substr(router), Not(HasSubstr("memlock")));
}

// A scheduler of pods knows neither which card a plan is for nor what pods send each other.
TEST(ServeLaunch, ManifestsSayWhatPodsNeedOfTheirNodes) {
  LaunchOptions o = options_of(EngineKind::vllm, 1, 2);
  o.gpu = "B200";
  const std::string together = file_of(launch_of({o}), "kubernetes.yaml");
  EXPECT_THAT(together, HasSubstr("# Its pods need nodes with B200: "));
  EXPECT_THAT(together, Not(HasSubstr("RDMA")));
  EXPECT_THAT(file_of(apart(EngineKind::vllm, 1, 1), "kubernetes.yaml"), HasSubstr("RDMA devices"));
  o.layout.tp = 8, o.layout.pp = 2;
  EXPECT_THAT(file_of(launch_of({o}), "kubernetes.yaml"), HasSubstr("RDMA devices"));
}

TEST(ServeLaunch, EveryServerReachesTheRouter) {
  for (const EngineKind engine : {EngineKind::vllm, EngineKind::sglang, EngineKind::trtllm}) {
    const DeploymentLaunch d = apart(engine, 3, 2);
    const std::string text = file_of(d, "launch.sh") + file_of(d, "disagg.yaml");
    for (const char* port : {"8100", "8101", "8102", "8103", "8104"}) {
      std::size_t times = 0;
      for (std::size_t at = text.find(port); at != std::string::npos; at = text.find(port, at + 1)) ++times;
      EXPECT_GE(times, 3u) << port << "\n" << text;  // its own, when it is waited for, the router's
    }
  }
}

TEST(ServeLaunch, WordsSurviveTheirQuotes) {
  const FillPlace fill = [](std::string_view place) { return "<" + std::string(place) + ">"; };
  EXPECT_EQ(shell_word("plain/word-1.0", fill), "plain/word-1.0");
  EXPECT_EQ(shell_word("it's $HOME", fill), "'it'\\''s $HOME'");
  EXPECT_EQ(shell_word("", fill), "''");
  EXPECT_EQ(shell_word("a$b{server:3}:80", fill), "\"a\\$b<server:3>:80\"");
  EXPECT_EQ(shell_word("{\"json\":1}", fill), "'{\"json\":1}'");
  EXPECT_EQ(compose_string("a$b{rank*4}", fill), "\"a$$b<rank*4>\"");
  EXPECT_EQ(place_number("rank*4"), 4);
  // A model's name from a command line cannot leave its comment or its word.
  LaunchOptions o = options_of(EngineKind::vllm, 1, 1);
  o.model = "x; rm -rf '$(y)'";
  DeploymentLaunch d = launch_of({o});
  d.headline = {"a\nplan"};
  EXPECT_THAT(file_of(d, "launch.sh"), HasSubstr("vllm serve 'x; rm -rf '\\''$(y)'\\''' "));
  EXPECT_THAT(file_of(d, "launch.sh"), HasSubstr("# a plan\n"));
}

TEST(ServeLaunch, BenchmarkAsksWhatWasSimulated) {
  DeploymentLaunch d = launch_of({options_of(EngineKind::vllm, 1, 1)});
  EXPECT_THAT(file_of(d, "bench.sh"), HasSubstr("--random-input-len 1024 \\\n  --random-output-len 128"));
  EXPECT_THAT(file_of(d, "bench.sh"), HasSubstr("--request-rate 5 "));
  EXPECT_THAT(file_of(d, "bench.sh"), HasSubstr("--goodput ttft:500"));
  EXPECT_THAT(file_of(d, "bench.sh"), Not(HasSubstr("--burstiness")));
  d.bench.burstiness = 0.5;
  EXPECT_THAT(file_of(d, "bench.sh"), HasSubstr("--burstiness 0.5"));
  d.bench.prefixes = 4, d.bench.prefix_tokens = 512;
  EXPECT_THAT(file_of(d, "bench.sh"), HasSubstr("--prefix-repetition-suffix-len 512"));
  d.bench.prefixes = 0, d.bench.in_flight = 64, d.bench.input.kind = LengthDistribution::Kind::lognormal;
  EXPECT_THAT(file_of(d, "bench.sh"), HasSubstr("--request-rate inf \\\n  --max-concurrency 64"));
  EXPECT_THAT(file_of(d, "bench.sh"), HasSubstr("tails will differ"));
}

}  // namespace
}  // namespace tilecast
