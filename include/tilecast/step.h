// A question: how long does one step of a model take, on one GPU or over many?
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
  // built-in cluster with that GPU.
  std::string gpu = {}, cluster = {};

  Mode mode = Mode::prefill;
  Count batch = 1;
  Count seq = 0;              // prefill, train: tokens per sequence
  Count context = 0;          // decode: tokens cached before the step; prefill: a cached prefix
  Count new_tokens = 1;       // decode: tokens per request in one step
  Count source = 0;           // encoder-decoder: tokens of the source
  std::string requests = {};  // unequal requests, instead of the four above: "8x1+2048,2x512"

  std::string dtype = {};         // a number format; empty: the checkpoint's
  std::string kv_dtype = "auto";  // of keys and values: "auto" or "fp8"
  std::string routing = {};       // of tokens to experts: uniform, power:1.2 (empty; training: uniform), counts:FILE
  std::optional<EngineKind> engine = {};  // empty: vLLM if the model generates, otherwise PyTorch
  EngineEra era = EngineEra::current;
  std::string torch = {};                       // PyTorch's release, which chooses attention: "2.6"; empty: the era's
  std::optional<AttentionForm> attention = {};  // empty: the framework's, otherwise fused
  bool all_logits = false;                      // the head runs on every token
  bool keep_cache = true;                       // keys and values are written to a cache

  // train: supplies the defaults for everything below (docs/parallel.md).
  std::optional<Framework> framework = {};
  std::optional<Recompute> recompute = {};          // empty: the framework's, otherwise none
  std::vector<std::string> recompute_modules = {};  // for selective: names of RecomputeModule; empty: attention's core
  std::optional<Count> recompute_every = {};        // for alternate: one layer in this many; empty: two
  TrainingOptimizer optimizer = TrainingOptimizer::adamw;
  std::optional<MixedPrecision> mixed = {};  // empty: the framework's, otherwise none
  Offload offload = Offload::none;
  Count documents = 1;     // train: documents packed into a sequence; tokens attend only to their own
  TrainMethod train = {};  // narrow products, adapters, pairs
  Count accumulate = 1;    // micro-batches per step
  bool update = true;      // the step ends with the optimizer
  bool dropout = false;
  std::optional<bool> fused_optimizer = {};  // PyTorch: one kernel, not its default (foreach)
  std::optional<bool> fused_norms = {};      // PyTorch: RMSNorm and GELU as one kernel each, unlike Hugging Face
  bool static_cache = false;                 // PyTorch: the cache is written in place, not concatenated
  // PyTorch: one product for queries, keys and values, one for gate and values.
  std::optional<bool> merged_projections = {};
  bool wide_rotation = false;  // PyTorch: rotations in fp32, by halves, unlike Hugging Face

  std::vector<std::string> dims = {};  // ONNX: "name=value"
  bool allow_unknown = false;          // ONNX: unknown operators are priced as memory traffic

  RankLayout layout = {};
  // Which of the layout's fields were set explicitly and not left to the framework.
  struct {
    bool sharding = false, sequence_parallel = false, overlap = false, tensor_overlap = false;
  } given = {};
  std::optional<bool> wide_gradients = {};  // train: gradients are summed and kept in fp32 (Megatron)
  std::optional<Count> micro_batch = {};    // train: sequences a rank processes at a time; empty: all it has
  std::optional<Count> global_batch = {};   // train: sequences per step over all ranks, instead of `batch`
  bool list_tasks = false;                  // many GPUs: also what each pipeline rank does when

  Method method = Method::tilecast;
  std::string weights = {};  // a weight file instead of the shipped one

  // Whether it concerns several ranks: on a cluster, or in a layout of several.
  bool over_many() const {
    return !cluster.empty() || layout.tp != 1 || layout.pp != 1 || layout.dp != 1 || layout.ep != 1 || layout.cp != 1 ||
           global_batch.has_value();
  }
};

// A query with all defaults filled in.
struct StepSetting {
  std::string model;    // its name
  std::string gpu;      // its name
  std::string cluster;  // its name; empty: one GPU
  int gpus = 1;
  int gpus_per_node = 1;
  Bytes gpu_memory;  // nominal, per GPU
  RankLayout layout;
  Mode mode = Mode::prefill;
  std::vector<Requests> requests;
  std::string item = "token";         // what is counted: "token", "image" or "clip"
  bool given_shapes = false;          // a graph that fixes its own batch and lengths
  std::vector<std::string> left_out;  // parts of the checkpoint that are not modelled
  EngineKind engine = EngineKind::vllm;
  std::string dtype;
};

// The memory one rank uses on its card, and how much it may use.
struct StepMemory {
  MemoryNeed need;
  Bytes usable;
  Count cache_tokens = 0;  // tokens whose keys and values fit; 0: none, or it depends on the requests
  bool fits() const { return need.total() <= usable; }
};

// A repeated sequence of kernels: a layer.
struct StepSection {
  std::string name;
  Count repeats = 1;
  std::string pass;  // "forward", "backward" or "optimizer"
};

struct StepKernel {
  std::string name;         // "attention.qkv"
  std::size_t section = 0;  // index into the step's sections
  std::string op_class;     // "linear"
  std::string family;       // as in tilecast/kernel.h, with its dims
  Dims dims;
  std::string shape;  // the same in one line
  std::string dtype;
  Count times = 1;  // in the whole step
  Seconds each;     // one run of it
  Interval interval;
  Seconds ceiling, bound;
  Resource limited_by = Resource::dram;
  Seen seen = Seen::no;
  bool unknown = false;  // only its bytes are known
};

