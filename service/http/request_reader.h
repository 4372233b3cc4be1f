// Bytes of a connection to requests. Stricter than HTTP/1.1 asks for where two readers of the same bytes could come to
// different requests (RFC 9112, section 11.2): what is ambiguous is refused, and the connection with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "service/http/message.h"

namespace tilecast {

struct HttpReaderLimits {
  std::size_t header_bytes = 16 << 10;
  std::size_t header_fields = 100;
  std::size_t body_bytes = 64 << 20;
};

// Why a request is refused before anybody answers it.
struct HttpRefusal {
  int status = 400;
  Error problem;
};

class HttpRequestReader {
 public:
  enum class State { header, body, whole, refused };

  explicit HttpRequestReader(HttpReaderLimits limits) : limits_(limits) {}

  // Takes bytes in, as far as the request goes; what follows it is kept for the next.
  State put(std::string_view bytes);
  State state() const { return state_; }
  // Whether anything of a request has come.
  bool begun() const { return state_ != State::header || !pending_.empty(); }
  std::size_t buffered() const { return pending_.size() + request_.body.size(); }

  // Its header, as soon as that is whole; the body in state `whole`.
  const HttpRequest& request() const { return request_; }
  const HttpRefusal& refusal() const { return refusal_; }
  // The client waits for a word before it sends its body.
  bool expects_continue() const { return expects_continue_; }
  std::size_t body_size() const { return body_size_; }

  // The request, and on to the next one.
  HttpRequest take();

 private:
  State refuse(int status, std::string problem, std::string remedy);
  State refuse_characters();
  State read_header();
  State read_body();
  State check_header();
  std::optional<HttpRefusal> body_refusal();

  HttpReaderLimits limits_;
  State state_ = State::header;
  std::string pending_;  // bytes that belong to no part yet
  std::size_t searched_ = 0;
  std::size_t body_size_ = 0;
  bool expects_continue_ = false;
  int version_ = 11;
  std::string target_;
  HttpRequest request_;
  HttpRefusal refusal_;
};

}  // namespace tilecast
