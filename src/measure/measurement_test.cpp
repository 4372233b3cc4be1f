#include "measure/measurement.h"

#include "kernel/gemm.h"
#include "measure/dims.h"
#include "measure/measurement_writer.h"
#include "measure/sample.h"
#include "support/test_files.h"

namespace tilecast {
namespace {

Shape shape(std::string_view family, std::string_view dims) {
  auto read = shape_from(family, *dims_from_text(dims));
  EXPECT_TRUE(read) << read.error().line();
  return *std::move(read);
}

Measurement sample_row(Count m = 128) {
  Measurement row;
  row.gpu = "H100-SXM";
  row.source = "aiconfigurator";
  row.engine = "vllm";
  row.engine_version = "0.24.0";
  row.kernel_source = "a \"quoted\", name";
  Gemm gemm;
  gemm.m = m;
  gemm.n = 4096;
  gemm.k = 512;
  row.kernel = {gemm, *format_from("bf16")};
  row.context = {Runtime::graph, Warmth::warm, 6, 1, Launcher::named(row.engine),
                 KernelSource::named(row.kernel_source)};
  row.latency = microseconds(12.345678);
  return row;
}

TEST(Dims, TextReadsBack) {
  for (const Shape& s :
       {shape("gemm", "m=1;n=2;k=3"), shape("gemm", "m=1;n=2;k=3;layout=nn"),
        shape("moe", "tokens=5;hidden=64;inter=32;experts=8;topk=2;ep=2;distribution=power_law;alpha=1.01"),
        shape("attention_prefill", "batch=2;q-len=64;heads=8;kv-heads=2;mask=full")}) {
    std::string text;
    append_dims(text, s);
    EXPECT_EQ(text, dims_text(s));
    const auto back = read_dims(family_of(s), text);
    ASSERT_TRUE(back) << back.error().line();
    EXPECT_EQ(dims_text(*back), text);
  }
}

TEST(Dims, TakesAnyOrderAndSpellingOfNames) {
  EXPECT_EQ(dims_text(*read_dims("gemm", "k=3;m=1;n=2")), "m=1;n=2;k=3");
  EXPECT_EQ(dims_text(*read_dims("attention-prefill", "heads=8;q_len=64")), "q-len=64;heads=8");
  EXPECT_NE(read_dims("gemm", "m=1;n=2").error().line().find("k: is missing"), std::string::npos);
  EXPECT_FALSE(read_dims("gemm", "m=1;n=2;k=-3"));
  EXPECT_FALSE(read_dims("gemm", "m=1;n=2;k=3;"));
  EXPECT_FALSE(read_dims("gemm", "m=0;n=2;k=3"));
  EXPECT_EQ(read_dims("gemm", "m=1;n=2;k=3;M=1").error().line(), "m: is given twice (give it once)");
  EXPECT_NE(read_dims("gem", "m=1").error().line().find("unknown kernel family 'gem'"), std::string::npos);
}

TEST(Dims, HashDependsOnEveryFieldAndTheFamily) {
  const std::uint64_t base = shape_hash(shape("gemm", "m=1;n=2;k=3"));
  EXPECT_EQ(base, shape_hash(shape("gemm", "m=1;n=2;k=3")));
  for (const char* other : {"m=2;n=2;k=3", "m=1;n=3;k=3", "m=1;n=2;k=4", "m=2;n=1;k=3", "m=1;n=2;k=3;layout=nn"})
    EXPECT_NE(base, shape_hash(shape("gemm", other)));
  EXPECT_NE(base, shape_hash(shape("gemm", "m=1;n=2;k=3"), 7));
  EXPECT_NE(shape_hash(shape("softmax", "rows=4;cols=4")), shape_hash(shape("layernorm", "rows=4;cols=4")));
  int held = 0;
  for (Count m = 1; m <= 1000; ++m) held += held_out(sample_row(m).kernel.shape);
  EXPECT_NEAR(held, 100, 35);
}

TEST(MeasurementTable, WritesAndReadsBack) {
  TestFolder folder;
  for (const char* name : {"t.csv", "t.csv.gz"}) {
    auto writer = MeasurementWriter::create(folder.file(name));
    ASSERT_TRUE(writer);
    for (Count m = 1; m <= 5000; ++m) ASSERT_TRUE(writer->add(sample_row(m)));
    ASSERT_TRUE(writer->finish());
    Names names;
    Count m = 0;
    auto report = read_measurements(folder.file(name), names, {}, [&](const Measurement& row) {
      ++m;
      std::string expected, got;
      append_row(expected, sample_row(m));
      append_row(got, row);
      EXPECT_EQ(got, expected);
      EXPECT_EQ(row.line, m + 1);
      EXPECT_EQ(row.kernel_source, "a \"quoted\", name");
      EXPECT_EQ(row.context.weight_copies, 6);
      return Status(Ok{});
    });
    ASSERT_TRUE(report) << report.error().line();
    EXPECT_EQ(report->rows, 5000);
    EXPECT_EQ(report->bad, 0);
  }
}

TEST(MeasurementTable, AColumnSaysHowLongTheCardWorked) {
  const TestFolder folder;
  std::string text = "run," + std::string(measurement_header()) + "\n";
  for (const char* run : {"burst", "sustained", "", "forever"})
    text += std::string(run) + ",H100-SXM,s,vllm,1,k,gemm,bf16,m=1;n=2;k=3,graph,warm,5\n";
  Names names;
  std::vector<RunLength> runs;
  const auto read = read_measurements(folder.plain("rows.csv", text), names, {}, [&](const Measurement& row) -> Status {
    runs.push_back(row.context.run);
    return Ok{};
  });
  ASSERT_TRUE(read) << read.error().line();
  EXPECT_EQ(runs, (std::vector{RunLength::burst, RunLength::sustained, RunLength::burst}));
  EXPECT_EQ(read->bad, 1);
  EXPECT_NE(read->problems[0].find("run: must be burst or sustained, not 'forever'"), std::string::npos)
      << read->problems[0];
}

TEST(MeasurementTable, AnUnfinishedFileLeavesNothing) {
  TestFolder folder;
  {
    auto writer = MeasurementWriter::create(folder.file("t.csv.gz"));
    ASSERT_TRUE(writer);
    for (Count m = 1; m <= 5000; ++m) ASSERT_TRUE(writer->add(sample_row(m)));
  }
  EXPECT_EQ(folder.files(), 0u);
  EXPECT_FALSE(MeasurementWriter::create(folder.file("no/such/folder/t.csv")));
}

TEST(MeasurementTable, ReportsBadRowsAndStopsAtTheLimit) {
  TestFolder folder;
  std::string text(measurement_header());
  text += '\n';
  const std::string good = "H100,mine,vllm,1,k,gemm,bf16,m=1;n=2;k=3,graph,warm,5\n";
  text += good;
  text += "H101x,mine,vllm,1,k,gemm,bf16,m=1;n=2;k=3,graph,warm,5\n";
  text += "H100,mine,vllm,1,k,gemm,bf99,m=1;n=2;k=3,graph,warm,5\n";
  text += "H100,mine,vllm,1,k,gemm,bf16,m=1;n=2,graph,warm,5\n";
  text += "H100,mine,vllm,1,k,gemm,bf16,m=1;n=2;k=3,graph,tepid,5\n";
  text += "H100,mine,vllm,1,k,gemm,bf16,m=1;n=2;k=3,graph,warm;weight-copies=0,5\n";
  text += "H100,mine,vllm,1,k,gemm,bf16,m=1;n=2;k=3,graph,warm,0\n";
  text += "H100,mine,vllm,1,k,gemm\n";
  text += good;
  const std::string path = folder.plain("t.csv", text);
  Names names;
  const Sink ignore = [](const Measurement&) { return Status(Ok{}); };
  const auto report = read_measurements(path, names, {.most_bad = 7, .most_reported = 3}, ignore);
  ASSERT_TRUE(report) << report.error().line();
  EXPECT_EQ(report->rows, 2);
  EXPECT_EQ(report->bad, 7);
  ASSERT_EQ(report->problems.size(), 3u);
  EXPECT_NE(report->problems[0].find("t.csv:3: "), std::string::npos) << report->problems[0];
  const auto stopped = read_measurements(path, names, {.most_bad = 2, .most_reported = 3}, ignore);
  ASSERT_FALSE(stopped);
  EXPECT_NE(stopped.error().line().find("t.csv:5"), std::string::npos) << stopped.error().line();
}

TEST(Sampler, ChoosesTheSameRowsInAnyOrderAndTheSameShapesEverywhere) {
  std::vector<Measurement> rows;
  for (const char* gpu : {"H100-SXM", "L40S"})
    for (Count m = 1; m <= 300; ++m) {
      rows.push_back(sample_row(m));
      rows.back().gpu = gpu;
      rows.back().file = "f";
      rows.back().line = static_cast<Count>(rows.size());
    }
  Sampler forward({.rows = 20, .seed = 3}), backward({.rows = 20, .seed = 3});
  for (const Measurement& row : rows) forward.offer(row);
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) backward.offer(*row);
  const auto a = forward.take(), b = backward.take();
  ASSERT_EQ(a.size(), 40u);
  ASSERT_EQ(b.size(), 40u);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].line, b[i].line);
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(a[i].line + 300, a[i + 20].line);
  Sampler all({.rows = 0, .seed = 0});
  for (const Measurement& row : rows) all.offer(row);
  EXPECT_EQ(all.take().size(), rows.size());
}

}  // namespace
}  // namespace tilecast
