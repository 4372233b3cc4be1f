// A question: how long does one step of a model take, on one GPU or spread over many?
//
//   auto step = tilecast::forecast(tilecast::StepQuery{
//       .model = "Llama-3.1-8B", .gpu = "H100-SXM", .mode = tilecast::Mode::decode, .batch = 32, .context = 2048});
//   if (step) use(step->time, step->interval, step->memory.fits());
//
//   tilecast::StepQuery many{.model = "Llama-3.1-70B", .cluster = "hgx-h100", .mode = tilecast::Mode::prefill, .seq =
//   4096}; many.layout.tp = 8;
//
// Everything here is a value or a pure function; any number of threads may call any of it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tilecast/arguments.h"
#include "tilecast/forecast.h"
#include "tilecast/framework.h"
#include "tilecast/kernel.h"
#include "tilecast/layout.h"
#include "tilecast/result.h"
#include "tilecast/run.h"
#include "tilecast/train.h"
#include "tilecast/units.h"

namespace tilecast {

struct StepQuery {
  std::string model =
      {};  // a name, a config.json, its folder or its text, an ONNX file, a graph file: tilecast/model.h
  // Where: a GPU (tilecast/gpu.h), or a cluster (tilecast/collective.h). A layout of several ranks on a GPU means the
  // built-in cluster that has it.
  std::string gpu = {}, cluster = {};

  Mode mode = Mode::prefill;
  Count batch = 1;
  Count seq = 0;              // prefill, train: tokens of a sequence
  Count context = 0;          // decode: tokens cached before the step; prefill: a cached prefix
  Count new_tokens = 1;       // decode: tokens of a request in one step
  Count source = 0;           // encoder-decoder: tokens of the source
  std::string requests = {};  // those that differ, in place of the four above: "8x1+2048,2x512"

  std::string dtype = {};         // a number format; empty: the checkpoint's
  std::string kv_dtype = "auto";  // of keys and values: "auto" or "fp8"
  std::string routing = {};       // of tokens to experts: uniform, power:1.2 (empty; training: uniform), counts:FILE
  std::optional<EngineKind> engine = {};  // empty: vLLM where the model generates, else PyTorch
  EngineEra era = EngineEra::current;
  std::optional<AttentionForm> attention = {};  // empty: the framework's, else fused
  bool all_logits = false;                      // the head runs on every token
  bool keep_cache = true;                       // keys and values are written to a cache

  // train: whose defaults hold for everything below that is not given (docs/parallel.md).
  std::optional<Framework> framework = {};
  std::optional<Recompute> recompute = {};          // empty: the framework's, else none
  std::vector<std::string> recompute_modules = {};  // of selective: names of RecomputeModule; empty: attention's core
  std::optional<Count> recompute_every = {};        // of alternate: one layer in so many; empty: two
  TrainingOptimizer optimizer = TrainingOptimizer::adamw;
  std::optional<MixedPrecision> mixed = {};  // empty: the framework's, else none
  Offload offload = Offload::none;
  Count documents = 1;     // train: that a sequence is packed from; tokens attend to their own document alone
  TrainMethod train = {};  // narrow products, adapters, pairs
  Count accumulate = 1;    // micro-batches a step
  bool update = true;      // the step ends with the optimizer
  bool dropout = false;
  std::optional<bool> fused_optimizer = {};  // PyTorch: one kernel, not its default (foreach)
  std::optional<bool> fused_norms = {};      // PyTorch: RMSNorm and GELU as one kernel each, not as Hugging Face does
  bool static_cache = false;                 // PyTorch: the cache is written in place, not concatenated
  // PyTorch: one product for queries, keys and values, one for gate and values.
  std::optional<bool> merged_projections = {};
  bool wide_rotation = false;  // PyTorch: rotations in fp32, by halves, not as Hugging Face does

  std::vector<std::string> dims = {};  // ONNX: "name=value"
  bool allow_unknown = false;          // ONNX: unknown operators are priced as memory traffic

