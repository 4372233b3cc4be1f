// A question: how long does one kernel take on a GPU?
//
//   auto answer = tilecast::forecast({.family = "gemm", .dims = {{"m", "4096"}, {"n", "4096"}, {"k", "4096"}},
//                                     .gpu = "H100-SXM"});
//   if (answer) use(answer->latency, answer->interval);
//
// Everything here is a value or a pure function; any number of threads may call any of it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tilecast/arguments.h"
#include "tilecast/forecast.h"
#include "tilecast/result.h"
#include "tilecast/units.h"

namespace tilecast {

// Names of a kernel's dimensions and their values, as text: {"m", "4096"}.
using Dims = std::vector<std::pair<std::string, std::string>>;

struct KernelQuery {
  std::string family = {};  // "gemm", "attention_decode" ...: kernel_families() lists them
  Dims dims = {};
  std::string gpu = {};        // a name (tilecast/gpu.h), the path of a description file, or its JSON text
  std::string dtype = "bf16";  // a number format: formats of tilecast/gpu.h
  Method method = Method::tilecast;
  Runtime runtime = Runtime::graph;
  Warmth warmth = Warmth::model;
  RunLength run = RunLength::burst;
  OperandData data = OperandData::normal;
  Count weight_copies = 1;  // with Warmth::warm: copies of the weights that a benchmark rotates through
  std::string engine = {};  // what launches it: "vllm", "sglang", "trtllm", "pytorch"; empty: the most measured one
  std::string kernel_source = {};  // which of its kernels; empty: the one it chooses on the card
  std::string torch = {};          // with engine "pytorch": the release whose choice of attention it is; empty: 2.11
  std::string weights = {};        // a weight file instead of the shipped one
};

// What work requires of the resources of an SM, or of the whole GPU.
struct Work {
  Ops tensor;  // a multiply-add is two; padding included
  Ops vector;
  Ops xu;  // special-function results
  Bytes shared;
  Bytes l2_load, l2_store;
};

// One launch of the kernel; some kernels take several (a split product and its sum).
struct LaunchForecast {
  std::string name;
  Seconds latency;  // including its launch floor
  Seconds bound;
  Resource limited_by = Resource::dram;
  // The plan: how a library would run it.
  struct {
    int m = 0, n = 0, k = 0;  // zero if it has none
  } tile;
  int split = 1;  // CTAs that share one result (split-K, split-KV)
  Count ctas = 0;
  int threads = 0;
  bool plan_known = true;  // false: inferred, because no published logic fixes it
  // How its CTAs are assigned to SMs.
  std::string dispatch;  // "hardware waves", "persistent CTAs", "longest first"
  int ctas_per_sm = 1;
  Count waves = 0, sms_used = 0, tasks_busiest = 0;
  double balance = 1;  // mean load of all SMs over the busiest one's
  // What it requires, and how long that takes.
  Work total, busiest_sm;
  Bytes dram_load, dram_store;
  ResourceTimes at_peak{};      // for unavoidable work, at peak rates: the bound is the largest
  ResourceTimes as_forecast{};  // at the rates the forecast expects
  // Its position under the roofline of the level that feeds it; absent if it computes or moves nothing.
  struct Roofline {
    double intensity = 0;  // operations per byte of that level
    OpsPerSecond reached, peak;
    BytesPerSecond feed;
    bool from_dram = true;  // otherwise from L2
  };
  std::optional<Roofline> roofline;
};

struct KernelForecast {
  std::string gpu;     // its name
  int sms = 0;         // of the GPU
  std::string family;  // of the kernel
  Dims dims;           // those that differ from their defaults
  std::string dtype;
  Method method = Method::tilecast;
  Seconds latency;        // the forecast
  Interval interval;      // 80 %
  Seconds bound;          // no execution is faster
  Seconds ceiling;        // what a well-tuned kernel reaches, if that was learned; otherwise the bound
  double efficiency = 0;  // bound / latency
  Resource limited_by = Resource::dram;
  Seen seen = Seen::no;
  // What is to be known of it in a line each: which kernel stands in for a name that was never measured, which format
  // the card multiplies instead.
  std::vector<std::string> notes;
  std::vector<LaunchForecast> launches;  // in stream order; their latencies sum to the whole
};

// The forecast, or what is wrong with the query: errors name its field.
Result<KernelForecast> forecast(const KernelQuery& query);
// One answer per query, in order; whatever queries share (a GPU, a weight file) is looked up once.
std::vector<Result<KernelForecast>> forecast(std::span<const KernelQuery> queries);

// A column of a batch: one dimension of many kernels.
struct DimColumn {
  std::string name;  // "m"
  std::span<const Count> values;
};
// Times of many kernels that differ only in whole-number dimensions: `common` names the rest, and each column has as
// many values as `out`. Hundreds of thousands per second on one core; split `out` among threads for more.
Status forecast_times(const KernelQuery& common, std::span<const DimColumn> columns, std::span<Seconds> out);

// The families, and the arguments of one: its dimensions.
struct KernelFamily {
  std::string name, summary;
  std::string example;  // flags of a sensible one
  std::vector<Argument> dims;
};
const std::vector<KernelFamily>& kernel_families();

const Question& kernel_question();
// The arguments of a query besides family and dimensions.
std::vector<BoundArgument> arguments_of(KernelQuery& query);

}  // namespace tilecast
