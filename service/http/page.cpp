#include "service/http/page.h"

#include <zlib.h>

#include <string>

#include "support/text.h"

namespace tilecast {
namespace {

// The page brings everything itself, so that nothing from elsewhere may run in it, nor it inside of anything.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

constexpr const char* kUnbuilt =
    "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Tilecast</title>\n"
    "<h1>Tilecast</h1>\n"
    "<p>The service runs. This program was built without its page: <code>make ui</code> in the sources builds both and "
    "serves them.</p>\n"
    "<p>Questions go to <a href=\"/v1/questions\">/v1</a>, for example <code>curl --json '{\"model\": "
    "\"Llama-3.1-8B\", "
    "\"gpu\": \"H100-SXM\", \"mode\": \"decode\", \"batch\": 32, \"context\": 2048}' "
    "http://127.0.0.1:8421/v1/predict</code></p></html>\n";

void guard(HttpResponse& response) {
  response.fields.emplace_back("Content-Security-Policy", kPolicy);
  response.fields.emplace_back("Referrer-Policy", "no-referrer");
  response.fields.emplace_back("Cross-Origin-Opener-Policy", "same-origin");
  response.fields.emplace_back("Cross-Origin-Resource-Policy", "same-origin");
}

const PageFile* file_at(std::string_view path, std::span<const PageFile> files) {
  if (path == "/") path = "/index.html";
  for (const PageFile& file : files)
    if (file.path == path) return &file;
  return nullptr;
}

// Bundles carry a hash of their content in their names and never change; index.html names them and does.
bool is_lasting(std::string_view path) { return path.starts_with("/assets/"); }

bool accepts_gzip(const HttpRequest& request) {
  for (const std::string& coding : split(request.field("accept-encoding"), ','))
    if (contains(coding, "gzip")) return !coding.ends_with("q=0");
  return false;
}

// For the few clients that ask for plain text. What is unpacked is our own, so that it cannot be too long.
std::string unpacked(std::string_view bytes) {
  std::string text;
  z_stream stream{};
  if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) return text;
  // zlib does not write to its input; its interface is older than const.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));  // NOLINT
  stream.avail_in = static_cast<uInt>(bytes.size());
  for (int state = Z_OK; state == Z_OK;) {
    char block[1 << 14];
    stream.next_out = reinterpret_cast<Bytef*>(block);  // NOLINT
    stream.avail_out = sizeof block;
    state = inflate(&stream, Z_NO_FLUSH);
    text.append(block, sizeof block - stream.avail_out);
  }
  inflateEnd(&stream);
  return text;
}

}  // namespace

HttpResponse page_response(const HttpRequest& request, std::span<const PageFile> files) {
  if (files.empty() && request.path == "/") {
    HttpResponse response = text_response(kUnbuilt, "text/html; charset=utf-8");
    guard(response);
    return response;
  }
  const PageFile* file = file_at(request.path, files);
  if (!file)
    return error_response(404,
                          error("nothing is at " + request.path, "/ is the page, /v1/questions what can be asked"));
  HttpResponse response;
  const std::string tag = "\"" + std::string(file->tag) + "\"";
  response.fields = {{"Content-Type", std::string(file->media_type)},
                     {"ETag", tag},
                     {"Vary", "Accept-Encoding"},
                     {"Cache-Control", is_lasting(file->path) ? "public, max-age=31536000, immutable" : "no-cache"}};
  guard(response);
  if (request.field("if-none-match") == tag) {
    response.status = 304;
    return response;
  }
  const bool packed = file->gzip && accepts_gzip(request);
  if (packed) response.fields.emplace_back("Content-Encoding", "gzip");
  response.body = file->gzip && !packed ? unpacked(file->bytes) : std::string(file->bytes);
  return response;
}

}  // namespace tilecast
