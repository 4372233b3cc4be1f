// Requests and responses as values: what handlers are written in, without sockets.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tilecast/result.h"

namespace tilecast {

using HttpFields = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method;  // "POST"
  std::string path;    // percent-decoded: "/v1/gpus/H100-SXM"
  std::string query;   // behind the question mark, as it came
  HttpFields fields;   // names in small letters
  std::string body;
  std::string peer;  // the client's address
  bool keep_alive = true;

  // The first of that name, in small letters; empty where there is none.
  std::string_view field(std::string_view name) const;
  bool has(std::string_view name) const;
  // Of the query, percent-decoded; empty where there is none.
  std::string parameter(std::string_view name) const;
};

// Texts that follow one another for as long as a response lasts. Asked again and again from one thread.
class HttpEvents {
 public:
  virtual ~HttpEvents() = default;
  // What is new since the last call, which may be nothing.
  virtual std::string take() = 0;
  // Whether nothing follows what was taken.
  virtual bool finished() const = 0;
};

struct HttpResponse {
  int status = 200;
  HttpFields fields = {};
  std::string body = {};
  std::shared_ptr<HttpEvents> events = {};  // in place of a body: sent until they are finished
  bool close = false;                       // the connection ends with it
  std::string reason = {};                  // of a refusal, for the log
};

HttpResponse json_response(std::string document, int status = 200);
HttpResponse text_response(std::string text, std::string media_type, int status = 200);
// {"error": {"message", "field", "remedy"}}
HttpResponse error_response(int status, const Error& problem);
std::string error_json(const Error& problem);

// "Not Found"
std::string_view status_words(int status);

// %41 to A; nothing where the text is no such encoding, or holds a zero byte.
Result<std::string> percent_decoded(std::string_view text);

}  // namespace tilecast
