// A model's step through the public API alone.
#include "tilecast/step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "api/arguments_testing.h"

namespace tilecast {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

StepQuery decode_query(Count batch = 8) {
  return {.model = "Llama-3.1-8B", .gpu = "H100-SXM", .mode = Mode::decode, .batch = batch, .context = 1024};
}

StepQuery training_query() {
  StepQuery query{.model = "GPT-2", .cluster = "hgx-h100", .mode = Mode::train, .seq = 512};
  query.layout.dp = 2, query.layout.pp = 2;
  query.global_batch = 16, query.micro_batch = 2;
  return query;
}

TEST(StepApi, ADecodeStepIsTheSumOfItsKernels) {
  const auto step = forecast(decode_query());
  ASSERT_TRUE(step.ok()) << step.error().line();
  Seconds sum, bound, classes, sections;
  Count launches = 0;
  for (const StepKernel& k : step->kernels) {
    sum += k.each * static_cast<double>(k.times), bound += k.bound * static_cast<double>(k.times);
    EXPECT_LT(k.section, step->sections.size());
    EXPECT_LE(k.interval.low, k.each) << k.name;
    EXPECT_GE(k.interval.high, k.each) << k.name;
    launches += k.times;
  }
  for (const StepShare& share : step->by_class) classes += share.time, launches -= share.launches;
  for (const StepShare& share : step->by_section) sections += share.time;
  EXPECT_NEAR(sum / step->gpu, 1, 1e-9);
  EXPECT_NEAR(bound / step->bound, 1, 1e-9);
  EXPECT_NEAR(classes / step->gpu, 1, 1e-9);
  EXPECT_NEAR(sections / step->gpu, 1, 1e-9);
  EXPECT_EQ(launches, 0);
  EXPECT_GE(step->time, std::max(step->gpu, step->host));
  EXPECT_NEAR(step->tokens_per_second, 8 / in_seconds(step->time), 1e-6 * step->tokens_per_second);
  EXPECT_FALSE(step->many);
}

// Every kernel of a step is one that tilecast/kernel.h answers for: the largest product, at its own name and dims.
TEST(StepApi, ItsKernelsAreKernelQueries) {
  StepQuery query = decode_query();
  query.method = Method::roofline;
  const auto step = forecast(query);
  ASSERT_TRUE(step.ok()) << step.error().line();
  int products = 0;
  for (const StepKernel& k : step->kernels) {
    if (k.family != "gemm") continue;
    const auto one = forecast(KernelQuery{
        .family = k.family, .dims = k.dims, .gpu = "H100-SXM", .dtype = k.dtype, .method = Method::roofline});
    ASSERT_TRUE(one.ok()) << one.error().line();
    EXPECT_NEAR(one->bound / k.bound, 1, 1e-6) << k.name;
    ++products;
  }
  EXPECT_GE(products, 4);
}

// A kernel asked for by itself is the one that PyTorch runs inside a model, forward and backward, release by release.
TEST(StepApi, AttentionAloneIsTheAttentionOfModels) {
  const auto alone = [](const char* family, const char* source, const char* torch) {
    const auto f = forecast(KernelQuery{
        .family = family,
        .dims = {{"batch", "1"}, {"q-len", "4096"}, {"heads", "32"}, {"kv-heads", "8"}, {"head-dim", "128"}},
        .gpu = "H200-SXM",
        .engine = "pytorch",
        .kernel_source = source,
        .torch = torch});
    EXPECT_TRUE(f.ok()) << f.error().line();
    return in_seconds(f->latency);
  };
  for (const char* family : {"attention_prefill", "attention_backward"}) {
    EXPECT_EQ(alone(family, "", ""), alone(family, "cudnn", "")) << family;
    EXPECT_EQ(alone(family, "", "2.6"), alone(family, "flash_attention_2", "")) << family;
    EXPECT_GT(alone(family, "", "2.6"), 1.2 * alone(family, "", "2.11")) << family;
  }
  const auto step = [](const char* torch, const char* gpu, const char* dtype) {
    StepQuery q{.model = "Llama-3.1-8B", .gpu = gpu, .mode = Mode::prefill, .seq = 8192};
    q.engine = EngineKind::pytorch, q.torch = torch, q.dtype = dtype;
    return forecast(q);
  };
  const auto now = step("", "H200-SXM", "bf16"), then = step("2.6", "H200-SXM", "bf16");
  ASSERT_TRUE(now.ok() && then.ok());
  EXPECT_GT(then->gpu, 1.05 * now->gpu);
  EXPECT_THAT(line_of(step("1.13", "H200-SXM", "bf16")), StartsWith("torch: '1.13' is not a release"));
  // bf16 before Ampere has no fused kernel: plain products, a softmax between them.
  const auto plain = step("", "T4", "bf16"), fused = step("", "T4", "fp16");
  ASSERT_TRUE(plain.ok() && fused.ok());
  const auto softmaxes = [](const StepForecast& s) {
    return std::count_if(s.kernels.begin(), s.kernels.end(), [](const StepKernel& k) { return k.family == "softmax"; });
  };
  EXPECT_GT(softmaxes(*plain), 0);
  EXPECT_EQ(softmaxes(*fused), 0);
}

TEST(StepApi, FillsInWhatAQueryLeavesOpen) {
  const auto setting = setting_of(decode_query());
  ASSERT_TRUE(setting.ok()) << setting.error().line();
  EXPECT_EQ(setting->engine, EngineKind::vllm);
  EXPECT_EQ(setting->dtype, "bf16");
  EXPECT_EQ(setting->gpus, 1);
  ASSERT_EQ(setting->requests.size(), 1u);
  EXPECT_EQ(setting->requests[0].cached, 1024);
  const auto images = setting_of({.model = "ViT-B-16", .gpu = "H100-SXM", .batch = 4});
  ASSERT_TRUE(images.ok()) << images.error().line();
  EXPECT_EQ(images->item, "image");
  EXPECT_EQ(images->engine, EngineKind::pytorch);
}

TEST(StepApi, MoreRequestsTakeLonger) {
  std::vector<StepQuery> queries;
  for (const Count batch : {1, 16, 64, 256}) queries.push_back(decode_query(batch));
  const auto steps = forecast(queries);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    ASSERT_TRUE(steps[i].ok()) << steps[i].error().line();
    if (i == 0) continue;
    EXPECT_GT(steps[i]->time, steps[i - 1]->time);
    EXPECT_GT(steps[i]->tokens_per_second, steps[i - 1]->tokens_per_second);
    EXPECT_GT(steps[i]->memory.need.cache, steps[i - 1]->memory.need.cache);
  }
}

