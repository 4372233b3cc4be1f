// What nobody should give the program, given to the real binary: each is refused in one line that can be printed, with
// an exit code that says so, and leaves nothing behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <set>

#include "cli/cli_testing.h"
#include "support/printable.h"
#include "support/test_share.h"
#include "test_paths.h"

namespace tilecast {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr int kRefusedCode = 2;

// A folder of this test's own; all relative paths of a row lie in it.
class Folder {
 public:
  Folder() : path_(scratch_path("hostile")) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(file(name), std::ios::binary) << text;
  }
  std::set<std::string> names() const {
    std::set<std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(path_)) all.insert(entry.path().string());
    return all;
  }
  Ran run(const std::string& arguments) const {
    return run_shell("cd '" + path_ + "' && " + program_for(arguments) + arguments);
  }

 private:
  std::string path_;
};

void expect_one_line(const Ran& ran) {
  EXPECT_THAT(ran.err, testing::MatchesRegex("tilecast(-lab)?: [^\n]*\n"));
  ASSERT_TRUE(ran.err.ends_with('\n')) << ran.err;
  const std::string line = ran.err.substr(0, ran.err.size() - 1);
  EXPECT_EQ(printable(line), line);
  EXPECT_LT(line.size(), 3000u);
}

struct Hostile {
  const char* name;
  std::string arguments;
  std::string file;  // made before, empty: none
  std::string text;  // what it holds
  std::string says;  // part of the line
  int code = kRefusedCode;
};

void PrintTo(const Hostile& row, std::ostream* out) { *out << row.name; }

class HostileInput : public testing::TestWithParam<Hostile> {};

TEST_P(HostileInput, IsRefusedInOneLine) {
  const Hostile& row = GetParam();
  const Folder folder;
  if (!row.file.empty()) folder.write(row.file, row.text);
  const auto before = folder.names();
  const Ran ran = folder.run(row.arguments);
  EXPECT_EQ(ran.code, row.code);
  EXPECT_EQ(ran.out, "");
  expect_one_line(ran);
  EXPECT_THAT(ran.err, HasSubstr(row.says));
  EXPECT_THAT(ran.err, testing::EndsWith(")\n")) << "says what is wrong, not what to do";
  EXPECT_EQ(folder.names(), before) << "something was written";
}

std::string graph_of(const std::string& operators) {
  return R"({"name": "n", "sections": [{"name": "s", "tensors": [{"name": "x", "elements": 4096},
             {"name": "y", "elements": 4096}], "operators": [)" +
         operators + "]}]}";
}

std::vector<Hostile> graphs() {
  std::vector<Hostile> rows;
  const std::string norm = R"({"name": "a", "kernel": "rmsnorm", "dims": {"rows": 4, "cols": 8})";
  const std::string gate = R"({"name": "a", "kernel": "gated_activation", "dims": {"rows": 4, "cols": 8})";
  const std::string rope = R"({"name": "a", "kernel": "rope", "dims": {"tokens": 4, "heads": 2, "head-dim": 64})";
  const std::string moe =
      R"({"name": "a", "kernel": "moe", "dims": {"tokens": 4, "hidden": 64, "inter": 64, "experts": 4, "topk": 2})";
  const std::string on = " g.json --gpu H100-SXM --engine pytorch";
  const std::string writes = R"(, "writes": ["y"]})", reads = R"(, "reads": ["y"]})";
  rows.push_back({"NormReadsNothing", "predict" + on, "g.json", graph_of(norm + writes), "reads: must"});
  rows.push_back({"NormWritesNothing", "predict" + on, "g.json", graph_of(norm + reads), "writes: must"});
  rows.push_back({"GateReadsNothing", "predict" + on, "g.json", graph_of(gate + writes), "reads: must"});
  rows.push_back({"RopeReadsNothing", "predict" + on, "g.json", graph_of(rope + writes), "reads: must"});
  rows.push_back({"ExpertsReadNothing", "predict" + on, "g.json", graph_of(moe + writes), "reads: must"});
  rows.push_back({"GateWritesNothing", "predict" + on, "g.json", graph_of(gate + reads), "writes: must"});
  rows.push_back({"RopeWritesNothing", "predict" + on, "g.json", graph_of(rope + reads), "writes: must"});
  rows.push_back({"ExpertsWriteNothing", "predict" + on, "g.json", graph_of(moe + reads), "writes: must"});
  rows.push_back({"MemoryOfExpertsThatWriteNothing", "memory" + on, "g.json", graph_of(moe + reads), "writes: must"});
  rows.push_back({"MemoryOfAGraphThatReadsNothing", "memory" + on, "g.json", graph_of(norm + "}"), "reads: must"});
  rows.push_back({"ReadsAnEmptyList", "predict" + on, "g.json", graph_of(norm + R"(, "reads": [], "writes": ["y"]})"),
                  "reads: must"});
  rows.push_back({"GraphNestsWithoutEnd", "predict" + on, "g.json", R"({"sections": )" + std::string(100000, '['),
                  "nests more than"});
  return rows;
}

