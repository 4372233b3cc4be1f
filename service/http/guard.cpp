#include "service/http/guard.h"

#include <algorithm>

#include "support/text.h"

namespace tilecast {
namespace {

// "localhost:8421" and "[::1]:8421" without the port.
std::string_view host_name(std::string_view host) {
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.rfind(':'));
}

bool is_own_name(std::string_view name) {
  if (name == "localhost" || name == "::1") return true;
  // 127.0.0.0/8 in numbers; "127.0.0.1.example.org" is somebody's name.
  return name.starts_with("127.") &&
         std::all_of(name.begin(), name.end(), [](char c) { return c == '.' || (c >= '0' && c <= '9'); });
}

bool listed(const std::vector<std::string>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

// Of the page that this service itself served.
bool is_same_origin(std::string_view origin, std::string_view host) {
  for (const std::string_view scheme : {"http://", "https://"})
    if (origin.starts_with(scheme) && origin.substr(scheme.size()) == host) return true;
  return false;
}

// What a browser does when somebody follows a link or types an address: it shows the page and tells nobody else.
bool opens_page(const HttpRequest& request) {
  return request.method == "GET" && request.field("sec-fetch-mode") == "navigate" &&
         request.field("sec-fetch-dest") == "document";
}

bool needs_token(const HttpRequest& request) {
  return request.path.starts_with("/v1") || request.path == "/metrics" || request.path == "/openapi.json";
}

HttpResponse refusal(int status, std::string problem, std::string remedy) {
  HttpResponse response = error_response(status, error(std::move(problem), std::move(remedy)));
  if (status == 401) response.fields.emplace_back("WWW-Authenticate", "Bearer realm=\"tilecast\"");
  return response;
}

}  // namespace

bool same_secret(std::string_view a, std::string_view b) {
  volatile unsigned char difference = a.size() == b.size() ? 0 : 1;
  // Over the secret's length, whatever was sent.
  for (std::size_t i = 0; i < a.size(); ++i)
    difference = difference | static_cast<unsigned char>(a[i] ^ (b.empty() ? '\0' : b[i % b.size()]));
  return difference == 0;
}

std::optional<HttpResponse> refused_by(const HttpGuard& guard, const HttpRequest& request) {
  const std::string_view host = request.field("host"), origin = request.field("origin");
  // A name that some other site's DNS gives this address would make that site's pages "same origin".
  const bool own = is_own_name(host_name(host)) || listed(guard.hosts, host_name(host)) || listed(guard.hosts, host);
  if (guard.loopback && !host.empty() && !own)
    return refusal(421, "this service is not called " + std::string(host.substr(0, 80)),
                   "ask it as localhost, or start it with --allow-host");
  const bool allowed = listed(guard.origins, origin);
  if (!origin.empty() && !allowed && !is_same_origin(origin, host))
    return refusal(403, "pages of other sites may not ask", "start the service with --allow-origin");
  const std::string_view site = request.field("sec-fetch-site");
  const bool elsewhere = site == "cross-site" || site == "same-site";
  if (elsewhere && !allowed && !opens_page(request))
    return refusal(403, "pages of other sites may not ask", "start the service with --allow-origin");
  if (guard.token.empty() || !needs_token(request) || request.method == "OPTIONS") return {};
  const std::string_view shown = request.field("authorization");
  constexpr std::string_view kScheme = "Bearer ";
  if (shown.starts_with(kScheme) && same_secret(guard.token, shown.substr(kScheme.size()))) return {};
  return refusal(401, "a token is needed", "send Authorization: Bearer TOKEN");
}

HttpFields origin_fields(const HttpGuard& guard, const HttpRequest& request) {
  const std::string_view origin = request.field("origin");
  if (origin.empty() || !listed(guard.origins, origin)) return {};
  HttpFields fields = {{"Access-Control-Allow-Origin", std::string(origin)}, {"Vary", "Origin"}};
  if (request.method == "OPTIONS") {
    fields.emplace_back("Access-Control-Allow-Methods", "GET, POST, DELETE");
    fields.emplace_back("Access-Control-Allow-Headers", "Authorization, Content-Type");
    fields.emplace_back("Access-Control-Max-Age", "600");
  }
  return fields;
}

}  // namespace tilecast
