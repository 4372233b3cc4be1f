#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#ifdef TILECAST_SQLITE
#include <sqlite3.h>
#endif

#include "diagnose/json_events.h"
#include "diagnose/recording.h"
#include "support/test_files.h"

namespace tilecast {
namespace {

// Two products and a copy: an operator before and one behind its kernels, a launch, a clock that starts in 1970.
// clang-format off
const std::string kKineto = R"json({
  "schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200", "numSms": 132}],
  "traceEvents": [
  {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1700000000000000.100, "dur": 30,
   "args": {"External id": 17, "Input Dims": [[512, 4096], [4096, 6144]],
            "Input type": ["c10::BFloat16", "c10::BFloat16"]}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 1700000000000001.000, "dur": 4.5,
   "args": {"External id": 17, "correlation": 123}},
  {"ph": "s", "id": 123, "ts": 1700000000000001.0, "cat": "ac2g", "name": "ac2g"},
  {"ph": "X", "cat": "kernel", "name": "nvjet_sm90_tst_192x128", "ts": 1700000000000010.789, "dur": 37.617,
   "args": {"External id": 17, "device": 0, "stream": 7, "correlation": 123, "grid": [2, 64, 1], "block": [384, 1, 1],
            "registers per thread": 168, "shared memory": 180676}},
  {"ph": "X", "cat": "kernel", "name": "void f<(char)\"x\">()", "ts": 1700000000000050, "dur": 2,
   "args": {"External id": 18, "device": 0, "stream": 7, "correlation": 124, "grid": [1, 1, 1], "block": [32, 1, 1]}},
  {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "ts": 1700000000000060, "dur": 10,
   "args": {"device": 0, "stream": 9, "bytes": 1000000}},
  {"ph": "X", "cat": "python_function", "name": "a {[\" b", "ts": 1, "dur": 1},
  {"ph": "X", "cat": "cpu_op", "name": "aten::cat", "ts": 1700000000000040.1, "dur": 3,
   "args": {"External id": 18, "Input Dims": [[[2, 3], [4]], []], "Input type": ["TensorList", "Scalar"]}}
  ], "traceName": "x.json"})json";
// clang-format on

void expect_kineto(const Recording& r) {
  EXPECT_EQ(r.gpu, "NVIDIA H200");
  ASSERT_EQ(r.kinds.size(), 3u);
  ASSERT_EQ(r.events.size(), 3u);
  EXPECT_EQ(r.events[0].start, 1700000000000010789);
  EXPECT_EQ(r.events[0].duration, 37617);
  EXPECT_EQ(r.events[0].launched, 1700000000000001000);
  EXPECT_EQ(r.events[0].returned, 1700000000000005500);
  EXPECT_EQ(r.events[1].launched, -1);
  const WorkKind& mm = r.kinds[r.events[0].kind];
  EXPECT_EQ(mm.launch, (LaunchShape{{2, 64, 1}, {384, 1, 1}, 168, 180676}));
  ASSERT_EQ(mm.op, 0);
  EXPECT_EQ(r.operators[0].text(), "aten::mm([512, 4096], [4096, 6144])");
  EXPECT_EQ(r.operators[0].types[1], "c10::BFloat16");
  EXPECT_EQ(r.operators[0].calls, 1);
  const WorkKind& cat = r.kinds[r.events[1].kind];
  EXPECT_EQ(cat.name, "void f<(char)\"x\">()");
  EXPECT_EQ(r.operators[static_cast<std::size_t>(cat.op)].dims, (std::vector<std::vector<Count>>{{10}, {}}));
  const WorkKind& copy = r.kinds[r.events[2].kind];
  EXPECT_EQ(copy.activity, Activity::copy);
  EXPECT_DOUBLE_EQ(in_bytes(copy.bytes), 1e6);
  EXPECT_NEAR(in_microseconds(r.total()), 37.617 + 2 + 10, 1e-9);
}

TEST(ReadKineto, ReadsPlainAndGzipAlike) {
  const TestFolder folder;
  for (const std::string& path : {folder.plain("t.json", kKineto), folder.gzip("t.json.gz", kKineto)}) {
    const auto r = read_recording(path);
    ASSERT_TRUE(r) << r.error().line();
    expect_kineto(*r);
  }
}

