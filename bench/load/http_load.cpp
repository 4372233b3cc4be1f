// Load on a running `tilecast http`: many connections kept alive, one request on each at a time.
//
//   http_load PORT PATH BODY SECONDS CONNECTIONS [RATE]
//
// Without a rate as fast as answers come. With one, requests are due at even times whether answers came or not, and
// latencies count from when a request was due, so that a server that stalls cannot hide it. Prints one line.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

struct Connection {
  int socket = -1;
  bool busy = false;
  Clock::time_point due;
  std::string input;
};

int connected_socket(int port) {
  const int s = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET, to.sin_port = htons(static_cast<std::uint16_t>(port)),
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int yes = 1;
  setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  if (connect(s, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) return -1;
  return s;
}

// The length of the whole response at the beginning of a text, 0 where it has not come.
std::size_t whole_response(const std::string& text) {
  const auto end = text.find("\r\n\r\n");
  if (end == std::string::npos) return 0;
  const auto length = text.find("Content-Length: ");
  const std::size_t body = length < end ? static_cast<std::size_t>(std::atoll(text.c_str() + length + 16)) : 0;
  return text.size() >= end + 4 + body ? end + 4 + body : 0;
}

class Load {
 public:
  Load(int port, std::string request, int connections, double rate)
      : request_(std::move(request)),
        rate_(rate),
        poll_(epoll_create1(0)),
        all_(static_cast<std::size_t>(connections)) {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      all_[i].socket = connected_socket(port);
      epoll_event event{};
      event.events = EPOLLIN, event.data.u64 = i;
      epoll_ctl(poll_, EPOLL_CTL_ADD, all_[i].socket, &event);
    }
  }
  void run(double seconds) {
    begin_ = Clock::now();
    std::vector<epoll_event> events(all_.size());
    while (since(begin_) < seconds) {
      send_due();
      const int ready = epoll_wait(poll_, events.data(), static_cast<int>(events.size()), 1);
      for (int i = 0; i < ready; ++i) receive(all_[events[static_cast<std::size_t>(i)].data.u64]);
    }
    seconds_ = since(begin_);
  }
  void print() {
    std::sort(latencies_.begin(), latencies_.end());
    const auto at = [&](double share) {
      return latencies_.empty()
                 ? 0
                 : 1e3 * latencies_[static_cast<std::size_t>(share * static_cast<double>(latencies_.size() - 1))];
    };
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const double cpu = static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                       1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    fmt::print(
        "{:.0f} answers/s ({} in {:.1f} s, {} not 200, {} never sent), p50 {:.2f} ms, p99 {:.2f} ms, most {:.2f} ms; "
        "client {:.0f} us CPU each\n",
        static_cast<double>(latencies_.size()) / seconds_, latencies_.size(), seconds_, failed_, late_, at(0.5),
        at(0.99), at(1), latencies_.empty() ? 0 : 1e6 * cpu / static_cast<double>(latencies_.size()));
  }

 private:
  void send(Connection& connection, Clock::time_point due) {
    connection.busy = true, connection.due = due;
    if (::send(connection.socket, request_.data(), request_.size(), MSG_NOSIGNAL) < 0) ++failed_;
  }
  void send_due() {
    for (Connection& connection : all_) {
      if (connection.busy) continue;
      if (rate_ <= 0) {
        send(connection, Clock::now());
        continue;
      }
      const auto due = begin_ + std::chrono::duration_cast<Clock::duration>(
                                    std::chrono::duration<double>(static_cast<double>(sent_) / rate_));
      if (due > Clock::now()) return;
      ++sent_;
      send(connection, due);
    }
    if (rate_ > 0)
      late_ = static_cast<std::size_t>(since(begin_) * rate_) -
              std::min(sent_, static_cast<std::size_t>(since(begin_) * rate_));
  }
  void receive(Connection& connection) {
    char block[1 << 16];
    const ssize_t got = recv(connection.socket, block, sizeof block, 0);
    if (got <= 0) {
      ++failed_;
      epoll_ctl(poll_, EPOLL_CTL_DEL, connection.socket, nullptr);
      return;
    }
    connection.input.append(block, static_cast<std::size_t>(got));
    const std::size_t whole = whole_response(connection.input);
    if (whole == 0) return;
    if (!connection.input.starts_with("HTTP/1.1 200")) ++failed_;
    connection.input.erase(0, whole);
    connection.busy = false;
    latencies_.push_back(since(connection.due));
  }

  std::string request_;
  double rate_;
  int poll_;
  std::vector<Connection> all_;
  Clock::time_point begin_;
  double seconds_ = 0;
  std::size_t sent_ = 0, failed_ = 0, late_ = 0;
  std::vector<double> latencies_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) return fmt::print(stderr, "http_load PORT PATH BODY SECONDS CONNECTIONS [RATE]\n"), 2;
  const std::string body = argv[3];
  const std::string request = fmt::format(
      "POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}", argv[2],
      body.size(), body);
  Load load(std::atoi(argv[1]), request, std::atoi(argv[5]), argc > 6 ? std::atof(argv[6]) : 0);
  load.run(std::atof(argv[4]));
  load.print();
  return 0;
}
