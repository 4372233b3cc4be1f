// A question: which tiles should a Triton kernel run with? Ranks configurations of the engines' fused mixture of
// experts and of plain products, best first, and writes the files in which vLLM and SGLang look for them.
//
//   auto tuning = tilecast::tune({.gpu = "H200-SXM", .experts = 128, .hidden = 2048, .inter = 768, .topk = 8});
//   if (tuning) for (const auto& one : tuning->tuned) use(one.tokens, one.pick().config);
//
// Everything here is a value or a pure function, except that measuring runs the given command; any number of threads
// may call any of it.
#pragma once

#include <array>
#include <compare>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tilecast/arguments.h"
#include "tilecast/result.h"
#include "tilecast/units.h"
#include "tilecast/watch.h"

namespace tilecast {

// CTAs compute `m` rows of one expert by `n` columns, `k` deep per step; `group` blocks of rows pass through the same
// columns one after another.
struct TritonConfig {
  int m = 0, n = 0, k = 0, group = 1, warps = 4, stages = 3;

  std::array<int, 6> values() const { return {m, n, k, group, warps, stages}; }
  auto operator<=>(const TritonConfig&) const = default;
};
// The names of its values in the engines' files.
inline constexpr std::array<std::string_view, 6> kTritonConfigKeys = {"BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K",
                                                                      "GROUP_SIZE_M", "num_warps",    "num_stages"};

// A fused mixture of experts.
struct MoeTuneQuery {
  std::string gpu = {};            // a name (tilecast/gpu.h), the path of a description file, or its JSON text
  std::string dtype = "bf16";      // a number format
  Count top = 5;                   // configurations to keep, and to measure
  std::vector<Count> tokens = {};  // per step, before routing; empty: those of vLLM's own tuning script
  Count experts = 0;               // over all ranks
  Count hidden = 0;                // width of the model
  Count inter = 0;                 // width of a whole expert
  Count topk = 0;                  // experts per token
  Count tp = 1, ep = 1;            // ranks that share an expert's width; ranks that share the experts
};

// A plain product y[m,n] = x[m,k] w[k,n].
struct GemmTuneQuery {
  std::string gpu = {};
  std::string dtype = "bf16";
  Count top = 5;
  Count m = 0, n = 0, k = 0;
};

// Candidates may be timed by a shell command, which gets the layer and the configurations (docs/tune.md). It is
// separate from the queries, so that a service that takes queries from strangers never runs their commands.
struct Measuring {
  std::string command = {};  // empty: the forecast decides
  double seconds = 600;      // after which it is killed
  // Called before each number of tokens is measured.
  struct Progress {
    std::size_t done = 0, all = 0;
    Count tokens = 0, configurations = 0;
  };
  std::function<void(const Progress&)> progress = {};
};

// One launch of a configuration: a mixture of experts has two, up and down.
struct TunePass {
  Seconds latency;
  std::string limited_by;  // what a step waits for: "tensor", "shared memory", "instructions", "L2", "latency", "DRAM"
  double ctas = 0, rounds = 0;
  int ctas_per_sm = 0;
};

struct TuneCandidate {
  TritonConfig config;
  Seconds forecast;  // over all passes
  std::vector<TunePass> passes = {};
  std::optional<Seconds> measured = {};
  std::string problem = {};  // why it was not measured, if it should have been
};

struct Tuned {
  Count tokens = 0;                       // rows of a plain product
  std::vector<TuneCandidate> best;        // best first: by measurement if there is one, failures last
  std::optional<TuneCandidate> standard;  // what vLLM launches without a tuned file
  std::string note;                       // why nothing was measured

  // The best, unless the default was measured to be faster.
  const TuneCandidate& pick() const {
    const bool default_wins =
        standard && standard->measured && best.front().measured && *standard->measured < *best.front().measured;
    return default_wins ? *standard : best.front();
  }
};

struct MoeTuning {
  std::string gpu, dtype;
  Count experts = 0, hidden = 0, inter = 0, topk = 0;  // experts and inter: per rank
  Count configurations = 0;                            // number that can run on the card
  std::vector<Tuned> tuned;                            // by tokens
};

struct GemmTuning {
  std::string gpu, dtype;
  Count m = 0, n = 0, k = 0;
  Count configurations = 0;
  Tuned tuned;
};

// The ranking, or what is wrong with the query: errors name its field. A command that fails for every number of tokens
// is an error; where it fails for some, the forecast's order remains, with a note.
Result<MoeTuning> tune(const MoeTuneQuery& query, const Measuring& measuring = {}, const Watch& watch = {});
Result<GemmTuning> tune(const GemmTuneQuery& query, const Measuring& measuring = {}, const Watch& watch = {});

// The picks as files that the engines load.
struct EngineFilesQuery {
  std::string device_name = {};  // as torch.cuda.get_device_name() reports it; empty: from the card's description
  std::string triton = "3.6.0";  // Triton's version: SGLang keeps files by it
};
struct EngineFile {
  std::string engine;  // "vllm" or "sglang"
  std::string path;    // under the folder that VLLM_TUNED_CONFIG_FOLDER or SGLANG_MOE_CONFIG_DIR names
  std::string text;
};
// `query` is the one that `tuning` answers. vLLM's file first.
Result<std::vector<EngineFile>> engine_files(const MoeTuneQuery& query, const MoeTuning& tuning,
                                             const EngineFilesQuery& files = {});

const Question& tune_moe_question();
const Question& tune_gemm_question();
std::vector<BoundArgument> arguments_of(MoeTuneQuery& query);
std::vector<BoundArgument> arguments_of(GemmTuneQuery& query);
std::vector<BoundArgument> arguments_of(Measuring& measuring);
std::vector<BoundArgument> arguments_of(EngineFilesQuery& query);

}  // namespace tilecast