// What queries share must not leak from one to the next.
TEST(StepApi, EnergyKeepsWithinThePowerLimit) {
  const auto prefill = [](const std::string& gpu) {
    return forecast(StepQuery{.model = "Llama-3.1-8B", .gpu = gpu, .mode = Mode::prefill, .batch = 4, .seq = 4096});
  };
  const auto full = prefill("H100-SXM");
  const auto capped = prefill(R"({"like": "H100-SXM", "name": "capped", "power_w": 400})");
  const auto unmetered = prefill("MI300X");
  ASSERT_TRUE(full.ok() && capped.ok() && unmetered.ok());
  ASSERT_TRUE(full->joules && capped->joules);
  EXPECT_FALSE(unmetered->joules);
  EXPECT_LE(*full->joules / full->time.base(), 700 * 1.01);
  EXPECT_LE(*capped->joules / capped->time.base(), 400 * 1.01);
  EXPECT_GT(*full->joules / full->time.base(), 100);
  // A lower limit takes longer and, by a lower voltage, less energy.
  EXPECT_GT(capped->time, full->time);
  EXPECT_LT(*capped->joules, *full->joules);
}

TEST(StepApi, EnergyOfManyGpusIsTheirSum) {
  const auto one = forecast(decode_query());
  StepQuery both = decode_query(16);
  both.gpu = {}, both.cluster = "hgx-h100", both.layout.dp = 2;
  const auto two = forecast(both);
  ASSERT_TRUE(one.ok() && two.ok()) << two.error().line();
  ASSERT_TRUE(one->joules && two->joules);
  EXPECT_NEAR(*two->joules / *one->joules, 2, 0.1);
}

