// Sources of the flags, each of the release that release_of() names:
// - vLLM 0.14.0 (async scheduling is on by default since): docs/serving/data_parallel_deployment.md,
//   expert_parallel_deployment.md and parallelism_scaling.md (several nodes by --nnodes, --node-rank, --master-addr and
//   --headless), docs/features/nixl_connector_usage.md (roles, side channels, the proxy), vllm/engine/arg_utils.py.
// - SGLang 0.5.6.post1: docs/advanced_features/server_arguments.md, pd_disaggregation.md and router.md,
//   docs/references/multi_node_deployment/multi_node.md. With data parallel attention --tp-size counts all ranks, and
//   --max-running-requests and --chunked-prefill-size are divided among them (python/sglang/srt/server_args.py).
// - TensorRT-LLM 1.2.0: tensorrt_llm/commands/serve.py at commit 00209af1, examples/disaggregated/README.md,
//   docs/source/commands/trtllm-serve (several nodes under mpirun and trtllm-llmapi-launch).
// Of features: vLLM's docs/features/spec_decode.md, lora.md and docs/serving/expert_parallel_deployment.md (EPLB),
//   SGLang's docs/advanced_features/speculative_decoding.md, lora.md, hicache.md and router.md, TensorRT-LLM's
//   docs/source/features/speculative-decoding.md and kvcache.md (host_cache_size).
#include "serve/launch_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "serve/launch_blanks.h"

namespace tilecast {
namespace {

using Words = std::vector<std::string>;

bool shares_attention(const RankLayout& l) { return l.dp > 1; }

class Flags {
 public:
  explicit Flags(Words words) : words_(std::move(words)) {}
  template <class T>
  Flags& add(std::string_view name, const T& value) {
    words_.emplace_back(name), words_.push_back(fmt::format("{}", value));
    return *this;
  }
  template <class T>
  Flags& add_if(bool wanted, std::string_view name, const T& value) {
    return wanted ? add(name, value) : *this;
  }
  Flags& flag(bool wanted, std::string_view name) {
    if (wanted) words_.emplace_back(name);
    return *this;
  }
  Words take() { return std::move(words_); }

