#include "model/program_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>

#include "test_paths.h"

namespace tilecast {
namespace {

// x (1000 bytes) is there; call 0 makes y (400), call 1 makes z (64) from y and lets y go, call 2 is a view of z.
const char* const kSmallProgram = R"({
  "format": "tilecast.program", "version": 1, "name": "small", "about": {"torch": "2.11.0"},
  "modules": ["", "layer"], "phases": ["forward"],
  "layouts": [{"dtype": "fp32", "device": "cuda", "shape": [10, 25], "strides": [25, 1]},
              {"dtype": "fp32", "device": "cuda", "shape": [100], "strides": [1]},
              {"dtype": "fp32", "device": "cuda", "shape": [16], "strides": [1]}],
  "operators": [
    {"name": "aten.first", "view": false, "arguments": [["self", "tensor", 0], ["dims", "ints", [1, -1]]], "results": [1]},
    {"name": "aten.second", "view": false,
     "arguments": [["parts", "tensors", [1, -1]], ["low", "float", 0.5], ["high", "floats", ["inf", 2]],
                   ["end", "int", 9223372036854775807], ["keep", "bool", true], ["type", "dtype", "bf16"]], "results": [2]},
    {"name": "aten.view", "view": true, "arguments": [["self", "tensor", 2]], "results": [2]}],
  "storages": {"bytes": [1000, 400, 64, 8], "device": ["cuda", "cuda", "cuda", "cpu"],
               "role": ["parameter", "other", "other", "other"], "born": [-1, 0, 1, -1], "dies": [-1, 1, -1, -1]},
  "calls": {"operator": [0, 1, 2], "module": [1, 1, 0], "phase": [0, 0, 0],
            "reads": [[0], [1], [2]], "writes": [[1], [2], [2]]}
})";

std::string changed_program(const std::string& from, const std::string& to) {
  std::string text = kSmallProgram;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

Error refused_program(const std::string& from, const std::string& to) {
  const auto program = program_from_json(changed_program(from, to), "p.json");
  EXPECT_FALSE(program) << from << " -> " << to;
  return program ? Error{} : program.error();
}

TEST(ProgramFile, TablesAndArguments) {
  const auto program = program_from_json(kSmallProgram, "p.json");
  ASSERT_TRUE(program) << program.error().line();
  EXPECT_EQ(program->name, "small");
  EXPECT_EQ(program->torch, "2.11.0");
  ASSERT_EQ(program->calls.size(), 3U);
  EXPECT_EQ(program->modules[static_cast<std::size_t>(program->calls[0].module)], "layer");
  const ProgramOperator& second = program->operators[1];
  EXPECT_EQ(second.find("parts")->counts, (std::vector<Count>{1, -1}));
  EXPECT_EQ(second.find("low")->numbers, std::vector<double>{0.5});
  EXPECT_TRUE(std::isinf(second.find("high")->numbers[0]));
  EXPECT_GT(second.find("end")->counts[0], 1'000'000'000);
  EXPECT_EQ(second.find("keep")->counts, std::vector<Count>{1});
  EXPECT_EQ(second.find("type")->text, "bf16");
  EXPECT_EQ(second.find("absent"), nullptr);
  EXPECT_TRUE(program->operators[2].view);
}

TEST(ProgramFile, MemoryByHand) {
  const auto program = program_from_json(kSmallProgram, "p.json");
  ASSERT_TRUE(program);
  EXPECT_EQ(memory_over_calls(*program), (std::vector<Count>{1400, 1464, 1064, 1064}));
  EXPECT_EQ(peak_bytes(*program), 1464);
}

TEST(ProgramFile, ErrorsNameTheField) {
  EXPECT_EQ(refused_program("\"tilecast.program\"", "\"other\"").field, "format");
  EXPECT_EQ(refused_program("\"version\": 1", "\"version\": 2").field, "version");
  EXPECT_EQ(refused_program("\"shape\": [100], \"strides\": [1]", "\"shape\": [100], \"strides\": []").field,
            "layouts[1].strides");
  EXPECT_EQ(refused_program("\"shape\": [100]", "\"shape\": [-1]").field, "layouts[1].shape[0]");
  EXPECT_EQ(refused_program("[10, 25]", "[1000000000000, 1000000000000]").field, "layouts[0].shape");
  EXPECT_EQ(refused_program("\"tensor\", 0", "\"tensor\", 3").field, "operators[0].arguments[0][2]");
  EXPECT_EQ(refused_program("\"results\": [1]", "\"results\": [7]").field, "operators[0].results[0]");
  EXPECT_EQ(refused_program("\"ints\"", "\"complex\"").field, "operators[0].arguments[1][1]");
  EXPECT_EQ(refused_program("\"born\": [-1, 0, 1, -1]", "\"born\": [-1, 0, 3, -1]").field, "storages.born[2]");
  EXPECT_EQ(refused_program("\"dies\": [-1, 1, -1, -1]", "\"dies\": [-1, 1, 0, -1]").field, "storages.dies[2]");
  EXPECT_EQ(refused_program("\"born\": [-1, 0, 1, -1]", "\"born\": [-1]").field, "storages.born");
  EXPECT_EQ(refused_program("\"operator\": [0, 1, 2]", "\"operator\": [0, 1, 9]").field, "calls.operator[2]");
  EXPECT_EQ(refused_program("\"writes\": [[1], [2], [2]]", "\"writes\": [[1], [2], [4]]").field, "calls.writes[2][0]");
  EXPECT_EQ(refused_program("\"phases\"", "\"parts_of\"").field, "phases");
  EXPECT_EQ(refused_program("{\"torch\"", "[\"torch\"").field, "");
}

TEST(ProgramFile, ListsThatAreEmptyHaveNoPlaces) {
  const Error none = refused_program("\"phases\": [\"forward\"]", "\"phases\": []");
  EXPECT_EQ(none.problem, "counts in a list that is empty") << none.line();
}

TEST(ProgramFile, TruncatedTextsAreRefused) {
  const std::string whole = kSmallProgram;
  for (std::size_t size = 0; size + 1 < whole.size(); size += 7)
    EXPECT_FALSE(program_from_json(std::string_view(whole).substr(0, size), "p.json")) << size;
}

TEST(ProgramFile, RecordsOfTheRepositoryAreRead) {
  const std::filesystem::path folder = std::filesystem::path(TILECAST_SOURCE_DIR) / "data" / "programs";
  int read = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const auto program = program_from_file(entry.path().string());
    ASSERT_TRUE(program) << program.error().line();
    EXPECT_GT(peak_bytes(*program), 0);
    EXPECT_FALSE(program->calls.empty());
    ++read;
  }
  EXPECT_GT(read, 0);
}

TEST(ProgramFile, IsToldFromOtherJson) {
  EXPECT_TRUE(looks_like_program_json(kSmallProgram));
  EXPECT_FALSE(looks_like_program_json(R"({"architectures": ["BertModel"]})"));
}

}  // namespace
}  // namespace tilecast