TEST(StepApi, ABatchAnswersAsEachAlone) {
  std::vector<StepQuery> queries(4, decode_query());
  queries[1].gpu = "B200", queries[2].dtype = "fp8", queries[3].gpu = "V100-SXM", queries[3].dtype = "fp8";
  const auto together = forecast(queries);
  ASSERT_EQ(together.size(), 4u);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto alone = forecast(queries[i]);
    ASSERT_TRUE(alone.ok() && together[i].ok());
    EXPECT_EQ(in_seconds(alone->time), in_seconds(together[i]->time)) << i;
    EXPECT_EQ(alone->kernels.size(), together[i]->kernels.size()) << i;
  }
  EXPECT_NE(in_seconds(together[0]->time), in_seconds(together[2]->time));
  EXPECT_THAT(line_of(together[3]), HasSubstr("fp8"));  // the pair that cannot run says so in its place
  EXPECT_EQ(line_of(setting_of(queries[3])), "fine");   // though the question is one
}

TEST(StepApi, PartsOfAStepOverManyGpusSumToIt) {
  const auto step = forecast(training_query());
  ASSERT_TRUE(step.ok()) << step.error().line();
  ASSERT_TRUE(step->many);
  const StepOverMany& many = *step->many;
  EXPECT_NEAR((many.compute + many.bubble + many.optimizer + many.exposed) / step->time, 1, 1e-9);
  EXPECT_EQ(step->setting.gpus, 4);
  EXPECT_EQ(many.micro_batches, 4);
  ASSERT_EQ(many.stages.size(), 2u);
  EXPECT_EQ(many.stages[0].layers + many.stages[1].layers, 12);
  EXPECT_GT(many.bubble, seconds(0));
  EXPECT_TRUE(many.fits);
  Seconds exposed;
  for (const StepAxis& axis : many.axes) exposed += axis.exposed;
  EXPECT_NEAR(exposed / many.exposed, 1, 1e-9);
  EXPECT_FALSE(many.exchanges.empty());
}

TEST(StepApi, DrawsSteps) {
  const auto alone = forecast(decode_query()), spread = forecast(training_query());
  ASSERT_TRUE(alone.ok() && spread.ok());
  const auto end_of = [](const Result<std::string>& text) {
    double end = 0;
    const auto trace = nlohmann::json::parse(*text);
    for (const auto& e : trace["traceEvents"])
      if (e["ph"] == "X") end = std::max(end, e["ts"].get<double>() + e["dur"].get<double>());
    return end;
  };
  EXPECT_NEAR(end_of(chrome_trace({&*alone, 1})), in_microseconds(alone->gpu), 1e-6 * in_microseconds(alone->gpu));
  EXPECT_NEAR(end_of(chrome_trace({&*spread, 1})), in_microseconds(spread->time), 1e-6 * in_microseconds(spread->time));
  const std::vector<StepForecast> both = {*alone, *spread};
  EXPECT_THAT(line_of(chrome_trace(both)), HasSubstr("not drawn together"));
}

TEST(StepApi, WritesEveryRanksPartForSimulators) {
  const auto alone = forecast(decode_query()), spread = forecast(training_query());
  ASSERT_TRUE(alone.ok() && spread.ok());
  EXPECT_THAT(line_of(chakra_traces(*alone)), HasSubstr("exchanges nothing"));
  const auto traces = chakra_traces(*spread);
  ASSERT_TRUE(traces.ok()) << traces.error().line();
  EXPECT_EQ(traces->ranks, 4);
  EXPECT_TRUE(nlohmann::json::parse(traces->groups).is_object());
  for (int rank = 0; rank < 4; ++rank) EXPECT_GT(traces->trace(rank).size(), 1000u) << rank;
}

TEST(StepApi, SaysHowFewTokensSpreadOverExperts) {
  const auto notes = [](Count batch, const std::string& routing) {
    StepQuery q = decode_query();
    q.model = "Qwen3-30B-A3B", q.gpu = "H200-SXM", q.batch = batch, q.routing = routing;
    const auto step = forecast(q);
    EXPECT_TRUE(step.ok()) << step.error().line();
    return step ? testing::PrintToString(step->notes) : "";
  };
  EXPECT_THAT(notes(16, ""), HasSubstr("by a power law (routing power:1.2)"));
  EXPECT_EQ(notes(16, "power:1.2").find("power law"), std::string::npos);
  EXPECT_EQ(notes(64, "").find("power law"), std::string::npos);  // 512 visits of 128 experts
}

