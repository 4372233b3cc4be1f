// A planned deployment for docker compose and for Kubernetes.
#include <fmt/format.h>

#include "serve/launch_blanks.h"
#include "serve/launch_files.h"
#include "serve/launch_words.h"

namespace tilecast {
namespace {

// ---- docker compose

// Containers share their host's network, so that ports are those of launch.sh.
FillPlace in_compose(const std::vector<ServerPlace>& places, int node, std::string here) {
  const int hosts = host_count(places);
  return [&places, node, hosts, here = std::move(here)](std::string_view place) -> std::string {
    if (place == "here") return here;
    int host = node;
    if (place.starts_with("server:")) host = places[static_cast<std::size_t>(place_number(place))].node;
    else if (place.starts_with("node:")) host = place_number(place);
    return hosts == 1 ? "127.0.0.1" : fmt::format("${{HOST{}:?the address of host {}}}", host, host);
  };
}

std::string compose_devices(const LaunchOptions& o, const ServerPlace& p) {
  if (o.amd) return "    devices: [\"/dev/kfd\", \"/dev/dri\"]\n    group_add: [\"video\"]\n";
  std::string ids;
  for (int i = 0; i < p.gpus; ++i) ids += fmt::format("{}\"{}\"", i > 0 ? ", " : "", p.first_gpu + i);
  return fmt::format(
      "    deploy:\n      resources:\n        reservations:\n          devices:\n            - driver: nvidia\n"
      "              device_ids: [{}]\n              capabilities: [gpu]\n",
      ids);
}

std::string compose_service(const std::string& name, const std::string& image, const LaunchCommand& command,
                            const FillPlace& fill, int node, int hosts, bool reads_weights) {
  std::string text = fmt::format("  {}:\n    image: {}\n", name, yaml_string(image));
  if (hosts > 1) text += fmt::format("    profiles: [\"host{}\"]\n", node);
  text += "    network_mode: host\n    ipc: host\n    restart: unless-stopped\n";
  // Pinned memory of NCCL, NIXL and MPI, threads of the engines: containers' own limits are too low for them.
  if (reads_weights) text += "    ulimits:\n      memlock: -1\n      stack: 67108864\n";
  text += fmt::format("    entrypoint: {}\n    command: []\n", compose_list(command.words, fill));
  if (reads_weights || !command.environment.empty()) text += "    environment:\n";
  if (reads_weights) text += "      HF_TOKEN: \"${HF_TOKEN:-}\"\n";
  for (const auto& [key, value] : command.environment)
    text += fmt::format("      {}: {}\n", key, compose_string(value, fill));
  return text;
}

std::string compose_volumes(const std::string& model) {
  std::string text =
      "    volumes:\n      - \"${HF_HOME:-~/.cache/huggingface}:/root/.cache/huggingface\"\n      - \"./:/plan:ro\"\n";
  // A checkpoint on disk is at the same place inside.
  if (model.starts_with('/')) text += fmt::format("      - {}\n", compose_string(model + ":" + model + ":ro", {}));
  return text;
}

std::string compose_server(const DeploymentLaunch& d, const std::vector<ServerPlace>& places, const ServerPlace& p,
                           int rank) {
  const LaunchOptions& o = d.pools[p.pool];
  LaunchCommand c = server_command(o, p, rank);
  if (c.empty()) return "";
  if (o.amd) {
    std::string list;
    for (int i = 0; i < p.gpus; ++i) list += fmt::format("{}{}", i > 0 ? "," : "", p.first_gpu + i);
    c.environment.emplace_back("HIP_VISIBLE_DEVICES", list);
  }
  const std::string name =
      fmt::format("{}-{}{}", name_of(o.role), p.index, p.nodes > 1 ? fmt::format("-rank-{}", rank) : "");
  return compose_service(name, image_of(o), c, in_compose(places, p.node + rank, "/plan"), p.node + rank,
                         host_count(places), true) +
         compose_volumes(o.model) + compose_devices(o, p);
}

// A router whose file names hosts fills them in as it starts; one that nobody packages is fetched.
std::string compose_router(const DeploymentLaunch& d, const std::vector<ServerPlace>& places) {
  const RouterLaunch r = router_launch(d.pools, places);
  if (r.empty()) return "";
  const int hosts = host_count(places);
  const bool fills = !r.config.empty() && hosts > 1, fetches = !r.fetch_url.empty();
  const FillPlace fill = in_compose(places, 0, fills || fetches ? "/tmp" : "/plan");
  LaunchCommand c = r.command;
  if (fills || fetches) {
    std::string script;
    if (fills)
      script += fmt::format("sed {} /plan/{}.in >/tmp/{} && ",
                            sed_hosts(hosts, [](int i) { return fmt::format("{{node:{}}}", i); }), r.config_name,
                            r.config_name);
    if (fetches)
      script += fmt::format("python3 -c 'import urllib.request as u; u.urlretrieve(\"{}\", \"/tmp/{}\")' && ",
                            r.fetch_url, r.fetched);
    script += "exec";
    // Its own places stay for compose to fill in.
    for (const std::string& word : c.words)
      script += " " + (has_places(word) ? "\"" + word + "\"" : shell_word(word, {}));
    c.words = {"bash", "-c", script};
  }
  if (r.image.starts_with("nginx") && fills) c.words.front() = "sh";
  return compose_service("router", r.image, c, fill, 0, hosts, false) + "    volumes:\n      - \"./:/plan:ro\"\n";
}

// ---- Kubernetes

std::string pool_name(const LaunchOptions& o) { return fmt::format("tilecast-{}", name_of(o.role)); }

// The pod of a server's first node.
std::string pod_of(const DeploymentLaunch& d, const std::vector<ServerPlace>& places, std::size_t server) {
  const ServerPlace& p = places[server];
  std::size_t first = 0;
  while (places[first].pool != p.pool) ++first;
  if (runs_under_mpi(d.pools[p.pool], p))
    return mpi_server_name(d.pools[p.pool], static_cast<int>(server - first)) + "-http";
  const std::string name = pool_name(d.pools[p.pool]);
  return fmt::format("{0}-{1}.{0}", name, static_cast<int>(server - first) * p.nodes);
}

// Within a server's own pods: their number says which server and which of its nodes they are.
std::string in_a_pod(std::string_view place) {
  if (place == "here") return "/plan";
  if (place == "self") return "${POD_IP}";
  if (place == "rank") return "${rank}";
  if (place.starts_with("rank*")) return fmt::format("$((rank * {}))", place_number(place));
  return "${head}";
}

std::string pod_script(const LaunchOptions& o, const ServerPlace& p) {
  const std::string name = pool_name(o);
  std::string text = fmt::format(
      "ordinal=\"${{HOSTNAME##*-}}\"\nrank=\"$((ordinal % {}))\"\nexport head=\"{}-$((ordinal - rank)).{}\"\n", p.nodes,
      name, name);
  const auto line = [&](const LaunchCommand& c) { return "exec env " + shell_line(c, in_a_pod) + "\n"; };
  if (p.nodes == 1) return text + line(server_command(o, p, 0));
  return text + "if [ \"$rank\" -eq 0 ]; then\n  " + line(server_command(o, p, 0)) + "fi\n" +
         line(server_command(o, p, kAnyRank));
}

constexpr std::string_view kPodEnvironment = R"(          env:
            - name: POD_IP
              valueFrom:
                fieldRef:
                  fieldPath: status.podIP
            - name: HF_TOKEN
              valueFrom:
                secretKeyRef:
                  name: huggingface
                  key: token
                  optional: true
)";

// `selector`: the label of its pods, "app: tilecast-router".
std::string service(const std::string& name, const std::string& selector, int port, int target, bool headless) {
  return fmt::format(
      "---\napiVersion: v1\nkind: Service\nmetadata:\n  name: {}\nspec:\n{}  selector:\n    {}\n  ports:\n"
      "    - name: http\n      port: {}\n      targetPort: {}\n",
      name, headless ? "  clusterIP: None\n  publishNotReadyAddresses: true\n" : "", selector, port, target);
}

// Of a server over several nodes the first alone answers: the others have no API, or a stand-in for one. All pods of a
// set have one template, so that theirs finds out which pod it is in.
std::string readiness_probe(const ServerPlace& p) {
  const std::string head =
      p.nodes == 1 ? fmt::format("            httpGet:\n              path: /health\n              port: {}\n", p.port)
                   : fmt::format(
                         "            exec:\n              command:\n                - bash\n                - -c\n"
                         "                - |\n"
                         "                  [ \"$(( ${{HOSTNAME##*-}} % {} ))\" -ne 0 ] || exec python3 -c '"
                         "import urllib.request as u; u.urlopen(\"http://127.0.0.1:{}/health\", timeout=8)'\n"
                         "            timeoutSeconds: 10\n",
                         p.nodes, p.port);
  return "          readinessProbe:\n" + head + "            periodSeconds: 10\n";
}

std::string pool_manifest(const LaunchOptions& o, const ServerPlace& p) {
  const std::string name = pool_name(o);
  std::string text = service(name, "app: " + name, p.port, p.port, true);
  text += fmt::format(
      "---\napiVersion: apps/v1\nkind: StatefulSet\nmetadata:\n  name: {0}\nspec:\n  serviceName: {0}\n"
      "  replicas: {1}\n  podManagementPolicy: Parallel\n  selector:\n    matchLabels:\n      app: {0}\n"
      "  template:\n    metadata:\n      labels:\n        app: {0}\n    spec:\n      containers:\n"
      "        - name: server\n          image: {2}\n          command: [\"bash\", \"-c\"]\n          args:\n"
      "            - |\n{3}",
      name, o.copies * p.nodes, yaml_string(image_of(o)), indented(pod_script(o, p), 14));
  text += kPodEnvironment;
  text += fmt::format("          ports:\n            - containerPort: {}\n", p.port);
  text += readiness_probe(p);
  text += fmt::format("          resources:\n            limits:\n              {}.com/gpu: {}\n",
                      o.amd ? "amd" : "nvidia", p.gpus);
  return text +
         "          volumeMounts:\n            - name: shared-memory\n              mountPath: /dev/shm\n"
         "            - name: checkpoints\n              mountPath: /root/.cache/huggingface\n"
         "            - name: plan\n              mountPath: /plan\n"
         "      volumes:\n        - name: shared-memory\n          emptyDir:\n            medium: Memory\n"
         // A pod that starts again finds what it, or another of its node, has fetched.
         "        - name: checkpoints\n          hostPath:\n            path: /var/cache/huggingface\n"
         "            type: DirectoryOrCreate\n"
         "        - name: plan\n          configMap:\n            name: tilecast-plan\n";
}

std::string router_manifest(const DeploymentLaunch& d, const std::vector<ServerPlace>& places) {
  const RouterLaunch r = router_launch(d.pools, places);
  if (r.empty()) {
    const ServerPlace& only = places.front();
    // Not the pods of a server's other nodes: a StatefulSet labels each of its own with its name.
    const std::string selector =
        runs_under_mpi(d.any(), only) ? fmt::format("app: {}-head", mpi_server_name(d.any(), 0))
        : only.nodes > 1              ? fmt::format("statefulset.kubernetes.io/pod-name: {}-0", pool_name(d.any()))
                                      : "app: " + pool_name(d.any());
    return service("tilecast", selector, kRouterPort, only.port, false);
  }
  const FillPlace fill = [&](std::string_view place) -> std::string {
    if (place == "here") return r.fetch_url.empty() ? "/plan" : "/tmp";
    return pod_of(d, places, static_cast<std::size_t>(place_number(place)));
  };
  std::string script;
  if (!r.fetch_url.empty())
    script = fmt::format("python3 -c 'import urllib.request as u; u.urlretrieve(\"{}\", \"/tmp/{}\")'\n", r.fetch_url,
                         r.fetched);
  script += "exec " + shell_line(r.command, fill) + "\n";
  std::string text = service("tilecast", "app: tilecast-router", kRouterPort, kRouterPort, false);
  return text + fmt::format(
                    "---\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: tilecast-router\nspec:\n"
                    "  replicas: 1\n  selector:\n    matchLabels:\n      app: tilecast-router\n  template:\n"
                    "    metadata:\n      labels:\n        app: tilecast-router\n    spec:\n      containers:\n"
                    "        - name: router\n          image: {}\n          command: [\"sh\", \"-ec\"]\n"
                    "          args:\n            - |\n{}          ports:\n            - containerPort: {}\n"
                    "          volumeMounts:\n            - name: plan\n              mountPath: /plan\n"
                    "      volumes:\n        - name: plan\n          configMap:\n            name: tilecast-plan\n",
                    yaml_string(r.image), indented(script, 14), kRouterPort);
}

std::string config_map(const DeploymentLaunch& d, const std::vector<ServerPlace>& places) {
  std::string data;
  const auto add = [&](const std::string& name, const std::string& text) {
    data += fmt::format("  {}: |\n{}", name, indented(text, 4));
  };
  for (const LaunchOptions& o : d.pools)
    if (const std::string config = engine_config(o); !config.empty()) add(engine_config_name(o), config);
  if (const RouterLaunch r = router_launch(d.pools, places); !r.config.empty())
    add(r.config_name, filled(r.config, [&](std::string_view place) {
          return pod_of(d, places, static_cast<std::size_t>(place_number(place)));
        }));
  return "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: tilecast-plan\n" +
         (data.empty() ? std::string("data: {}\n") : "data:\n" + data);
}

}  // namespace