 private:
  Words words_;
};

std::string share_of(double fraction) { return fmt::format("{:.3g}", fraction); }
// Engines widen nothing, and quantise no quantised checkpoint again.
bool other_format(const LaunchOptions& o) {
  const bool wide = o.dtype == "bf16" || o.dtype == "fp16";
  return o.quantisation.empty() ? !wide : o.dtype != o.quantisation;
}
// vLLM and SGLang make fp8 of wider weights as they load.
bool quantises(const LaunchOptions& o) {
  return other_format(o) && o.quantisation.empty() && o.dtype == "fp8" && o.engine != EngineKind::trtllm && !o.too_wide;
}
bool needs_checkpoint(const LaunchOptions& o) { return other_format(o) && !quantises(o); }
// Which of the server's nodes: a place where it stands for any of them.
std::string rank_text(int rank, int times = 1) {
  if (rank >= 0) return fmt::format("{}", rank * times);
  return times == 1 ? "{rank}" : fmt::format("{{rank*{}}}", times);
}

// "NAME=value"
std::vector<std::pair<std::string, std::string>> variables_of(const LaunchOptions& o) {
  std::vector<std::pair<std::string, std::string>> variables;
  for (const std::string& flag : o.path_flags)
    if (const auto at = flag.find('='); at != std::string::npos)
      variables.emplace_back(flag.substr(0, at), flag.substr(at + 1));
  return variables;
}
// "moe_config.backend: TRTLLM"
std::string config_of_paths(const LaunchOptions& o) {
  std::string text;
  for (const std::string& flag : o.path_flags) {
    const auto dot = flag.find('.'), colon = flag.find(": ");
    if (dot == std::string::npos || colon == std::string::npos || dot > colon) continue;
    text += fmt::format("{}:\n  {}\n", flag.substr(0, dot), flag.substr(dot + 1));
  }
  return text;
}

void add_vllm_features(Flags& f, const LaunchFeatures& l) {
  if (l.draft > 0) {
    const std::string number = fmt::format("\"num_speculative_tokens\":{}", l.draft);
    f.add("--speculative-config",
          l.drafting == Drafting::ngram ? fmt::format("{{\"method\":\"ngram\",{},\"prompt_lookup_max\":4}}", number)
          : l.drafting == Drafting::mtp
              ? fmt::format("{{\"method\":\"mtp\",{}}}", number)
              : fmt::format("{{\"method\":\"eagle3\",\"model\":\"{}\",{}}}", kNameAnEagleHead, number));
  }
  if (l.adapter_slots > 0)
    f.flag(true, "--enable-lora").add("--max-loras", l.adapter_slots).add("--max-lora-rank", l.slot_rank);
  if (l.variants.redundant > 0)
    f.flag(true, "--enable-eplb")
        .add("--eplb-config", fmt::format("{{\"num_redundant_experts\":{}}}", l.variants.redundant));
  f.add_if(l.variants.decode_cp > 1, "--decode-context-parallel-size", l.variants.decode_cp);
  f.add_if(l.by_priority, "--scheduling-policy", "priority");
}

// vllm/config/cache.py: the size is that of all ranks of an engine together; ranks with requests of their own are
// engines each.
void add_vllm_offload(Flags& f, const LaunchOptions& o) {
  if (!(o.features.offload_host > bytes(0))) return;
  const int ranks = o.layout.tp * o.layout.pp;
  f.add("--kv-offloading-backend", "native")
      .add("--kv-offloading-size", fmt::format("{:.4g}", in_gibibytes(o.features.offload_host) * ranks));
}

// A chain of drafts, as simulated: no tree.
void add_sglang_drafts(Flags& f, const LaunchFeatures& l) {
  if (l.draft == 0) return;
  if (l.drafting == Drafting::ngram) {
    f.add("--speculative-algorithm", "NGRAM").add("--speculative-num-draft-tokens", l.draft + 1);
    return;
  }
  const bool model = l.drafting == Drafting::model, eagle = l.drafting == Drafting::eagle;
  f.add("--speculative-algorithm", model ? "STANDALONE" : eagle ? "EAGLE3" : "EAGLE");
  if (model) f.add("--speculative-draft-model-path", l.draft_model);
  if (eagle) f.add("--speculative-draft-model-path", kNameAnEagleHead);
  f.add("--speculative-num-steps", l.draft).add("--speculative-eagle-topk", 1);
  f.add("--speculative-num-draft-tokens", l.draft + 1);
}

void add_sglang_features(Flags& f, const LaunchFeatures& l) {
  add_sglang_drafts(f, l);
  if (l.adapter_slots > 0)
    f.flag(true, "--enable-lora").add("--max-loras-per-batch", l.adapter_slots).add("--max-lora-rank", l.slot_rank);
  if (l.offload_host > bytes(0))
    f.flag(true, "--enable-hierarchical-cache")
        .add("--hicache-size", std::llround(in_bytes(l.offload_host) * 1e-9))
        .add("--hicache-write-policy", "write_back");
  f.add_if(l.offload_disk > bytes(0), "--hicache-storage-backend", "file");
  if (l.variants.redundant > 0) f.flag(true, "--enable-eplb").add("--ep-num-redundant-experts", l.variants.redundant);
}

std::string trtllm_drafts(const LaunchFeatures& l) {
  if (l.draft == 0) return "";
  if (l.drafting == Drafting::mtp)
    return fmt::format("speculative_config:\n  decoding_type: MTP\n  num_nextn_predict_layers: {}\n", l.draft);
  if (l.drafting == Drafting::ngram)
    return fmt::format("speculative_config:\n  decoding_type: NGram\n  max_draft_len: {}\n", l.draft);
  return fmt::format("speculative_config:\n  decoding_type: {}\n  max_draft_len: {}\n  speculative_model_dir: {}\n",
                     l.drafting == Drafting::model ? "Draft_Target" : "Eagle", l.draft,
                     l.drafting == Drafting::model ? l.draft_model : std::string(kNameAnEagleHead));
}

void add_vllm_nodes(Flags& f, const LaunchOptions& o, const ServerPlace& p, int rank) {
  if (p.nodes == 1) {
    // Of its own: two servers of a host would meet on the default.
    f.add_if(shares_attention(o.layout), "--data-parallel-rpc-port", p.group_port);
    return;
  }
  if (shares_attention(o.layout)) {
    const int local = o.layout.dp / p.nodes;
    f.add("--data-parallel-size-local", local).add("--data-parallel-address", head_of(p));
    f.add("--data-parallel-rpc-port", p.group_port);
    f.add_if(rank != 0, "--data-parallel-start-rank", rank_text(rank, local));
  } else {
    f.add("--nnodes", p.nodes).add("--node-rank", rank_text(rank)).add("--master-addr", head_of(p));
    f.add("--master-port", p.group_port);
  }
  f.flag(rank != 0, "--headless");
}

LaunchCommand vllm_command(const LaunchOptions& o, const ServerPlace& p, int rank) {
  const RankLayout& l = o.layout;
  LaunchCommand c;
  c.environment = variables_of(o);
  Flags f({"vllm", "serve", served_model(o)});
  if (rank == 0) f.add("--host", "0.0.0.0").add("--port", p.port);
  f.add_if(l.tp > 1, "--tensor-parallel-size", l.tp).add_if(l.pp > 1, "--pipeline-parallel-size", l.pp);
  f.add_if(l.dp > 1, "--data-parallel-size", l.dp).flag(l.ep > 1, "--enable-expert-parallel");
  add_vllm_nodes(f, o, p, rank);
  f.add("--max-num-seqs", o.limits.max_sequences).add("--max-num-batched-tokens", o.limits.max_tokens);
  f.add("--gpu-memory-utilization", share_of(o.memory_fraction)).add("--block-size", o.block_tokens);
  f.add_if(quantises(o), "--quantization", "fp8").add_if(o.kv_dtype == "fp8", "--kv-cache-dtype", "fp8");
  f.add_if(o.context_limit > 0, "--max-model-len", o.context_limit);
  add_vllm_features(f, o.features);
  add_vllm_offload(f, o);
  if (o.role != ServerRole::whole) {
    f.add("--kv-transfer-config", fmt::format("{{\"kv_connector\":\"NixlConnector\",\"kv_role\":\"{}\"}}",
                                              o.role == ServerRole::prefill ? "kv_producer" : "kv_consumer"));
    c.environment.emplace_back("VLLM_NIXL_SIDE_CHANNEL_HOST", "{self}");
    c.environment.emplace_back("VLLM_NIXL_SIDE_CHANNEL_PORT", fmt::format("{}", p.side_port));
  }
  c.words = f.take();
  return c;
}

LaunchCommand sglang_command(const LaunchOptions& o, const ServerPlace& p, int rank) {
  const RankLayout& l = o.layout;
  const bool attention = shares_attention(l);
  const Count shared = attention ? l.dp : 1;
  Flags f({"python3", "-m", "sglang.launch_server", "--model-path", served_model(o)});
  f.add("--host", "0.0.0.0").add("--port", p.port);
  f.add_if(l.tp * shared > 1, "--tp-size", l.tp * shared).add_if(l.pp > 1, "--pp-size", l.pp);
  f.add_if(attention, "--dp-size", l.dp).flag(attention, "--enable-dp-attention");
  f.add_if(l.ep > 1, "--ep-size", l.ep);
  // Data parallel attention takes ports counted from this one; by themselves servers of one host would meet.
  f.add_if(p.nodes > 1 || attention, "--dist-init-addr", fmt::format("{}:{}", head_of(p), p.group_port));
  if (p.nodes > 1) f.add("--nnodes", p.nodes).add("--node-rank", rank_text(rank));
  f.add("--max-running-requests", o.limits.max_sequences * shared);
  f.add_if(o.limits.chunk > 0, "--chunked-prefill-size", o.limits.chunk * shared);
  f.add("--max-prefill-tokens", o.limits.max_tokens).add("--mem-fraction-static", share_of(o.memory_fraction));
  f.add("--page-size", o.block_tokens).add_if(quantises(o), "--quantization", "fp8");
  f.add_if(o.kv_dtype == "fp8", "--kv-cache-dtype", "fp8_e4m3");
  f.add_if(o.context_limit > 0, "--context-length", o.context_limit);
  f.add_if(!o.attention.empty(), "--attention-backend", o.attention);
  add_sglang_features(f, o.features);
  // AMD's images for ROCm bring Mooncake (rocm.docs.amd.com, "SGLang distributed inference with Mooncake").
  if (o.role != ServerRole::whole)
    f.add("--disaggregation-mode", name_of(o.role))
        .add("--disaggregation-transfer-backend", o.amd ? "mooncake" : "nixl");
  f.add_if(o.role == ServerRole::prefill, "--disaggregation-bootstrap-port", p.bootstrap_port);
  return {{}, f.take()};
}

LaunchCommand trtllm_command(const LaunchOptions& o, const ServerPlace& p, int rank) {
  const RankLayout& l = o.layout;
  if (rank != 0) return {};
  Words words = {"trtllm-serve", served_model(o)};
  if (p.nodes > 1) {
    std::string hosts;
    for (int i = 0; i < p.nodes; ++i) hosts += fmt::format("{}{{node:{}}}:{}", i > 0 ? "," : "", p.node + i, p.gpus);
    // Images start it as root, which mpirun refuses by itself.
    words = {
        "mpirun",       "--allow-run-as-root", "-H", hosts, "-n", fmt::format("{}", l.ranks()), "trtllm-llmapi-launch",
        "trtllm-serve", served_model(o)};
  }
  Flags f(std::move(words));
  f.add("--host", "0.0.0.0").add("--port", p.port).add("--backend", "pytorch");
  f.add_if(l.tp * l.dp > 1, "--tp_size", l.tp * l.dp).add_if(l.pp > 1, "--pp_size", l.pp);
  f.add_if(l.ep > 1, "--ep_size", l.ep).add("--max_batch_size", o.limits.max_sequences);
  f.add("--max_num_tokens", o.limits.max_tokens).add_if(o.context_limit > 0, "--max_seq_len", o.context_limit);
  f.add("--kv_cache_free_gpu_memory_fraction", share_of(o.memory_fraction));
  f.flag(o.limits.chunked_prefill, "--enable_chunked_prefill").add("--config", "{here}/" + engine_config_name(o));
  return {{}, f.take()};
}

void set_ports(ServerPlace& p, int number) {
  // Ranges that do not meet: a host has at most some seventy servers, a server at most 64 data parallel ranks.
  constexpr int kHttp = 8100, kBootstrap = 9000, kSide = 10000, kGroup = 15000, kSideOfServer = 64,
                kGroupOfServer = 100;
  p.port = kHttp + number, p.bootstrap_port = kBootstrap + number;
  p.side_port = kSide + kSideOfServer * number, p.group_port = kGroup + kGroupOfServer * number;
}

}  // namespace

std::string head_of(const ServerPlace& p) { return fmt::format("{{server:{}}}", p.index); }

std::string_view name_of(ServerRole role) {
  return role == ServerRole::prefill ? "prefill" : role == ServerRole::decode ? "decode" : "server";
}

bool lacks_checkpoint(const LaunchOptions& o) { return needs_checkpoint(o) && o.checkpoint.empty(); }

std::string served_model(const LaunchOptions& o) {
  if (!needs_checkpoint(o)) return o.model;
  if (!o.checkpoint.empty()) return o.checkpoint;
  std::string format = o.dtype;
  for (char& c : format)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return fmt::format("NAME-A-CHECKPOINT-IN-{}-OF-{}", format, o.model.substr(o.model.rfind('/') + 1));
}

std::string_view release_of(EngineKind engine) {
  return engine == EngineKind::sglang   ? "SGLang 0.5.6.post1"
         : engine == EngineKind::trtllm ? "TensorRT-LLM 1.2.0"
                                        : "vLLM 0.14.0";
}

namespace {

// vLLM has images for ROCm since 0.14.0 (vllm/vllm-openai-rocm; its docs/getting_started/installation/gpu.rocm.inc.md
// names the chips they are built for), SGLang those of MI300 and MI350 (docs/platforms/amd_gpu.md; the tags that
// InferenceX's runs of its releases before and after name).
std::string rocm_image(const LaunchOptions& o) {
  const auto one_of = [&](std::initializer_list<std::string_view> chips) {
    return std::find(chips.begin(), chips.end(), o.chip) != chips.end();
  };
  if (o.engine == EngineKind::vllm &&
      one_of({"gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1101", "gfx1200", "gfx1201"}))
    return "vllm/vllm-openai-rocm:v0.14.0";
  if (o.engine == EngineKind::sglang && one_of({"gfx942"})) return "lmsysorg/sglang:v0.5.6.post1-rocm700-mi30x";
  if (o.engine == EngineKind::sglang && one_of({"gfx950"})) return "lmsysorg/sglang:v0.5.6.post1-rocm700-mi35x";
  return std::string(kNameAnImage);
}

}  // namespace

std::string image_of(const LaunchOptions& o) {
  if (o.amd) return rocm_image(o);
  return o.engine == EngineKind::sglang   ? "lmsysorg/sglang:v0.5.6.post1"
         : o.engine == EngineKind::trtllm ? "nvcr.io/nvidia/tensorrt-llm/release:1.2.0"
                                          : "vllm/vllm-openai:v0.14.0";
}

std::vector<std::string> launch_notes(const LaunchOptions& o) {
  std::vector<std::string> notes;
  if (needs_checkpoint(o)) {
    // vllm-project/vllm pull requests 31914 and 32773 (of releases after 0.14.0), sgl-project/sglang 36733: weights are
    // narrowed once all of them lie on the GPU.
    const std::string why =
        !o.quantisation.empty() ? fmt::format("{} is in {}, which engines serve as it is", o.model, o.quantisation)
        : o.dtype == "fp8" && o.engine != EngineKind::trtllm
            ? fmt::format("{} quantises weights once all of them are on the GPUs, which have no room for them",
                          release_of(o.engine))
            : fmt::format("{} does not quantise to {} as it loads", release_of(o.engine), o.dtype);
    notes.push_back(o.checkpoint.empty()
                        ? fmt::format("{}: name a checkpoint in {} for {}", why, o.dtype, served_model(o))
                        : fmt::format("{}: {} is {} in {}", why, o.checkpoint, o.model, o.dtype));
  }
  const LaunchFeatures& l = o.features;
  if (l.draft > 0 && l.drafting == Drafting::eagle)
    notes.push_back(fmt::format("{} stands for a head that was trained for the model", kNameAnEagleHead));
  if (l.adapter_slots > 0)
    notes.push_back(o.engine == EngineKind::sglang ? "name the adapters: --lora-paths NAME=PATH ..."
                                                   : "name the adapters: --lora-modules NAME=PATH ...");
  if (l.router == Router::prefix_aware && o.engine != EngineKind::sglang && o.copies > 1)
    notes.emplace_back("its router is SGLang's (pip install sglang-router)");
  if (l.offload_disk > bytes(0)) notes.emplace_back("SGLANG_HICACHE_FILE_BACKEND_STORAGE_DIR names the disk's folder");
  if (l.offload_host > bytes(0) && o.engine == EngineKind::vllm)
    notes.emplace_back(
        "vLLM's host memory also holds copies of what is on the GPUs, so that less is found again than forecast where "
        "it is not much larger than their cache");
  if (o.amd) notes.emplace_back("AMD's cards need a build of the release for ROCm");
  return notes;
}

std::vector<ServerPlace> server_places(const std::vector<LaunchOptions>& pools) {
  std::vector<ServerPlace> places;
  int node = 0, used = 0, on_node = 0;  // GPUs and servers of the host that is being filled
  for (std::size_t pool = 0; pool < pools.size(); ++pool) {
    const LaunchOptions& o = pools[pool];
    const int ranks = o.layout.ranks(), nodes = static_cast<int>(ceil_div(ranks, o.gpus_per_node));
    for (Count copy = 0; copy < o.copies; ++copy) {
      if (used > 0 && used + ranks > o.gpus_per_node) ++node, used = on_node = 0;
      ServerPlace p;
      p.pool = pool, p.index = static_cast<int>(places.size());
      p.node = node, p.nodes = nodes;
      p.first_gpu = used, p.gpus = static_cast<int>(ceil_div(ranks, nodes));
      set_ports(p, on_node);
      places.push_back(p);
      if (nodes > 1) node += nodes, used = on_node = 0;
      else used += ranks, ++on_node;
    }
  }
  if (places.size() == 1) places.front().port = kRouterPort;  // nothing stands before it
  return places;
}

std::vector<ServerPlace> pod_places(const std::vector<LaunchOptions>& pools) {
  std::vector<ServerPlace> places = server_places(pools);
  for (ServerPlace& p : places) p.node = p.index, p.first_gpu = 0, set_ports(p, 0);
  return places;
}

int host_count(const std::vector<ServerPlace>& places) {
  int hosts = 1;
  for (const ServerPlace& p : places) hosts = std::max(hosts, p.node + p.nodes);
  return hosts;
}

LaunchCommand server_command(const LaunchOptions& o, const ServerPlace& p, int rank) {
  if (o.engine == EngineKind::sglang) return sglang_command(o, p, rank);
  if (o.engine == EngineKind::trtllm) return trtllm_command(o, p, rank);
  return vllm_command(o, p, rank);
}

std::string engine_config_name(const LaunchOptions& o) {
  return o.role == ServerRole::prefill  ? "context.yaml"
         : o.role == ServerRole::decode ? "generation.yaml"
                                        : "serve.yaml";
}

std::string engine_config(const LaunchOptions& o) {
  if (o.engine != EngineKind::trtllm) return "";
  std::string text = fmt::format(
      "cuda_graph_config:\n  enable_padding: true\n  max_batch_size: {}\nkv_cache_config:\n  tokens_per_block: {}\n"
      // Beside the flag of that name: a kv_cache_config of the file takes the place of the flags' one.
      "  free_gpu_memory_fraction: {}\n",
      o.limits.max_sequences, o.block_tokens, share_of(o.memory_fraction));
  if (o.kv_dtype == "fp8") text += "  dtype: fp8\n";
  if (o.features.offload_host > bytes(0))
    text += fmt::format("  host_cache_size: {:.0f}\n", in_bytes(o.features.offload_host));
  text += fmt::format("scheduler_config:\n  capacity_scheduler_policy: {}\n",
                      o.limits.policy == Policy::trtllm_max_utilization ? "MAX_UTILIZATION" : "GUARANTEED_NO_EVICT");
  if (shares_attention(o.layout)) text += "enable_attention_dp: true\n";
  text += config_of_paths(o) + trtllm_drafts(o.features);
  if (o.role == ServerRole::prefill) text += "disable_overlap_scheduler: true\n";
  if (o.role != ServerRole::whole) text += "cache_transceiver_config:\n  backend: DEFAULT\n";
  return text;
}

}  // namespace tilecast
