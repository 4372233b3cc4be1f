#include "service/http/run.h"

#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "service/http/access_log.h"
#include "service/http/service.h"
#include "support/input.h"

namespace tilecast {
namespace {

// An empty folder to stand in: a relative name of anything finds nothing there.
class EmptyFolder {
 public:
  EmptyFolder() {
    std::error_code failure;
    const auto temporary = std::filesystem::temp_directory_path(failure);
    path_ = ((failure ? std::filesystem::path("/tmp") : temporary) / "tilecast-http-XXXXXX").string();
    if (!mkdtemp(path_.data())) path_ = "/";
    std::filesystem::current_path(path_, failure);
  }
  EmptyFolder(const EmptyFolder&) = delete;
  EmptyFolder& operator=(const EmptyFolder&) = delete;
  ~EmptyFolder() {
    if (path_ != "/") rmdir(path_.c_str());
  }

 private:
  std::string path_;
};

// Blocks as large as bodies, traces and what is unpacked of them go back to the system as soon as they are freed. By
// itself glibc keeps them once it has seen some, for each thread apart, and a service that was sent large files would
// stay large.
void give_back_large_blocks() {
#ifdef __GLIBC__
  constexpr int kLarge = 256 << 10, kArenas = 4;
  mallopt(M_MMAP_THRESHOLD, kLarge);
  mallopt(M_ARENA_MAX, kArenas);
#endif
}

void print_lines(const std::string& lines) { std::fwrite(lines.data(), 1, lines.size(), stderr); }

}  // namespace

Status run_http(const HttpOptions& options, const AnswerDrawings& drawings) {
  auto settings = server_settings(options);
  if (!settings) return std::move(settings).error();
  auto token = token_of(options);
  if (!token) return std::move(token).error();
  settings->signals = true;
  std::signal(SIGPIPE, SIG_IGN);  // whoever reads the log may leave
  give_back_large_blocks();
  restrict_inputs({});
  const EmptyFolder nothing;
  std::optional<AccessLog> log;
  if (options.log == HttpLog::json) log.emplace(print_lines);
  HttpServiceSettings service_settings;
  service_settings.guard = {*token, is_loopback(options.host), options.allow_host, options.allow_origin};
  service_settings.jobs.threads = settings->long_threads;
  service_settings.jobs.most = static_cast<std::size_t>(options.jobs);
  service_settings.time = std::chrono::milliseconds(static_cast<long>(1e3 * options.time_limit));
  if (log) service_settings.log = [&log](const HttpExchange& exchange) { log->add(exchange); };
  service_settings.drawings = &drawings;
  HttpService service(std::move(service_settings));
  auto server = HttpServer::open(*settings, service.handler());
  if (!server) return std::move(server).error();
  service.watch([&server] { return (*server)->load(); });
  const bool six = settings->host.find(':') != std::string::npos;
  fmt::print(stderr, "tilecast: http://{}{}{}:{}\n", six ? "[" : "", settings->host, six ? "]" : "", (*server)->port());
  (*server)->run();
  return Ok{};
}

}  // namespace tilecast