TEST(ReadKineto, ReadsABareArray) {
  const TestFolder folder;
  const auto from = kKineto.find("\"traceEvents\": ") + 15;
  const auto r = read_recording(folder.plain("t.json", kKineto.substr(from, kKineto.rfind(']') - from + 1)));
  ASSERT_TRUE(r) << r.error().line();
  EXPECT_EQ(r->events.size(), 3u);
}

TEST(ReadKineto, ACutFileIsRefusedWhereverItIsCut) {
  const TestFolder folder;
  const std::size_t end = kKineto.rfind('}');
  for (std::size_t length = 1; length < end; length += 13) {
    const auto r = read_recording(folder.plain("cut.json", kKineto.substr(0, length)));
    ASSERT_FALSE(r) << length;
    EXPECT_NE(r.error().line().find("ends too early"), std::string::npos) << r.error().line();
    EXPECT_EQ(r.error().line().find('\n'), std::string::npos);
  }
}

TEST(ReadKineto, AKernelOfTwoOperatorsIsTwoKinds) {
  const TestFolder folder;
  std::string text = "[";
  for (const int id : {1, 2, 3})
    text += fmt::format(
        R"({{"ph":"X","cat":"cpu_op","name":"aten::mm","ts":1,"dur":1,"args":{{"External id":{},"Input Dims":[[{},8],[8,8]]}}}},)"
        R"({{"ph":"X","cat":"kernel","name":"gemm","ts":{},"dur":2,"args":{{"External id":{}}}}},)"
        R"({{"ph":"X","cat":"kernel","name":"splitK","ts":{},"dur":1,"args":{{"External id":{}}}}},)",
        id, id == 3 ? 64 : 32, 10 * id, id, 10 * id + 5, id);
  text.back() = ']';
  const auto r = read_recording(folder.plain("t.json", text));
  ASSERT_TRUE(r) << r.error().line();
  EXPECT_EQ(r->kinds.size(), 4u);
  ASSERT_EQ(r->operators.size(), 2u);
  EXPECT_EQ(r->operators[0].calls, 2);  // two calls of the same dims, two kernels each
  EXPECT_EQ(r->operators[1].calls, 1);
  Count count = 0;
  for (const WorkKind& kind : r->kinds) count += kind.count;
  EXPECT_EQ(count, 6);
}

TEST(ReadKineto, TheLaunchNamesTheOperatorWhereTheKernelDoesNot) {
  const TestFolder folder;
  const auto r = read_recording(folder.plain(
      "t.json",
      R"([{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","ts":1,"dur":1,"args":{"External id":5,"correlation":9}},)"
      R"({"ph":"X","cat":"kernel","name":"k","ts":3,"dur":2,"args":{"correlation":9}},)"
      R"({"ph":"X","cat":"cpu_op","name":"aten::mm","ts":0,"dur":4,"args":{"External id":5,"Input Dims":[[2,3],[3,4]]}}])"));
  ASSERT_TRUE(r) << r.error().line();
  ASSERT_EQ(r->kinds.size(), 1u);
  EXPECT_EQ(r->kinds[0].op, 0);
  EXPECT_EQ(r->operators[0].calls, 1);
}

TEST(ReadKineto, WorkWithoutAValidTimeIsLeftOutAndSaidSo) {
  const TestFolder folder;
  const auto event = [](const char* start, const char* duration) {
    return fmt::format(R"({{"ph":"X","cat":"kernel","name":"k","ts":{},"dur":{}}})", start, duration);
  };
  const auto r = read_recording(folder.plain(
      "t.json", fmt::format("[{},{},{},{},{},{}]", event("1", "2"), event("NaN", "2"), event("1", "Infinity"),
                            event("5", "-2"), event("1", "null"), event("1e300", "1"))));
  ASSERT_TRUE(r) << r.error().line();
  EXPECT_EQ(r->events.size(), 1u);
  EXPECT_DOUBLE_EQ(in_microseconds(r->total()), 2);
  ASSERT_EQ(r->notes.size(), 1u);
  EXPECT_EQ(r->notes[0], "5 pieces of work without a valid time were left out");
  const auto none = read_recording(folder.plain("none.json", "[" + event("1", "NaN") + "]"));
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().line().find("no GPU work with a valid time"), std::string::npos) << none.error().line();
}

TEST(ReadKineto, BlanksHaveAnEnd) {
  const TestFolder folder;
  const auto r = read_recording(folder.gzip("t.json.gz", "{\"traceEvents\": [" + std::string(34 << 20, ' ') + "]}"));
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().line().find("MiB of blanks follow byte 17"), std::string::npos) << r.error().line();
}