std::vector<Hostile> files() {
  const std::string deep = std::string(100000, '[') + std::string(100000, ']');
  const std::string escape = "\x1b[31m\x07\r\n\xc2\x9b";
  const std::string wide(600000, 'c');
  std::string columns = "a";
  for (int i = 0; i < 60000; ++i) columns += ",column" + std::to_string(i);
  const std::string kernel = "kernel softmax --rows 8 --cols 8 --gpu ";
  return {
      {"ConfigNestsWithoutEnd", "predict c.json --gpu H100-SXM --seq 8", "c.json",
       R"({"architectures": ["LlamaForCausalLM"], "ignored": )" + deep + "}", "c.json: nests more than"},
      {"ConfigOfObjectsWithoutEnd", "predict c.json --gpu H100-SXM --seq 8", "c.json",
       [] {
         std::string text;
         for (int i = 0; i < 100000; ++i) text += "{\"a\":";
         return text;
       }(),
       "nests more than"},
      {"GpuNestsWithoutEnd", "gpu check g.json", "g.json", R"({"like": "H100-SXM", "notes": )" + deep + "}",
       "nests more than"},
      {"ClusterNestsWithoutEnd", "predict gpt2 --cluster c.json --tp 2 --seq 8", "c.json", deep, "nests more than"},
      {"GpuRateNearZero", kernel + "g.json", "g.json",
       R"({"like": "H100-SXM", "name": "x", "vector_ops_per_clock_per_sm": {"xu": 1e-308}})",
       "vector_ops_per_clock_per_sm.xu: must lie between"},
      {"GpuRateHuge", kernel + "g.json", "g.json",
       R"({"like": "H100-SXM", "name": "x", "vector_ops_per_clock_per_sm": {"xu": 1e300}})", "must lie between"},
      {"GpuNameOfEscapeCodes", "gpu check g.json", "g.json", R"({"like": "H100-SXM", "name": "\u001b[31mred\u0007"})",
       "name: holds characters that cannot be printed"},
      {"GpuNameWithoutEnd", "gpu check g.json", "g.json", R"({"like": "H100-SXM", "name": ")" + wide + "\"}",
       "name: is longer than"},
      {"GpuLikeEscapeCodes", "gpu check g.json", "g.json", R"({"like": "\u001b[31mred\n", "name": "x"})",
       "unknown GPU '\\x1b[31mred\\n'"},
      {"GpuFieldOfEscapeCodes", "gpu check g.json", "g.json", R"({"like": "H100-SXM", "\u001b[2J": 1})",
       "\\x1b[2J: unknown field"},
      {"GpuFileOfBrokenJson", "gpu check g.json", "g.json", "{\"name\": \"" + escape, "is not valid JSON"},
      {"TableOfManyColumns", "evaluate --data t.csv", "t.csv", columns + "\n", "t.csv"},
      {"TableOfOneLongName", "evaluate --data t.csv", "t.csv", wide + "\n", "t.csv"},
      {"TableOfEscapeCodes", "evaluate --data t.csv", "t.csv", "gpu" + escape + ",x\n", "t.csv"},
      {"TableOfNothing", "evaluate --data t.csv", "t.csv", "", "t.csv: is empty"},
      {"ATableOfNoRowsToImport", "import --from aiconfigurator t.csv -o out.csv", "t.csv",
       "gpu,framework,version,device,op_name,kernel_source,m,n,k,gemm_dtype,latency\n", "holds no row"},
      {"TraceOfNothing", "simulate gpt2 --gpu H100-SXM --trace t.csv", "t.csv", "", "t.csv"},
      {"TraceOfAHeader", "simulate gpt2 --gpu H100-SXM --trace t.csv", "t.csv", "arrival,input,output\n", "t.csv"},
      {"TraceNestsWithoutEnd", "simulate gpt2 --gpu H100-SXM --trace t.jsonl", "t.jsonl",
       R"({"arrival": 0, "input": 1, "output": 1, "x": )" + deep + "}\n", "t.jsonl:1"},
      {"RetimedNothing", "retime p.json --gpu B200", "p.json", "{\"traceEvents\": []}", "holds no GPU work"},
      {"RetimedHalf", "retime p.json --from H100-SXM --gpu B200 --output q.json", "p.json",
       "{\"traceEvents\": [{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"ts\":1,\"dur\":1}", "ends too early"},
      {"RetimedOverYears", "retime p.json --from H100-SXM --gpu B200", "p.json",
       "{\"traceEvents\": [{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"ts\":1,\"dur\":1},"
       "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"ts\":1e14,\"dur\":1}]}",
       "more than a year apart"},
      {"ProfileOfNothing", "diagnose p.json --gpu H100-SXM", "p.json", "{\"traceEvents\": []}", "holds no GPU work"},
      {"PricesOfEscapeCodes", "plan train gpt2 --gpus 8xH100-SXM --global-batch 8 --seq 8 --prices p.csv", "p.csv",
       "gpu,usd_per_hour\n\x1b[31m,x\n", "is not a price for '\\x1b[31m'"},
      {"WeightsOfZeros", kernel + "H100-SXM --weights w", "w", std::string(5000, '\0'),
       "is not a Tilecast weight file"},
      {"OnnxOfZeros", "predict m.onnx --gpu H100-SXM", "m.onnx", std::string(5000, '\0'), "m.onnx"},
      {"OnnxOfAnEndlessLength", "predict m.onnx --gpu H100-SXM", "m.onnx", "\x3a\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
       "m.onnx"},
      {"AFolderIsNoTable", "calibrate --gpu H100-SXM --data . -o out.json", "", "", "directory"},
      {"AFolderIsNoGpu", "gpu check /", "", "", "is a directory"},
  };
}

std::vector<Hostile> words() {
  const std::string serve = "plan serve gpt2 --slo ttft=1s --gpus H100-SXM ";
  const std::string train = "plan train gpt2 --gpus 8xH100-SXM --global-batch 8 --seq 8 ";
  const std::string name(300, 'n');
  return {
      {"AModelsNameOf300Letters", "predict " + name + ".json --gpu H100-SXM --seq 8", "", "", "cannot be opened"},
      {"AModelsNameOf100000Letters", "predict " + std::string(100000, 'n') + " --gpu H100-SXM --seq 8", "", "",
       "unknown model"},
      {"NoGpuBetweenCommas", "predict gpt2 --gpu , --seq 8", "", "", "--gpu: is empty (say what it is)"},
      {"NoGpuAroundACommaAfterAnEqualsSign", "predict gpt2 --gpu=, --seq 8", "", "", "--gpu: is empty"},
      {"NoGpuThatAKernelKnows", "kernel softmax --rows 8 --cols 8 --gpu nope", "", "", "--gpu: unknown GPU 'nope'"},
      {"AGpuOf300Letters", "gpu check " + name + ".json", "", "", "cannot be opened"},
      {"AGpuOf100000Letters", "gpu show " + std::string(100000, 'g'), "", "", "unknown GPU"},
      {"AnOnnxFileOf300Letters", "predict " + name + ".onnx --gpu H100-SXM", "", "", "cannot be opened"},
      {"ATableOf300Letters", "evaluate --data " + name + ".csv", "", "", "cannot be opened"},
      {"AProfileOf300Letters", "diagnose " + name + ".json", "", "", "cannot be opened"},
      {"ATraceOf300Letters", "simulate gpt2 --gpu H100-SXM --trace " + name, "", "", "cannot be opened"},
      {"WeightsOf300Letters", "predict gpt2 --gpu H100-SXM --seq 8 --weights " + name, "", "", "cannot be opened"},
      {"AnOutputOf300Letters", "predict gpt2 --gpu H100-SXM --seq 8 --trace " + name, "", "", "cannot be written"},
      {"APathThroughAFile", "gpu check /dev/null/x.json", "", "", "no such file"},
      {"EscapeCodesAsACommand", "\"$(printf '\\033[31m\\n')\"", "", "", "\\x1b[31m"},
      {"EscapeCodesAsAModel", "predict \"$(printf '\\033[31m\\a')\" --gpu H100-SXM", "", "", "\\x1b[31m\\x07"},
      {"EscapeCodesAsAFlag", "predict gpt2 --gpu \"$(printf '\\033[31m')\" --seq 8", "", "", "\\x1b[31m"},
      {"NoUtf8AsAModel", "predict \"$(printf '\\377')\" --gpu H100-SXM --json", "", "", "\\xff"},
      {"AnUnknownFlagWithoutEnd", "gpus --" + std::string(100000, 'x'), "", "", "xxx"},
      {"AnEmptyModel", "predict '' --gpu H100-SXM", "", "", "is empty"},
      {"AnEmptyGpu", "predict gpt2 --gpu '' --seq 8", "", "", "--gpu: is empty"},
      {"AnEmptyOutput", "evaluate --data t.csv --predictions ''", "", "", "--predictions: is empty"},
      {"FewerTokensThanSequences", "simulate gpt2 --gpu H100-SXM --max-num-seqs 64 --max-num-batched-tokens 32", "", "",
       "--max-num-batched-tokens: vLLM starts with no fewer tokens a step than sequences, 64"},
      {"AnEmptyOutputBehindAnEqualsSign", "simulate gpt2 --gpu H100-SXM --timeline=", "", "", "--timeline: is empty"},
      {"AnEmptyTrace", "simulate gpt2 --gpu H100-SXM --trace ''", "", "", "--trace: is empty"},
      {"NoPrompts", "simulate gpt2 --gpu H100-SXM --num-prompts 0", "", "", "--num-prompts: must lie between 1 and"},
      {"NoPromptsOfAPlan", serve + "--rate 1 --num-prompts 0", "", "", "--num-prompts: must lie between 1 and"},
      {"ARateOfZero", "simulate gpt2 --gpu H100-SXM --rate 0", "", "", "--rate: must be above 0"},
      {"ARateOfZeroOfAPlan", serve + "--rate 0", "", "", "--rate: must be above 0"},
      {"ARateBelowZero", "simulate gpt2 --gpu H100-SXM --rate=-1", "", "", "--rate: must be above 0"},
      {"ARateNearZero", "simulate gpt2 --gpu H100-SXM --rate 1e-300", "", "", "rate: must lie between"},
      {"ASweepFromNearZero", "simulate gpt2 --gpu H100-SXM --sweep rate=1e-300,1", "", "", "is not a sweep"},
      {"AnObjectiveNearZero", "simulate gpt2 --gpu H100-SXM --slo ttft=1e-300us", "", "", "is not an objective"},
      {"ABudgetOfZero", serve + "--rate 1 --budget 0", "", "", "--budget: must be above 0"},
      {"ABudgetBelowZero", serve + "--rate 1 --budget=-5", "", "", "--budget: must be above 0"},
      {"APriceBelowZero", train + "--price=-5", "", "", "--price: must be above 0"},
      {"APriceWithoutEnd", train + "--price 1e300", "", "", "--price: must lie between"},
      {"TokensWithoutEnd", train + "--tokens 1e300", "", "", "--tokens: must lie between"},
      {"TokensOfNan", train + "--tokens nan", "", "", "--tokens"},
      {"NoTokens", train + "--tokens 0", "", "", "--tokens: must lie between"},
      {"AllRequestsRefused", "simulate gpt2 --gpu H100-SXM --input 4000 --output 4000 --num-prompts 8", "", "",
       "none of 8 requests"},
      {"AllRequestsOfASweepRefused",
       "simulate gpt2 --gpu H100-SXM --input 4000 --output 4000 --num-prompts 8 --sweep rate=1,2", "", "",
       "none of 8 requests"},
      {"WeightsBeyondTheCard", "simulate Llama-3.1-405B --gpu L4 --engine trtllm", "", "",
       "does not fit L4: 756.0 GiB of weights, 2"},
      {"NoLayoutFits", "plan train Llama-3.1-405B --gpus 1xH100-SXM --global-batch 8 --seq 8192", "", "", "none of"},
      {"NoDeploymentMeets",
       "plan serve gpt2 --slo ttft=1us,tpot=1us --rate 1 --gpus 1xH100-SXM --engine vllm --input 64 --output 16", "",
       "", "none meets the objectives"},
      {"AFolderToWriteTo", "predict gpt2 --gpu H100-SXM --seq 8 --trace .", "", "", "is a directory"},
      {"AFullDisk", "predict gpt2 --gpu H100-SXM --seq 8 --trace /dev/full", "", "", "could not be written to its end"},
      {"NowhereToWrite", "predict gpt2 --gpu H100-SXM --seq 8 --trace no/such/folder/t.json", "", "",
       "cannot be written"},
      {"NowhereToWriteRows", "import --from aiconfigurator t.csv -o no/such/folder/t.csv", "", "", "cannot be written"},
  };
}

std::vector<Hostile> ranges() {
  const std::string gemm = "kernel gemm --n 64 --k 64 --gpu H100-SXM ", m = gemm + "--m ";
  const std::string predict = "predict gpt2 --gpu H100-SXM --mode decode --context 64 --batch ";
  const std::string two = predict + "1,2 ";
  return {
      {"ARangeWithoutEnd", predict + "1..1000000000", "", "", "--batch: '1..1000000000' makes 1000000000 values"},
      {"ARangeOfADimensionWithoutEnd", m + "1..1000000000", "", "", "--m: '1..1000000000' makes 1000000000 values"},
      {"ARangeThatCountsDown", predict + "8..1", "", "", "--batch: '8..1' ends below its beginning (write 1..8)"},
      {"ARangeOfNothing", predict + "..", "", "", "--batch: '..' has no beginning or no end"},
      {"AListWithAHole", predict + "1,,2", "", "", "--batch: '1,,2' has nothing between two commas"},
      {"AStepOfZero", predict + "1..8:0", "", "", "step of a range must be above 0"},
      {"AFactorOfOne", predict + "1..8*1", "", "", "factor of a range must be above 1"},
      {"ARangeOfWords", predict + "one..two", "", "", "--batch: 'one' is not a whole number"},
      {"ARangeBeyondItsArgument", predict + "0..2", "", "", "--batch: must lie between 1 and"},
      {"ARangeOfAText", "predict gpt2 --gpu H100-SXM..B200 --seq 8", "", "", "unknown GPU"},
      {"ARangeOfAChoice", m + "8 --dtype bf16..fp8", "", "", "--dtype: must be"},
      {"TooManyCombinations", gemm + "--m 1..100 --batch 1..100", "", "", "batch"},
      {"TooManyCombinationsOfAModel", "predict gpt2 --gpu H100-SXM --mode decode --context 1..100 --batch 1..100", "",
       "", "makes more than 4096 combinations"},
      {"ARangeOfStandardInput", "predict - --gpu H100-SXM --batch 1,2 < /dev/null", "", "", "standard input"},
      {"CsvAndJson", two + "--csv --json", "", "", "--csv: and --json exclude each other"},
      {"CsvAndJsonOfOne", predict + "1 --csv --json", "", "", "--csv: and --json exclude each other"},
      {"APlotOfOneValue", predict + "1 --plot a.svg", "", "", "--plot: has nothing to draw over"},
      {"APlotOfNoKind", two + "--plot a.gif", "", "", "--plot: 'a.gif' is not an .svg or .png file"},
      {"APlotToAFullDisk", two + "--plot /dev/full", "", "", "--plot: '/dev/full' is not an .svg or .png file"},
      {"APlotToAFolder", two + "--plot no/such/folder/a.svg", "", "", "cannot be written"},
      {"APlotToStandardOutput", two + "--plot -", "", "", "--plot: '-' is not an .svg or .png file"},
      {"APlotOfNoColumn", two + "--plot a.svg --plot-y nothing", "", "", "--plot-y: 'nothing' is not a column"},
      {"APlotOfWords", two + "--plot a.svg --plot-y gpu", "", "", "--plot: has no numbers to draw in the column 'gpu'"},
      {"AColumnWithoutAPlot", two + "--plot-y gpu", "", "", "--plot-y: has no effect without --plot"},
      {"KernelsOfARange", two + "--kernels", "", "", "--kernels: has no effect over a range"},
      {"ATraceOfARange", two + "--trace t.json", "", "", "--trace: has no effect over a range"},
      {"KernelsAsCsv", predict + "1 --kernels --csv", "", "", "--kernels: has no effect with --csv or --plot"},
      {"AColourOfNoKind", "gpus --color sometimes", "", "", "--color: must be auto, always or never"},
  };
}

std::string name_of_row(const testing::TestParamInfo<Hostile>& row) { return row.param.name; }
INSTANTIATE_TEST_SUITE_P(Graphs, HostileInput, testing::ValuesIn(graphs()), name_of_row);
INSTANTIATE_TEST_SUITE_P(Files, HostileInput, testing::ValuesIn(files()), name_of_row);
INSTANTIATE_TEST_SUITE_P(Ranges, HostileInput, testing::ValuesIn(ranges()), name_of_row);
INSTANTIATE_TEST_SUITE_P(Words, HostileInput, testing::ValuesIn(words()), name_of_row);

// Figures of nothing are no figures.
TEST(Hostile, NoOutputHoldsInfinitiesOrNans) {
  const Folder folder;
  folder.write("zero.json",
               R"({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 0, "args": {}}]})");
  folder.write("zero.csv", "name,duration_us\nk,0\n");
  for (const char* arguments :
       {"diagnose zero.json --gpu H100-SXM", "diagnose zero.json --gpu H100-SXM --json",
        "diagnose zero.csv --gpu H100-SXM", "simulate gpt2 --gpu H100-SXM --num-prompts 1 --input 1 --output 1",
        "simulate gpt2 --gpu H100-SXM --num-prompts 1 --input 1 --output 1 --json",
        "plan train gpt2 --gpus 2xH100-SXM --global-batch 8 --seq 64 --tokens 1"}) {
    SCOPED_TRACE(arguments);
    const Ran ran = folder.run(arguments);
    const std::string said = ran.out + ran.err;
    EXPECT_NE(said, "");
    EXPECT_THAT(said, testing::Not(testing::ContainsRegex("(^|[^a-zA-Z])(inf|nan)([^a-zA-Z]|$)")));
    EXPECT_THAT(said, testing::Not(HasSubstr("-0 %")));
  }
}

TEST(Hostile, ANameOfAnotherAlphabetIsShownAndOneOfNoneIsReplacedInJson) {
  const Folder folder;
  folder.write("\xe6\xa8\xa1.json", R"({"like": "H100-SXM", "name": "模型"})");
  const Ran ran = folder.run("gpu check \xe6\xa8\xa1.json");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("模型"));
  fs::copy_file(std::string(TILECAST_SOURCE_DIR) + "/fuzz/corpus/model_graph/wide_mlp.json", folder.file("\xff.json"));
  const Ran json = folder.run("predict \xff.json --gpu H100-SXM --json");
  EXPECT_EQ(json.code, 0) << json.err;
}

TEST(Hostile, DevicesAreWrittenAndStayDevices) {
  const Folder folder;
  EXPECT_EQ(folder.run("predict gpt2 --gpu H100-SXM --seq 8 --trace /dev/null").code, 0);
  EXPECT_EQ(folder.run("simulate gpt2 --gpu H100-SXM --num-prompts 2 --input 64 --output 16 --requests /dev/null").code,
            0);
  struct stat status {};
  ASSERT_EQ(stat("/dev/null", &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
  const Ran shown = folder.run(
      "simulate gpt2 --gpu H100-SXM --num-prompts 2 --input 64 --output 16 --requests /dev/stdout --no-interval");
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("sent_s"));
  EXPECT_THAT(shown.out, HasSubstr("completed 2"));
  const Ran kept = folder.run(
      "simulate gpt2 --gpu H100-SXM --num-prompts 2 --input 64 --output 16 --requests /dev/stdout --no-interval > "
      "both.txt");
  EXPECT_EQ(kept.code, 0) << kept.err;
  EXPECT_EQ(file_text(folder.file("both.txt")), shown.out);
}

// A user's own file beside the output, and a link that somebody planted there, are none of our business.
TEST(Hostile, NothingBesideAnOutputIsTouched) {
  const Folder folder;
  folder.write("t.json.part", "mine");
  folder.write("far.json", "old");
  fs::create_symlink("far.json", folder.file("link.json"));
  EXPECT_EQ(folder.run("predict gpt2 --gpu H100-SXM --seq 8 --trace t.json").code, 0);
  EXPECT_EQ(folder.run("predict gpt2 --gpu H100-SXM --seq 8 --trace link.json").code, 0);
  EXPECT_EQ(file_text(folder.file("t.json.part")), "mine");
  EXPECT_TRUE(fs::is_symlink(folder.file("link.json")));
  EXPECT_EQ(file_text(folder.file("far.json")), file_text(folder.file("t.json")));
  EXPECT_EQ(folder.names().size(), 4u);
}

std::string table_of_rows() {
  std::string text = "gpu,source,engine,engine_version,kernel_source,family,dtype,dims,runtime,warmth,latency_us\n";
  for (int m = 1; m <= 40; ++m)
    text += fmt::format("H100-SXM,s,vllm,1,k,gemm,bf16,m={};n=2048;k=2048,graph,warm,{}\n", 16 * m, 10 + m);
  return text;
}

// The laboratory's files, too, are written to devices and through links, and nothing beside them is.
TEST(Hostile, TheLaboratoryWritesAsTheProgramDoes) {
  const std::string writers[] = {"evaluate --method analytic --data rows.csv --predictions ",
                                 "train --trees 3 --data rows.csv -o ", "import --from aiconfigurator gemm.csv -o "};
  for (const std::string& writer : writers) {
    SCOPED_TRACE(writer);
    const Folder folder;
    folder.write("rows.csv", table_of_rows());
    folder.write("gemm.csv",
                 "gpu,framework,version,kernel_source,gemm_dtype,m,n,k,latency\n"
                 "h100_sxm,vllm,1,k,bfloat16,16,2048,2048,0.01\n");
    folder.write("out.part", "mine");
    folder.write("far", "old");
    fs::create_symlink("far", folder.file("link"));
    const std::size_t before = folder.names().size();
    EXPECT_EQ(folder.run(writer + "/dev/null").code, 0);
    struct stat status {};
    ASSERT_EQ(stat("/dev/null", &status), 0);
    EXPECT_TRUE(S_ISCHR(status.st_mode));
    EXPECT_EQ(folder.run(writer + "out").code, 0);
    EXPECT_EQ(folder.run(writer + "link").code, 0);
    EXPECT_EQ(file_text(folder.file("out.part")), "mine");
    EXPECT_TRUE(fs::is_symlink(folder.file("link")));
    EXPECT_NE(file_text(folder.file("far")), "old");
    EXPECT_EQ(folder.names().size(), before + 1) << "out, and nothing else";
  }
}

// Four gigabytes of rows in eight megabytes of file, read where there is not nearly as much memory.
TEST(Hostile, ATableThatUnpacksToMoreThanMemoryEndsInOneLine) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer needs more address space than the limit leaves";
  const Folder folder;
  folder.write("rows.csv", table_of_rows());
  const Ran made = folder.run(
      "--version > /dev/null; head -n 1 rows.csv | gzip -1 > bomb.csv.gz; tail -n +2 rows.csv > some; "
      "for i in $(seq 12); do cat some some > more; mv more some; done; gzip -1 < some > some.gz; "
      "for i in $(seq 400); do cat some.gz; done >> bomb.csv.gz");
  ASSERT_EQ(made.code, 0) << made.err;
  const Ran ran = run_shell("cd '" + folder.file("") + "' && ulimit -v 400000 && timeout 60 " +
                            program_for("evaluate ") + "evaluate --method analytic --data bomb.csv.gz");
  EXPECT_EQ(ran.code, 1) << ran.err;
  EXPECT_EQ(ran.out, "");
  expect_one_line(ran);
  EXPECT_THAT(ran.err, HasSubstr("memory"));
}

}  // namespace
}  // namespace tilecast
