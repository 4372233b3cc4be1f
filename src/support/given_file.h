// A file that came by value, as bytes in a message: kept in a private folder of this process, where readers find it by
// name like any other, and deleted with the object.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "tilecast/result.h"

namespace tilecast {

class GivenFile {
 public:
  // The name is reduced to a safe file name; its extension, which tells the format, is kept.
  static Result<GivenFile> keep(std::string_view name, std::string_view bytes);

  const std::string& path() const { return path_; }
  // A text about it without its folder: as its sender knows it.
  std::string as_sent(std::string text) const;

 private:
  struct Folder {
    explicit Folder(std::filesystem::path path) : path(std::move(path)) {}
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder();
    std::filesystem::path path;
  };
  GivenFile(std::shared_ptr<Folder> folder, std::string path) : folder_(std::move(folder)), path_(std::move(path)) {}

  std::shared_ptr<Folder> folder_;
  std::string path_;
};

// Where they lie; empty before the first.
std::filesystem::path given_files_folder();

}  // namespace tilecast