TEST(ReadRecording, APipeWithoutAWriterIsNotWaitedForForever) {
  const TestFolder folder;
  const std::string path = folder.file("pipe.json");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const auto r = read_recording(path);
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().line().find("is a pipe that nobody writes to"), std::string::npos) << r.error().line();
}

TEST(ReadRecording, RefusesWhatIsNoTraceInOneLine) {
  const TestFolder folder;
  const std::string deep(200000, '['), quote = "{\"traceEvents\": [{\"name\": \"" + std::string(100000, '\\');
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "is empty"},
      {"{}", "traceEvents"},
      {"{\"a\": 1, \"b\": [1, {\"c\": 2}]}", "traceEvents"},
      {"{\"traceEvents\": []}", "no GPU work"},
      {"{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"f\"}]}", "no GPU work"},
      {"{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"ts\": 1, \"dur\": 0, \"args\": "
       "{\"device\": 0, \"stream\": 7}}]}",
       "took no time"},
      {"{\"traceEvents\": [1, 2]}", "not an object"},
      {"{\"traceEvents\": {\"a\": 1}}", "traceEvents"},
      {"{nonsense", "not JSON"},
      {"hello, world", "not a trace in a known format"},
      {"a,b,c\n1,2,3\n", "not a trace in a known format"},
      {"name,duration_us\nk,fast\n", "duration_us"},
      {deep, "not an object"},
      {quote, "ends too early"},
      {std::string("\x7f"
                   "ELF\0\0\0\1",
                   8),
       "not a trace in a known format"},
      {std::string("SQLite format 3\0garbage", 23), "SQLite"},
  };
  for (const auto& [text, words] : cases) {
    const auto r = read_recording(folder.plain("bad", text));
    ASSERT_FALSE(r) << words;
    const std::string line = r.error().line();
    EXPECT_TRUE(line.find(words) != std::string::npos || line.find("database") != std::string::npos) << line;
    EXPECT_EQ(line.find('\n'), std::string::npos);
  }
  EXPECT_NE(read_recording(folder.plain("a.nsys-rep", "x")).error().line().find("nsys export"), std::string::npos);
  EXPECT_NE(read_recording(folder.plain("a.ncu-rep", "x")).error().line().find("--page raw"), std::string::npos);
  EXPECT_NE(read_recording(folder.file("none")).error().line().find("no such file"), std::string::npos);
}

TEST(JsonEvents, MicrosecondsAreReadToTheNanosecond) {
  EXPECT_EQ(nanoseconds_of("1700000000000010.789"), 1700000000000010789);
  EXPECT_EQ(nanoseconds_of("0.001"), 1);
  EXPECT_EQ(nanoseconds_of("5"), 5000);
  EXPECT_EQ(nanoseconds_of("-1.5"), -1500);
  EXPECT_EQ(nanoseconds_of("\"7.25\""), 7250);
  EXPECT_EQ(nanoseconds_of("1.5e3"), 1500000);
  EXPECT_EQ(nanoseconds_of("0"), 0);
  for (const char* none : {"1e300", "abc", "", "NaN", "-Infinity", "null", "{}", "99999999999999999999"})
    EXPECT_EQ(nanoseconds_of(none), std::nullopt) << none;
}

TEST(ReadTables, NsysTraceWithWordsBeforeIt) {
  const TestFolder folder;
  const auto r = read_recording(folder.plain(
      "trace.csv",
      "\nProcessing [r.sqlite] with [cuda_gpu_trace.py]... \n\n"
      "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),Bytes (MB),"
      "Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name\n"
      "1000,50,1,4,2,1,256,1,1,40,0.001,0.002,,,,,NVIDIA H200 (0),1,,7,\"void k<1, 2>(int)\"\n"
      "2000,500,2,,,,,,,,,,4.5,9000,Pageable,Device,NVIDIA H200 (0),1,,7,[CUDA memcpy Host-to-Device]\n"));
  ASSERT_TRUE(r) << r.error().line();
  EXPECT_EQ(r->gpu, "NVIDIA H200");
  ASSERT_EQ(r->kinds.size(), 2u);
  EXPECT_EQ(r->kinds[0].name, "void k<1, 2>(int)");
  EXPECT_EQ(r->kinds[0].launch, (LaunchShape{{4, 2, 1}, {256, 1, 1}, 40, 3000}));
  EXPECT_EQ(r->kinds[1].name, "Memcpy HtoD (Pageable -> Device)");
  EXPECT_DOUBLE_EQ(in_bytes(r->kinds[1].bytes), 4.5e6);
  EXPECT_EQ(r->events[1].start, 2000);
}

