#include "answers/answer_files.h"

#include "support/base64.h"
#include "support/json_value.h"

namespace tilecast {

std::string with_files(std::string document, const std::vector<AnswerFile>& files) {
  Json list = Json::array();
  for (const AnswerFile& file : files) {
    Json one{{"name", file.name}, {"media_type", file.media_type}};
    one[file.binary ? "base64" : "text"] = file.binary ? base64_text(file.text) : file.text;
    list.push_back(std::move(one));
  }
  const auto brace = document.rfind('}');
  if (brace == std::string::npos || brace == 0) return document;
  const auto last = document.find_last_not_of(" \n", brace - 1);
  document.resize(last + 1);
  return document + (document.back() == '{' ? "" : ",") + "\n  \"files\": " + list.dump() + "\n}\n";
}

}  // namespace tilecast
