#include "service/http/response_text.h"

#include <fmt/format.h>

#include "support/append.h"

namespace tilecast {

std::string response_text(const HttpResponse& response, bool headless) {
  std::string text;
  text.reserve(512 + (headless ? 0 : response.body.size()));
  append(text, "HTTP/1.1 {} {}\r\n", response.status, status_words(response.status));
  for (const auto& [name, value] : response.fields) append(text, "{}: {}\r\n", name, value);
  const bool bodiless = response.status == 204 || response.status == 304;
  if (response.events) text += "Content-Type: text/event-stream\r\nCache-Control: no-store\r\n";
  else if (!bodiless) append(text, "Content-Length: {}\r\n", response.body.size());
  text += "X-Content-Type-Options: nosniff\r\n";
  if (response.close) text += "Connection: close\r\n";
  text += "\r\n";
  if (!headless && !bodiless && !response.events) text += response.body;
  return text;
}

}  // namespace tilecast