  RankLayout layout = {};
  // Which of the layout's choices were made, and are not left to the framework.
  struct {
    bool sharding = false, sequence_parallel = false, overlap = false, tensor_overlap = false;
  } given = {};
  std::optional<bool> wide_gradients = {};  // train: gradients are summed and kept in fp32 (Megatron)
  std::optional<Count> micro_batch = {};    // train: sequences a rank works on at a time; empty: all it has
  std::optional<Count> global_batch = {};   // train: sequences of a step over all ranks, in place of `batch`
  bool list_tasks = false;                  // many GPUs: also who of the pipeline does what and when

  Method method = Method::tilecast;
  std::string weights = {};  // a weight file in place of the shipped ones

  // Whether it is asked of ranks: on a cluster, or in a layout of several.
  bool over_many() const {
    return !cluster.empty() || layout.tp != 1 || layout.pp != 1 || layout.dp != 1 || layout.ep != 1 || layout.cp != 1 ||
           global_batch.has_value();
  }
};

// A query with everything filled in that it leaves open.
struct StepSetting {
  std::string model;    // its name
  std::string gpu;      // its name
  std::string cluster;  // its name; empty: one GPU
  int gpus = 1;
  int gpus_per_node = 1;
  Bytes gpu_memory;  // nominal, of one
  RankLayout layout;
  Mode mode = Mode::prefill;
  std::vector<Requests> requests;
  std::string item = "token";         // what is counted: "token", "image" or "clip"
  bool given_shapes = false;          // a graph that fixes its own batch and lengths
  std::vector<std::string> left_out;  // parts of the checkpoint that are not modelled
  EngineKind engine = EngineKind::vllm;
  std::string dtype;
};

// What one rank keeps of its card, and what it may fill.
struct StepMemory {
  MemoryNeed need;
  Bytes usable;
  Count cache_tokens = 0;  // whose keys and values it has room for; 0: none, or it depends on the requests
  bool fits() const { return need.total() <= usable; }
};

// A run of kernels that is repeated: a layer.
struct StepSection {
  std::string name;
  Count repeats = 1;
  std::string pass;  // "forward", "backward" or "optimizer"
};

struct StepKernel {
  std::string name;         // "attention.qkv"
  std::size_t section = 0;  // of the step's
  std::string op_class;     // "linear"
  std::string family;       // as tilecast/kernel.h has it, with its dims
  Dims dims;
  std::string shape;  // the same in one line
  std::string dtype;
  Count times = 1;  // in the whole step
  Seconds each;     // one run of it
  Interval interval;
  Seconds ceiling, bound;
  Resource limited_by = Resource::dram;
  Seen seen = Seen::no;
  bool unknown = false;  // nothing is known of it but its bytes
};

// A step's kernels by what they have in common.
struct StepShare {
  std::string name;
  Seconds time, bound;
  Count launches = 0;
  std::optional<Resource> limited_by;  // most of it; empty where nothing runs
};

// The ranks of one pipeline stage.
struct StepStage {
  Count layers = 0;
  Seconds forward, backward;  // of a micro-batch, with what is exchanged meanwhile
  StepMemory memory;          // of each rank
};

// One kind of call between ranks.
struct StepExchange {
  std::string name;  // "attention all-reduce"
  Axis axis = Axis::tensor;
  std::string pass;
  std::string op;  // "all_reduce"
  Bytes size;
  int ranks = 1;
  double times = 1;     // for one micro-batch and one repeat of its section
  bool beside = false;  // may run while the section computes
  Seconds latency;      // of one
  std::string algorithm;
};

// How much of an axis' exchanges there is on the busiest rank, and how much of it nothing hides.
struct StepAxis {
  Axis axis = Axis::tensor;
  Seconds total, exposed;
};

// A step over many GPUs, pipeline rank by pipeline rank.
struct StepTask {
  int rank = 0;          // of the pipeline
  std::string name;      // "forward", "backward", "gradients" ...
  int micro_batch = -1;  // -1: of none, as what is exchanged or updated once a step
  int chunk = 0;         // of the rank's layers, where schedules interleave
  Seconds begin, end;
  bool beside = false;  // an exchange that runs while tasks do
};
struct StepTimeline {
  int ranks = 1;                // of the pipeline
  int alike = 1;                // GPUs that each of them stands for
  std::vector<StepTask> tasks;  // in order of begin; the first and the last where they are very many
  Count left_out = 0;           // those between
};

// Over many GPUs: the step of the busiest rank. Computing, bubble, optimizer and what is exposed sum to it.
struct StepOverMany {
  Count micro_batches = 1;
  Seconds compute;    // kernels, and the host where it is slower than they
  Seconds bubble;     // waiting for other stages
  Seconds optimizer;  // the update, and what stands between steps
  Seconds exposed;    // exchanges that nothing hides
  std::vector<StepAxis> axes;
  std::vector<StepStage> stages;
  std::vector<StepExchange> exchanges;
  Bytes usable;                          // of the rank that may fill least
  bool fits = false;                     // every stage
  double seen_share = 0;                 // of computing, by kernels whose card was measured
  std::optional<StepTimeline> timeline;  // where the query wants it
};

struct StepDetail;  // what traces of many GPUs are drawn from

struct StepForecast {
  StepSetting setting;
  Method method = Method::tilecast;
  Seconds time;       // the whole step
  Interval interval;  // 80 %
  Seconds ceiling;    // kernels alone, all well tuned, where that was learned; the bound elsewhere
  Seconds bound;      // kernels alone; no run is faster
  Seconds gpu, host;  // kernels back to back, launches back to back: of one rank as if it had all layers
  bool host_bound = false;
  double tokens_per_second = 0;        // or images, clips: `setting.item`; of all GPUs
  double flops = 0;                    // model FLOPs: products, convolutions and attention; of one rank
  double mfu = 0;                      // model FLOPs over the time and the dense peak of all GPUs
  std::optional<double> joules;        // of all GPUs; nothing where their power is not known
  std::optional<Resource> limited_by;  // most of the time; see host_bound too
  Seen seen = Seen::no;                // the weakest claim of more than half of it
  StepMemory memory;                   // over many GPUs, of the fullest stage
  std::vector<StepSection> sections;
  std::vector<StepKernel> kernels;  // in order, section by section; over many GPUs, of a rank with all layers
  std::vector<StepShare> by_class, by_section;
  std::vector<std::string> notes;
  std::optional<StepOverMany> many;
  std::shared_ptr<const StepDetail> detail;  // of many GPUs
};

// The forecast, or what is wrong with the query or in the way: errors name the field.
Result<StepForecast> forecast(const StepQuery& query);
// One answer per query, in order; what several share (a model, its kernels, a GPU, a weight file) is made once.
std::vector<Result<StepForecast>> forecast(std::span<const StepQuery> queries);
// What a query means, whether or not it can run: an error is one of the question itself.
Result<StepSetting> setting_of(const StepQuery& query);

// Steps in Chrome's trace format, which Perfetto opens: a process each; of one GPU its kernels, of many a lane a
// pipeline rank.
Result<std::string> chrome_trace(std::span<const StepForecast> steps);
// ... and as values, of a step over many GPUs.
Result<StepTimeline> timeline_of(const StepForecast& step);

// Execution traces of MLCommons Chakra, which ASTRA-sim runs (docs/chakra.md), of a step over many GPUs.
struct ChakraTraces {
  int ranks = 1;
  Count merged = 1;                            // layers alike that a node stands for, at most
  std::string groups;                          // the content of PREFIX.json
  std::function<std::string(int rank)> trace;  // the content of PREFIX.RANK.et
  struct File {
    std::string name, text;
  };
  // What ASTRA-sim needs beside them, for traces of this prefix: network.yml, system.json, memory.json, run.sh.
  std::function<std::vector<File>(const std::string& prefix)> beside;
};
Result<ChakraTraces> chakra_traces(const StepForecast& step);
// Writes them as FOLDER/PREFIX.0.et and so on, and the files beside: all or, where one cannot be written, none.
Status write_chakra(const ChakraTraces& traces, const std::string& folder, const std::string& prefix = "step");

const Question& step_question();
std::vector<BoundArgument> arguments_of(StepQuery& query);

}  // namespace tilecast
