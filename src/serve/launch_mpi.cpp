// TensorRT-LLM's servers over several nodes on Kubernetes: one MPI world each, which MPI Operator 0.6.0 makes
// (kubeflow/mpi-operator, apiVersion kubeflow.org/v2beta1; sdk/python/v2beta1/docs/V2beta1MPIJobSpec.md has the
// fields). Its first pod runs mpirun and, as a worker itself (runLauncherAsWorker, since 0.5.0), rank 0 with the HTTP
// server; the others wait for it with sshd. No probe says when it is ready: the operator's own service gives out names
// of ready pods alone, and mpirun needs its pod's before there is a server.
#include <fmt/format.h>

#include "serve/launch_files.h"
#include "serve/launch_words.h"

namespace tilecast {
namespace {

// As launch.sh starts it; hosts come from the operator's own list.
std::string mpi_script(const LaunchOptions& o, const ServerPlace& p) {
  LaunchCommand c = server_command(o, p, 0);
  std::vector<std::string> words;
  for (std::size_t i = 0; i < c.words.size(); ++i) {
    if (c.words[i] == "-H") ++i;
    else words.push_back(c.words[i]);
  }
  c.words = std::move(words);
  return "exec " + shell_line(c, [](std::string_view) { return std::string("/plan"); }) + "\n";
}

// A pod that has a node's GPUs; `script` empty: it waits for mpirun.
std::string mpi_pod(const LaunchOptions& o, const ServerPlace& p, const std::string& app, const std::string& script) {
  std::string text =
      fmt::format("metadata:\n  labels:\n    app: {}\nspec:\n  containers:\n    - name: server\n      image: {}\n", app,
                  yaml_string(image_of(o)));
  if (!script.empty())
    text += fmt::format("      command: [\"bash\", \"-c\"]\n      args:\n        - |\n{}", indented(script, 10));
  text +=
      "      env:\n        - name: HF_TOKEN\n          valueFrom:\n            secretKeyRef:\n"
      "              name: huggingface\n              key: token\n              optional: true\n";
  if (!script.empty()) text += fmt::format("      ports:\n        - containerPort: {}\n", p.port);
  return text + fmt::format(
                    "      resources:\n        limits:\n          {}.com/gpu: {}\n"
                    "      volumeMounts:\n        - name: shared-memory\n          mountPath: /dev/shm\n"
                    "        - name: checkpoints\n          mountPath: /root/.cache/huggingface\n"
                    "        - name: plan\n          mountPath: /plan\n"
                    "  volumes:\n    - name: shared-memory\n      emptyDir:\n        medium: Memory\n"
                    "    - name: checkpoints\n      hostPath:\n        path: /var/cache/huggingface\n"
                    "        type: DirectoryOrCreate\n"
                    "    - name: plan\n      configMap:\n        name: tilecast-plan\n",
                    o.amd ? "amd" : "nvidia", p.gpus);
}

}  // namespace

bool runs_under_mpi(const LaunchOptions& o, const ServerPlace& p) {
  return o.engine == EngineKind::trtllm && p.nodes > 1;
}

std::string mpi_server_name(const LaunchOptions& o, int number) {
  return fmt::format("tilecast-{}-{}", name_of(o.role), number);
}

std::string mpi_manifest(const LaunchOptions& o, const ServerPlace& p, int number) {
  const std::string name = mpi_server_name(o, number), head = name + "-head";
  std::string text = fmt::format(
      "---\napiVersion: v1\nkind: Service\nmetadata:\n  name: {0}-http\nspec:\n  selector:\n    app: {1}\n  ports:\n"
      "    - name: http\n      port: {2}\n      targetPort: {2}\n",
      name, head, p.port);
  text += fmt::format(
      "---\napiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata:\n  name: {}\nspec:\n  slotsPerWorker: {}\n"
      "  runLauncherAsWorker: true\n  launcherCreationPolicy: WaitForWorkersReady\n  runPolicy:\n"
      "    cleanPodPolicy: Running\n  mpiReplicaSpecs:\n",
      name, p.gpus);
  text += fmt::format("    Launcher:\n      replicas: 1\n      template:\n{}",
                      indented(mpi_pod(o, p, head, mpi_script(o, p)), 8));
  return text + fmt::format("    Worker:\n      replicas: {}\n      template:\n{}", p.nodes - 1,
                            indented(mpi_pod(o, p, name + "-worker", ""), 8));
}

}  // namespace tilecast
