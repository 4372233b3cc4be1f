// A planned deployment as files: what starts it on hosts, in containers and in pods, what configures it, and what
// checks the forecast.
#pragma once

#include "serve/launch_command.h"
#include "tilecast/plan.h"

namespace tilecast {

// launch.sh, compose.yaml, kubernetes.yaml, bench.sh and the configuration files they name.
std::vector<LaunchFile> launch_files(const DeploymentLaunch& launch);
// The commands of launch.sh alone, a host's after a comment that names it.
std::vector<std::string> launch_lines(const DeploymentLaunch& launch);

// One of the files each (serve/launch_containers.cpp).
std::string compose_file(const DeploymentLaunch& launch);
// Why there is no compose.yaml; empty where there is one.
std::string no_compose(const DeploymentLaunch& launch);
std::string kubernetes_file(const DeploymentLaunch& launch);

// A server whose nodes MPI starts together, as a manifest of its own (serve/launch_mpi.cpp); `number` counts those of
// its pool. Its HTTP server is reached by the name with -http behind it.
bool runs_under_mpi(const LaunchOptions& options, const ServerPlace& place);
std::string mpi_server_name(const LaunchOptions& options, int number);
std::string mpi_manifest(const LaunchOptions& options, const ServerPlace& place, int number);

// As comments of a shell or of YAML.
std::string headline_comment(const DeploymentLaunch& launch);
// Configuration files of routers name hosts; where there are several, `@host1@` stands for the second.
std::string config_for_hosts(const std::string& config, const std::vector<ServerPlace>& places);
// sed's part of filling these in: -e "s/@host1@/${hosts[1]}/g" ..., `host` giving what the shell expands.
std::string sed_hosts(int hosts, const std::function<std::string(int)>& host);

}  // namespace tilecast
