// The bundled models: complete, sourced, and as large as their makers say.
#include "model/library.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "model/config.h"
#include "model/embedded_models.h"
#include "support/csv.h"
#include "support/test_files.h"
#include "support/text.h"
#include "test_paths.h"

namespace tilecast {
namespace {

using testing::HasSubstr;

ModelSpec model(const std::string& name) {
  auto spec = find_model(name);
  EXPECT_TRUE(spec) << spec.error().line();
  return spec ? *spec : ModelSpec{};
}

TEST(Library, EveryFileIsAModelWithASource) {
  const auto entries = list_models();
  EXPECT_EQ(entries.size(), embedded_model_files().size());
  std::set<std::string> aliases;
  for (const ModelEntry& entry : entries) {
    EXPECT_FALSE(entry.source.empty()) << entry.name;
    EXPECT_GT(parameters(entry.spec), 0) << entry.name;
    EXPECT_LE(active_parameters(entry.spec), parameters(entry.spec)) << entry.name;
    EXPECT_EQ(model(entry.name).name, entry.name);
    for (const std::string& alias : entry.aliases) {
      EXPECT_EQ(model(alias).name, entry.name) << alias;
      EXPECT_TRUE(aliases.insert(alias).second) << alias << " names two models";
    }
  }
}

struct PublishedSize {
  const char* model;
  Count parameters;
};

// Counts of published checkpoints: Hugging Face's "safetensors" figure or num_parameters() of the class the file names.
constexpr PublishedSize kExact[] = {
    {"gpt2", 124439808},
    {"gpt2-medium", 354823168},
    {"gpt2-large", 774030080},
    {"gpt2-xl", 1557611200},
    {"opt-125m", 125239296},
    {"opt-350m", 331196416},
    {"opt-1.3b", 1315758080},
    {"opt-2.7b", 2651596800},
    {"opt-6.7b", 6658473984},
    {"opt-13b", 12853473280},
    {"opt-30b", 29974540288},
    {"bert-base-uncased", 109482240},
    {"bert-large-uncased", 335141888},
    {"BERT-Base-MLM", 109514298},
    {"t5-small", 60506624},
    {"t5-base", 222903552},
    {"t5-large", 737668096},
    {"t5-3b", 2851598336},
    {"t5-11b", 11307321344},
    {"flan-t5-base", 247577856},
    {"flan-t5-large", 783150080},
    {"flan-t5-xl", 2849757184},
    {"huggyllama/llama-7b", 6738415616},
    {"huggyllama/llama-65b", 65285660672},
    {"meta-llama/Llama-2-7b-hf", 6738415616},
    {"meta-llama/Llama-2-13b-hf", 13015864320},
    {"meta-llama/Llama-2-70b-hf", 68976648192},
    {"meta-llama/Meta-Llama-3-8B", 8030261248},
    {"meta-llama/Llama-3.1-70B", 70553706496},
    {"meta-llama/Llama-3.1-405B", 405853388800},
    {"meta-llama/Llama-3.2-1B", 1235814400},
    {"meta-llama/Llama-3.2-3B", 3212749824},
    {"mistralai/Mistral-7B-v0.1", 7241732096},
    {"mistralai/Mistral-7B-v0.3", 7248023552},
    {"Mistral-Nemo-12B", 12247782400},
    {"Mistral-Small-24B", 23572403200},
    {"mistralai/Mixtral-8x7B-v0.1", 46702792704},
    {"Mixtral-8x22B", 140630071296},
    {"Qwen/Qwen1.5-7B", 7721324544},
    {"Qwen/Qwen1.5-MoE-A2.7B", 14315784192},
    {"Qwen/Qwen2-0.5B", 494032768},
    {"Qwen/Qwen2-7B", 7615616512},
    {"Qwen/Qwen2-72B", 72706203648},
    {"Qwen/Qwen2.5-1.5B", 1543714304},
    {"Qwen/Qwen2.5-3B", 3085938688},
    {"Qwen/Qwen2.5-14B", 14770033664},
    {"Qwen/Qwen2.5-32B", 32763876352},
    {"Qwen/Qwen3-0.6B", 596049920},
    {"Qwen/Qwen3-4B", 4022468096},
    {"Qwen/Qwen3-8B", 8190735360},
    {"Qwen/Qwen3-14B", 14768307200},
    {"Qwen/Qwen3-32B", 32762123264},
    {"Qwen/Qwen3-30B-A3B", 30532122624},
    {"Qwen/Qwen3-235B-A22B", 235093634560},
    {"google/gemma-2-2b", 2614341888},
    {"google/gemma-2-9b", 9241705984},
    {"google/gemma-2-27b", 27227128320},
    {"google/gemma-3-1b-it", 999885952},
    {"microsoft/phi-2", 2779683840},
    {"Phi-3-mini-4k-instruct", 3821079552},
    {"Phi-3-medium-4k-instruct", 13960238080},
    {"microsoft/phi-4", 14659507200},
    {"tiiuae/falcon-7b", 6921720704},
    {"tiiuae/falcon-40b", 41303293952},
    {"tiiuae/falcon-180b", 179522565120},
    {"bigscience/bloom-560m", 559214592},
    {"bigscience/bloom-7b1", 7069016064},
    {"bigscience/bloom", 176247271424},
    {"EleutherAI/gpt-j-6b", 6050882784},
    {"EleutherAI/gpt-neox-20b", 20554567680},
    {"EleutherAI/pythia-1.4b", 1414647808},
    {"EleutherAI/pythia-6.9b", 6857302016},
    {"EleutherAI/pythia-12b", 11846072320},
    {"mosaicml/mpt-7b", 6649286656},
    {"deepseek-ai/DeepSeek-V2-Lite", 15706484224},
    {"deepseek-ai/DeepSeek-V2", 235741434880},
    {"deepseek-ai/DeepSeek-V3", 671026419200},
    {"moonshotai/Kimi-K2-Instruct", 1026408232448},
    {"moonshotai/Kimi-Linear-48B-A3B-Instruct", 49122681728},
    {"openai/gpt-oss-20b", 20914757184},
    {"openai/gpt-oss-120b", 116829156672},
    {"nvidia/NVIDIA-Nemotron-Nano-9B-v2", 8888227328},
    {"nvidia/Llama-3_3-Nemotron-Super-49B-v1", 49867145216},
    {"google/vit-base-patch16-224", 86567656},
    {"google/vit-large-patch16-224", 304326632},
    {"openai/clip-vit-base-patch32", 151277313},
    {"openai/clip-vit-base-patch16", 149620737},
    {"openai/clip-vit-large-patch14", 427616513},
    {"openai/whisper-tiny", 37760640},
    {"openai/whisper-base", 72593920},
    {"openai/whisper-small", 241734912},
    {"openai/whisper-medium", 763857920},
    {"openai/whisper-large-v3", 1543490560},
    {"openai/whisper-large-v3-turbo", 808878080},
};

TEST(Library, CheckpointsInOtherFormatsAreTheModelsOwn) {
  EXPECT_EQ(find_entry("Llama-4-Scout")->checkpoints.at("fp8"), "nvidia/Llama-4-Scout-17B-16E-Instruct-FP8");
  EXPECT_TRUE(find_entry("Qwen3-235B-A22B")->checkpoints.count("nvfp4"));
  EXPECT_TRUE(find_entry("Qwen3-235B-A22B-FP8")->checkpoints.empty());  // is one
  EXPECT_TRUE(find_entry("Llama-3.1-8B")->checkpoints.empty());
}

TEST(Library, CountsEqualThePublishedOnes) {
  for (const auto& [name, published] : kExact) EXPECT_EQ(parameters(model(name)), published) << name;
}

// Checkpoints that hold more than we model: what is over must be what we leave out, and the same in each of a family.
TEST(Library, WhatCheckpointsHoldBesidesIsAccountedFor) {
  // Gemma 3: the image tower and its projection of 1152 to the text's width, with a norm.
  constexpr Count kGemmaTower = 416866032;
  const auto gemma = [](const char* name, Count hidden) {
    return parameters(model(name)) + kGemmaTower + 1152 * hidden + 1152;
  };
  EXPECT_EQ(gemma("google/gemma-3-4b-it", 2560), 4300079472);
  EXPECT_EQ(gemma("google/gemma-3-12b-it", 3840), 12187325040);
  EXPECT_EQ(gemma("google/gemma-3-27b-it", 5376), 27432406640);
  // Llama 4: the same image tower in both.
  constexpr Count kLlamaTower = 871932416;
  EXPECT_EQ(parameters(model("Llama-4-Scout")) + kLlamaTower, 108641793536);
  EXPECT_EQ(parameters(model("Llama-4-Maverick")) + kLlamaTower, 401583781376);
  // GLM 4.5: one layer more for the token after next, with its own tables, a product of two tokens and three norms.
  const auto ahead = [](const char* name) {
    const ModelSpec whole = model(name);
    ModelSpec last = whole;
    last.decoder->layers = {{whole.decoder->layers.back().layer, 1}};
    const Count hidden = whole.decoder->hidden;
    return parameters(whole) + parameters(last) + 2 * hidden * hidden + 2 * hidden;
  };
  EXPECT_EQ(ahead("zai-org/GLM-4.5"), 358337791296);
  EXPECT_EQ(ahead("zai-org/GLM-4.5-Air"), 110468824832);
}

struct Rounded {
  const char* model;
  double billions;       // as the card, report or name says
  double active = 0;     // the same of active ones; 0: dense, or nothing said
  double slack = 0.015;  // half of the last digit given, and what cards count differently
};

constexpr Rounded kRounded[] = {
    {"GPT-3-125M", 0.125},
    {"GPT-3-350M", 0.355},
    {"GPT-3-760M", 0.760},
    {"GPT-3-1.3B", 1.3},
    {"GPT-3-2.7B", 2.65},
    {"GPT-3-6.7B", 6.66},
    {"GPT-3-13B", 12.85},
    {"GPT-3-175B", 174.6},
    {"opt-66b", 65.7},
    {"OPT-175B", 175},
    {"mosaicml/mpt-30b", 29.96},
    {"Qwen2-57B-A14B", 57.4, 14, 0.03},
    {"Qwen3-Next-80B-A3B", 80, 3.5, 0.03},
    {"Qwen3.5-397B-A17B", 397, 17, 0.05},
    {"Qwen3.5-9B", 9, 0, 0.01},
    {"Mixtral-8x7B", 46.7, 12.9},
    {"Mixtral-8x22B", 140.6, 39},
    {"DeepSeek-V2", 236, 21},
    {"DeepSeek-V2-Lite", 15.7, 2.4, 0.03},
    {"DeepSeek-V3", 671, 37, 0.012},
    {"DeepSeek-R1-0528", 671, 37, 0.012},
    {"Kimi-K2", 1026, 32},
    {"Kimi-K2.5", 1026, 32},
    {"GLM-4.5", 355, 32, 0.03},
    {"GLM-4.5-Air", 106, 12, 0.07},
    {"GLM-5", 744, 40, 0.025},
    {"MiniMax-M2", 229, 10, 0.045},
    {"MiniMax-M2.5", 229, 10, 0.045},
    {"Qwen3-30B-A3B", 30.5, 3.3, 0.08},  // the card counts the table of embeddings as active
    {"Qwen3-235B-A22B", 235, 22, 0.02},
    {"Llama-4-Scout", 109, 17, 0.055},
    {"Llama-4-Maverick", 400, 17, 0.055},
    {"gpt-oss-20b", 20.91, 3.61, 0.001},
    {"gpt-oss-120b", 116.83, 5.13, 0.001},
    {"Deci/DeciLM-7B", 7.04, 0, 0.001},
    {"Minitron-4B", 4.19},
    {"Minitron-8B", 8.27},
    {"Nemotron-4-340B", 341},
    {"Nemotron-H-8B", 8.1},
    {"Nemotron-3-Nano-30B-A3B", 31.6, 3.2, 0.02},
    {"Switch-Base-8", 0.619, 0.223},
    {"Switch-Base-128", 7.4},
    {"Switch-Large-128", 26.3},
};

TEST(Library, OtherCountsAreWithinRounding) {
  for (const Rounded& card : kRounded) {
    const ModelSpec spec = model(card.model);
    EXPECT_NEAR(static_cast<double>(parameters(spec)) / 1e9 / card.billions, 1, card.slack) << card.model;
    if (card.active <= 0) continue;
    EXPECT_NEAR(static_cast<double>(active_parameters(spec)) / 1e9 / card.active, 1, card.slack) << card.model;
  }
}

// Elements a token keeps, by hand from layers, heads and widths.
TEST(Library, CachesAreRight) {
  const auto whole = [](const char* name) {
    const CacheNeed need = cache_need(model(name));
    EXPECT_EQ(need.parts.size(), 1u) << name;
    return need.parts.empty() ? CachePart{} : need.parts[0];
  };
  EXPECT_EQ(whole("Llama-2-7B").per_token, 2 * 32 * 4096);
  EXPECT_EQ(whole("Llama-3.1-8B").per_token, 2 * 32 * 8 * 128);
  EXPECT_EQ(whole("Falcon-7B").per_token, 2 * 32 * 1 * 64);
  EXPECT_EQ(whole("Mistral-7B-v0.1").window, 4096);
  EXPECT_EQ(whole("DeepSeek-V3").per_token, 61 * 576);
  EXPECT_EQ(whole("DeepSeek-V3.2").per_token, 61 * (576 + 128));
  EXPECT_EQ(whole("Qwen2.5-7B").per_token, 2 * 28 * 4 * 128);

  const CacheNeed gemma = cache_need(model("Gemma-3-27B"));  // 62 layers, each sixth sees all
  ASSERT_EQ(gemma.parts.size(), 2u);
  EXPECT_EQ(gemma.parts[0].per_token, 10 * 2 * 16 * 128);
  EXPECT_EQ(gemma.parts[1].per_token, 52 * 2 * 16 * 128);
  EXPECT_EQ(gemma.parts[1].window, 1024);

  const CacheNeed next = cache_need(model("Qwen3-Next-80B-A3B"));  // 12 of 48 layers keep keys
  ASSERT_EQ(next.parts.size(), 1u);
  EXPECT_EQ(next.parts[0].per_token, 12 * 2 * 2 * 256);
  EXPECT_EQ(next.state, 36 * (32 * 128 * 128 + (2 * 16 * 128 + 32 * 128) * 3));

  const CacheNeed hybrid = cache_need(model("Nemotron-Nano-9B-v2"));  // 4 of attention, 27 of Mamba-2
  EXPECT_EQ(hybrid.parts[0].per_token, 4 * 2 * 8 * 128);
  EXPECT_EQ(hybrid.state, 27 * (128 * 80 * 128 + (128 * 80 + 2 * 8 * 128) * 3));

  const CacheNeed kimi = cache_need(model("Kimi-Linear-48B-A3B"));  // 7 of latent attention, 20 of delta attention
  EXPECT_EQ(kimi.parts[0].per_token, 7 * 576);
  EXPECT_EQ(kimi.state, 20 * (32 * 128 * 128 + 3 * 32 * 128 * 3));

  const CacheNeed oss = cache_need(model("gpt-oss-120b"));
  ASSERT_EQ(oss.parts.size(), 2u);
  EXPECT_EQ(oss.parts[0].per_token, oss.parts[1].per_token);
  EXPECT_EQ(oss.parts[1].window, 128);
  EXPECT_EQ(cache_need(model("T5-Base")).per_source_token, 2 * 12 * 768);
}

// MosaicML's benchmark table notes the exact count of each run; the learned positions grow with the sequence.
TEST(Library, MosaicCountsMatchItsBenchmarkNotes) {
  const std::string path = TILECAST_SOURCE_DIR "/../shared/data/e2e/train_mosaicml_llm_foundry.csv.gz";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "needs ../shared/data/e2e";
  auto rows = CsvReader::open(path);
  ASSERT_TRUE(rows);
  const auto name_at = *rows->column("model"), length_at = *rows->column("seqlen"), notes_at = *rows->column("notes");
  std::set<std::tuple<std::string, Count, Count>> notes;
  while (*rows->next())
    for (const std::string& note : split((*rows)[notes_at], ';'))
      if (note.starts_with("params="))
        notes.emplace((*rows)[name_at], *to_count((*rows)[length_at]), *to_count(std::string_view(note).substr(7)));
  EXPECT_GT(notes.size(), 50u);
  for (const auto& [name, length, noted] : notes) {
    ModelSpec spec = model(name == "MPT-7b" ? "MPT-7B-Foundry" : name);
    spec.decoder->max_positions = length;
    EXPECT_EQ(parameters(spec), noted) << name << " at " << length;
  }
}

TEST(Library, NamesAreForgiven) {
  EXPECT_EQ(model("llama-3.1-8b").name, "Llama-3.1-8B");
  EXPECT_EQ(model("meta-llama/Llama-3.1-8B-Instruct").name, "Llama-3.1-8B");
  EXPECT_EQ(model("meta-llama/Llama-3.3-70B-Instruct").name, "Llama-3.3-70B");
  EXPECT_EQ(model("Qwen/Qwen3-235B-A22B-Instruct-2507").name, "Qwen3-235B-A22B");
  EXPECT_EQ(model("Qwen/Qwen3-235B-A22B-Instruct-2507-FP8").name, "Qwen3-235B-A22B-FP8");
  EXPECT_EQ(model("GPT-OSS 120B").name, "gpt-oss-120b");
  EXPECT_EQ(model("opt-13b").name, "OPT-13B");
  EXPECT_EQ(model("opt-1.3b").name, "OPT-1.3B");
  EXPECT_EQ(model("google/flan-t5-xl").name, "T5-v1.1-XL");
}

TEST(Library, FilesLikeAnotherTakeItsSizes) {
  const ModelSpec v3 = model("DeepSeek-V3"), r1 = model("nvidia/DeepSeek-R1-NVFP4");
  EXPECT_EQ(parameters(v3), parameters(r1));
  EXPECT_EQ(v3.quantization, "fp8_block");
  EXPECT_EQ(r1.quantization, "nvfp4");
}

TEST(Library, AMissSuggests) {
  const auto miss = find_model("Lama-3.1-8B");
  ASSERT_FALSE(miss);
  EXPECT_THAT(miss.error().line(), HasSubstr("did you mean Llama-3.1-8B"));
  EXPECT_THAT(find_model("something else entirely").error().line(), HasSubstr("`tilecast models` lists"));
  EXPECT_THAT(find_model("/nowhere/config.json").error().line(), HasSubstr("no such file"));
}

TEST(Library, APathIsAFileOrADirectory) {
  const TestFolder folder;
  const std::string path =
      folder.plain("config.json", R"({"model_type": "gpt2", "n_embd": 64, "n_layer": 2, "n_head": 4,
                                                           "n_positions": 16, "vocab_size": 100})");
  const Count expected = 2 * (12 * 64 * 64 + 13 * 64) + 2 * 64 + 16 * 64 + 100 * 64;
  EXPECT_EQ(parameters(model(path)), expected);
  EXPECT_EQ(parameters(model(std::filesystem::path(path).parent_path().string())), expected);
}

// Models that measured tables of ../shared/data name.
TEST(Library, KnowsWhatTheTablesMeasure) {
  for (const char* name : {"meta-llama/Llama-2-7b-hf",
                           "meta-llama/Meta-Llama-3-8B",
                           "mistralai/Mistral-7B-v0.1",
                           "Qwen/Qwen2-7B",
                           "meta-llama/Llama-2-70b-hf",
                           "mistralai/Mixtral-8x7B-v0.1",
                           "meta-llama/Meta-Llama-3-70B",
                           "Deci/DeciLM-7B",
                           "Qwen/Qwen2-72B",
                           "BAAI/Aquila-7B",
                           "bigscience/bloom-7b1",
                           "EleutherAI/gpt-j-6b",
                           "huggyllama/llama-7b",
                           "facebook/opt-6.7b",
                           "Qwen/Qwen1.5-7B",
                           "Qwen/Qwen3.5-9B",
                           "openai/gpt-oss-120b",
                           "openai/gpt-oss-20b",
                           "Qwen/Qwen3-14B",
                           "zai-org/GLM-4.5-Air",
                           "Qwen/Qwen3-32B",
                           "Qwen/Qwen3-8B-FP8",
                           "zai-org/GLM-4.6-FP8",
                           "Qwen/Qwen3-14B-AWQ",
                           "llama2-70b",
                           "bloom-176b",
                           "Mixtral 8x7B",
                           "LLaMA v3.1 70B",
                           "LLaMA v3 70B",
                           "Llama 3.3 70B",
                           "Mistral 7B",
                           "LLaMA v2 70B",
                           "Llama 3.1 405B",
                           "Falcon 180B",
                           "GPT-J 6B",
                           "GPTJ 6B",
                           "LLaMA 7B",
                           "LLaMA 70B",
                           "LLaMA v3 8B",
                           "LLaMA v2 7B",
                           "Llama 4 Maverick",
                           "Llama 4 Scout",
                           "LLaMA v3.3 70B",
                           "LLaMA v4 Maverick",
                           "Deepseek R1 0528",
                           "Qwen3 30B A3B",
                           "DeepSeek R1",
                           "deepseek-ai/DeepSeek-R1",
                           "meta-llama/Llama-3.1-70B",
                           "MiniMaxAI/MiniMax-M2.5",
                           "deepseek-ai/DeepSeek-V3",
                           "Qwen/Qwen3.5-397B-A17B",
                           "meta-llama/Llama-3.1-8B-Instruct",
                           "moonshotai/Kimi-K2.5",
                           "Qwen/Qwen3-235B-A22B-FP8",
                           "zhipuai/GLM-5",
                           "nvidia/Llama-3.1-8B-Instruct-FP8",
                           "nvidia/DeepSeek-R1-NVFP4",
                           "nvidia/DeepSeek-V3.1-NVFP4",
                           "Qwen2.5-14B",
                           "Llama-3.1-70B",
                           "bert_large",
                           "gpt2_large",
                           "gpt3_xl",
                           "gpt3_27",
                           "opt_13",
                           "switchxl4"})
    EXPECT_TRUE(find_model(name)) << name;
}

}  // namespace
}  // namespace tilecast
