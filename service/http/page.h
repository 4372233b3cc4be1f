// The page in a browser: files of web/dist as they were when the program was built, compressed.
#pragma once

#include <span>
#include <string_view>

#include "service/http/message.h"

namespace tilecast {

struct PageFile {
  std::string_view path;        // "/index.html"
  std::string_view media_type;  // "text/html; charset=utf-8"
  std::string_view tag;         // of its content: changes with it
  bool gzip = false;
  std::string_view bytes;
};

// Written by tools/embed_page.
std::span<const PageFile> page_files();

// GET and HEAD of anything outside /v1.
HttpResponse page_response(const HttpRequest& request, std::span<const PageFile> files);

}  // namespace tilecast