// Where the sum is long, four-bit weights cost what unpacks them and save nothing.
TEST(StepApi, SaysWhereAWiderFormatIsFaster) {
  StepQuery q = decode_query();
  q.model = "Llama-3.1-8B", q.gpu = "A100-SXM-80GB", q.mode = Mode::prefill, q.seq = 2048, q.context = 0;
  const auto notes = [&q](const char* dtype) {
    q.dtype = dtype;
    const auto step = forecast(q);
    EXPECT_TRUE(step.ok()) << step.error().line();
    return step ? testing::PrintToString(step->notes) : "";
  };
  EXPECT_THAT(notes("int4_wo"), HasSubstr("int4_wo is forecast slower than bf16"));
  EXPECT_EQ(notes("bf16").find("forecast slower"), std::string::npos);
  q.gpu.clear(), q.cluster = "hgx-a100", q.layout.tp = 2;
  EXPECT_THAT(notes("int4_wo"), HasSubstr("int4_wo is forecast slower than bf16"));
  EXPECT_EQ(notes("bf16").find("forecast slower"), std::string::npos);
}

// B300's int8 products are slower than bf16's by PyTorch as by the engines that serve.
TEST(StepApi, SaysWhereAWiderFormatIsFasterUnderPyTorchToo) {
  for (const EngineKind engine : {EngineKind::pytorch, EngineKind::compile, EngineKind::cudagraph}) {
    StepQuery q;
    q.model = "Llama-3.1-8B", q.gpu = "B300", q.mode = Mode::prefill, q.batch = 8, q.seq = 300;
    q.engine = engine, q.dtype = "int8";
    const auto step = forecast(q);
    ASSERT_TRUE(step.ok()) << step.error().line();
    EXPECT_THAT(testing::PrintToString(step->notes), HasSubstr("int8 is forecast slower than bf16")) << name_of(engine);
  }
}

// The server stays the parent's; the links, the name and what is known of them are the card's own.
TEST(StepApi, ACardOfOtherLinksIsJoinedByThem) {
  StepQuery q;
  q.model = "Llama-3.1-8B", q.gpu = "H100-SXM", q.mode = Mode::prefill, q.seq = 4096, q.layout.tp = 2;
  const auto plain = forecast(q);
  q.gpu = R"({"like": "H100-SXM", "name": "L", "links": {"nvlink_gb_per_s": 10}})";
  const auto slow = forecast(q);
  ASSERT_TRUE(plain && slow);
  EXPECT_GT(slow->time / plain->time, 3);
  EXPECT_THAT(slow->setting.cluster, StartsWith("L in "));
  EXPECT_EQ(plain->seen, Seen::yes);
  EXPECT_EQ(slow->seen, Seen::sibling);
}

// A card that does not multiply four-bit floats unpacks them, and its products are of bf16.
TEST(StepApi, UtilisationIsOfTheProductsThatRun) {
  StepQuery q = decode_query();
  q.model = "Llama-3.1-8B", q.gpu = "H200-SXM", q.mode = Mode::prefill, q.seq = 4096, q.context = 0;
  for (const char* dtype : {"nvfp4", "mxfp4", "bf16"}) {
    q.dtype = dtype;
    const auto step = forecast(q);
    ASSERT_TRUE(step.ok()) << step.error().line();
    EXPECT_GT(step->mfu, 0.2) << dtype;
    EXPECT_LT(step->mfu, 1) << dtype;
  }
}

// GeForce cards clock above what their peaks are quoted at.
TEST(StepApi, AUtilisationAboveOneSaysWhatItIsOf) {
  StepQuery q = decode_query();
  q.model = "Llama-3.1-8B", q.gpu = "RTX-4090", q.mode = Mode::prefill, q.seq = 4096, q.context = 0;
  const auto step = forecast(q);
  ASSERT_TRUE(step.ok()) << step.error().line();
  const bool said = testing::PrintToString(step->notes).find("165 TFLOP/s that RTX-4090 is quoted with, at 2520 MHz") !=
                    std::string::npos;
  EXPECT_EQ(said, step->mfu > 1) << step->mfu;
}

