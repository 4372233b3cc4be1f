// What stands before several servers: nginx, or the router of their engine. Sources of the flags as in
// launch_command.cpp.
#include <fmt/format.h>

#include "serve/launch_command.h"

namespace tilecast {
namespace {

using Words = std::vector<std::string>;

// "http://{server:0}:8100"
std::string url_of(const ServerPlace& p) { return fmt::format("http://{}:{}", head_of(p), p.port); }

// nginx takes turns by default.
RouterLaunch nginx(const std::vector<ServerPlace>& places, Router router) {
  RouterLaunch r;
  r.config_name = "nginx.conf";
  r.config =
      "worker_processes auto;\nerror_log stderr;\npid /tmp/tilecast-nginx.pid;\n"
      "events {\n  worker_connections 16384;\n}\nhttp {\n  access_log off;\n";
  // Anyone may start it: the folders it is built with are root's.
  for (const char* part : {"client_body", "proxy", "fastcgi", "uwsgi", "scgi"})
    r.config += fmt::format("  {0}_temp_path /tmp/tilecast-nginx-{0};\n", part);
  r.config += "  upstream servers {\n";
  if (router == Router::least_loaded) r.config += "    least_conn;\n";
  if (router == Router::power_of_two) r.config += "    random two least_conn;\n";
  for (const ServerPlace& p : places) r.config += fmt::format("    server {}:{};\n", head_of(p), p.port);
  r.config += fmt::format(
      "    keepalive 1024;\n  }}\n  server {{\n    listen {};\n    client_max_body_size 64m;\n    location / {{\n"
      "      proxy_pass http://servers;\n      proxy_http_version 1.1;\n      proxy_set_header Connection \"\";\n"
      "      proxy_buffering off;\n      proxy_read_timeout 3600s;\n    }}\n  }}\n}}\n",
      kRouterPort);
  r.image = "nginx:1.28";
  r.command.words = {"nginx", "-c", "{here}/" + r.config_name, "-g", "daemon off;"};
  return r;
}

RouterLaunch vllm_proxy(const std::vector<LaunchOptions>& pools, const std::vector<ServerPlace>& places) {
  RouterLaunch r;
  r.fetch_url =
      "https://raw.githubusercontent.com/vllm-project/vllm/v0.14.0/tests/v1/kv_connector/nixl_integration/"
      "toy_proxy_server.py";
  r.fetched = "toy_proxy_server.py";
  Words& w = r.command.words;
  w = {"python3", "{here}/" + r.fetched, "--host", "0.0.0.0", "--port", fmt::format("{}", kRouterPort)};
  for (const ServerRole role : {ServerRole::prefill, ServerRole::decode})
    for (const bool host : {true, false}) {
      w.push_back(
          fmt::format("--{}-{}", role == ServerRole::prefill ? "prefiller" : "decoder", host ? "hosts" : "ports"));
      for (const ServerPlace& p : places)
        if (pools[p.pool].role == role) w.push_back(host ? head_of(p) : fmt::format("{}", p.port));
    }
  r.image = image_of(pools.front());
  return r;
}

std::string_view sglang_policy(Router router) {
  return router == Router::prefix_aware   ? "cache_aware"
         : router == Router::power_of_two ? "power_of_two"
                                          : "round_robin";
}

RouterLaunch sglang_router(const std::vector<LaunchOptions>& pools, const std::vector<ServerPlace>& places) {
  RouterLaunch r;
  Words& w = r.command.words;
  w = {"python3",
       "-m",
       "sglang_router.launch_router",
       "--host",
       "0.0.0.0",
       "--port",
       fmt::format("{}", kRouterPort),
       "--policy",
       std::string(sglang_policy(pools.front().features.router))};
  if (const LaunchFeatures& l = pools.front().features; l.router == Router::prefix_aware)
    for (const auto& [name, value] : {std::pair{"--cache-threshold", l.prefixes.share},
                                      std::pair{"--balance-abs-threshold", static_cast<double>(l.prefixes.apart)},
                                      std::pair{"--balance-rel-threshold", l.prefixes.ratio}})
      w.emplace_back(name), w.push_back(fmt::format("{:g}", value));
  const bool apart = pools.size() > 1;
  w.emplace_back(apart ? "--pd-disaggregation" : "--worker-urls");
  for (const ServerPlace& p : places) {
    if (apart) w.push_back(fmt::format("--{}", name_of(pools[p.pool].role)));
    w.push_back(url_of(p));
    if (pools[p.pool].role == ServerRole::prefill) w.push_back(fmt::format("{}", p.bootstrap_port));
  }
  r.image = image_of(pools.front());
  return r;
}

RouterLaunch trtllm_router(const std::vector<LaunchOptions>& pools, const std::vector<ServerPlace>& places) {
  RouterLaunch r;
  r.config_name = "disagg.yaml";
  r.config = fmt::format("hostname: 0.0.0.0\nport: {}\nbackend: pytorch\n", kRouterPort);
  for (const ServerRole role : {ServerRole::prefill, ServerRole::decode}) {
    std::string urls;
    int number = 0;
    for (const ServerPlace& p : places)
      if (pools[p.pool].role == role) urls += fmt::format("    - \"{}:{}\"\n", head_of(p), p.port), ++number;
    r.config += fmt::format("{}_servers:\n  num_instances: {}\n  urls:\n{}",
                            role == ServerRole::prefill ? "context" : "generation", number, urls);
  }
  r.command.words = {"trtllm-serve", "disaggregated", "-c", "{here}/" + r.config_name};
  r.image = image_of(pools.front());
  return r;
}

}  // namespace

RouterLaunch router_launch(const std::vector<LaunchOptions>& pools, const std::vector<ServerPlace>& places) {
  if (places.size() < 2) return {};
  const EngineKind engine = pools.front().engine;
  const Router router = pools.front().features.router;
  // SGLang's router stands before any server that speaks OpenAI's protocol; least loads are nginx's.
  if (pools.size() == 1 && router == Router::least_loaded) return nginx(places, router);
  if (engine == EngineKind::sglang || router == Router::prefix_aware) return sglang_router(pools, places);
  if (pools.size() == 1) return nginx(places, router);
  return engine == EngineKind::trtllm ? trtllm_router(pools, places) : vllm_proxy(pools, places);
}

}  // namespace tilecast
