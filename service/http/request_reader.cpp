// The only file that sees Beast's parser.
#include "service/http/request_reader.h"

#include <algorithm>
#include <boost/beast/http/basic_parser.hpp>
#include <charconv>

#include "support/text.h"

namespace tilecast {
namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;

std::string lower(std::string_view text) {
  std::string small(text);
  std::transform(small.begin(), small.end(), small.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return small;
}

// The request line and the fields; bodies are counted by the reader itself.
class HeaderParser final : public http::basic_parser<true> {
 public:
  HeaderParser() { skip(true); }
  std::string method, target;
  int version = 11;
  HttpFields fields;

 private:
  using Text = boost::beast::string_view;
  static std::string_view plain(Text text) { return {text.data(), text.size()}; }

  void on_request_impl(http::verb, Text verb, Text where, int number, error_code&) override {
    method = plain(verb), target = plain(where), version = number;
  }
  void on_response_impl(int, Text, int, error_code&) override {}
  void on_field_impl(http::field, Text name, Text value, error_code&) override {
    fields.emplace_back(lower(plain(name)), plain(value));
  }
  void on_header_impl(error_code&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(Text body, error_code&) override { return body.size(); }
  void on_chunk_header_impl(std::uint64_t, Text, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, Text body, error_code&) override { return body.size(); }
  void on_finish_impl(error_code&) override {}
};

// Line ends other than CR LF, folded lines and control characters: read in one way by one server and in another by the
// next.
bool is_plain_header(std::string_view header) {
  for (std::size_t i = 0; i < header.size(); ++i) {
    const auto c = static_cast<unsigned char>(header[i]);
    if (c == '\r') {
      if (i + 1 == header.size() || header[i + 1] != '\n') return false;
      const bool folded = i + 2 < header.size() && (header[i + 2] == ' ' || header[i + 2] == '\t');
      if (folded) return false;
      ++i;
    } else if (c != '\t' && (c < 0x20 || c == 0x7f)) {
      return false;
    }
  }
  return true;
}

std::optional<std::uint64_t> whole_number(std::string_view digits) {
  std::uint64_t value = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.empty() || read.ec != std::errc{} || read.ptr != digits.data() + digits.size()) return {};
  return value;
}

std::size_t times(const HttpFields& fields, std::string_view name) {
  return static_cast<std::size_t>(
      std::count_if(fields.begin(), fields.end(), [&](const auto& field) { return field.first == name; }));
}

}  // namespace

HttpRequestReader::State HttpRequestReader::refuse(int status, std::string problem, std::string remedy) {
  refusal_ = {status, error(std::move(problem), std::move(remedy))};
  pending_.clear();
  return state_ = State::refused;
}

HttpRequestReader::State HttpRequestReader::refuse_characters() {
  return refuse(400, "the header of the request has line ends or characters that HTTP does not allow",
                "end lines with CR LF and fold none");
}

HttpRequestReader::State HttpRequestReader::put(std::string_view bytes) {
  if (state_ == State::refused) return state_;
  if (state_ == State::body && pending_.empty()) {
    const std::size_t wanted = std::min(bytes.size(), body_size_ - request_.body.size());
    request_.body.append(bytes.substr(0, wanted));
    bytes.remove_prefix(wanted);
  }
  pending_.append(bytes);
  if (state_ == State::header) return read_header();
  return state_ == State::body ? read_body() : state_;
}

HttpRequestReader::State HttpRequestReader::read_header() {
  // Empty lines before a request are forgiven (RFC 9112, section 2.2).
  while (pending_.starts_with("\r\n")) {
    pending_.erase(0, 2);
    searched_ = 0;
  }
  const auto end = pending_.find("\r\n\r\n", searched_ > 3 ? searched_ - 3 : 0);
  if (end == std::string::npos ? pending_.size() > limits_.header_bytes : end > limits_.header_bytes)
    return refuse(431, "the header of the request is too long", "send fewer or shorter fields");
  if (end == std::string::npos) {
    // Whoever ends lines in another way would wait in vain for the end.
    // From the last line end on, which what came now may fold.
    const std::string_view before = std::string_view(pending_).substr(0, searched_);
    const std::size_t begin = searched_ - (before.ends_with("\r\n") ? 2u : before.ends_with('\r') ? 1u : 0u);
    const std::size_t stop = pending_.size() - (pending_.ends_with('\r') ? 1 : 0);
    searched_ = pending_.size();
    if (begin < stop && !is_plain_header(std::string_view(pending_).substr(begin, stop - begin)))
      return refuse_characters();
    return state_;
  }
  const std::string header = pending_.substr(0, end + 4);
  pending_.erase(0, end + 4);
  searched_ = 0;
  if (!is_plain_header(std::string_view(header).substr(0, end + 2))) return refuse_characters();
  HeaderParser parser;
  parser.header_limit(static_cast<std::uint32_t>(header.size() + 1));
  error_code failure;
  parser.eager(true);
  parser.put(boost::asio::buffer(header), failure);
  if (failure || !parser.is_header_done())
    return refuse(failure == http::error::bad_version ? 505 : 400, "is not an HTTP/1.1 request: " + failure.message(),
                  "send METHOD /path HTTP/1.1 and fields below");
  request_ = {};
  request_.method = std::move(parser.method), target_ = std::move(parser.target), version_ = parser.version;
  request_.fields = std::move(parser.fields);
  return check_header();
}

HttpRequestReader::State HttpRequestReader::check_header() {
  const HttpFields& fields = request_.fields;
  if (version_ != 11 && version_ != 10) return refuse(505, "HTTP/1.1 is spoken here", "send HTTP/1.1");
  if (fields.size() > limits_.header_fields) return refuse(431, "the request has too many fields", "send fewer");
  if (times(fields, "host") > 1 || (version_ == 11 && times(fields, "host") == 0))
    return refuse(400, "the request must name one Host", "send the field Host once");
  if (!target_.starts_with('/')) return refuse(400, "the address must begin with a slash", "send /path");
  const auto mark = target_.find('?');
  auto path = percent_decoded(std::string_view(target_).substr(0, mark));
  if (!path) return refuse(400, path.error().problem, path.error().remedy);
  request_.path = *std::move(path);
  request_.query = mark == std::string::npos ? "" : target_.substr(mark + 1);
  const std::string connection = lower(request_.field("connection"));
  request_.keep_alive = version_ == 11 ? connection.find("close") == std::string::npos
                                       : connection.find("keep-alive") != std::string::npos;
  if (auto refused = body_refusal()) {
    refusal_ = *std::move(refused);
    pending_.clear();
    return state_ = State::refused;
  }
  state_ = State::body;
  return read_body();
}

std::optional<HttpRefusal> HttpRequestReader::body_refusal() {
  const HttpFields& fields = request_.fields;
  if (request_.has("transfer-encoding"))
    return HttpRefusal{411, error("bodies in chunks are not taken", "send the body's Content-Length")};
  if (request_.has("content-encoding") && lower(request_.field("content-encoding")) != "identity")
    return HttpRefusal{415, error("compressed bodies are not taken", "send the body as it is")};
  if (times(fields, "content-length") > 1)
    return HttpRefusal{400, error("the request has several lengths", "send Content-Length once")};
  if (request_.has("upgrade") && lower(request_.field("connection")).find("upgrade") != std::string::npos)
    return HttpRefusal{501, error("no other protocol is spoken here", "leave Upgrade out")};
  const std::string expectation = lower(request_.field("expect"));
  if (!expectation.empty() && expectation != "100-continue")
    return HttpRefusal{417, error("the expectation is not known", "leave Expect out")};
  body_size_ = 0;
  if (request_.has("content-length")) {
    const auto size = whole_number(request_.field("content-length"));
    if (!size) return HttpRefusal{400, error("Content-Length is not a number", "send the body's number of bytes")};
    if (*size > limits_.body_bytes)
      return HttpRefusal{413, error("the body is longer than " + std::to_string(limits_.body_bytes) + " bytes",
                                    "send less, or start the service with a larger --max-body")};
    body_size_ = static_cast<std::size_t>(*size);
  } else if (request_.method == "POST" || request_.method == "PUT" || request_.method == "PATCH") {
    return HttpRefusal{411, error("the body's length is missing", "send Content-Length")};
  }
  expects_continue_ = !expectation.empty() && body_size_ > 0 && pending_.empty();
  return {};
}

HttpRequestReader::State HttpRequestReader::read_body() {
  const std::size_t wanted = body_size_ - request_.body.size();
  request_.body.append(pending_, 0, wanted);
  pending_.erase(0, wanted);
  return state_ = request_.body.size() == body_size_ ? State::whole : State::body;
}

HttpRequest HttpRequestReader::take() {
  HttpRequest whole = std::move(request_);
  request_ = {};
  expects_continue_ = false;
  body_size_ = 0;
  state_ = State::header;
  if (!pending_.empty()) read_header();
  return whole;
}

}  // namespace tilecast