TEST(StepApi, SaysWhichRanksExpertsAnEngineRefuses) {
  StepQuery q = decode_query();
  q.model = "Qwen3-235B-A22B-FP8", q.gpu.clear(), q.cluster = "hgx-h200";
  const auto notes = [&q](int tp, int ep) {
    q.layout.tp = tp, q.layout.ep = ep;
    const auto step = forecast(q);
    EXPECT_TRUE(step.ok()) << step.error().line();
    return step ? testing::PrintToString(step->notes) : "";
  };
  EXPECT_THAT(notes(8, 1), HasSubstr("vllm refuses it: an expert's width of 1536 over 8 ranks is 192"));
  EXPECT_EQ(notes(8, 8).find("refuses"), std::string::npos);
  EXPECT_EQ(notes(4, 1).find("refuses"), std::string::npos);
}

TEST(StepApi, ErrorsNameTheField) {
  const auto refused = [](auto change) {
    StepQuery query = decode_query();
    change(query);
    return line_of(forecast(query));
  };
  EXPECT_THAT(refused([](auto& q) { q.model = "Lama-3.1-8B"; }), StartsWith("model: unknown model"));
  EXPECT_THAT(refused([](auto& q) { q.model.clear(); }), StartsWith("model: is missing"));
  EXPECT_THAT(refused([](auto& q) { q.gpu.clear(); }), StartsWith("gpu: is missing"));
  EXPECT_THAT(refused([](auto& q) { q.gpu = "H1000"; }), StartsWith("gpu: unknown GPU"));
  EXPECT_THAT(refused([](auto& q) { q.gpu.clear(), q.layout.tp = 2; }), StartsWith("cluster: is missing"));
  EXPECT_THAT(refused([](auto& q) { q.cluster = "hgx-h1"; }), StartsWith("cluster: unknown cluster"));
  EXPECT_THAT(refused([](auto& q) { q.context = 0; }), StartsWith("context: is missing"));
  EXPECT_THAT(refused([](auto& q) { q.mode = Mode::prefill; }), StartsWith("seq: is missing"));
  EXPECT_THAT(refused([](auto& q) { q.model = "T5-Base"; }), StartsWith("source: is missing"));
  EXPECT_THAT(refused([](auto& q) { q.mode = Mode::mixed; }), StartsWith("mode: mixed needs requests"));
  const auto alone = [](auto& q, const char* requests) { q.requests = requests, q.batch = 1, q.seq = q.context = 0; };
  EXPECT_THAT(refused([&](auto& q) { alone(q, "8x"); }), StartsWith("requests: "));
  EXPECT_THAT(refused([&](auto& q) { alone(q, "8x1+2048"), q.mode = Mode::train; }),
              StartsWith("requests: has no effect with mode train"));
  EXPECT_THAT(refused([](auto& q) { q.batch = 0; }), StartsWith("batch: must lie between 1 and"));
  EXPECT_THAT(refused([](auto& q) { q.new_tokens = 0; }), StartsWith("new-tokens: must lie between 1 and"));
  EXPECT_THAT(refused([](auto& q) { q.seq = -1; }), StartsWith("seq: must lie between 0 and"));
  EXPECT_THAT(refused([](auto& q) { q.dtype = "bf17"; }), StartsWith("dtype: "));
  EXPECT_THAT(refused([](auto& q) { q.kv_dtype = "int3"; }), StartsWith("kv-dtype: must be auto or fp8"));
  EXPECT_THAT(refused([](auto& q) { q.mode = Mode::train, q.seq = 8, q.context = 0, q.engine = EngineKind::vllm; }),
              StartsWith("engine: vllm does not train"));
  EXPECT_THAT(refused([](auto& q) { q.era = EngineEra::year_2023; }), StartsWith("era: "));
  EXPECT_THAT(refused([](auto& q) { q.method = Method::neusight; }), StartsWith("method: "));
  EXPECT_THAT(refused([](auto& q) { q.dims = {"batch=2"}; }), StartsWith("dim: "));
  EXPECT_THAT(refused([](auto& q) { q.layout.tp = 7; }), HasSubstr("tp: 7 does not divide"));
  EXPECT_THAT(refused([](auto& q) { q.layout.tp = 0; }), StartsWith("tp: must lie between 1 and"));
  EXPECT_THAT(refused([](auto& q) { q.global_batch = 0; }), StartsWith("global-batch: must lie between 1 and"));
}

