#include "service/http/message.h"

#include <array>
#include <charconv>

#include "support/json_value.h"
#include "support/text.h"

namespace tilecast {

std::string_view HttpRequest::field(std::string_view name) const {
  for (const auto& [key, value] : fields)
    if (key == name) return value;
  return {};
}

bool HttpRequest::has(std::string_view name) const {
  for (const auto& [key, value] : fields)
    if (key == name) return true;
  return false;
}

std::string HttpRequest::parameter(std::string_view name) const {
  for (const std::string& part : split(query, '&')) {
    const auto equals = part.find('=');
    if (std::string_view(part).substr(0, equals) != name) continue;
    if (equals == std::string::npos) return "1";
    const auto value = percent_decoded(std::string_view(part).substr(equals + 1));
    return value ? *value : std::string();
  }
  return {};
}

HttpResponse text_response(std::string text, std::string media_type, int status) {
  HttpResponse response;
  response.status = status;
  response.fields.emplace_back("Content-Type", std::move(media_type));
  response.body = std::move(text);
  return response;
}

HttpResponse json_response(std::string document, int status) {
  return text_response(std::move(document), "application/json", status);
}

std::string error_json(const Error& problem) {
  const std::string message = problem.place.empty() ? problem.problem : problem.place + ": " + problem.problem;
  return Json{{"error", {{"message", message}, {"field", problem.field}, {"remedy", problem.remedy}}}}.dump() + "\n";
}

HttpResponse error_response(int status, const Error& problem) {
  HttpResponse response = json_response(error_json(problem), status);
  response.reason = problem.field.empty() ? problem.problem : problem.field + ": " + problem.problem;
  return response;
}

std::string_view status_words(int status) {
  constexpr std::array<std::pair<int, std::string_view>, 25> kWords = {{{100, "Continue"},
                                                                        {200, "OK"},
                                                                        {202, "Accepted"},
                                                                        {204, "No Content"},
                                                                        {304, "Not Modified"},
                                                                        {400, "Bad Request"},
                                                                        {401, "Unauthorized"},
                                                                        {403, "Forbidden"},
                                                                        {404, "Not Found"},
                                                                        {405, "Method Not Allowed"},
                                                                        {408, "Request Timeout"},
                                                                        {409, "Conflict"},
                                                                        {411, "Length Required"},
                                                                        {413, "Content Too Large"},
                                                                        {414, "URI Too Long"},
                                                                        {415, "Unsupported Media Type"},
                                                                        {417, "Expectation Failed"},
                                                                        {421, "Misdirected Request"},
                                                                        {422, "Unprocessable Content"},
                                                                        {429, "Too Many Requests"},
                                                                        {431, "Request Header Fields Too Large"},
                                                                        {500, "Internal Server Error"},
                                                                        {501, "Not Implemented"},
                                                                        {503, "Service Unavailable"},
                                                                        {505, "HTTP Version Not Supported"}}};
  for (const auto& [code, words] : kWords)
    if (code == status) return words;
  return "Unknown";
}

Result<std::string> percent_decoded(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain += text[i];
      continue;
    }
    unsigned value = 0;
    const std::string_view digits = text.substr(i + 1, 2);
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (digits.size() < 2 || read.ptr != digits.data() + 2 || value == 0)
      return error("a % in the address is not an encoded character", "encode it as %25");
    plain += static_cast<char>(value);
    i += 2;
  }
  return plain;
}

}  // namespace tilecast
