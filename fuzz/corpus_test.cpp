// The fuzz targets of the library's and the command line's readers over their corpora.
#include "corpus_testing.h"

namespace tilecast {
namespace {

TEST(FuzzCorpus, GpuFile) { EXPECT_GT(run_corpus("gpu_file", fuzz_gpu_file), 0); }
TEST(FuzzCorpus, ClusterFile) { EXPECT_GT(run_corpus("cluster_file", fuzz_cluster_file), 0); }
TEST(FuzzCorpus, KernelShape) { EXPECT_GT(run_corpus("kernel_shape", fuzz_kernel_shape), 0); }
TEST(FuzzCorpus, ModelConfig) { EXPECT_GT(run_corpus("model_config", fuzz_model_config), 0); }
TEST(FuzzCorpus, MeasurementTable) { EXPECT_GT(run_corpus("measurement_table", fuzz_measurement_table), 0); }
TEST(FuzzCorpus, Onnx) { EXPECT_GT(run_corpus("onnx", fuzz_onnx), 0); }
TEST(FuzzCorpus, ProgramFile) { EXPECT_GT(run_corpus("program_file", fuzz_program_file), 0); }
TEST(FuzzCorpus, ModelGraph) { EXPECT_GT(run_corpus("model_graph", fuzz_model_graph), 0); }
TEST(FuzzCorpus, ProfileFile) { EXPECT_GT(run_corpus("profile_file", fuzz_profile_file), 0); }
TEST(FuzzCorpus, TraceFile) { EXPECT_GT(run_corpus("trace_file", fuzz_trace_file), 0); }
TEST(FuzzCorpus, Weights) { EXPECT_GT(run_corpus("weights", fuzz_weights), 0); }
TEST(FuzzCorpus, CommConstants) { EXPECT_GT(run_corpus("comm_constants", fuzz_comm_constants), 0); }
TEST(FuzzCorpus, HttpRequest) { EXPECT_GT(run_corpus("http_request", fuzz_http_request), 0); }
TEST(FuzzCorpus, Prices) { EXPECT_GT(run_corpus("prices", fuzz_prices), 0); }
TEST(FuzzCorpus, Protobuf) { EXPECT_GT(run_corpus("protobuf", fuzz_protobuf), 0); }
TEST(FuzzCorpus, PrintableText) { EXPECT_GT(run_corpus("printable_text", fuzz_printable_text), 0); }
TEST(FuzzCorpus, McpLines) { EXPECT_GT(run_corpus("mcp_lines", fuzz_mcp_lines), 0); }
TEST(FuzzCorpus, MeasuredConfigs) { EXPECT_GT(run_corpus("measured_configs", fuzz_measured_configs), 0); }

}  // namespace
}  // namespace tilecast
