// Ranges, --csv, --plot and colour through the real binary.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/cli_testing.h"
#include "support/text.h"

namespace tilecast {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::vector<std::vector<std::string>> table_of(const std::string& csv) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(csv);
  for (std::string line; std::getline(lines, line);) rows.push_back(split(line, ','));
  return rows;
}

std::string cell(const std::vector<std::vector<std::string>>& table, std::size_t row, const std::string& column) {
  const auto at = std::find(table[0].begin(), table[0].end(), column);
  EXPECT_NE(at, table[0].end()) << column;
  return at == table[0].end() ? "" : table[row][static_cast<std::size_t>(at - table[0].begin())];
}

const std::string kGemm = "kernel gemm --m 16,64..128:64 --n 4096 --k 4096 --gpu H100-SXM,B200 ";

TEST(Ranges, HaveARowForEachCombinationAlikeInEveryForm) {
  const Ran table = run_tilecast(kGemm), csv = run_tilecast(kGemm + "--csv"), document = run_tilecast(kGemm + "--json");
  ASSERT_EQ(table.code, 0) << table.err;
  EXPECT_THAT(table.out, StartsWith("kernel gemm, m 16,64..128:64, n 4096, k 4096, gpu H100-SXM,B200\n\n  m  GPU "));
  const json list = json::parse(document.out);
  const auto rows = table_of(csv.out);
  ASSERT_EQ(list.size(), 6u);
  ASSERT_EQ(rows.size(), 7u);
  EXPECT_EQ(rows[0][0], "m");
  for (std::size_t i = 0; i < list.size(); ++i) {
    EXPECT_EQ(std::stoi(rows[i + 1][0]), list[i]["arguments"]["m"].get<int>());
    EXPECT_EQ(std::stod(cell(rows, i + 1, "latency_us")), list[i]["latency_us"].get<double>());
    EXPECT_EQ(cell(rows, i + 1, "gpu"), list[i]["gpu"].get<std::string>());
  }
}

TEST(Ranges, AskWhatOneValueAsks) {
  const Ran swept = run_tilecast("predict gpt2 --gpu H100-SXM --mode decode --batch 1,4 --context 100..200:100 --json");
  const Ran one = run_tilecast("predict gpt2 --gpu H100-SXM --mode decode --batch 4 --context 100 --json");
  ASSERT_EQ(swept.code, 0) << swept.err;
  json found = json::parse(swept.out).at(2);
  EXPECT_EQ(found["arguments"], (json{{"batch", 4}, {"context", 100}}));
  found.erase("arguments");
  EXPECT_EQ(found, json::parse(one.out).at(0));
}

TEST(Ranges, OfSizesOfCollectivesAreLists) {
  const std::string rest = " --ranks 8 --cluster hgx-h100-8";
  EXPECT_EQ(run_tilecast("collective all_reduce --bytes 64K..1M*4" + rest).out,
            run_tilecast("collective all_reduce --bytes 64K,256K,1M" + rest).out);
}

TEST(Csv, IsPrintedByEveryCommandWithATable) {
  for (const char* arguments :
       {"gpus", "gpu show H100-SXM", "gpu show H100-SXM --constants", "clusters", "models", "models gpt2",
        "models --classes", "kernel gemm --m 8 --n 64 --k 64 --gpu H100-SXM",
        "predict gpt2 --gpu H100-SXM --seq 64", "predict Llama-3.1-8B --cluster hgx-h100 --tp 2 --seq 64",
        "memory gpt2 --gpu H100-SXM --seq 64", "collective all_reduce --bytes 64K --ranks 8 --cluster hgx-h100-8",
        "simulate gpt2 --gpu H100-SXM --num-prompts 4 --input 64 --output 16",
        "plan train gpt2 --gpus 2xH100-SXM --global-batch 8 --seq 64",
        "tune gemm --gpu H200 --m 64 --n 512 --k 512"}) {
    SCOPED_TRACE(arguments);
    const Ran ran = run_tilecast(std::string(arguments) + " --csv");
    ASSERT_EQ(ran.code, 0) << ran.err;
    const std::string header = ran.out.substr(0, ran.out.find('\n'));
    EXPECT_THAT(header, testing::MatchesRegex("[A-Za-z0-9_]+(,[A-Za-z0-9_]+)*"));
    EXPECT_GE(std::count(ran.out.begin(), ran.out.end(), '\n'), 2);
    EXPECT_THAT(ran.out, Not(HasSubstr("\x1b")));
  }
}

