// Files beside an answer: what the command line would write, for whoever asks from elsewhere.
#pragma once

#include <string>
#include <vector>

namespace tilecast {

struct AnswerFile {
  std::string name, media_type, text;
  bool binary = false;  // sent in base64
};

// The document, an object, with a last member "files": [{"name", "media_type", "text" or "base64"}].
std::string with_files(std::string document, const std::vector<AnswerFile>& files);

}  // namespace tilecast
