#include "engine/engine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "engine/arrange.h"
#include "engine/run.h"
#include "engine/run_width.h"
#include "estimate/shipped_weights.h"
#include "gpu/registry.h"
#include "kernel/attention_prefill.h"
#include "kernel/copy.h"
#include "kernel/elementwise.h"
#include "kernel/gated_activation.h"
#include "kernel/gemm.h"
#include "kernel/rmsnorm.h"
#include "kernel/rope.h"
#include "model/build.h"
#include "model/library.h"

namespace tilecast {
namespace {

Graph llama(Mode mode, Count tokens) {
  Workload w;
  w.mode = mode;
  w.requests = mode == Mode::decode ? std::vector<Requests>{{4, 1, tokens}} : std::vector<Requests>{{1, tokens, 0}};
  return *build(*find_model("Llama-3.1-8B"), w);
}

const Section& layer_of(const Graph& graph) {
  for (const Section& s : graph.sections)
    if (s.name == "layer") return s;
  return graph.sections.front();
}

std::vector<std::string> names_of(const Section& section) {
  std::vector<std::string> names;
  for (const Operator& op : section.operators) names.push_back(op.name);
  return names;
}

EngineOptions options_of(EngineKind kind, const char* dtype = "bf16") {
  EngineOptions o;
  o.kind = kind;
  o.precision = *precision_from(dtype);
  return o;
}

// DeepSeek's indexer runs DeepGEMM's kernel under every engine, however each of them attends.
TEST(Engine, ServingEnginesScoreTheIndexersKeysAlike) {
  const Gpu gpu = *find_gpu("H200-SXM");
  Workload w;
  w.mode = Mode::decode, w.requests = {{16, 1, 32768}};
  const Graph graph = *build(*find_model("DeepSeek-V3.2"), w);
  std::vector<double> times;
  for (const EngineKind kind : {EngineKind::vllm, EngineKind::sglang, EngineKind::trtllm}) {
    const EngineOptions o = options_of(kind, "fp8_block");
    const Program program = lower(arranged(graph, o), o);
    const auto step = forecast_step(program, gpu, 16, Method::tilecast, &shipped_models());
    ASSERT_TRUE(step.ok());
    for (std::size_t i = 0; i < program.calls.size(); ++i)
      if (program.calls[i].name == "indexer.scores") times.push_back(in_microseconds(step->calls[i].each));
  }
  ASSERT_GE(times.size(), 3u);
  for (const double us : times) {
    EXPECT_NEAR(us / times.front(), 1, 0.25);
    EXPECT_LT(us, 100) << "keys of 67 MB, read once for all heads";
  }
}

// Products of fixed scales read half the bytes of those in 16 bits and quantise nothing: no column count makes them
// longer, small ones on Blackwell under TensorRT-LLM least of all.
TEST(Engine, ProductsOfFixedScalesTakeNoLongerThanIn16Bits) {
  const auto products = [](const char* dtype) {
    const EngineOptions o = options_of(EngineKind::trtllm, dtype);
    const Program program = lower(arranged(llama(Mode::decode, 100), o), o);
    const auto step = forecast_step(program, *find_gpu("B200"), 4, Method::tilecast, &shipped_models());
    std::map<std::string, double> us;
    for (std::size_t i = 0; i < program.calls.size(); ++i)
      if (program.calls[i].kernel.shape.is<Gemm>()) us[program.calls[i].name] = in_microseconds(step->calls[i].each);
    return us;
  };
  const auto narrow = products("fp8_static"), wide = products("bf16");
  ASSERT_GE(narrow.size(), 4u);
  for (const auto& [name, us] : narrow) EXPECT_LE(us, wide.at(name) * (1 + 1e-9)) << name;
}

TEST(Engine, ServingEnginesMergeAndFuse) {
  const Graph graph = arranged(llama(Mode::decode, 100), options_of(EngineKind::vllm));
  EXPECT_EQ(names_of(layer_of(graph)),
            (std::vector<std::string>{"mixer_norm", "attention.q+k+v", "attention.rope", "attention.kv_write",
                                      "attention.decode", "attention.out", "mlp_norm", "mlp.gate+up", "mlp.act",
                                      "mlp.down"}));
  EXPECT_EQ(layer_of(graph).operators[1].shape.as<Gemm>().n, 4096 + 2 * 1024);
  EXPECT_TRUE(layer_of(graph).operators[0].shape.as<RmsNorm>().residual);
  EXPECT_TRUE(layer_of(graph).operators[6].shape.as<RmsNorm>().residual);
  EXPECT_EQ(parameters(graph), parameters(*find_model("Llama-3.1-8B")));
}

// Qwen 3.5 has four matrices before its linear attention: 64 heads of values, 16 of keys, 128 wide. Engines merge those
// that are as wide as heads, and the numbers of each head; SGLang up to 0.5.9 merges none.
TEST(Engine, LinearAttentionProjectsInAsManyProductsAsTheEngineCalls) {
  Workload w;
  w.mode = Mode::decode, w.requests = {{4, 1, 100}};
  const auto widths = [&](const char* model, const EngineOptions& o) {
    std::vector<Count> n;
    const Graph graph = arranged(*build(*find_model(model), w), o);
    for (const Section& section : graph.sections)
      for (const Operator& op : section.operators)
        if ((op.role == Role::scan_in || op.role == Role::scan_gates) && n.size() < 4 && &section == &graph.sections[1])
          n.push_back(op.shape.as<Gemm>().n);
    return n;
  };
  using Widths = std::vector<Count>;
  const Widths two = {64 * 128 + 2 * 16 * 128 + 64 * 128, 2 * 64}, four = {64 * 128 + 2 * 16 * 128, 64 * 128, 64, 64};
  EngineOptions sglang = options_of(EngineKind::sglang);
  EXPECT_EQ(widths("Qwen3.5-397B-A17B", sglang), four);
  sglang.merged_scans = true;
  EXPECT_EQ(widths("Qwen3.5-397B-A17B", sglang), two);
  EXPECT_EQ(widths("Qwen3.5-397B-A17B", options_of(EngineKind::vllm)), two);
  EXPECT_EQ(widths("Qwen3.5-397B-A17B", options_of(EngineKind::pytorch)), four);
  const Graph graph = arranged(*build(*find_model("Qwen3.5-397B-A17B"), w), sglang);
  EXPECT_EQ(parameters(graph), parameters(*find_model("Qwen3.5-397B-A17B")));
  // Qwen3-Next: 32 heads of values; two matrices in the checkpoint.
  const Widths next = {2 * 32 * 128 + 2 * 16 * 128, 2 * 32};
  EXPECT_EQ(widths("Qwen3-Next-80B-A3B", options_of(EngineKind::sglang)), next);
  EXPECT_EQ(widths("Qwen3-Next-80B-A3B", options_of(EngineKind::vllm)), next);
}

TEST(Engine, TensorRtWritesTheCacheWhileItRotates) {
  const auto names = names_of(layer_of(arranged(llama(Mode::decode, 100), options_of(EngineKind::trtllm))));
  EXPECT_NE(std::find(names.begin(), names.end(), "attention.rope+kv_write"), names.end());
  EXPECT_EQ(std::find(names.begin(), names.end(), "attention.kv_write"), names.end());
}

TEST(Engine, EagerSpellsNormsRotationsAndGatesOut) {
  const Graph graph = arranged(llama(Mode::prefill, 64), options_of(EngineKind::pytorch));
  // Norm 8 (twice), q k v, rotation 5 (twice), cache 2, attention, out, sum, gate, up, act, mul, down, sum.
  EXPECT_EQ(layer_of(graph).operators.size(), 2u * 8 + 3 + 2 * 5 + 2 + 1 + 1 + 1 + 2 + 2 + 1 + 1);
  EXPECT_EQ(parameters(graph), parameters(*find_model("Llama-3.1-8B")));
}

const Operator& operator_of(const Section& section, std::string_view name) {
  for (const Operator& op : section.operators)
    if (op.name == name) return op;
  ADD_FAILURE() << "no operator " << name;
  return section.operators.front();
}

// As traces of plain decoders on an H200 have it: views, broadcast rows and conversions run other kernels.
TEST(Engine, PiecesWalkTheirTensorsAsPyTorchDoes) {
  const auto walk = [](const Graph& graph, std::string_view name) { return operator_of(layer_of(graph), name).walk; };
  EngineOptions o = options_of(EngineKind::pytorch_graph);
  o.static_cache = true;
  const Graph prefill = arranged(llama(Mode::prefill, 64), o), decode = arranged(llama(Mode::decode, 64), o);
  EXPECT_EQ(walk(prefill, "mixer_norm.float"), TorchWalk::widen);
  EXPECT_EQ(walk(prefill, "mixer_norm.scale"), TorchWalk::strided);
  EXPECT_EQ(walk(prefill, "mixer_norm.back"), TorchWalk::narrow);
  EXPECT_EQ(walk(prefill, "attention.rope.q.cos"), TorchWalk::strided);
  EXPECT_EQ(walk(prefill, "attention.rope.q.cat"), TorchWalk::cat);
  EXPECT_EQ(walk(prefill, "attention.rope.q.add"), TorchWalk::strided);
  EXPECT_EQ(walk(decode, "attention.rope.q.add"), TorchWalk::vectorized) << "one token: both are contiguous";
  EXPECT_EQ(walk(prefill, "attention.kv_write.k"), TorchWalk::index);
  EXPECT_EQ(walk(prefill, "mlp.act.act"), TorchWalk::vectorized);
  o.merged_projections = o.wide_rotation = true;
  const Graph merged = arranged(llama(Mode::prefill, 64), o);
  EXPECT_EQ(walk(merged, "mlp.act.act"), TorchWalk::strided) << "half of a row";
  EXPECT_EQ(walk(merged, "attention.rope.k.float"), TorchWalk::strided_widen);
  EXPECT_EQ(parameters(merged), parameters(prefill));
  o.kind = EngineKind::compile;
  const Graph compiled = arranged(llama(Mode::prefill, 64), o);
  for (const Operator& op : layer_of(compiled).operators)
    EXPECT_TRUE(op.walk == TorchWalk::vectorized || op.walk == TorchWalk::narrow) << op.name;
}

TEST(Engine, AGraphReplaysWhatEagerLaunches) {
  const EngineOptions eager = options_of(EngineKind::pytorch), graph = options_of(EngineKind::pytorch_graph);
  const Program one = lower(arranged(llama(Mode::decode, 64), eager), eager);
  const Program other = lower(arranged(llama(Mode::decode, 64), graph), graph);
  ASSERT_EQ(one.calls.size(), other.calls.size());
  for (std::size_t i = 0; i < one.calls.size(); ++i) EXPECT_EQ(one.calls[i].name, other.calls[i].name);
  EXPECT_GT(one.host.per_launch, seconds(0));
  EXPECT_EQ(other.host.per_launch, seconds(0));
  EXPECT_LT(other.host.switching, one.host.switching);
}

TEST(Engine, WhispersEncoderCopiesWhatItsConvolutionsLeftTransposed) {
  Workload w;
  w.requests = {{1, 4, 0}};
  const Graph graph = arranged(*build(*find_model("Whisper-Small"), w), options_of(EngineKind::pytorch));
  for (const Section& section : graph.sections) {
    if (section.part.kind != SectionKind::layer) continue;
    int copies = 0, transposes = 0, transposed_sums = 0;
    for (const Operator& op : section.operators) {
      const auto* copy = op.shape.get_if<Copy>();
      copies += copy && op.walk == TorchWalk::strided;
      transposes += copy && copy->transpose;
      transposed_sums += op.role == Role::residual && op.walk == TorchWalk::transposed;
    }
    EXPECT_EQ(transposed_sums, section.part.encoder ? 2 : 0) << section.name;
    EXPECT_EQ(transposes, section.part.encoder ? 2 : 0) << "of two norms";
    if (!section.part.encoder) continue;
    EXPECT_EQ(copies, 4) << "of queries, keys and values, of the result";
  }
}

TEST(Engine, EagerAttentionIsTwoProductsAndASoftmax) {
  EngineOptions o = options_of(EngineKind::pytorch, "fp32");
  o.eager_attention = true;
  Workload w;
  w.requests = {{2, 128, 0}};
  w.keep_cache = false;
  const Graph graph = arranged(*build(*find_model("GPT-2"), w), o);
  const auto names = names_of(layer_of(graph));
  std::vector<std::string> attention;
  for (const std::string& name : names)
    if (name.starts_with("attention.prefill")) attention.push_back(name.substr(18));
  EXPECT_EQ(attention,
            (std::vector<std::string>{"q", "k", "v", "scores", "scale", "mask", "softmax", "values", "contiguous"}));
  for (const Operator& op : layer_of(graph).operators)
    if (op.name == "attention.prefill.scores") {
      const auto& bmm = op.shape.as<Bmm>();
      EXPECT_EQ(bmm.batch, 2 * 12);
      EXPECT_EQ(bmm.m, 128);
      EXPECT_EQ(bmm.n, 128);
      EXPECT_EQ(bmm.k, 64);
    }
}

// Heads are neighbours in T5's table of biases; the scores of a head walk over all pairs of positions between them.
TEST(Engine, BiasesOfPositionsLieAcrossTheScores) {
  EngineOptions o = options_of(EngineKind::pytorch, "fp32");
  o.eager_attention = true;
  Workload w;
  w.requests = {{2, 128, 0}};
  w.source_len = 64;
  const Graph graph = arranged(*build(*find_model("T5-Base"), w), o);
  int across = 0, straight = 0;
  for (const Section& section : graph.sections)
    for (const Operator& op : section.operators) {
      if (!op.name.ends_with(".mask")) continue;
      const auto& sum = op.shape.as<Elementwise>();
      EXPECT_EQ(sum.inputs, 2) << op.name;
      const bool own = op.role != Role::cross_attention;
      EXPECT_EQ(op.walk, own ? TorchWalk::transposed : TorchWalk::vectorized) << op.name;
      EXPECT_EQ(sum.rows, own ? 2 * 12 : 0) << op.name;
      (own ? across : straight) += 1;
    }
  EXPECT_EQ(across, 2);
  EXPECT_EQ(straight, 1);
}

// Inductor's patterns: products around a softmax without a mask, not GPT-2's choice by a causal one.
TEST(Engine, TheCompilerFindsAttentionInItsPieces) {
  EngineOptions o = options_of(EngineKind::compile, "fp32");
  o.eager_attention = true;
  Workload w;
  w.requests = {{2, 128, 0}};
  w.keep_cache = false;
  const auto fused = [&](const char* model) {
    const Graph graph = arranged(*build(*find_model(model), w), o);
    const auto& operators = layer_of(graph).operators;
    return std::any_of(operators.begin(), operators.end(),
                       [](const Operator& op) { return op.shape.is<AttentionPrefill>(); });
  };
  EXPECT_TRUE(fused("BERT-Base"));
  EXPECT_FALSE(fused("GPT-2"));
  o.kind = EngineKind::pytorch;
  EXPECT_FALSE(fused("BERT-Base"));
}

TEST(Engine, CompiledRotationsAndGatesAreAKernelEach) {
  const Graph graph = arranged(llama(Mode::prefill, 64), options_of(EngineKind::compile));
  int rotations = 0, gates = 0;
  for (const Operator& op : layer_of(graph).operators)
    rotations += op.shape.is<Rope>(), gates += op.shape.is<GatedActivation>();
  EXPECT_EQ(rotations, 1);
  EXPECT_EQ(gates, 1);
  const Program program = lower(graph, options_of(EngineKind::compile));
  EXPECT_EQ(std::count_if(program.calls.begin(), program.calls.end(),
                          [](const KernelCall& call) { return call.context.kernel_source.text() == "triton_fused"; }),
            1);
}

// _scaled_dot_product_attention_math of bf16 tensors: widened, multiplied in fp32, narrowed.
TEST(Engine, TheFallbackOfAttentionIsInFullPrecision) {
  EngineOptions o = options_of(EngineKind::pytorch_graph);
  o.math_attention = true;
  Workload w;
  w.requests = {{2, 128, 0}};
  w.keep_cache = false;
  const Program program = lower(arranged(*build(*find_model("BERT-Base"), w), o), o);
  std::vector<std::string> attention;
  for (const KernelCall& call : program.calls) {
    if (!call.name.starts_with("attention.prefill")) continue;
    attention.push_back(call.name.substr(18));
    const bool bmm = call.kernel.shape.is<Bmm>();
    EXPECT_TRUE(!bmm || call.kernel.format.id == FormatId::fp32) << call.name;
  }
  EXPECT_EQ(attention,
            (std::vector<std::string>{"q_float", "q_scale", "q", "k_float", "k_scale", "k", "v_float", "v", "scores",
                                      "mask", "softmax", "is_masked", "all_masked", "where", "values", "back"}));
}

TEST(Engine, CompilingFusesPointwiseChains) {
  const Graph eager = arranged(llama(Mode::prefill, 64), options_of(EngineKind::pytorch));
  const Graph compiled = arranged(llama(Mode::prefill, 64), options_of(EngineKind::compile));
  EXPECT_LT(layer_of(compiled).operators.size(), layer_of(eager).operators.size() / 2);
  EXPECT_EQ(parameters(compiled), parameters(eager));
}

TEST(Engine, QuantisedFormatsLeaveAttentionAndTheHeadAlone) {
  const Program program = lower(arranged(llama(Mode::decode, 100), options_of(EngineKind::vllm, "fp8")),
                                options_of(EngineKind::vllm, "fp8"));
  for (const KernelCall& call : program.calls) {
    if (call.name == "attention.q+k+v") {
      EXPECT_EQ(call.kernel.format.name, "fp8");
    } else if (call.name == "attention.decode" || call.name == "lm_head") {
      EXPECT_EQ(call.kernel.format.name, "bf16");
    }
  }
}

TEST(Step, PartsSumToTheWholeAndNothingBeatsItsBound) {
  const EngineOptions o = options_of(EngineKind::vllm);
  const Program program = lower(arranged(llama(Mode::decode, 2000), o), o);
  const auto gpu = load_gpu("H100-SXM");
  ASSERT_TRUE(gpu);
  const auto step = forecast_step(program, *gpu, 4, Method::tilecast, &shipped_weights());
  ASSERT_TRUE(step);
  Seconds sum, bound;
  for (std::size_t i = 0; i < step->calls.size(); ++i) {
    sum += step->calls[i].each * static_cast<double>(program.calls[i].times);
    bound += step->calls[i].bound * static_cast<double>(program.calls[i].times);
    EXPECT_GE(step->calls[i].each, step->calls[i].bound) << program.calls[i].name;
  }
  EXPECT_NEAR(sum / step->gpu, 1, 1e-12);
  EXPECT_NEAR(bound / step->bound, 1, 1e-12);
  EXPECT_GE(step->total, step->bound);
  EXPECT_LE(step->interval.low, step->total);
  EXPECT_GE(step->interval.high, step->total);
}

TEST(Step, EagerTakesTheLongerOfHostAndGpu) {
  EngineOptions o = options_of(EngineKind::pytorch);
  const auto gpu = load_gpu("H100-SXM");
  ASSERT_TRUE(gpu);
  for (const Count tokens : {16, 8192}) {
    const Program program = lower(arranged(llama(Mode::prefill, tokens), o), o);
    const auto step = forecast_step(program, *gpu, 1, Method::analytic, nullptr);
    ASSERT_TRUE(step);
    EXPECT_EQ(step->total, std::max(step->gpu, step->host) + program.host.per_step);
    EXPECT_EQ(step->host_bound(), tokens == 16);
  }
}

TEST(Step, UnlikeKernelsCostTheGpuTheWayFromOneToTheNext) {
  const EngineOptions o = options_of(EngineKind::pytorch_graph);
  Program program = lower(arranged(llama(Mode::decode, 64), o), o);
  const auto gpu = load_gpu("H200-SXM");
  ASSERT_TRUE(gpu);
  const auto with = forecast_step(program, *gpu, 4, Method::analytic, nullptr);
  program.host.switching = seconds(0);
  const auto without = forecast_step(program, *gpu, 4, Method::analytic, nullptr);
  ASSERT_TRUE(with && without);
  EXPECT_NEAR(in_microseconds(with->gpu - without->gpu), 0.65 * static_cast<double>(program.launches()), 1e-6);
}

TEST(Step, ErrorsThatAreSharedWidenASum) {
  Program program;
  std::vector<CallForecast> calls;
  for (int i = 0; i < 4; ++i) {
    program.calls.push_back({"a", 0, OpClass::linear, Kernel{Gemm{}, *format_from("bf16")}, {}, 1});
    calls.push_back({milliseconds(1), {milliseconds(0.9), milliseconds(1.1)}, milliseconds(0.8), milliseconds(0.5)});
  }
  const Interval sum = interval_of_sum(program, calls, milliseconds(4));
  const double width = (sum.high - milliseconds(4)) / milliseconds(0.1);
  EXPECT_GT(width, 2) << "wider than if all errors were independent";
  EXPECT_LT(width, 4) << "narrower than if they were all the same";
}

// 1,000 alike kernels whose errors are half shared: independent errors average out, the shared part stays.
TEST(Step, ASumKeepsWhatItsKernelsShare) {
  for (const int count : {1, 10, 1000}) {
    Program program;
    std::vector<CallForecast> calls;
    const Width shared{0.1, 0.2};
    for (int i = 0; i < count; ++i) {
      program.calls.push_back({"a", 0, OpClass::linear, Kernel{Gemm{}, *format_from(i % 2 ? "bf16" : "fp8")}, {}, 3});
      calls.push_back({milliseconds(1), {milliseconds(0.8), milliseconds(1.5)}, milliseconds(0.8), milliseconds(0.5)});
      calls.back().shared = shared;
    }
    const Seconds all = milliseconds(3.0 * count);
    const Width sum = width_of(interval_of_sum(program, calls, all), all);
    EXPECT_GE(sum.down, shared.down - 1e-12) << count;
    EXPECT_GE(sum.up, shared.up - 1e-12) << count;
    EXPECT_LE(sum.up, std::log(1.5) + 1e-12) << "never wider than its kernels: " << count;
  }
}

TEST(Step, AHostThatHoldsAStepBackHasAWidth) {
  EngineOptions o = options_of(EngineKind::pytorch);
  const auto gpu = load_gpu("H100-SXM");
  ASSERT_TRUE(gpu);
  const Program program = lower(arranged(llama(Mode::prefill, 16), o), o);
  const auto step = forecast_step(program, *gpu, 1, Method::analytic, nullptr);
  ASSERT_TRUE(step);
  ASSERT_TRUE(step->host_bound());
  const Width w = width_of(step->interval, step->total);
  EXPECT_GE(w.up, host_width().up * 0.999);
  EXPECT_GE(w.down, std::min(host_width().down, width_of({step->bound, step->total}, step->total).down) * 0.9);
}

// A run shows a part of what its kernels' tables leave open, never less than the noise of measuring.
TEST(Step, WholeRunsScaleWhatTheirPartsLeaveOpen) {
  EngineOptions o = options_of(EngineKind::vllm);
  const auto gpu = load_gpu("H100-SXM");
  ASSERT_TRUE(gpu);
  const Program program = lower(arranged(llama(Mode::prefill, 2048), o), o);
  const auto step = forecast_step(program, *gpu, 1, Method::analytic, nullptr);
  ASSERT_TRUE(step);
  const Width parts = width_of(step->parts, step->total), run = width_of(step->interval, step->total);
  const Width scale = run_scale(RunKind::inference);
  EXPECT_NEAR(run.up, parts.up * scale.up, 1e-9);
  EXPECT_GT(run.up, 0);
  EXPECT_GT(run.down, 0);
  EXPECT_LE(run.down, parts.down * scale.down + 1e-9);  // no run is faster than its bound
  const auto plain = forecast_step(program, *gpu, 1, Method::roofline, nullptr);
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->interval.low, plain->interval.high) << "a method without intervals has none of a step either";
}

TEST(ModelRun, TrainingCostsMoreThanForwardAndRecomputingMore) {
  tilecast::Run run;
  run.model = *find_model("GPT-2");
  run.workload.mode = Mode::train;
  run.workload.requests = {{4, 512, 0}};
  run.engine = options_of(EngineKind::pytorch);
  const auto gpu = load_gpu("H100-SXM");
  ASSERT_TRUE(gpu);
  const auto forecast = [&](const tilecast::Run& r) {
    const auto prepared = prepare(r);
    return forecast_run(r, *prepared, *gpu, Method::analytic, nullptr);
  };
  const auto plain = forecast(run);
  ASSERT_TRUE(plain);
  run.training.options.recompute = Recompute::full;
  const auto again = forecast(run);
  ASSERT_TRUE(again);
  EXPECT_GT(again->step.gpu, plain->step.gpu);
  EXPECT_LT(again->memory.total(), plain->memory.total());
  run.engine.kind = EngineKind::vllm;
  EXPECT_FALSE(prepare(run)) << "a serving engine does not train";
}

}  // namespace
}  // namespace tilecast