class Scratch {
 public:
  Scratch() : path_(scratch_path("manners")) { std::filesystem::create_directories(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

TEST(Plot, WritesAnSvgAndAPngOfWhatItPrints) {
  const Scratch scratch;
  const std::string svg = scratch.file("a.svg"), png = scratch.file("a.png");
  const Ran drawn = run_tilecast(kGemm + "--plot " + svg);
  ASSERT_EQ(drawn.code, 0) << drawn.err;
  EXPECT_THAT(drawn.out, HasSubstr("Wrote " + svg));
  const std::string picture = file_text(svg);
  for (const char* part : {"<svg", "forecast [µs]", ">H100-SXM<", ">B200<", "</svg>"})
    EXPECT_THAT(picture, HasSubstr(part));
  const Ran again = run_tilecast(kGemm + "--csv --plot-y bound_us --plot " + png);
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(again.out, run_tilecast(kGemm + "--csv").out);
  EXPECT_EQ(file_text(png).substr(1, 3), "PNG");
}

// What a program prints to a terminal, its errors included.
std::string on_terminal(const std::string& arguments, const std::string& variables) {
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child == 0) {
    const std::string line = "exec env -u NO_COLOR " + variables + " " + program_for(arguments) + arguments;
    execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    _exit(127);
  }
  std::string out;
  char block[4096];
  for (ssize_t got = 0; (got = read(terminal, block, sizeof block)) > 0;) out.append(block, static_cast<std::size_t>(got));
  close(terminal);
  waitpid(child, nullptr, 0);
  out.erase(std::remove(out.begin(), out.end(), '\r'), out.end());
  return out;
}

std::string without_codes(std::string text) {
  for (std::size_t at = text.find("\x1b["); at != std::string::npos; at = text.find("\x1b["))
    text.erase(at, text.find('m', at) + 1 - at);
  return text;
}

TEST(Colour, IsForTerminalsAlone) {
  const std::string arguments = "memory Llama-3.1-70B --gpu H100-SXM,L4 --mode decode --batch 1 --context 128";
  const std::string alone = " 2> /dev/null";  // progress, which a busy machine shows
  const Ran plain = run_tilecast(arguments);
  EXPECT_THAT(plain.out, Not(HasSubstr("\x1b")));
  const std::string shown = on_terminal(arguments + alone, "TERM=xterm");
  EXPECT_THAT(shown, HasSubstr("\x1b[1mGPU"));
  EXPECT_THAT(shown, HasSubstr("\x1b[31mno\x1b[0m"));
  EXPECT_EQ(without_codes(shown), plain.out);  // columns are as wide
  EXPECT_EQ(on_terminal(arguments + alone, "TERM=dumb"), plain.out);
  EXPECT_EQ(on_terminal(arguments + alone, "TERM=xterm NO_COLOR=1"), plain.out);
  EXPECT_EQ(on_terminal(arguments + " --color never" + alone, "TERM=xterm"), plain.out);
  EXPECT_EQ(run_tilecast(arguments + " --color always").out, shown);
  EXPECT_EQ(run_tilecast(arguments + " --color=never").out, plain.out);
}

TEST(Colour, IsInNoDocument) {
  for (const char* form : {" --json", " --csv"})
    EXPECT_THAT(run_tilecast("kernel gemm --m 8 --n 64 --k 64 --gpu H100-SXM --color always" + std::string(form)).out,
                Not(HasSubstr("\x1b")));
}

TEST(Colour, OfErrorsAndHelp) {
  EXPECT_EQ(on_terminal("gpu show nothing", "TERM=xterm").substr(0, 18), "\x1b[31mtilecast:\x1b[0m");
  EXPECT_THAT(on_terminal("gpus --help", "TERM=xterm"), HasSubstr("\x1b[1mOptions:\x1b[0m"));
  EXPECT_EQ(run_tilecast("gpus --color=sometimes").code, 2);
}

TEST(Ranges, EndWithAClosedPipeInOneLine) {
  const Ran ran = run_shell("'" TILECAST_BINARY "' gpus --csv | true");
  EXPECT_EQ(ran.out, "");
}

}  // namespace
}  // namespace tilecast
