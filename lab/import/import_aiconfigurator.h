// What the tables of AIConfigurator share, and the row makers by kind of kernel.
#pragma once

#include "lab/import/import_table.h"

namespace tilecast::aiconfigurator {

// Columns every kernel table has.
struct Common {
  // `steady`: the power_* tables, whose kernels run for 0.3 to 1 s, hot and throttled; a source of their own.
  Common(Cells& cells, bool steady);
  Column gpu, framework, version, kernel_source, latency;
  std::string_view source;
  RunLength run;

  // Fills everything but shape and format. Returns the GPU, or nothing when it is unknown (the cells know).
  const Gpu* fill(Cells& c, Measurement& row, Names& names) const;
};

Format format_of(Cells& c, Column dtype);

// Tables by kind; a missing column is remembered by the cells.
FillRow gemm_table(Cells& cells, const Common& common, Names& names);
FillRow mla_bmm_table(Cells& cells, const Common& common, Names& names);
FillRow moe_table(Cells& cells, const Common& common, Names& names);
FillRow quantize_table(Cells& cells, const Common& common, Names& names);
FillRow attention_table(const CsvReader& csv, Cells& cells, const Common& common, Names& names);
FillRow mla_table(Cells& cells, const Common& common, Names& names);
FillRow scan_table(const CsvReader& csv, Cells& cells, const Common& common, Names& names);

}  // namespace tilecast::aiconfigurator
