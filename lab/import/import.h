// Measured tables of others, read in their own columns and handed on as Measurements (`tilecast import`).
//
// The tables are never copied into the repository; each importer knows one source's units, names and protocol:
//   aiconfigurator  ms; CUDA graph replays on warm, in part rotated buffers; kernels of vLLM, SGLang and TensorRT-LLM
//   neusight        ms; PyTorch eager in fp32, warm; with the grid and tile a profiler saw
//   synperf         us; durations of single kernels under the PyTorch profiler
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "measure/measurement.h"

namespace tilecast {

enum class Source : std::uint8_t { aiconfigurator, neusight, synperf };
inline constexpr std::array<std::string_view, 3> kSourceNames = {"aiconfigurator", "neusight", "synperf"};

Result<Source> source_from(std::string_view name);

// Rows of one file, plain or gzip. Bad rows are skipped and reported with file and line up to options.most_bad; a
// missing column is an error that names it; rows that are no kernel Tilecast knows are counted as left out, with the
// reason.
Result<ReadReport> import_rows(Source source, const std::string& path, Names& names, const ReadOptions& options,
                               const Sink& sink);

// Many files into one table of our own form (gzip when `out` ends in .gz), written whole or not at all.
Result<ReadReport> import_files(Source source, const std::vector<std::string>& paths, const std::string& out,
                                const ReadOptions& options);

// Any mixture: tables of our own form and of the sources, told apart by their columns.
Result<ReadReport> read_any(const std::string& path, Names& names, const ReadOptions& options, const Sink& sink);

}  // namespace tilecast
