// Measured kernel latencies, and the table form of our own that they are kept in.
//
// The form is CSV, plain or gzip, one header line, one row a measurement, columns by name in any order:
//
//   gpu             built-in name ("H100-SXM")
//   source          who measured ("aiconfigurator", "neusight-train", "tilecast")
//   engine          vllm, sglang, trtllm, pytorch ...; engine_version; kernel_source: the kernel it chose
//   family, dtype   as `tilecast kernel` names them
//   dims            "m=4096;n=4096;k=4096" with the kernel command's field names; defaults may be left out
//   runtime         graph or eager
//   warmth          model, warm or cold; a benchmark that rotates buffers: "warm;weight-copies=6;activation-copies=6"
//   run             may be left out: burst, or sustained for one that ran long enough to meet the power limit;
//                   "warm;run=sustained" as the warmth says the same
//   latency_us      time of one call in microseconds
//
// Example:
//   gpu,source,engine,engine_version,kernel_source,family,dtype,dims,runtime,warmth,latency_us
//   H100-SXM,aiconfigurator,vllm,0.24.0,torch.nn.functional.linear,gemm,bf16,m=1;n=4096;k=4096,graph,warm;weight-copies=6,14.2
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/kernel.h"
#include "measure/names.h"
#include "tilecast/units.h"

namespace tilecast {

// What a profiler saw of the launch; zeros where nobody looked. Not part of the table form.
struct Observed {
  Count ctas = 0;              // grid size
  int threads = 0;             // of a CTA
  int tile_m = 0, tile_n = 0;  // of the result, from the kernel's name
  int kernels = 0;             // launches of the operator
  Count cta_elements = 0;      // results of one CTA of a kernel that is no product
  Count rows = 0, cols = 0;    // sides of a pointwise kernel's tensors as the caller gave them

  bool has_grid() const { return ctas > 0; }
  bool has_tile() const { return tile_m > 0 && tile_n > 0; }
};

struct Measurement {
  // Views into the Names the row was read with.
  std::string_view gpu, source, engine, engine_version, kernel_source;
  Kernel kernel;
  Context context;
  Seconds latency;
  std::string_view file;  // where the row stands
  Count line = 0;
  Observed observed;

  std::string place() const;  // "file:line"
  // The context with the row's engine and kernel source in it: what the row is planned under.
  Context whole_context() const;
};

// Takes rows one by one; an error stops the reading and is handed on.
using Sink = std::function<Status(const Measurement&)>;

// What became of a file's rows.
struct ReadReport {
  Count rows = 0;                                       // handed to the sink
  Count bad = 0;                                        // skipped because something in them is wrong
  std::vector<std::string> problems;                    // the first of those, one line each: "file:line: what"
  std::vector<std::pair<std::string, Count>> left_out;  // rows that are right but no kernel of ours, by reason

  void leave_out(std::string_view reason, Count rows_left);
  void add(const ReadReport& other);
};

struct ReadOptions {
  Count most_bad = 100;  // more bad rows than this in all files together are an error
  Count most_reported = 20;
};

// Counts a bad row; an error when they are too many.
Status report_bad(ReadReport& report, const ReadOptions& options, Error problem);

// Reads a table of our own form.
Result<ReadReport> read_measurements(const std::string& path, Names& names, const ReadOptions& options,
                                     const Sink& sink);

}  // namespace tilecast
