// A published source of measurements, declared: where it comes from, what its columns mean, what its names of GPUs,
// models and formats mean here, and how it was measured.
//
// Both kinds of readers use it, those of kernels (lab/import) and those of whole models (lab/evidence). A mapping
// never guesses: a row with a GPU, model or format it does not know is left out, for a reason that names it and is
// counted. Any card of data/gpus is known by its names there; a mapping adds only what its source calls differently.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/registry.h"
#include "kernel/context.h"
#include "kernel/format.h"
#include "tilecast/result.h"

namespace tilecast {

enum class ColumnRole : std::uint8_t { plain, gpu, model, format };
struct SourceColumn {
  std::string_view name, meaning;
  ColumnRole role = ColumnRole::plain;
};

// What a name of the source means here; or, where `ours` is empty, why rows of that name are left out.
struct NameRule {
  std::string_view theirs, ours;
  std::string_view why_not = {};
};

// How times were taken: in words, and as what a kernel's forecast needs to know of it.
struct MeasuringProtocol {
  std::string_view how;
  Runtime runtime = Runtime::graph;
  Warmth warmth = Warmth::warm;
};

struct SourceMapping {
  std::string_view name;                         // used by commands and reports
  std::string_view from;                         // where the tables were published
  std::string_view licence;                      // ... and under what terms
  std::span<const std::string_view> files;       // below the folder of measured data; '*' is any text
  std::span<const std::string_view> not_read{};  // files with these names (the last part) are something else
  std::span<const SourceColumn> columns{};       // that the reader needs
  std::span<const NameRule> gpus{}, models{}, formats{}, engines{};
  std::span<const std::string_view> around_gpu{};  // texts around a card's name that say nothing about it: "DGX-"
  MeasuringProtocol protocol{};
};

// A name of the source looked up. An error's problem is why rows of that name are left out: "unknown GPU 'H999'".
Result<Gpu> gpu_of(const SourceMapping& source, std::string_view name);
Result<std::string> model_name_of(const SourceMapping& source, std::string_view name);  // as find_model() takes it
Result<Format> format_of(const SourceMapping& source, std::string_view name);
Result<std::string> engine_name_of(const SourceMapping& source, std::string_view name);  // only names with a rule

// Text from a table as a reason may quote it: printable, and no longer than a line.
std::string in_quotes(std::string_view text);
// The error of a row that is left out: its problem is the reason.
Error left_out_row(std::string why);
Error unknown_name(std::string_view what, std::string_view name);

// Rows that were left out, by reason. Only so many reasons are kept apart, so that a table of nonsense does not fill
// memory.
using LeftOutRows = std::map<std::string, Count>;
void leave_out(LeftOutRows& rows, std::string_view why, Count count = 1);

// Whether a path fits a pattern with '*'.
bool fits_pattern(std::string_view text, std::string_view pattern);
// The source's files below a folder, sorted; an error names a folder that cannot be listed.
Result<std::vector<std::string>> files_of(const SourceMapping& source, const std::string& folder);

}  // namespace tilecast
