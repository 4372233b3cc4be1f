// Inputs that are no plain files: standard input, pipes, FIFOs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "cli/cli_testing.h"
#include "test_paths.h"

namespace tilecast {
namespace {

constexpr const char* kBinary = "'" TILECAST_BINARY "' ";

const std::string& rows() {
  static const std::string text =
      "gpu,source,engine,engine_version,kernel_source,family,dtype,dims,runtime,warmth,latency_us\n"
      "H100-SXM,s,,,k,gemm,bf16,m=4096;n=4096;k=4096,graph,warm,250\n";
  return text;
}

class Streams : public testing::Test {
 protected:
  // Sets up one file and says how each kind of stream gives it: "-", a pipe, a FIFO with a writer.
  void expect_alike(const std::string& text, const std::string& before, const std::string& after) {
    const std::string path = scratch_path("stream.json"), fifo = scratch_path("fifo");
    std::ofstream(path, std::ios::binary) << text;
    const Ran plain = run_shell(program_for(before) + before + " '" + path + "' " + after);
    EXPECT_EQ(plain.code, 0) << plain.err;
    const auto same = [&](const std::string& line, const std::string& shown) {
      SCOPED_TRACE(line);
      const Ran ran = run_shell(line);
      EXPECT_EQ(ran.code, 0) << ran.err;
      EXPECT_EQ(renamed(ran.out, shown), renamed(plain.out, path));
    };
    same("cat '" + path + "' | " + program_for(before) + before + " - " + after, "-");
    same(program_for(before) + before + " - " + after + " < '" + path + "'", "-");
    same("cat '" + path + "' | " + program_for(before) + before + " /dev/stdin " + after, "/dev/stdin");
    std::filesystem::remove(fifo);
    ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
    same("(cat '" + path + "' > '" + fifo + "') & " + program_for(before) + before + " '" + fifo + "' " + after, fifo);
    std::filesystem::remove(fifo);
    std::filesystem::remove(path);
  }

 private:
  // Tables are as wide as the names in them: spaces and rules do not count.
  static std::string renamed(std::string text, const std::string& name) {
    if (name.size() > 1)
      for (auto at = text.find(name); at != std::string::npos; at = text.find(name, at))
        text.replace(at, name.size(), "-");
    std::erase_if(text, [](char c) { return c == ' ' || c == '-'; });
    return text;
  }
};

TEST_F(Streams, Tables) { expect_alike(rows(), "evaluate --method analytic --data", ""); }
TEST_F(Streams, CompressedTables) {
  const Ran packed = run_shell("printf '" + rows() + "' | gzip -c");
  expect_alike(packed.out, "evaluate --method analytic --data", "");
}
TEST_F(Streams, Gpus) { expect_alike(R"({"like": "H100-SXM", "name": "Mine"})", "gpu check", ""); }
TEST_F(Streams, Configurations) {
  expect_alike(file_text(TILECAST_SOURCE_DIR "/fuzz/corpus/model_config/gpt-2.json"), "predict",
               "--gpu H100-SXM --seq 8 --method analytic");
}
TEST_F(Streams, Graphs) {
  expect_alike(file_text(TILECAST_SOURCE_DIR "/fuzz/corpus/model_graph/wide_mlp.json"), "predict",
               "--gpu H100-SXM --method analytic");
}
TEST_F(Streams, Traces) {
  expect_alike("arrival,input,output\n0,8,8\n1,8,8\n",
               "simulate gpt2 --gpu H100-SXM --no-interval --method analytic --trace", "");
}
TEST_F(Streams, Profiles) {
  expect_alike(file_text(TILECAST_SOURCE_DIR "/fuzz/corpus/profile_file/kineto.json"), "diagnose", "--gpu H200-SXM");
  const Ran database = run_shell("cat '" TILECAST_SOURCE_DIR "/fuzz/corpus/profile_file/nsys.sqlite' | " +
                                 std::string(kBinary) + "diagnose - --gpu H200-SXM");
  EXPECT_EQ(database.code, 2);
  EXPECT_THAT(database.err, testing::HasSubstr("not read from a stream (write it to a file first)"));
}

TEST_F(Streams, AnOnnxFileWithoutItsName) {
  const Ran ran = run_shell("cat '" TILECAST_SOURCE_DIR "/fuzz/corpus/onnx/resnet.onnx' | " + std::string(kBinary) +
                            "predict - --gpu H100-SXM");
  EXPECT_THAT(ran.err + ran.out, testing::Not(testing::HasSubstr("JSON")));
}

TEST_F(Streams, AModelFromAPipeThatNobodyWritesToIsWaitedForOnce) {
  const std::string fifo = scratch_path("silent");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const Ran ran = run_shell("timeout 19 " + std::string(kBinary) + "predict '" + fifo + "' --gpu H100-SXM --seq 8");
  std::filesystem::remove(fifo);
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, testing::HasSubstr(fifo + ": is a pipe that nobody writes to"));
}

TEST_F(Streams, AnEmptyStreamIsEmpty) {
  const Ran ran = run_tilecast("evaluate --data - < /dev/null");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, testing::HasSubstr("-: is empty"));
}

}  // namespace
}  // namespace tilecast
