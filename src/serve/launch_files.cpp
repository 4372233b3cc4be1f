#include "serve/launch_files.h"

#include <fmt/format.h>

#include "serve/launch_blanks.h"
#include "serve/launch_words.h"

namespace tilecast {
namespace {

// `pasted`: by itself, without the script that knows the hosts.
FillPlace in_a_shell(const std::vector<ServerPlace>& places, int node, bool pasted = false) {
  return [&places, node, alone = pasted && host_count(places) == 1](std::string_view place) -> std::string {
    if (place == "here") return "$PWD";
    if (alone) return "127.0.0.1";
    int host = node;
    if (place.starts_with("server:")) host = places[static_cast<std::size_t>(place_number(place))].node;
    else if (place.starts_with("node:")) host = place_number(place);
    return fmt::format("${{hosts[{}]}}", host);
  };
}

std::string devices_of(const ServerPlace& p) {
  std::string list;
  for (int i = 0; i < p.gpus; ++i) list += fmt::format("{}{}", i > 0 ? "," : "", p.first_gpu + i);
  return list;
}

// The line that starts the part of a server that lies on a host; empty where there is none.
std::string start_line(const DeploymentLaunch& d, const std::vector<ServerPlace>& places, const ServerPlace& p,
                       int node, bool pasted = false) {
  const LaunchOptions& o = d.pools[p.pool];
  LaunchCommand c = server_command(o, p, node - p.node);
  if (c.empty()) return "";
  c.environment.insert(c.environment.begin(), {o.amd ? "HIP_VISIBLE_DEVICES" : "CUDA_VISIBLE_DEVICES", devices_of(p)});
  return shell_line(c, in_a_shell(places, node, pasted));
}

std::vector<LaunchBlank> blanks_where(const DeploymentLaunch& d, const std::function<bool(const LaunchBlank&)>& holds) {
  std::vector<LaunchBlank> blanks = launch_blanks(d.pools);
  std::erase_if(blanks, [&](const LaunchBlank& b) { return !holds(b); });
  return blanks;
}

// What pools apart need beside the engine, and what stands before them.
std::vector<std::string> apart_comment(const DeploymentLaunch& d) {
  if (d.pools.size() < 2) return {};
  const EngineKind engine = d.any().engine;
  std::vector<std::string> lines;
  if (engine == EngineKind::sglang && d.any().amd)
    lines.emplace_back("Keys and values go by Mooncake: pip install mooncake-transfer-engine.");
  else if (engine != EngineKind::trtllm)
    lines.emplace_back("Keys and values go by NIXL: pip install nixl beside the engine.");
  if (engine == EngineKind::vllm)
    lines.emplace_back(
        "The router is the example proxy of vLLM's tests (toy_proxy_server.py), which launch.sh fetches: it takes "
        "turns, and is not meant for production.");
  if (engine == EngineKind::sglang) lines.emplace_back("The router is SGLang's: pip install sglang-router.");
  return lines;
}

std::string script_header(const DeploymentLaunch& d, int hosts) {
  std::string text = "#!/usr/bin/env bash\n" + headline_comment(d);
  text += fmt::format("# For {}.\n", release_of(d.any().engine));
  if (hosts > 1)
    text += fmt::format("# On each of the {} hosts, with its number: HOSTS=\"ADDRESS ...\" bash launch.sh 0\n", hosts);
  for (const std::string& line : apart_comment(d)) text += "# " + line + "\n";
  if (const std::string why = no_compose(d); !why.empty()) text += "# " + why + "\n";
  text += "set -euo pipefail\n" + blanks_guard(blanks_where(d, [](const LaunchBlank& b) { return !b.of_image; }));
  text += "cd \"$(dirname \"${BASH_SOURCE[0]}\")\"\n";
  if (hosts == 1) return text + "hosts=(127.0.0.1)\nnode=0\n";
  return text + fmt::format(
                    "read -r -a hosts <<<\"${{HOSTS:?addresses of the {0} hosts, first to last}}\"\n"
                    "node=\"${{1:?the number of this host, 0 to {1}}}\"\n"
                    "if [ \"${{#hosts[@]}}\" -ne {0} ]; then\n"
                    "  echo \"HOSTS names ${{#hosts[@]}} hosts, the plan has {0}\" >&2\n  exit 2\nfi\n",
                    hosts, hosts - 1);
}

constexpr std::string_view kFunctions = R"(mkdir -p logs
pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true' EXIT

# start NAME COMMAND...: in the background, what it prints in logs/NAME.log
start() {
  local name="$1"
  shift
  "$@" >"logs/$name.log" 2>&1 &
  pids+=("$!")
}

# Until the server at this address is ready; gives up where one of this host's has ended.
await() {
  local pid
  until curl -fsS -o /dev/null "$1" 2>/dev/null; do
    for pid in "${pids[@]}"; do
      kill -0 "$pid" 2>/dev/null || { echo "a server has ended: see logs/" >&2; exit 1; }
    done
    sleep 5
  done
}

)";

std::string router_part(const DeploymentLaunch& d, const std::vector<ServerPlace>& places, int hosts) {
  std::string text = "if [ \"$node\" -eq 0 ]; then\n";
  for (const ServerPlace& p : places)
    text += fmt::format("  await \"http://${{hosts[{}]}}:{}/health\"\n", p.node, p.port);
  const RouterLaunch r = router_launch(d.pools, places);
  if (!r.empty()) {
    if (!r.fetch_url.empty()) text += fmt::format("  [ -f {0} ] || curl -fsSLo {0} {1}\n", r.fetched, r.fetch_url);
    if (!r.config.empty() && hosts > 1)
      text += fmt::format("  sed {0} {1}.in >{1}\n",
                          sed_hosts(hosts, [](int i) { return fmt::format("${{hosts[{}]}}", i); }), r.config_name);
    text += "  start router env " + shell_line(r.command, in_a_shell(places, 0)) + "\n";
  }
  return text + fmt::format("  echo \"requests go to http://${{hosts[0]}}:{}/v1\"\nfi\nwait -n\n", kRouterPort);
}

std::string launch_script(const DeploymentLaunch& d) {
  const std::vector<ServerPlace> places = server_places(d.pools);
  const int hosts = host_count(places);
  std::string text = script_header(d, hosts) + std::string(kFunctions) + "case \"$node\" in\n";
  for (int node = 0; node < hosts; ++node) {
    text += fmt::format("{})\n", node);
    bool any = false;
    for (const ServerPlace& p : places) {
      if (node < p.node || node >= p.node + p.nodes) continue;
      const std::string line = start_line(d, places, p, node);
      if (line.empty()) continue;
      text += fmt::format("  start {}-{}{} env {}\n", name_of(d.pools[p.pool].role), p.index,
                          p.nodes > 1 ? fmt::format("-rank-{}", node - p.node) : "", line);
      any = true;
    }
    if (!any) text += "  echo \"mpirun on another host starts this one's ranks\"\n  exit 0\n";
    text += "  ;;\n";
  }
  text += "*)\n  echo \"the plan has no host $node\" >&2\n  exit 2\n  ;;\nesac\n";
  return text + router_part(d, places, hosts);
}

// The client's flags for lengths; a comment where it cannot draw what was simulated.
void add_lengths(const BenchLoad& b, std::vector<std::string>& words, std::string& comment) {
  const auto add = [&](const char* name, auto value) {
    words.emplace_back(name), words.push_back(fmt::format("{}", value));
  };
  using Kind = LengthDistribution::Kind;
  if (b.prefixes > 0) {
    add("--dataset-name", "prefix_repetition"), add("--prefix-repetition-prefix-len", b.prefix_tokens);
    add("--prefix-repetition-suffix-len", b.input.mean - b.prefix_tokens);
    add("--prefix-repetition-num-prefixes", b.prefixes), add("--prefix-repetition-output-len", b.output.mean);
  } else {
    add("--dataset-name", "random"), add("--random-input-len", b.input.mean);
    add("--random-output-len", b.output.mean);
    const bool uniform = b.input.kind == Kind::uniform && b.output.kind == Kind::uniform;
    if (uniform && b.input.spread == b.output.spread) add("--random-range-ratio", b.input.spread);
  }
  const bool drawn = b.prefixes == 0 && b.input.kind == b.output.kind && b.input.kind != Kind::lognormal &&
                     b.input.spread == b.output.spread;
  const bool fixed = b.input.kind == Kind::fixed && b.output.kind == Kind::fixed;
  if (!drawn && !fixed)
    comment = "# The client does not draw lengths as they were simulated: all are of the mean, so tails will differ.\n";
  if (!b.alike)
    comment +=
        "# Nor does it send recorded arrivals, conversations, classes, adapters or images: the mean load alone.\n";
}

std::string bench_script(const DeploymentLaunch& d) {
  const BenchLoad& b = d.bench;
  std::vector<std::string> words;
  std::string comment;
  add_lengths(b, words, comment);
  const auto add = [&](const char* name, std::string value) {
    words.emplace_back(name), words.push_back(std::move(value));
  };
  words.emplace_back("--ignore-eos");
  add("--num-prompts", fmt::format("{}", b.requests));
  add("--request-rate", b.in_flight > 0 ? "inf" : fmt::format("{:g}", b.rate));
  if (b.in_flight == 0 && b.burstiness != 1) add("--burstiness", fmt::format("{:g}", b.burstiness));
  if (b.in_flight > 0) add("--max-concurrency", fmt::format("{}", b.in_flight));
  add("--seed", fmt::format("{}", b.seed));
  add("--percentile-metrics", "ttft,tpot,itl,e2el"), add("--metric-percentiles", "50,90,99");
  if (b.slo.any()) {
    words.emplace_back("--goodput");
    const auto objective = [&](const char* name, const std::optional<Seconds>& t) {
      if (t) words.push_back(fmt::format("{}:{:g}", name, in_milliseconds(*t)));
    };
    objective("ttft", b.slo.ttft), objective("tpot", b.slo.tpot), objective("e2el", b.slo.e2el);
  }
  std::string flags;
  for (const std::string& word : words) flags += (word.starts_with("--") ? " \\\n  " : " ") + shell_word(word, {});
  return "#!/usr/bin/env bash\n" + headline_comment(d) +
         "# Sends the load that was simulated, by the client of vLLM 0.14.0 (pip install vllm==0.14.0), and prints "
         "the\n"
         "# same figures. HOST: where launch.sh 0 runs.\n" +
         comment + "set -euo pipefail\n" +
         blanks_guard(blanks_where(d, [](const LaunchBlank& b) { return b.of_client; })) +
         fmt::format(
             "exec vllm bench serve --backend openai --endpoint /v1/completions \\\n"
             "  --base-url \"http://${{HOST:-127.0.0.1}}:{}\" \\\n  --model {}{} \\\n"
             "  --save-result --result-filename bench.json \"$@\"\n",
             kRouterPort, shell_word(served_model(d.any()), {}), flags);
}

}  // namespace