TEST(StepApi, ArgumentsRoundTrip) {
  StepQuery query = training_query();
  query.gpu = "B200", query.dtype = "fp8", query.kv_dtype = "fp8", query.engine = EngineKind::sglang;
  query.era = EngineEra::year_2024, query.attention = AttentionForm::eager, query.keep_cache = false;
  query.recompute = Recompute::full, query.optimizer = TrainingOptimizer::sgd, query.mixed = MixedPrecision::master;
  query.update = false, query.dims = {"batch=2", "x=3"}, query.requests = "8x1+2048";
  query.layout.schedule = PipelineSchedule::zero_bubble, query.layout.sharding = Sharding::parameters;
  query.layout.context = ContextScheme::all_gather, query.layout.stage_layers = {5, 7}, query.layout.overlap = false;
  query.method = Method::analytic, query.weights = "my.weights";
  expect_round_trip(query);
  expect_round_trip(StepQuery{});
  expect_examples_taken<StepQuery>();
}

TEST(StepApi, ArgumentsRefuseWhatTheyDoNotTake) {
  EXPECT_THAT(refusal_of<StepQuery>("mode", "odd"), StartsWith("mode: must be prefill, decode, mixed or train"));
  EXPECT_THAT(refusal_of<StepQuery>("engine", "tgi"), StartsWith("engine: must be pytorch"));
  EXPECT_THAT(refusal_of<StepQuery>("sharding", "odd"), HasSubstr("zero1"));
  EXPECT_THAT(refusal_of<StepQuery>("schedule", "odd"), HasSubstr("1f1b"));
  EXPECT_THAT(refusal_of<StepQuery>("stage-layers", "13,x"), StartsWith("stage-layers: must be a whole number"));
  EXPECT_THAT(refusal_of<StepQuery>("micro-batch", "0"), StartsWith("micro-batch: must lie between 1 and"));
  EXPECT_THAT(refusal_of<StepQuery>("batch", "2000000000"), StartsWith("batch: must lie between 1 and"));
  EXPECT_EQ(refusal_of<StepQuery>("sharding", "fsdp"), "taken");
}

TEST(StepFramework, GivesDefaultsThatArgumentsOverride) {
  StepQuery query;
  query.model = "Llama-3.1-8B", query.cluster = "hgx-h100", query.mode = Mode::train, query.seq = 512;
  query.method = Method::roofline;
  query.layout.tp = 2, query.layout.dp = 4, query.global_batch = 8, query.micro_batch = 1;
  query.framework = Framework::torchtitan;
  const auto recipe = forecast(query);
  ASSERT_TRUE(recipe) << recipe.error().line();
  EXPECT_EQ(recipe->setting.layout.sharding, Sharding::parameters);
  EXPECT_TRUE(recipe->setting.layout.sequence_parallel);
  StepQuery own = query;
  for (const auto& [name, value] : {std::pair("sharding", "none"), {"sequence-parallel", "no"}, {"recompute", "none"}})
    ASSERT_TRUE(set_argument(arguments_of(own), name, value)) << name;
  const auto changed = forecast(own);
  ASSERT_TRUE(changed) << changed.error().line();
  EXPECT_EQ(changed->setting.layout.sharding, Sharding::none);
  EXPECT_FALSE(changed->setting.layout.sequence_parallel);
  EXPECT_GT(changed->memory.need.total(), recipe->memory.need.total());
  EXPECT_FALSE(set_argument(arguments_of(own), "framework", "horovod"));
  query.mode = Mode::prefill, query.micro_batch = {}, query.global_batch = {};
  EXPECT_FALSE(forecast(query)) << "a recipe is a training's";
}

}  // namespace
}  // namespace tilecast