TEST(ReadTables, NsysSumsHaveNoTimesOfDay) {
  const TestFolder folder;
  const auto r = read_recording(folder.plain(
      "sum.csv",
      "Time (%),Total Time (us),Instances,Avg (us),Med (us),Min (us),Max (us),StdDev (us),Name\n"
      "75.0,30.0,3,10.0,10.0,9.0,11.0,1.0,nvjet_a\n25.0,10.0,1,10.0,10.0,10.0,10.0,0,\"void f<1, 2>()\"\n"));
  ASSERT_TRUE(r) << r.error().line();
  EXPECT_TRUE(r->events.empty());
  EXPECT_EQ(r->kinds[0].count, 3);
  EXPECT_NEAR(in_microseconds(r->kinds[0].total), 30, 1e-9);
  EXPECT_NEAR(in_microseconds(r->kinds[0].fastest), 9, 1e-9);
  EXPECT_NEAR(in_microseconds(r->total()), 40, 1e-9);
}

TEST(ReadTables, NsightComputeRawAndDetailsSayTheSame) {
  const TestFolder folder;
  const std::string who =
      "\"0\",\"9\",\"python\",\"host\",\"void f<1, 2>(int *)\",\"1\",\"7\",\"(256, 1, 1)\",\"(1,024, 2, "
      "1)\",\"0\",\"9.0\"";
  const std::string head =
      "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\",\"Stream\",\"Block Size\","
      "\"Grid Size\",\"Device\",\"CC\"";
  const auto raw = read_recording(folder.plain(
      "raw.csv", "==PROF== Connected to process 9\n" + head +
                     ",\"dram__bytes_read.sum\",\"dram__bytes_write.sum\",\"gpu__time_duration.sum\","
                     "\"launch__registers_per_thread\",\"sm__throughput.avg.pct_of_peak_sustained_elapsed\"\n"
                     "\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"Mbyte\",\"byte\",\"us\",\"\",\"%\"\n" +
                     who + ",\"1.5\",\"1,000\",\"1,234.5\",\"32\",\"60.5\"\n"));
  ASSERT_TRUE(raw) << raw.error().line();
  std::string rows;
  for (const char* metric :
       {"\"Speed\",\"Duration\",\"us\",\"1,234.5\"", "\"Launch\",\"Registers Per Thread\",\"register/thread\",\"32\"",
        "\"Speed\",\"Compute (SM) Throughput\",\"%\",\"60.5\"",
        "\"Memory\",\"Memory Throughput\",\"Tbyte/second\",\"3.1\""})
    rows += who + "," + metric + "\n";
  const auto details = read_recording(
      folder.plain("details.csv",
                   head + ",\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\",\"Rule Name\"\n" + rows));
  ASSERT_TRUE(details) << details.error().line();
  for (const Recording* r : {&*raw, &*details}) {
    ASSERT_EQ(r->kinds.size(), 1u);
    const WorkKind& kind = r->kinds[0];
    EXPECT_EQ(kind.name, "void f<1, 2>(int *)");
    EXPECT_NEAR(in_microseconds(kind.total), 1234.5, 1e-9);
    EXPECT_EQ(kind.launch.registers, 32);
    EXPECT_EQ(kind.launch.block, (std::array<std::int32_t, 3>{256, 1, 1}));
    ASSERT_TRUE(kind.counters);
    EXPECT_NEAR(kind.counters->compute_share, 0.605, 1e-12);
    EXPECT_EQ(kind.counters->memory_share, 0);  // bytes a second are no share
  }
  EXPECT_DOUBLE_EQ(in_bytes(raw->kinds[0].counters->dram), 1.5e6 + 1000);
}

