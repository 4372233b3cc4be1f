// Other people's measured tables, read in their own columns and passed on as Measurements (`tilecast-lab import`).
//
// The tables are never copied into the repository. A source is declared (lab/import/source_mapping.h) in a file of its
// own, beside the functions that make rows of its tables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lab/import/source_mapping.h"
#include "measure/measurement.h"

namespace tilecast {

enum class Source : std::uint8_t { aiconfigurator, neusight, synperf, aiter, vidur, llmservingsim, miopen };
inline constexpr std::size_t kSources = 7;

const SourceMapping& mapping_of(Source source);
Result<Source> source_from(std::string_view name);
std::string source_names();  // "aiconfigurator, neusight, ..."

// The tables of these sources below a folder of measured data, sorted. Without names, the sources that the shipped
// weights are trained on and docs/accuracy.md judges; others are read on request.
Result<std::vector<std::string>> tables_of_sources(const std::string& folder, const std::vector<std::string>& sources);

// Rows of one file, plain or gzip. Bad rows are skipped and reported with file and line up to options.most_bad; a
// missing column is an error that names it; rows that are not of a kernel Tilecast knows, or whose GPU or format it
// does not know, are counted as left out, with the reason.
Result<ReadReport> import_rows(Source source, const std::string& path, Names& names, const ReadOptions& options,
                               const Sink& sink);

// Many files into one table in our own form (gzip when `out` ends in .gz), written whole or not at all.
Result<ReadReport> import_files(Source source, const std::vector<std::string>& paths, const std::string& out,
                                const ReadOptions& options);

// Any mixture of tables in our own form and of the sources', told apart by their columns.
Result<ReadReport> read_any(const std::string& path, Names& names, const ReadOptions& options, const Sink& sink);

}  // namespace tilecast
