// Sockets to requests, responses to sockets. One thread reads and writes all connections and never waits for any; those
// of the lanes answer. Whoever is slow costs a connection of a bounded number for a bounded time, and no thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "service/http/message.h"
#include "service/http/request_reader.h"

namespace tilecast {

struct HttpServerSettings {
  std::string host = "127.0.0.1";
  std::uint16_t port = 8421;  // 0: any that is free
  HttpReaderLimits reader = {};
  std::size_t connections = 512;
  std::size_t buffered_bytes = std::size_t{256} << 20;  // of bodies of all connections together
  int quick_threads = 2, long_threads = 1;
  std::size_t quick_queue = 1024, long_queue = 16;
  std::chrono::milliseconds header_time{10'000}, body_time{30'000}, idle_time{60'000}, write_time{30'000};
  std::chrono::milliseconds grace{10'000};  // for what is under way when the service is told to end
  bool signals = false;                     // ends on SIGINT and SIGTERM
};

// What became of one request: for the log and for the counters.
struct HttpExchange {
  std::string peer = {}, method = {}, path = {};
  int status = 0;
  std::size_t received = 0, sent = 0;  // bytes of bodies
  double seconds = 0;                  // from its first byte to the response's last
  std::string reason = {};             // of a refusal
};

enum class HttpLaneKind { at_once, quick, lengthy };

struct HttpHandler {
  // Of a request whose body has not come yet: a refusal, if any. At once, on the thread of the sockets.
  std::function<std::optional<HttpResponse>(const HttpRequest&)> refuse;
  std::function<HttpLaneKind(const HttpRequest&)> lane;
  // On a thread of its lane; several at a time.
  std::function<HttpResponse(HttpRequest)> answer;
  std::function<void(const HttpExchange&)> done;
};

struct HttpLoad {
  std::size_t connections = 0, buffered_bytes = 0, quick_waiting = 0, quick_running = 0, long_waiting = 0,
              long_running = 0;
};

class HttpServer {
 public:
  static Result<std::unique_ptr<HttpServer>> open(const HttpServerSettings& settings, HttpHandler handler);
  virtual ~HttpServer() = default;
  virtual std::uint16_t port() const = 0;
  // Until it is told to end and has finished what it had.
  virtual void run() = 0;
  // From any thread: no new requests; what is under way is answered first.
  virtual void stop() = 0;
  virtual HttpLoad load() const = 0;
};

}  // namespace tilecast
