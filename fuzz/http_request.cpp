#include "service/http/request_reader.h"
#include "targets.h"

namespace tilecast {
namespace {

using State = HttpRequestReader::State;

std::string check(const HttpRequestReader& reader, const HttpReaderLimits& limits) {
  if (reader.state() == State::refused) {
    if (reader.refusal().problem.problem.empty()) return "a refusal without a reason";
    if (reader.refusal().status < 400 || reader.refusal().status > 599) return "a refusal that is none";
  }
  if (reader.state() != State::whole) return "";
  const HttpRequest& request = reader.request();
  if (!request.path.starts_with('/')) return "a path that begins nowhere";
  if (request.path.find('\0') != std::string::npos) return "a path with a zero byte";
  if (request.has("transfer-encoding")) return "a body in chunks";
  if (request.body.size() > limits.body_bytes) return "a body beyond its limit";
  for (const auto& [name, value] : request.fields)
    if (name.find_first_of("\r\n: ") != std::string::npos || value.find_first_of("\r\n") != std::string::npos)
      return "a field with a line end";
  return "";
}

}  // namespace

std::string fuzz_http_request(std::string_view input) {
  const HttpReaderLimits limits{.header_bytes = 1 << 10, .header_fields = 20, .body_bytes = 1 << 10};
  // At once, byte by byte, and in two parts: the same requests.
  HttpRequestReader whole(limits), slow(limits);
  whole.put(input);
  for (const char c : input) slow.put({&c, 1});
  for (int request = 0; request < 100; ++request) {
    if (const std::string wrong = check(whole, limits); !wrong.empty()) return wrong;
    if ((whole.state() == State::whole) != (slow.state() == State::whole))
      return "another request when it comes slowly";
    if (whole.state() != State::whole) return "";
    const HttpRequest one = whole.take(), other = slow.take();
    if (one.path != other.path || one.body != other.body || one.fields != other.fields)
      return "two readings of one request";
  }
  return "";
}

}  // namespace tilecast
