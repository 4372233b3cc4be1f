// What requests ask for beside tokens, through the public API.
#include "api/serving_requests.h"

#include <gtest/gtest.h>

#include "support/test_files.h"
#include "tilecast/serving.h"

namespace tilecast {
namespace {

SimulateQuery small_load() {
  SimulateQuery query;
  query.model = "Llama-3.2-1B", query.gpu = "H100-SXM";
  query.load.rate = 40, query.load.input = "300", query.load.output = "uniform:40:0.5";
  query.num_prompts = 60;
  query.no_interval = true;
  return query;
}

template <class Change>
SimulationResult after(const Change& change) {
  SimulateQuery query = small_load();
  change(query);
  auto result = simulate(query);
  EXPECT_TRUE(result) << result.error().line();
  if (result) return *std::move(result);
  SimulationResult nothing;
  nothing.loads.resize(1);
  return nothing;
}

const ServingMetrics& metrics(const SimulationResult& result) { return result.loads.front().metrics; }

TEST(ServingRequests, ConversationsGrowAndFindTheirHistory) {
  const auto result = after([](SimulateQuery& q) {
    q.requests.turns = "4", q.requests.think_time = "2s", q.requests.turn_input = "60";
    q.load.prefixes = 1, q.load.prefix_tokens = 200;
  });
  const ServingMetrics& m = metrics(result);
  EXPECT_EQ(m.completed, 240);
  EXPECT_GT(m.hit_rate, 0.6);
  const auto& requests = result.loads.front().outcome.requests;
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(requests[i].input, requests[i - 1].input + requests[i - 1].output + 60);
}

TEST(ServingRequests, ClientsGiveUp) {
  const auto result =
      after([](SimulateQuery& q) { q.load.rate = {}, q.num_prompts = 3000, q.requests.first_token_timeout = "1s"; });
  const ServingMetrics& m = metrics(result);
  EXPECT_GT(m.cancelled, 0);
  EXPECT_EQ(m.completed + m.cancelled + m.refused, 3000);
  EXPECT_LE(m.ttft.p99, 1.0);
  EXPECT_EQ(result.loads.front().outcome.blocks_left, 0);
}

TEST(ServingRequests, IntervalsEndAtTheTimeOuts) {
  const auto result = after([](SimulateQuery& q) {
    q.load.rate = {}, q.num_prompts = 1500, q.no_interval = false;
    q.requests.first_token_timeout = "1s", q.requests.timeout = "2s";
  });
  ASSERT_TRUE(result.loads.front().slow);
  EXPECT_LE(result.loads.front().slow->ttft.p99, 1.0);
  EXPECT_LE(result.loads.front().slow->e2el.p99, 2.0);
  EXPECT_GE(result.loads.front().slow->ttft.mean, metrics(result).ttft.mean);
}

TEST(ServingRequests, ATracesPrioritiesHoldBesideClasses) {
  const TestFolder folder;
  const std::string own = folder.plain("own.csv", "arrival,input,output,class,priority\n0,10,5,0,3\n1,10,5,1,0\n");
  const std::string none = folder.plain("none.csv", "arrival,input,output,class\n0,10,5,0\n1,10,5,1\n");
  const auto notes = [](const std::string& trace) {
    const auto result = after([&](SimulateQuery& q) {
      q.trace = trace, q.load = {}, q.num_prompts = SimulateQuery{}.num_prompts;
      q.requests.classes = "chat:priority=0;batch:priority=1";
    });
    std::string all;
    for (const std::string& note : result.notes) all += note + "\n";
    return all;
  };
  EXPECT_NE(notes(own).find("priorities that the trace says"), std::string::npos);
  EXPECT_EQ(notes(none).find("priorities that the trace says"), std::string::npos);
}

TEST(ServingRequests, ClassesAreNamedOnceAndBeforeAColon) {
  for (const char* wrong : {"chat=-1", "a=1,b=2", "/dev/null", "chat:share=1;chat:share=2", ";chat"}) {
    const auto classes = classes_from(wrong);
    ASSERT_FALSE(classes.ok()) << wrong;
    EXPECT_EQ(classes.error().field, "classes") << wrong;
  }
  const auto plain = classes_from("chat;batch:share=3");
  ASSERT_TRUE(plain.ok()) << plain.error().line();
  EXPECT_EQ(plain->size(), 2u);
}

TEST(ServingRequests, ClassesByPriority) {
  const auto change = [](SchedulingPolicy policy) {
    return [policy](SimulateQuery& q) {
      q.load.rate = {}, q.num_prompts = 800, q.max_sequences = 32;
      q.requests.classes = "chat:share=1,priority=0,ttft=2s;batch:share=3,priority=1";
      q.requests.scheduling = policy;
    };
  };
  const auto fcfs = after(change(SchedulingPolicy::fcfs)), urgent = after(change(SchedulingPolicy::priority));
  ASSERT_EQ(metrics(urgent).classes.size(), 2u);
  EXPECT_EQ(metrics(urgent).classes[0].name, "chat");
  EXPECT_LT(metrics(urgent).classes[0].ttft.mean, 0.6 * metrics(fcfs).classes[0].ttft.mean);
  EXPECT_GT(metrics(urgent).classes[1].ttft.mean, metrics(fcfs).classes[1].ttft.mean);
  EXPECT_GE(*metrics(urgent).classes[0].goodput, *metrics(fcfs).classes[0].goodput);
}

TEST(ServingRequests, AdaptersCostTimeAndMemory) {
  const auto with = [](Count adapters, Count rank, Count places) {
    return after([=](SimulateQuery& q) {
      q.requests.adapters = adapters, q.requests.adapter_rank = rank;
      q.requests.max_loras = places, q.requests.max_lora_rank = std::max<Count>(rank, 1);
    });
  };
  const auto none = after([](SimulateQuery&) {}), zero = with(4, 0, 4), four = with(4, 16, 4), wide = with(4, 64, 4);
  EXPECT_EQ(metrics(none).tpot.mean, metrics(zero).tpot.mean);  // rank 0: as without
  EXPECT_EQ(none.blocks, zero.blocks);
  EXPECT_GT(metrics(four).tpot.mean, metrics(none).tpot.mean);
  EXPECT_GT(metrics(wide).tpot.mean, metrics(four).tpot.mean * 0.999);
  // Llama 3.2 1B, rank r: r (2048 + 3072 + 2048 + 2048 + 2048 + 16384 + 8192 + 2048) elements a layer, of 16.
  const double bytes = 16.0 * 37888 * 16 * 2 * 4;
  EXPECT_NEAR((none.memory.cache - four.memory.cache).base() / bytes, 1, 0.01);
  EXPECT_NEAR((none.memory.cache - wide.memory.cache).base() / (4 * bytes), 1, 0.01);
  // Few places: adapters come and go, and requests wait for theirs.
  EXPECT_GT(metrics(with(16, 16, 1)).ttft.mean, metrics(with(16, 16, 16)).ttft.mean);
}

TEST(ServingRequests, DraftsCostWhatMakesThem) {
  const auto by = [](DraftMethod method, const char* model, std::vector<double> at) {
    return after([=](SimulateQuery& q) {
      q.model = "Llama-3.1-8B", q.load.rate = 4;
      q.drafts.draft = 3, q.drafts.method = method, q.drafts.model = model, q.drafts.acceptance_at = at,
      q.drafts.acceptance = 0.8;
    });
  };
  const auto ngram = by(DraftMethod::ngram, "", {}), eagle = by(DraftMethod::eagle, "", {});
  const auto draft = by(DraftMethod::model, "Llama-3.2-1B", {}), mtp = by(DraftMethod::mtp, "", {});
  EXPECT_LT(metrics(ngram).tpot.mean, metrics(eagle).tpot.mean);
  EXPECT_LT(metrics(eagle).tpot.mean, metrics(draft).tpot.mean);
  EXPECT_GT(ngram.memory.cache, eagle.memory.cache);
  EXPECT_GT(eagle.memory.cache, draft.memory.cache);
  EXPECT_GT(ngram.blocks, eagle.blocks);
  EXPECT_NEAR(metrics(mtp).tpot.mean / metrics(eagle).tpot.mean, 1, 0.05);  // the same layer of a dense model
  EXPECT_GT(metrics(by(DraftMethod::eagle, "", {0.8, 0.4, 0.2})).tpot.mean, metrics(eagle).tpot.mean);
  EXPECT_EQ(metrics(by(DraftMethod::eagle, "", {0.8, 0.8, 0.8})).tpot.mean, metrics(eagle).tpot.mean);
}

TEST(ServingRequests, ImagesTakeTokensTimeAndMemory) {
  const TestFolder folder;
  const std::string config =
      folder.plain("config.json", R"({"architectures": ["Qwen2_5_VLForConditionalGeneration"], "model_type":
    "qwen2_5_vl", "hidden_size": 3584, "intermediate_size": 18944, "num_attention_heads": 28, "num_hidden_layers": 28,
    "num_key_value_heads": 4, "vocab_size": 152064, "max_position_embeddings": 128000, "torch_dtype": "bfloat16",
    "rms_norm_eps": 1e-6, "vision_config": {"model_type": "qwen2_5_vl", "depth": 32, "hidden_size": 1280,
    "intermediate_size": 3420, "num_heads": 16, "patch_size": 14, "spatial_merge_size": 2, "out_hidden_size": 3584}})");
  const auto with = [&](Count images) {
    return after([&](SimulateQuery& q) {
      q.model = config, q.load.rate = 2, q.num_prompts = 20;
      q.requests.images = images, q.requests.image_size = "1024x1024";
    });
  };
  const auto none = with(0), two = with(2);
  EXPECT_EQ(two.media_tokens, 37 * 37);
  EXPECT_EQ(metrics(two).input_tokens, metrics(none).input_tokens + 20 * 2 * 37 * 37);
  // vLLM loads the tower whether images come or not; TensorRT-LLM's deployment has it where they do.
  EXPECT_EQ(two.memory.cache, none.memory.cache);
  const auto trtllm = [&](Count images) {
    return after([&](SimulateQuery& q) {
      q.model = config, q.engine = ServingEngine::trtllm, q.load.rate = 2, q.num_prompts = 20,
      q.requests.images = images;
    });
  };
  EXPECT_LT(trtllm(1).memory.cache, trtllm(0).memory.cache);
  const auto text =
      after([&](SimulateQuery& q) { q.model = config, q.load.rate = 2, q.num_prompts = 20, q.load.input = "3038"; });
  EXPECT_GT(metrics(two).ttft.mean, metrics(text).ttft.mean);
  ASSERT_TRUE(metrics(two).energy && metrics(text).energy);
  EXPECT_GT(metrics(two).energy->joules, metrics(text).energy->joules);  // the tower's pass draws power too
}

TEST(ServingRequests, ErrorsNameTheField) {
  const auto refused = [](const std::string& field, const auto& change) {
    SimulateQuery query = small_load();
    change(query);
    const auto result = simulate(query);
    ASSERT_FALSE(result) << field;
    EXPECT_EQ(result.error().field, field) << result.error().line();
    EXPECT_EQ(result.error().line().find("--"), std::string::npos) << result.error().line();
  };
  refused("turns", [](SimulateQuery& q) { q.requests.turns = "many"; });
  refused("turn-input", [](SimulateQuery& q) { q.requests.turns = "2", q.requests.turn_input = "0"; });
  refused("think-time", [](SimulateQuery& q) { q.requests.turns = "2", q.requests.think_time = "10"; });
  refused("timeout", [](SimulateQuery& q) { q.requests.timeout = "soon"; });
  refused("ttft-timeout", [](SimulateQuery& q) { q.requests.first_token_timeout = "5"; });
  refused("classes", [](SimulateQuery& q) { q.requests.classes = "chat:speed=3"; });
  refused("scheduling-policy", [](SimulateQuery& q) {
    q.engine = ServingEngine::sglang, q.requests.scheduling = SchedulingPolicy::priority;
  });
  refused("draft", [](SimulateQuery& q) { q.drafts.method = DraftMethod::eagle; });
  refused("draft-model", [](SimulateQuery& q) { q.drafts.draft = 3, q.drafts.method = DraftMethod::model; });
  refused("draft-model", [](SimulateQuery& q) {
    q.drafts.draft = 3, q.drafts.method = DraftMethod::model, q.drafts.model = "Qwen3-0.6B";
  });
  refused("draft-model", [](SimulateQuery& q) { q.drafts.model = "Llama-3.2-1B"; });
  refused("acceptance", [](SimulateQuery& q) { q.drafts.draft = 2, q.drafts.acceptance_at = {0.5, 0.5, 0.5}; });
  refused("max-lora-rank", [](SimulateQuery& q) { q.requests.adapters = 2, q.requests.adapter_rank = 64; });
  refused("adapters", [](SimulateQuery& q) { q.engine = ServingEngine::trtllm, q.requests.adapters = 2; });
  refused("model", [](SimulateQuery& q) { q.requests.images = 1; });
  refused("audio", [](SimulateQuery& q) { q.requests.images = 1, q.requests.audio_s = 5; });
}

}  // namespace
}  // namespace tilecast
