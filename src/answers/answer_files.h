// Files beside an answer: what the command line would write, for whoever asks from elsewhere.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilecast {

// What of it is wanted: nothing, what goes with the answer by itself, or, of a step over many GPUs, every rank's part
// of it for ASTRA-sim (docs/chakra.md).
enum class FilesWish : unsigned char { none, usual, chakra };

struct AnswerFile {
  std::string name, media_type, text;
  bool binary = false;  // sent in base64
};

// What {"files": true} adds to a question's answer, in words; empty: the command line writes nothing for it.
std::string_view files_of(std::string_view question);

// The document, an object, with a last member "files": [{"name", "media_type", "text" or "base64"}].
std::string with_files(std::string document, const std::vector<AnswerFile>& files);
// A document that is a list: each of its objects with the files of its own.
std::string with_files_each(const std::string& document, const std::vector<std::vector<AnswerFile>>& files);

}  // namespace tilecast
