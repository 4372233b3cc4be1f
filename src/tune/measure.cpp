#include "tune/measure.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>

#include "support/csv.h"
#include "support/text.h"

namespace tilecast {
namespace {

constexpr std::size_t kMostOutput = 1 << 20;  // a command that prints more is not one of ours
constexpr double kMostMicroseconds = 1e9;

std::string arguments(std::span<const TritonConfig> configs) {
  std::string text;
  for (const TritonConfig& config : configs) text += " " + text_of(config);
  return text;
}

// Everything `pipe` gives until its end. Nothing: the time was up, or there was too much.
std::optional<std::string> read_until(int pipe, std::chrono::steady_clock::time_point end) {
  std::string text;
  std::array<char, 4096> part{};
  while (text.size() < kMostOutput) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
    pollfd wait{pipe, POLLIN, 0};
    if (left <= 0) return std::nullopt;
    if (poll(&wait, 1, static_cast<int>(std::min<long>(left, 1000000))) <= 0) continue;  // time, or a signal
    const ssize_t got = read(pipe, part.data(), part.size());
    if (got < 0) return std::nullopt;
    if (got == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  return std::nullopt;
}

// Its exit status; nothing when the time is up first.
std::optional<int> wait_until(pid_t child, std::chrono::steady_clock::time_point end) {
  for (int status = 0;; usleep(10000)) {
    if (waitpid(child, &status, WNOHANG) == child) return status;
    if (std::chrono::steady_clock::now() > end) return std::nullopt;
  }
}

}  // namespace

MeasuredConfigs read_measured(std::string_view output, std::span<const TritonConfig> asked) {
  MeasuredConfigs found;
  for (const TritonConfig& config : asked) found[config] = {std::nullopt, "not in the command's output"};
  for (const std::string& line : split(output, '\n')) {
    const std::size_t space = line.find_first_of(" \t");
    const auto config = triton_config_from(std::string_view(line).substr(0, space));
    const auto entry = config ? found.find(*config) : found.end();
    if (entry == found.end() || space == std::string::npos) continue;
    std::string rest = line.substr(std::min(line.size(), line.find_first_not_of(" \t", space)));
    while (!rest.empty() && std::isspace(static_cast<unsigned char>(rest.back()))) rest.pop_back();
    const std::optional<double> us = to_double(rest);
    if (us && *us > 0 && *us < kMostMicroseconds) entry->second = {microseconds(*us), ""};
    else entry->second = {std::nullopt, rest.starts_with("failed ") ? rest.substr(7) : "'" + rest + "' is not a time"};
  }
  return found;
}

Result<std::string> output_of(const std::string& command, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  const auto problem = [&](std::string what) { return Error{"", "measure", std::move(what), "command: " + command}; };
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return problem("no pipe to the command");
  const pid_t child = fork();
  if (child < 0) return close(ends[0]), close(ends[1]), problem("the command cannot start");
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);  // an interrupted tilecast leaves no command behind
    setpgid(0, 0);                     // so that all it starts can be ended with it
    dup2(ends[1], STDOUT_FILENO);
    execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  setpgid(child, child);  // whoever comes first
  close(ends[1]);
  std::optional<std::string> text = read_until(ends[0], end);
  close(ends[0]);
  const std::optional<int> status = text ? wait_until(child, end) : std::nullopt;
  if (!status) {
    kill(-child, SIGKILL);
    waitpid(child, nullptr, 0);
    return problem(fmt::format("was not done within {:.3g} s, or printed more than 1 MiB",
                               std::chrono::duration<double>(limit).count()));
  }
  if (WIFEXITED(*status) && WEXITSTATUS(*status) == 0) return std::move(*text);
  return problem(WIFEXITED(*status) ? fmt::format("ended with status {}", WEXITSTATUS(*status))
                                    : fmt::format("was ended by signal {}", WTERMSIG(*status)));
}

std::string measure_command(const std::string& command, const Moe& s, std::span<const TritonConfig> configs) {
  // Of a token's experts, those on this rank in the mean.
  const Count topk = std::clamp<Count>((s.topk + s.ep / 2) / s.ep, 1, s.local_experts());
  return fmt::format("{} --tokens {} --hidden {} --inter {} --experts {} --topk {}{}", command, s.tokens, s.hidden,
                     s.local_inter(), s.local_experts(), topk, arguments(configs));
}

std::string measure_command(const std::string& command, const GemmProblem& s, std::span<const TritonConfig> configs) {
  return fmt::format("{} --tokens {} --hidden {} --inter {} --experts 1 --topk 1 --pass down{}", command, s.m, s.n, s.k,
                     arguments(configs));
}

}  // namespace tilecast