std::string no_compose(const DeploymentLaunch& d) {
  for (const ServerPlace& p : server_places(d.pools))
    if (runs_under_mpi(d.pools[p.pool], p))
      return "No compose.yaml: mpirun starts a server's ranks on its other hosts by ssh, which their containers do not "
             "answer. kubernetes.yaml has what does (MPIJob).";
  return {};
}

std::string compose_file(const DeploymentLaunch& d) {
  const std::vector<ServerPlace> places = server_places(d.pools);
  const int hosts = host_count(places);
  std::string text = headline_comment(d) + blanks_comment(launch_blanks(d.pools)) +
                     fmt::format("# For {}. Start: docker compose up -d\n", release_of(d.any().engine));
  if (hosts > 1)
    text += "# On each host, with the addresses of all in HOST0, HOST1, ...: docker compose --profile host0 up -d\n";
  text += "services:\n";
  for (const ServerPlace& p : places)
    for (int rank = 0; rank < p.nodes; ++rank) text += compose_server(d, places, p, rank);
  return text + compose_router(d, places);
}

std::string kubernetes_file(const DeploymentLaunch& d) {
  const std::vector<ServerPlace> places = pod_places(d.pools);
  std::string text = headline_comment(d) + blanks_comment(launch_blanks(d.pools)) +
                     fmt::format(
                         "# For {}. kubectl apply -f kubernetes.yaml; requests go to the service tilecast, port {}.\n"
                         "# Gated checkpoints: kubectl create secret generic huggingface --from-literal=token=...\n",
                         release_of(d.any().engine), kRouterPort);
  if (!d.any().gpu.empty())
    text += fmt::format(
        "# Its pods need nodes with {}: where a cluster has others too, add a nodeSelector (GPU Feature Discovery "
        "labels\n"
        "# nodes with {}.com/gpu.product).\n",
        d.any().gpu, d.any().amd ? "amd" : "nvidia");
  bool mpi = false, between = d.pools.size() > 1;
  for (const ServerPlace& p : places) {
    mpi = mpi || runs_under_mpi(d.pools[p.pool], p);
    between = between || p.nodes > 1;
  }
  if (between)
    text +=
        "# Pods send each other tensors: give them their nodes' RDMA devices (a device plugin's resource), or "
        "hostNetwork.\n# Over the pods' own network they travel by TCP, slower than forecast.\n";
  if (mpi)
    text +=
        "# Servers over several nodes are MPIJobs: MPI Operator 0.6.0 has to be installed, and the image needs sshd "
        "for\n"
        "# its workers.\n";
  text += config_map(d, places);
  std::size_t next_pool = 0;
  int number = 0;
  for (const ServerPlace& p : places) {
    const bool first = p.pool == next_pool;
    if (first) ++next_pool, number = 0;
    if (runs_under_mpi(d.pools[p.pool], p)) text += mpi_manifest(d.pools[p.pool], p, number++);
    else if (first) text += pool_manifest(d.pools[p.pool], p);
  }
  return text + router_manifest(d, places);
}

}  // namespace tilecast
