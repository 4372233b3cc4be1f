#include "answers/answer_files.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "support/base64.h"

namespace tilecast {
namespace {

using Member = nlohmann::ordered_json;

constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kFiles = {{
    {"predict",
     "a trace of the step for Perfetto; of a step over many GPUs \"chakra\" gives every rank's trace for ASTRA-sim "
     "instead"},
    {"simulate", "of one load: a table of its requests, and a timeline for Perfetto"},
    {"plan serve", "scripts and manifests of the best plans, a page and pictures of the search"},
    {"plan train", "a picture of how it scales"},
    {"diagnose", "a page, and its pictures"},
    {"retime", "the trace with its new times"},
    {"tune fused-moe", "the engines' files"},
    {"calibrate", "the card's description"},
}};

Member list_of(const std::vector<AnswerFile>& files) {
  Member list = Member::array();
  for (const AnswerFile& file : files) {
    Member one{{"name", file.name}, {"media_type", file.media_type}};
    one[file.binary ? "base64" : "text"] = file.binary ? base64_text(file.text) : file.text;
    list.push_back(std::move(one));
  }
  return list;
}

}  // namespace

std::string_view files_of(std::string_view question) {
  for (const auto& [name, files] : kFiles)
    if (name == question) return files;
  return {};
}

std::string with_files(std::string document, const std::vector<AnswerFile>& files) {
  const auto brace = document.rfind('}');
  if (brace == std::string::npos || brace == 0) return document;
  const auto last = document.find_last_not_of(" \n", brace - 1);
  document.resize(last + 1);
  return document + (document.back() == '{' ? "" : ",") + "\n  \"files\": " + list_of(files).dump() + "\n}\n";
}

std::string with_files_each(const std::string& document, const std::vector<std::vector<AnswerFile>>& files) {
  Member list = Member::parse(document, nullptr, false);
  if (!list.is_array()) return document;
  for (std::size_t i = 0; i < std::min(list.size(), files.size()); ++i)
    if (list[i].is_object() && !files[i].empty()) list[i]["files"] = list_of(files[i]);
  return list.dump(2) + "\n";
}

}  // namespace tilecast