std::string headline_comment(const DeploymentLaunch& d) {
  std::string text;
  const auto add = [&](const std::string& line) {
    text += "# ";
    for (const char c : line) text += c >= 0 && c < ' ' ? ' ' : c;  // a name must not end the comment
    text += '\n';
  };
  for (const std::string& line : d.headline) add(line);
  for (const std::string& note : launch_notes(d.any())) add("Note: " + note + ".");
  return text;
}

std::string config_for_hosts(const std::string& config, const std::vector<ServerPlace>& places) {
  const int hosts = host_count(places);
  return filled(config, [&](std::string_view place) -> std::string {
    if (hosts == 1) return "127.0.0.1";
    return fmt::format("@host{}@", places[static_cast<std::size_t>(place_number(place))].node);
  });
}

std::string sed_hosts(int hosts, const std::function<std::string(int)>& host) {
  std::string text;
  for (int i = 0; i < hosts; ++i) text += fmt::format("{}-e \"s/@host{}@/{}/g\"", i > 0 ? " " : "", i, host(i));
  return text;
}

std::vector<std::string> launch_lines(const DeploymentLaunch& d) {
  const std::vector<ServerPlace> places = server_places(d.pools);
  const int hosts = host_count(places);
  std::vector<std::string> lines;
  for (const std::string& note : launch_notes(d.any())) lines.push_back("# " + note);
  if (hosts > 1) lines.push_back(fmt::format("# on every host: hosts=(...), the addresses of all {}", hosts));
  for (int node = 0; node < hosts; ++node) {
    if (hosts > 1) lines.push_back(fmt::format("# on host {}:", node));
    for (const ServerPlace& p : places) {
      if (node < p.node || node >= p.node + p.nodes) continue;
      if (const std::string line = start_line(d, places, p, node, true); !line.empty()) lines.push_back(line + " &");
    }
  }
  const RouterLaunch r = router_launch(d.pools, places);
  if (r.empty()) return lines;
  lines.push_back(fmt::format("# in front of them, where clients ask{}:", hosts > 1 ? ", on host 0" : ""));
  if (!r.fetch_url.empty()) lines.push_back(fmt::format("curl -fsSLo {} {}", r.fetched, r.fetch_url));
  if (!r.config.empty()) lines.push_back(fmt::format("# {} as --save-dir writes it", r.config_name));
  lines.push_back(shell_line(r.command, in_a_shell(places, 0, true)));
  return lines;
}

std::vector<LaunchFile> launch_files(const DeploymentLaunch& d) {
  std::vector<LaunchFile> files = {
      {"launch.sh", launch_script(d)}, {"bench.sh", bench_script(d)}, {"kubernetes.yaml", kubernetes_file(d)}};
  if (no_compose(d).empty()) files.insert(files.begin() + 2, {"compose.yaml", compose_file(d)});
  for (const LaunchOptions& pool : d.pools)
    if (const std::string config = engine_config(pool); !config.empty())
      files.push_back({engine_config_name(pool), config});
  const std::vector<ServerPlace> places = server_places(d.pools);
  if (const RouterLaunch r = router_launch(d.pools, places); !r.config.empty())
    files.push_back({r.config_name + (host_count(places) > 1 ? ".in" : ""), config_for_hosts(r.config, places)});
  return files;
}

}  // namespace tilecast
