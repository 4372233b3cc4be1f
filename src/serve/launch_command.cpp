// Sources of the flags:
// - vLLM: docs/serving/expert_parallel_deployment.md and data_parallel_deployment.md (0.10.1),
// vllm/engine/arg_utils.py;
//   NixlConnector's roles as in docs/features/nixl_connector_usage.md.
// - SGLang: docs.sglang.io/advanced_features/server_arguments.html and pd_disaggregation (0.5). With data parallel
//   attention --tp-size counts all ranks, and --max-running-requests and --chunked-prefill-size are divided among them
//   (python/sglang/srt/server_args.py).
// - TensorRT-LLM: tensorrt_llm/commands/serve.py at commit 00209af1 (1.2), examples/disaggregated/README.md.
#include "serve/launch_command.h"

#include <fmt/format.h>

namespace tilecast {
namespace {

using Lines = std::vector<std::string>;

bool shares_attention(const RankLayout& l) { return l.dp > 1; }
int base_port(const LaunchOptions& o) {
  const int engine = o.engine == EngineKind::sglang ? 30000 : 8000;
  return engine + (o.role == ServerRole::prefill ? 100 : o.role == ServerRole::decode ? 200 : 0);
}

// Copies that a server of the engine itself runs side by side. vLLM's data parallel ranks share out the experts.
bool runs_copies(const LaunchOptions& o) {
  if (shares_attention(o.layout) || o.role != ServerRole::whole) return false;
  return o.engine == EngineKind::sglang || (o.engine == EngineKind::vllm && !o.experts);
}

class Flags {
 public:
  template <class T>
  Flags& add(std::string_view name, const T& value) {
    text_ += fmt::format(" {} {}", name, value);
    return *this;
  }
  template <class T>
  Flags& add_if(bool wanted, std::string_view name, const T& value) {
    return wanted ? add(name, value) : *this;
  }
  Flags& flag(bool wanted, std::string_view name) {
    if (wanted) text_ += fmt::format(" {}", name);
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string share_of(double fraction) { return fmt::format("{:.3g}", fraction); }

std::string vllm_command(const LaunchOptions& o, Count copies) {
  const RankLayout& l = o.layout;
  Flags f;
  f.add_if(l.tp > 1, "--tensor-parallel-size", l.tp).add_if(l.pp > 1, "--pipeline-parallel-size", l.pp);
  f.add_if(l.dp * copies > 1, "--data-parallel-size", l.dp * copies).flag(l.ep > 1, "--enable-expert-parallel");
  f.add("--max-num-seqs", o.limits.max_sequences).add("--max-num-batched-tokens", o.limits.max_tokens);
  f.add("--gpu-memory-utilization", share_of(o.memory_fraction)).add("--block-size", o.block_tokens);
  f.add_if(!o.quantised && o.dtype == "fp8", "--quantization", "fp8");
  f.add_if(o.kv_dtype == "fp8", "--kv-cache-dtype", "fp8")
      .add_if(o.context_limit > 0, "--max-model-len", o.context_limit);
  if (o.role != ServerRole::whole)
    f.add("--kv-transfer-config", fmt::format("'{{\"kv_connector\":\"NixlConnector\",\"kv_role\":\"{}\"}}'",
                                              o.role == ServerRole::prefill ? "kv_producer" : "kv_consumer"));
  return fmt::format("vllm serve {}{}", o.model, f.text());
}

std::string sglang_command(const LaunchOptions& o, Count copies) {
  const RankLayout& l = o.layout;
  const bool attention = shares_attention(l);
  const Count shared = attention ? l.dp : 1;
  Flags f;
  f.add_if(l.tp * shared > 1, "--tp-size", l.tp * shared).add_if(l.pp > 1, "--pp-size", l.pp);
  f.add_if(l.dp * copies > 1, "--dp-size", l.dp * copies).flag(attention, "--enable-dp-attention");
  f.add_if(l.ep > 1, "--ep-size", l.ep).add("--max-running-requests", o.limits.max_sequences * shared);
  f.add_if(o.limits.chunk > 0, "--chunked-prefill-size", o.limits.chunk * shared);
  f.add("--max-prefill-tokens", o.limits.max_tokens).add("--mem-fraction-static", share_of(o.memory_fraction));
  f.add("--page-size", o.block_tokens).add_if(!o.quantised && o.dtype == "fp8", "--quantization", "fp8");
  f.add_if(o.kv_dtype == "fp8", "--kv-cache-dtype", "fp8_e4m3");
  f.add_if(o.context_limit > 0, "--context-length", o.context_limit);
  if (o.role != ServerRole::whole)
    f.add("--disaggregation-mode", o.role == ServerRole::prefill ? "prefill" : "decode")
        .add("--disaggregation-transfer-backend", "nixl");
  return fmt::format("python -m sglang.launch_server --model-path {}{}", o.model, f.text());
}

std::string config_name(const LaunchOptions& o) {
  return o.role == ServerRole::prefill  ? "context.yaml"
         : o.role == ServerRole::decode ? "generation.yaml"
                                        : "serve.yaml";
}

// What trtllm-serve has no flags for.
Lines trtllm_config(const LaunchOptions& o) {
  Lines lines = {fmt::format("cat > {} <<'END'", config_name(o)), "cuda_graph_config:", "  enable_padding: true",
                 fmt::format("  max_batch_size: {}", o.limits.max_sequences)};
  lines.push_back("kv_cache_config:");
  lines.push_back(fmt::format("  tokens_per_block: {}", o.block_tokens));
  if (o.kv_dtype == "fp8") lines.push_back("  dtype: fp8");
  lines.push_back("scheduler_config:");
  lines.push_back(fmt::format("  capacity_scheduler_policy: {}", o.limits.policy == Policy::trtllm_max_utilization
                                                                     ? "MAX_UTILIZATION"
                                                                     : "GUARANTEED_NO_EVICT"));
  if (shares_attention(o.layout)) lines.push_back("enable_attention_dp: true");
  if (o.role == ServerRole::prefill) lines.push_back("disable_overlap_scheduler: true");
  if (o.role != ServerRole::whole) lines.insert(lines.end(), {"cache_transceiver_config:", "  backend: DEFAULT"});
  lines.push_back("END");
  return lines;
}

std::string trtllm_command(const LaunchOptions& o) {
  const RankLayout& l = o.layout;
  Flags f;
  f.add("--backend", "pytorch").add_if(l.tp * l.dp > 1, "--tp_size", l.tp * l.dp).add_if(l.pp > 1, "--pp_size", l.pp);
  f.add_if(l.ep > 1, "--ep_size", l.ep).add("--max_batch_size", o.limits.max_sequences);
  f.add("--max_num_tokens", o.limits.max_tokens).add_if(o.context_limit > 0, "--max_seq_len", o.context_limit);
  f.add("--kv_cache_free_gpu_memory_fraction", share_of(o.memory_fraction));
  f.flag(o.limits.chunked_prefill, "--enable_chunked_prefill").add("--config", config_name(o));
  return fmt::format("trtllm-serve {}{}", o.model, f.text());
}

std::string command_of(const LaunchOptions& o, Count copies) {
  if (o.engine == EngineKind::sglang) return sglang_command(o, copies);
  if (o.engine == EngineKind::trtllm) return trtllm_command(o);
  return vllm_command(o, copies);
}

// One server for each copy, side by side on a node.
std::string loop_of(const LaunchOptions& o, Count copies) {
  const int ranks = o.layout.ranks();
  std::string gpus;
  for (int i = 0; i < ranks; ++i) gpus += fmt::format("{}$(({} * i + {}))", i > 0 ? "," : "", ranks, i);
  if (ranks == 1) gpus = "$i";
  return fmt::format("for i in $(seq 0 {}); do CUDA_VISIBLE_DEVICES={} {} --port $(({} + i)) & done", copies - 1, gpus,
                     command_of(o, 1), base_port(o));
}

std::string node_command(const LaunchOptions& o, Count copies) {
  if (copies == 1 || runs_copies(o)) return command_of(o, copies) + fmt::format(" --port {}", base_port(o));
  return loop_of(o, copies);
}

}  // namespace

std::string_view release_of(EngineKind engine) {
  return engine == EngineKind::sglang ? "SGLang 0.5" : engine == EngineKind::trtllm ? "TensorRT-LLM 1.2" : "vLLM 0.11";
}

Lines launch_lines(const LaunchOptions& o) {
  Lines lines;
  const int ranks = o.layout.ranks();
  if (o.engine == EngineKind::trtllm) {
    lines = trtllm_config(o);
    if (!o.quantised && o.dtype == "fp8")
      lines.push_back("# TensorRT-LLM does not quantise by itself: give it a checkpoint in fp8 (ModelOptimizer)");
  }
  if (ranks > o.gpus_per_node) {
    const Count nodes = ceil_div(ranks, o.gpus_per_node);
    lines.push_back(
        fmt::format("# {} nodes a server: start it under the engine's launcher for several nodes (Ray, "
                    "--nnodes, mpirun){}",
                    nodes, o.copies > 1 ? fmt::format("; {} of them", o.copies) : ""));
    lines.push_back(command_of(o, 1) + fmt::format(" --port {}", base_port(o)));
    return lines;
  }
  const Count on_node = std::max<Count>(1, o.gpus_per_node / ranks), full = o.copies / on_node,
              rest = o.copies % on_node;
  if (full > 0) {
    if (full > 1 || rest > 0) lines.push_back(fmt::format("# on {} node{}:", full, full > 1 ? "s each" : ""));
    lines.push_back(node_command(o, on_node));
  }
  if (rest > 0) {
    if (full > 0) lines.push_back("# on one more:");
    lines.push_back(node_command(o, rest));
  }
  return lines;
}

Lines router_lines(EngineKind engine, Count prefill_servers, Count decode_servers) {
  switch (engine) {
    case EngineKind::sglang:
      return {fmt::format("# {} prefill and {} decode servers; name each:", prefill_servers, decode_servers),
              "python -m sglang_router.launch_router --pd-disaggregation --prefill http://HOST:30100 --decode "
              "http://HOST:30200"};
    case EngineKind::trtllm:
      return {fmt::format("# disagg.yaml: {} urls under context_servers (HOST:8100 ...), {} under generation_servers "
                          "(HOST:8200 ...)",
                          prefill_servers, decode_servers),
              "trtllm-serve disaggregated -c disagg.yaml"};
    default:
      return {fmt::format("# {} prefill and {} decode servers; name each (vLLM's example proxy, "
                          "tests/v1/kv_connector/nixl_integration):",
                          prefill_servers, decode_servers),
              "python toy_proxy_server.py --prefiller-hosts HOST --prefiller-ports 8100 --decoder-hosts HOST "
              "--decoder-ports 8200"};
  }
}

}  // namespace tilecast
