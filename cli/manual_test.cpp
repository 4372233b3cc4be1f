// Completion and manual pages of the real program, by the shells and readers that are installed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "cli/cli_testing.h"
#include "support/test_files.h"

namespace tilecast {
namespace {

using testing::HasSubstr;

bool installed(const char* program) { return run_shell(std::string("command -v ") + program).code == 0; }

// What bash offers behind these words, the last one begun.
std::string bash_offers(std::initializer_list<const char*> words) {
  const TestFolder folder;
  std::string list = " '" TILECAST_BINARY "'";
  for (const char* word : words) list += std::string(" '") + word + "'";
  const std::string script = folder.plain("offers", "source <('" TILECAST_BINARY "' completion bash)\nCOMP_WORDS=(" +
                                                        list + ")\nCOMP_CWORD=" + std::to_string(words.size()) +
                                                        "\n_tilecast\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n");
  return run_shell("bash '" + script + "'").out;
}

TEST(Manual, BashCompletes) {
  if (!installed("bash")) GTEST_SKIP() << "no bash";
  EXPECT_EQ(bash_offers({"predi"}), "predict\n");
  EXPECT_EQ(bash_offers({"plan", "s"}), "serve\n");
  EXPECT_THAT(bash_offers({"predict", "Llama-3.1-8"}), HasSubstr("Llama-3.1-8B\n"));
  EXPECT_EQ(bash_offers({"predict", "X", "--mode", "de"}), "decode\n");
  EXPECT_EQ(bash_offers({"predict", "X", "--gpu", "H100-SXM,H200-S"}), "H100-SXM,H200-SXM\n");
  EXPECT_EQ(bash_offers({"kernel", "gemm", "--warm"}), "--warmth\n");
  EXPECT_EQ(bash_offers({"simulate", "X", "--router", "pre"}), "prefix-aware\n");
  EXPECT_EQ(bash_offers({"predict", "X", "--engine", "sg"}), "sglang\n");
}

TEST(Manual, ZshAndFishReadTheirScripts) {
  const TestFolder folder;
  std::filesystem::create_symlink(TILECAST_BINARY, folder.file("tilecast"));  // shells find it by name
  const std::string here = "PATH='" + folder.file("") + "':$PATH HOME='" + folder.file("") + "'; export PATH HOME; ";
  if (installed("zsh")) {
    EXPECT_EQ(run_shell(here + "tilecast completion zsh | zsh -n").code, 0);
  }
  if (!installed("fish")) return;
  const Ran ran = run_shell(
      here + R"(fish --no-config -c 'tilecast completion fish | source; complete -C "tilecast predict X --mode de"')");
  EXPECT_EQ(ran.out, "decode\n") << ran.err;
}

TEST(Manual, PagesAreWellFormed) {
  const TestFolder folder;
  ASSERT_EQ(run_tilecast("manual --output '" + folder.file("man") + "'").code, 0);
  int pages = 0;
  for (const auto& page : std::filesystem::directory_iterator(folder.file("man"))) {
    ++pages;
    const std::string path = page.path().string();
    if (installed("man") && installed("groff")) {
      EXPECT_EQ(run_shell("man --warnings -E UTF-8 -l -Tutf8 '" + path + "' 2>&1 >/dev/null").out, "") << path;
    }
    if (installed("mandoc")) {
      EXPECT_EQ(run_shell("mandoc -Tlint -W error '" + path + "'").out, "") << path;
    }
  }
  EXPECT_GT(pages, 15);
  EXPECT_THAT(run_tilecast("manual 'plan serve'").out, HasSubstr("\\-\\-slo"));
  EXPECT_EQ(run_tilecast("manual plan serve").out, run_tilecast("manual 'plan serve'").out);
  EXPECT_THAT(run_tilecast("manual nothing").err, HasSubstr("no command is called 'nothing'"));
  EXPECT_THAT(run_tilecast("manual predicts").err, HasSubstr("did you mean predict?"));
}

TEST(Manual, McpOnPipes) {
  const Ran ran = run_shell(
      std::string(
          R"(printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}' )") +
      R"('{"jsonrpc":"2.0","method":"notifications/initialized"}' )" +
      R"('{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"kernel","arguments":{"family":"gemm","m":64,"n":64,"k":64,"gpu":"L4"}}}' )" +
      R"('{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"diagnose","arguments":{"trace":"/etc/passwd"}}}' | ')" TILECAST_BINARY
      "' mcp");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  EXPECT_THAT(ran.out, HasSubstr("\"protocolVersion\":\"2025-06-18\""));
  EXPECT_THAT(ran.out, HasSubstr("\"latency_us\""));
  EXPECT_THAT(ran.out, HasSubstr("may not be read here"));
  EXPECT_THAT(run_tilecast("mcp --allow-files /nowhere < /dev/null").err, HasSubstr("there is no folder /nowhere"));
}

}  // namespace
}  // namespace tilecast