// A step's kernels grouped by something they have in common.
struct StepShare {
  std::string name;
  Seconds time, bound;
  Count launches = 0;
  std::optional<Resource> limited_by;  // limits most of it; empty if nothing runs
};

// The ranks of one pipeline stage.
struct StepStage {
  Count layers = 0;
  Seconds forward, backward;  // per micro-batch, with what is exchanged meanwhile
  StepMemory memory;          // per rank
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
  Seconds latency;      // per call
  std::string algorithm;
};

// The time of an axis' exchanges on the busiest rank, and how much of it is exposed.
struct StepAxis {
  Axis axis = Axis::tensor;
  Seconds total, exposed;
};

// A step over many GPUs, pipeline rank by pipeline rank.
struct StepTask {
  int rank = 0;          // of the pipeline
  std::string name;      // "forward", "backward", "gradients" ...
  int micro_batch = -1;  // -1: none, for what is exchanged or updated once per step
  int chunk = 0;         // of the rank's layers, if the schedule interleaves
  Seconds begin, end;
  bool beside = false;  // an exchange that runs while tasks do
};
struct StepTimeline {
  int ranks = 1;                // of the pipeline
  int alike = 1;                // GPUs that each of them represents
  std::vector<StepTask> tasks;  // by start time; only the first and the last if there are very many
  Count left_out = 0;           // tasks left out in between
};

// Over many GPUs: the step of the busiest rank. Compute, bubble, optimizer and exposed time sum to it.
struct StepOverMany {
  Count micro_batches = 1;
  Seconds compute;    // kernels, or the host if it is slower
  Seconds bubble;     // waiting for other stages
  Seconds optimizer;  // the update, and what lies between steps
  Seconds exposed;    // exchanges that nothing hides
  std::vector<StepAxis> axes;
  std::vector<StepStage> stages;
  std::vector<StepExchange> exchanges;
  Bytes usable;                          // of the rank that may fill the least
  bool fits = false;                     // every stage
  double seen_share = 0;                 // share of compute in kernels whose card was measured
  std::optional<StepTimeline> timeline;  // if the query asks for it
};

struct StepDetail;  // what traces of many GPUs are drawn from

struct StepForecast {
  StepSetting setting;
  Method method = Method::tilecast;
  Seconds time;       // the whole step
  Interval interval;  // 80 %
  Seconds ceiling;    // kernels alone, all well tuned, if that was learned; otherwise the bound
  Seconds bound;      // kernels alone; no run is faster
  Seconds gpu, host;  // kernels back to back, launches back to back: for one rank as if it had all layers
  bool host_bound = false;
  double tokens_per_second = 0;        // or images, clips: `setting.item`; over all GPUs
  double flops = 0;                    // model FLOPs: products, convolutions and attention; of one rank
  double mfu = 0;                      // model FLOPs over the time and the dense peak of all GPUs
  std::optional<double> joules;        // over all GPUs; absent if their power is unknown
  std::optional<Resource> limited_by;  // for most of the time; see host_bound too
  Seen seen = Seen::no;                // the weakest claim of more than half of it
  StepMemory memory;                   // over many GPUs, of the fullest stage
  std::vector<StepSection> sections;
  std::vector<StepKernel> kernels;  // in order, section by section; over many GPUs, for a rank with all layers
  std::vector<StepShare> by_class, by_section;
  std::vector<std::string> notes;
  std::optional<StepOverMany> many;
  std::shared_ptr<const StepDetail> detail;  // for many GPUs
};

// The forecast, or what is wrong with the query or prevents it from running: errors name the field.
Result<StepForecast> forecast(const StepQuery& query);
// One answer per query, in order; whatever they share (a model, its kernels, a GPU, a weight file) is made once.
std::vector<Result<StepForecast>> forecast(std::span<const StepQuery> queries);
// What a query means, whether or not it can run: an error concerns the question itself.
Result<StepSetting> setting_of(const StepQuery& query);

// Steps in Chrome's trace format, which Perfetto opens: one process each; for one GPU its kernels, for many one lane
// per pipeline rank.
Result<std::string> chrome_trace(std::span<const StepForecast> steps);
// ... and as values, for a step over many GPUs.
Result<StepTimeline> timeline_of(const StepForecast& step);

// Execution traces of MLCommons Chakra, which ASTRA-sim runs (docs/chakra.md), for a step over many GPUs.
struct ChakraTraces {
  int ranks = 1;
  Count merged = 1;                            // the most identical layers that a node represents
  std::string groups;                          // the content of PREFIX.json
  std::function<std::string(int rank)> trace;  // the content of PREFIX.RANK.et
  struct File {
    std::string name, text;
  };
  // What else ASTRA-sim needs for traces with this prefix: network.yml, system.json, memory.json, run.sh.
  std::function<std::vector<File>(const std::string& prefix)> beside;
};
Result<ChakraTraces> chakra_traces(const StepForecast& step);
// Writes them as FOLDER/PREFIX.0.et and so on, and the other files: all or, if one cannot be written, none.
Status write_chakra(const ChakraTraces& traces, const std::string& folder, const std::string& prefix = "step");

const Question& step_question();
std::vector<BoundArgument> arguments_of(StepQuery& query);

}  // namespace tilecast
