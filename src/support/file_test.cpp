#include "support/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

namespace tilecast {
namespace {

std::string scratch(const char* name) { return testing::TempDir() + "/tilecast_file_test_" + name; }

TEST(File, WrittenWholeAndOverwritten) {
  const std::string path = scratch("a.txt");
  ASSERT_TRUE(check_writable(path));
  EXPECT_FALSE(std::filesystem::exists(path));  // asking leaves nothing behind
  ASSERT_TRUE(write_text_file(path, "one"));
  ASSERT_TRUE(check_writable(path));
  EXPECT_EQ(*read_text_file(path, 100), "one");
  ASSERT_TRUE(write_text_file(path, "two"));
  EXPECT_EQ(*read_text_file(path, 100), "two");
  EXPECT_FALSE(std::filesystem::exists(path + ".part"));
  EXPECT_FALSE(read_text_file(path, 2));
  std::filesystem::remove(path);
}

TEST(File, PathsThatCannotBeWritten) {
  for (const char* path : {"/nonexistent/folder/a.txt", "/", "/tmp"}) {
    EXPECT_FALSE(check_writable(path)) << path;
    EXPECT_FALSE(write_text_file(path, "x")) << path;
  }
  EXPECT_NE(check_writable("/tmp").error().line().find("is a directory"), std::string::npos);
}

// A device or a pipe stays what it is.
TEST(File, NoPlainFileIsReplaced) {
  ASSERT_TRUE(check_writable("/dev/null"));
  ASSERT_TRUE(write_text_file("/dev/null", "gone"));
  struct stat status {};
  ASSERT_EQ(stat("/dev/null", &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
  EXPECT_FALSE(write_text_file("/dev/full", "x"));
  EXPECT_TRUE(std::filesystem::exists("/dev/full"));
}

}  // namespace
}  // namespace tilecast