TEST(ReadTables, OurOwn) {
  const TestFolder folder;
  const auto r = read_recording(folder.plain("own.csv",
                                             "name,duration_us,count,grid,shape\n"
                                             "nvjet,37.5,4,2x64x1,\"gemm bf16 m=512;n=6144;k=4096\"\n"
                                             "Memset (Device),1,,,\nbroken,-1,,,\n"));
  ASSERT_TRUE(r) << r.error().line();
  ASSERT_EQ(r->kinds.size(), 2u);
  EXPECT_NEAR(in_microseconds(r->kinds[0].total), 150, 1e-9);
  EXPECT_EQ(r->kinds[0].count, 4);
  EXPECT_EQ(r->kinds[0].launch.grid, (std::array<std::int32_t, 3>{2, 64, 1}));
  EXPECT_EQ(r->kinds[0].shape, "gemm bf16 m=512;n=6144;k=4096");
  EXPECT_EQ(r->kinds[1].activity, Activity::fill);
  ASSERT_EQ(r->notes.size(), 1u);
  EXPECT_NE(r->notes[0].find("own.csv:4"), std::string::npos) << r->notes[0];
}

#ifdef TILECAST_SQLITE
std::string database(const TestFolder& folder, const char* name, const std::string& sql) {
  const std::string path = folder.file(name);
  sqlite3* db = nullptr;
  EXPECT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  char* wrong = nullptr;
  EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &wrong), SQLITE_OK) << (wrong ? wrong : "");
  sqlite3_close(db);
  return path;
}

const std::string kTables =
    "CREATE TABLE StringIds(id INTEGER, value TEXT);"
    "INSERT INTO StringIds VALUES (1, 'nvjet_sm90'), (2, 'cudaLaunchKernel_v7000');"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INT, end INT, deviceId INT, contextId INT, streamId INT, "
    "correlationId INT, demangledName INT, gridX INT, gridY INT, gridZ INT, blockX INT, blockY INT, blockZ INT, "
    "staticSharedMemory INT, dynamicSharedMemory INT, registersPerThread INT);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 3500, 0, 1, 7, 5, 1, 2, 64, 1, 384, 1, 1, 100, 200, 168);";

TEST(ReadNsys, ReadsKernelsCopiesAndLaunches) {
  const TestFolder folder;
  const auto r = read_recording(database(
      folder, "a.sqlite",
      kTables +
          "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start INT, end INT, deviceId INT, streamId INT, correlationId INT, "
          "bytes INT, copyKind INT, srcKind INT, dstKind INT);"
          "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (4000, 5000, 0, 7, 6, 3000000000, 1, 0, 2);"
          "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INT, end INT, nameId INT, correlationId INT);"
          "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (500, 700, 2, 5);"
          "CREATE TABLE TARGET_INFO_GPU(name TEXT); INSERT INTO TARGET_INFO_GPU VALUES ('NVIDIA H200');"));
  ASSERT_TRUE(r) << r.error().line();
  EXPECT_EQ(r->gpu, "NVIDIA H200");
  ASSERT_EQ(r->events.size(), 2u);
  EXPECT_EQ(r->events[0].duration, 2500);
  EXPECT_EQ(r->events[0].launched, 500);
  EXPECT_EQ(r->kinds[0].name, "nvjet_sm90");
  EXPECT_EQ(r->kinds[0].launch, (LaunchShape{{2, 64, 1}, {384, 1, 1}, 168, 300}));
  EXPECT_EQ(r->kinds[1].name, "Memcpy HtoD (Pageable -> Device)");
  EXPECT_DOUBLE_EQ(in_bytes(r->kinds[1].bytes), 3e9);
  ASSERT_EQ(r->host.size(), 1u);
  EXPECT_EQ(r->host[0].name, "cudaLaunchKernel");
}

TEST(ReadNsys, RefusesForeignHostileAndCutDatabases) {
  const TestFolder folder;
  const auto foreign = read_recording(database(folder, "b.sqlite", "CREATE TABLE t(x INT);"));
  ASSERT_FALSE(foreign);
  EXPECT_NE(foreign.error().line().find("no such table"), std::string::npos) << foreign.error().line();
  // A view of that name would count forever.
  const auto hostile = read_recording(
      database(folder, "c.sqlite",
               "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT start "
               "FROM n) SELECT start, start AS end FROM n;"));
  ASSERT_FALSE(hostile);
  EXPECT_NE(hostile.error().line().find("no such table"), std::string::npos) << hostile.error().line();
  database(folder, "d.sqlite", kTables);
  const std::string whole = folder.content("d.sqlite");
  for (std::size_t length = 16; length + 512 < whole.size(); length += 777) {
    const auto cut = read_recording(folder.plain("cut.sqlite", whole.substr(0, length)));
    if (!cut) {
      EXPECT_EQ(cut.error().line().find('\n'), std::string::npos);
    }
  }
}
#endif

}  // namespace
}  // namespace tilecast
