// A file that came by value, as bytes in a message: kept in a folder of this process's own, where readers find it by
// name like any other, and gone with the object.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "tilecast/result.h"

namespace tilecast {

class GivenFile {
 public:
  // The name is cut to what a file's name may safely be; its ending, which tells the form, stays.
  static Result<GivenFile> keep(std::string_view name, std::string_view bytes);

  const std::string& path() const { return path_; }
  // A text about it without the folder that it lies in: as its sender knows it.
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
