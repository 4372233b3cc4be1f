#include "support/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "support/folder.h"
#include "support/gzip_reader.h"
#include "support/input.h"
#include "support/output_file.h"

namespace tilecast {
namespace {

namespace fs = std::filesystem;

// A folder of its own, so that whatever else appears in it is seen.
class File : public testing::Test {
 protected:
  File() : folder_(fs::path(testing::TempDir()) / ("tilecast_file_test_" + std::to_string(getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~File() override { fs::remove_all(folder_); }
  std::string at(const char* name) const { return (folder_ / name).string(); }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  static mode_t mode_of(const std::string& path) {
    struct stat info {};
    return stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
  }

 private:
  fs::path folder_;
};

TEST_F(File, WrittenWholeAndOverwritten) {
  const std::string path = at("a.txt");
  ASSERT_TRUE(check_writable(path));
  EXPECT_EQ(files(), 0u);  // asking leaves nothing behind
  ASSERT_TRUE(write_text_file(path, "one"));
  ASSERT_TRUE(check_writable(path));
  EXPECT_EQ(*read_text_file(path, 100), "one");
  ASSERT_TRUE(write_text_file(path, "two"));
  EXPECT_EQ(*read_text_file(path, 100), "two");
  EXPECT_EQ(files(), 1u);
  EXPECT_FALSE(read_text_file(path, 2));
}

TEST_F(File, PathsThatCannotBeWritten) {
  const std::string below_a_file = at("f") + "/x";
  ASSERT_TRUE(write_text_file(at("f"), "x"));
  for (const std::string& path : {std::string("/nonexistent/folder/a.txt"), std::string("/"), std::string("/tmp"),
                                  std::string(), below_a_file, at(std::string(300, 'n').c_str()), at("new/")}) {
    EXPECT_FALSE(check_writable(path)) << path;
    EXPECT_FALSE(write_text_file(path, "x")) << path;
  }
  EXPECT_NE(check_writable("/tmp").error().line().find("is a directory"), std::string::npos);
  EXPECT_EQ(files(), 1u);
}

// Under whatever name; a device or a pipe loses nothing, and what is not there yet neither.
TEST_F(File, WhatIsReadIsNotWritten) {
  ASSERT_TRUE(write_text_file(at("trace"), "x"));
  fs::create_symlink(at("trace"), at("link"));
  EXPECT_FALSE(check_output(at("trace"), {at("other"), at("trace")}));
  EXPECT_FALSE(check_output(at("link"), {at("trace")}));
  EXPECT_TRUE(check_output(at("trace"), {at("other"), ""}));
  EXPECT_TRUE(check_output(at("new"), {at("new")}));
  EXPECT_TRUE(check_output("/dev/null", {"/dev/null"}));
}

// A device or a pipe stays what it is.
TEST_F(File, NoDeviceIsReplaced) {
  ASSERT_TRUE(check_writable("/dev/null"));
  ASSERT_TRUE(write_text_file("/dev/null", "gone"));
  auto writer = FileWriter::create("/dev/null");
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->finish());
  struct stat status {};
  ASSERT_EQ(stat("/dev/null", &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
}

TEST_F(File, AFullDiskIsSaid) {
  const auto written = write_text_file("/dev/full", "x");
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().line().find("No space left"), std::string::npos) << written.error().line();
  auto writer = FileWriter::create("/dev/full");
  ASSERT_TRUE(writer);
  writer->buffer() = std::string(1 << 20, 'x');
  EXPECT_FALSE(writer->finish());
  EXPECT_TRUE(fs::exists("/dev/full"));
}

TEST_F(File, ALinkStaysAndItsTargetIsWritten) {
  ASSERT_TRUE(write_text_file(at("target"), "old"));
  fs::create_symlink("target", at("link"));
  fs::create_symlink("link", at("second"));
  fs::create_symlink("new", at("dangling"));
  fs::create_symlink("round", at("round"));
  ASSERT_TRUE(write_text_file(at("second"), "fresh"));
  ASSERT_TRUE(write_text_file(at("dangling"), "made"));
  EXPECT_TRUE(fs::is_symlink(at("second")));
  EXPECT_TRUE(fs::is_symlink(at("dangling")));
  EXPECT_EQ(*read_text_file(at("target"), 100), "fresh");
  EXPECT_EQ(*read_text_file(at("new"), 100), "made");
  EXPECT_FALSE(write_text_file(at("round"), "x"));
  EXPECT_EQ(files(), 6u);
}

TEST_F(File, PermissionsStayAndNewFilesFollowTheMask) {
  const mode_t mask = umask(027);
  ASSERT_TRUE(write_text_file(at("new"), "x"));
  umask(mask);
  EXPECT_EQ(mode_of(at("new")), 0640u);
  for (const mode_t mode : {0600u, 0644u, 0755u}) {
    ASSERT_EQ(chmod(at("new").c_str(), mode), 0);
    ASSERT_TRUE(write_text_file(at("new"), "y"));
    EXPECT_EQ(mode_of(at("new")), mode);
  }
}

TEST_F(File, AFileThatMayNotBeWrittenStays) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everything";
  ASSERT_TRUE(write_text_file(at("locked"), "mine"));
  ASSERT_EQ(chmod(at("locked").c_str(), 0444), 0);
  EXPECT_FALSE(check_writable(at("locked")));
  EXPECT_FALSE(write_text_file(at("locked"), "theirs"));
  EXPECT_EQ(*read_text_file(at("locked"), 100), "mine");
}

TEST_F(File, AnUnfinishedWriterLeavesNothing) {
  {
    auto writer = FileWriter::create(at("half.csv"));
    ASSERT_TRUE(writer);
    writer->buffer() = "half";
    ASSERT_TRUE(writer->flush());
    EXPECT_FALSE(fs::exists(at("half.csv")));
    // Nobody who knows the output's name knows where it stands meanwhile.
    for (const auto& entry : fs::directory_iterator(fs::path(at("half.csv")).parent_path()))
      EXPECT_EQ(entry.path().filename().string().find("half"), std::string::npos);
  }
  EXPECT_EQ(files(), 0u);
}

TEST_F(File, StreamsInBlocksCompressedByName) {
  std::string all;
  for (const char* name : {"rows.csv", "rows.csv.gz"}) {
    auto writer = FileWriter::create(at(name));
    ASSERT_TRUE(writer);
    all.clear();
    for (int i = 0; i < 100000; ++i) {
      const std::string line = std::to_string(i) + ",x\n";
      all += line;
      writer->buffer() += line;
      if (writer->full()) {
        ASSERT_TRUE(writer->flush());
      }
    }
    ASSERT_TRUE(writer->finish());
    auto reader = ByteReader::open(at(name));
    ASSERT_TRUE(reader);
    std::string text(all.size() + 1, '\0');
    const auto got = reader->read(text.data(), text.size());
    ASSERT_TRUE(got);
    text.resize(*got);
    EXPECT_TRUE(text == all) << name;
  }
  EXPECT_LT(fs::file_size(at("rows.csv.gz")), fs::file_size(at("rows.csv")));
}

TEST_F(File, AnOpenDescriptorIsWrittenWhereItStands) {
  const int descriptor = open(at("log").c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_GE(descriptor, 0);
  ASSERT_EQ(write(descriptor, "before ", 7), 7);
  const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
  EXPECT_EQ(descriptor_named(path), descriptor);
  EXPECT_TRUE(check_writable(path));
  ASSERT_TRUE(write_text_file(path, "between "));
  ASSERT_EQ(write(descriptor, "after", 5), 5);
  close(descriptor);
  EXPECT_EQ(*read_text_file(at("log"), 100), "before between after");
  EXPECT_EQ(files(), 1u);
}

TEST_F(File, APipeIsReadOnceAndFoundAgain) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "a,b\n1,2\n", 8), 8);
  close(ends[1]);
  const std::string path = "/proc/self/fd/" + std::to_string(ends[0]);
  EXPECT_TRUE(is_stream(path));
  EXPECT_EQ(*read_text_file(path, 100), "a,b\n1,2\n");
  auto lines = LineReader::open(path);
  ASSERT_TRUE(lines);
  EXPECT_EQ(**lines->next(), "a,b");
  close(ends[0]);
}

TEST_F(File, FoldersAppearWholeOrNotAtAll) {
  const std::vector<FolderFile> files = {{"a.txt", "one"}, {"sub/b.txt", "two"}};
  EXPECT_TRUE(check_new_folder(at("made/")));
  EXPECT_FALSE(std::filesystem::exists(at("made")));  // asking changes nothing
  ASSERT_TRUE(write_new_folder(at("made/"), files));
  EXPECT_EQ(*read_text_file(at("made/sub/b.txt"), 100), "two");
  const auto again = write_new_folder(at("made"), files);
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().line().find("is there already"), std::string::npos) << again.error().line();
  std::filesystem::create_directory(at("empty"));
  ASSERT_TRUE(write_new_folder(at("empty"), files));
  EXPECT_EQ(*read_text_file(at("empty/a.txt"), 100), "one");
  // A file that cannot be: nothing of the folder stays, nor anything beside it.
  const auto failed = write_new_folder(at("bad"), {{"a", "one"}, {"a/b", "two"}});
  EXPECT_FALSE(failed);
  EXPECT_FALSE(std::filesystem::exists(at("bad")));
  for (const auto& entry : std::filesystem::directory_iterator(at("")))
    EXPECT_NE(entry.path().filename().string().substr(0, 10), ".tilecast-") << entry.path();
  EXPECT_FALSE(check_new_folder(at("nowhere/below")));
  EXPECT_FALSE(check_new_folder(""));
}

TEST_F(File, WhatUnpacksWithoutEndIsRefused) {
  auto writer = FileWriter::create(at("bomb.csv.gz"));
  ASSERT_TRUE(writer);
  for (int i = 0; i < 300; ++i) {
    writer->buffer().assign(1 << 20, '1');
    ASSERT_TRUE(writer->flush());
  }
  ASSERT_TRUE(writer->finish());
  auto reader = ByteReader::open(at("bomb.csv.gz"));
  ASSERT_TRUE(reader);
  std::string block(1 << 20, '\0');
  Result<std::size_t> got = std::size_t{1};
  while (got && *got > 0) got = reader->read(block.data(), block.size());
  ASSERT_FALSE(got);
  EXPECT_NE(got.error().line().find("unpacks to more than"), std::string::npos);
}

}  // namespace
}  // namespace tilecast
