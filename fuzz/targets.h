// What the fuzzers run: each takes any bytes and returns what went wrong, empty when nothing did. libFuzzer calls one
// of them through entry.cpp; corpus_test.cpp calls all of them over the corpora, so that every test run exercises them.
#pragma once

#include <string>
#include <string_view>

namespace tilecast {

// Whatever a GPU file holds, parsing it ends in a Gpu or an Error, and a Gpu that was accepted can be forecast on.
std::string fuzz_gpu_file(std::string_view input);

// Whatever a cluster file holds, parsing it ends in a Cluster or an Error, and collectives can be forecast on a
// Cluster.
std::string fuzz_cluster_file(std::string_view input);

// Whatever a command line or a table's dims hold, a shape is refused or planned, its forecast is finite and not below
// the bound, and its text reads back as the same shape. Input: "family|dtype|gpu|key=value;key=value".
std::string fuzz_kernel_shape(std::string_view input);

// Whatever a measurement table holds, plain or compressed, reading it ends in rows or an Error, and rows have positive
// times and dims that read back as the same shape.
std::string fuzz_measurement_table(std::string_view input);

// Whatever a config.json holds, reading it ends in a model or a one-line Error, and a model's counts do not overflow.
std::string fuzz_model_config(std::string_view input);

// Whatever an ONNX file holds, reading it ends in a graph or an Error; a graph's shapes are such as a user could give.
std::string fuzz_onnx(std::string_view input);

// Whatever a graph's JSON holds, reading it ends in a graph or an Error; a graph's own text reads back, and engines can
// arrange it.
std::string fuzz_model_graph(std::string_view input);

// Whatever a recorded program holds, reading it ends in a program or an Error, and its memory is a sum of its storages.
std::string fuzz_program_file(std::string_view input);

// Whatever a trace of requests holds, reading it ends in requests in order, each with tokens, or in an Error.
std::string fuzz_trace_file(std::string_view input);

// Whatever a profiler's file holds (JSON, CSV, SQLite), reading it ends in an Error of one line or in a recording that
// can be diagnosed, and whose sums agree.
std::string fuzz_profile_file(std::string_view input);

// Whatever a measuring command prints, each configuration asked for ends with a time or a reason, and no other appears.
std::string fuzz_measured_configs(std::string_view input);

// Whatever a file of weights holds, of any method, reading it ends in weights or an Error; so it does where only what
// stands behind the checksum is broken.
std::string fuzz_weights(std::string_view input);

// Whatever stands where collectives' constants should, they are read or refused, and their own text reads back.
std::string fuzz_comm_constants(std::string_view input);

// Whatever bytes a client sends, they come to the same requests or refusals at once and byte by byte, and no request
// has two readings.
std::string fuzz_http_request(std::string_view input);

// Whatever a price table holds, reading it ends in prices or an Error.
std::string fuzz_prices(std::string_view input);

// Whatever a table of another project holds, plain or compressed, each importer ends in rows or an Error.
std::string fuzz_imported_table(std::string_view input);

// Whatever a table of whole models or serving runs holds, each reader ends in cases and counted rows, or an Error.
std::string fuzz_whole_model_table(std::string_view input);

// Whatever stands behind a flag that takes more than a number (--slo, --sweep, --input, --requests, --by, --dtype), it
// is understood or refused, and what is understood can be worked with.
std::string fuzz_flag_text(std::string_view input);

// Whatever an assistant sends, each line is answered by one message of one line, or by none.
std::string fuzz_mcp_lines(std::string_view input);

// Whatever bytes are read as messages, no field reaches outside of its message.
std::string fuzz_protobuf(std::string_view input);

// Whatever is shown to a user is one line without control characters.
std::string fuzz_printable_text(std::string_view input);

}  // namespace tilecast
