// Every class that is understood: a configuration of it (the fields that have to do with sizes) and how many parameters
// the published model has. `library_test` does the same for the bundled ones.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "model/build.h"
#include "model/config.h"
#include "model/embedded_models.h"

namespace tilecast {
namespace {

using Json = nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

struct Published {
  const char* architecture;
  const char* model;  // the checkpoint the figures are of
  Count parameters;
  const char* fields;
};

// Counts are num_parameters() of the class or the checkpoint's own; tables of sines that a class keeps are counted.
constexpr Published kDecoders[] = {
    {"RWForCausalLM", "tiiuae/falcon-7b, its first file", 6921720704,
     R"("hidden_size": 4544, "n_layer": 32, "n_head": 71, "multi_query": true, "parallel_attn": true, "bias": false,
        "alibi": false, "vocab_size": 65024)"},
    {"GPTBigCodeForCausalLM", "bigcode/starcoder", 15517456384,
     R"("n_embd": 6144, "n_layer": 40, "n_head": 48, "n_inner": 24576, "n_positions": 8192, "vocab_size": 49152)"},
    {"GPTNeoForCausalLM", "EleutherAI/gpt-neo-125m", 125198592,
     R"("hidden_size": 768, "num_layers": 12, "num_heads": 12, "intermediate_size": null, "window_size": 256,
        "attention_types": [[["global", "local"], 6]], "max_position_embeddings": 2048, "vocab_size": 50257)"},
    {"CodeGenForCausalLM", "Salesforce/codegen-350M-mono", 356712448,
     R"("n_embd": 1024, "n_layer": 20, "n_head": 16, "rotary_dim": 32, "n_positions": 2048, "vocab_size": 51200)"},
    {"XGLMForCausalLM", "facebook/xglm-564M", 564463616,
     R"("d_model": 1024, "num_layers": 24, "attention_heads": 16, "ffn_dim": 4096, "vocab_size": 256008,
        "activation_function": "gelu", "max_position_embeddings": 2048)"},
    {"PersimmonForCausalLM", "adept/persimmon-8b-base", 9397175296,
     R"("hidden_size": 4096, "num_hidden_layers": 36, "num_attention_heads": 64, "intermediate_size": 16384,
        "hidden_act": "relu2", "partial_rotary_factor": 0.5, "qk_layernorm": true, "vocab_size": 262144)"},
    {"Starcoder2ForCausalLM", "bigcode/starcoder2-3b", 3030371328,
     R"("hidden_size": 3072, "num_hidden_layers": 30, "num_attention_heads": 24, "num_key_value_heads": 2,
        "intermediate_size": 12288, "use_bias": true, "sliding_window": 4096, "vocab_size": 49152)"},
    {"StableLmForCausalLM", "stabilityai/stablelm-2-1_6b", 1644515328,
     R"("hidden_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 32, "num_key_value_heads": 32,
        "intermediate_size": 5632, "use_qkv_bias": true, "partial_rotary_factor": 0.25, "vocab_size": 100352)"},
    {"StableLmForCausalLM", "stabilityai/stablelm-2-12b", 12143185920,
     R"("hidden_size": 5120, "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 8,
        "intermediate_size": 13824, "qk_layernorm": true, "use_parallel_residual": true, "vocab_size": 100352)"},
    {"CohereForCausalLM", "CohereForAI/c4ai-command-r-v01", 34980831232,
     R"("hidden_size": 8192, "num_hidden_layers": 40, "num_attention_heads": 64, "num_key_value_heads": 64,
        "intermediate_size": 22528, "use_qk_norm": false, "vocab_size": 256000)"},
    {"CohereForCausalLM", "CohereForAI/c4ai-command-r-plus", 103810674688,
     R"("hidden_size": 12288, "num_hidden_layers": 64, "num_attention_heads": 96, "num_key_value_heads": 8,
        "intermediate_size": 33792, "use_qk_norm": true, "vocab_size": 256000)"},
    {"Cohere2ForCausalLM", "CohereForAI/c4ai-command-r7b-12-2024", 8028033024,
     R"("hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
        "intermediate_size": 14336, "sliding_window": 4096, "sliding_window_pattern": 4, "vocab_size": 256000)"},
    {"OlmoForCausalLM", "allenai/OLMo-7B-hf", 6888095744,
     R"("hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32,
        "intermediate_size": 11008, "vocab_size": 50304)"},
    {"Olmo2ForCausalLM", "allenai/OLMo-2-1124-7B", 7298617344,
     R"("hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32,
        "intermediate_size": 11008, "vocab_size": 100352)"},
    {"OlmoeForCausalLM", "allenai/OLMoE-1B-7B-0924", 6919161856,
     R"("hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 16, "num_key_value_heads": 16,
        "intermediate_size": 1024, "num_experts": 64, "num_experts_per_tok": 8, "vocab_size": 50304)"},
    {"GraniteForCausalLM", "ibm-granite/granite-3.1-8b-base", 8170848256,
     R"("hidden_size": 4096, "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 8,
        "intermediate_size": 12800, "vocab_size": 49155, "tie_word_embeddings": true)"},
    {"GraniteMoeForCausalLM", "ibm-granite/granite-3.0-3b-a800m-base", 3298793472,
     R"("hidden_size": 1536, "num_hidden_layers": 32, "num_attention_heads": 24, "num_key_value_heads": 8,
        "intermediate_size": 512, "num_local_experts": 40, "num_experts_per_tok": 8, "vocab_size": 49155,
        "tie_word_embeddings": true)"},
    {"SmolLM3ForCausalLM", "HuggingFaceTB/SmolLM3-3B", 3075098624,
     R"("hidden_size": 2048, "num_hidden_layers": 36, "num_attention_heads": 16, "num_key_value_heads": 4,
        "intermediate_size": 11008, "no_rope_layer_interval": 4, "vocab_size": 128256)"},
    {"GlmForCausalLM", "zai-org/glm-4-9b-chat-hf", 9399951360,
     R"("hidden_size": 4096, "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 2,
        "head_dim": 128, "intermediate_size": 13696, "attention_bias": true, "vocab_size": 151552)"},
    {"Glm4ForCausalLM", "zai-org/GLM-4-32B-0414", 32566081536,
     R"("hidden_size": 6144, "num_hidden_layers": 61, "num_attention_heads": 48, "num_key_value_heads": 2,
        "head_dim": 128, "intermediate_size": 23040, "attention_bias": false, "vocab_size": 151552)"},
    {"ChatGLMModel", "zai-org/chatglm3-6b", 6243584000,
     R"("hidden_size": 4096, "num_layers": 28, "num_attention_heads": 32, "multi_query_attention": true,
        "multi_query_group_num": 2, "ffn_hidden_size": 13696, "kv_channels": 128, "add_qkv_bias": true,
        "add_bias_linear": false, "padded_vocab_size": 65024, "seq_length": 8192)"},
    {"ExaoneForCausalLM", "LGAI-EXAONE/EXAONE-3.5-7.8B-Instruct", 7818448896,
     R"("hidden_size": 4096, "num_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
        "intermediate_size": 14336, "activation_function": "silu", "vocab_size": 102400)"},
    {"Exaone4ForCausalLM", "LGAI-EXAONE/EXAONE-4.0-1.2B", 1279391488,
     R"("hidden_size": 2048, "num_hidden_layers": 30, "num_attention_heads": 32, "num_key_value_heads": 8,
        "head_dim": 64, "intermediate_size": 4096, "sliding_window": null, "vocab_size": 102400,
        "tie_word_embeddings": true)"},
    {"BaichuanForCausalLM", "baichuan-inc/Baichuan2-7B-Base", 7505973248,
     R"("hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "intermediate_size": 11008,
        "vocab_size": 125696)"},
    {"InternLMForCausalLM", "internlm/internlm-7b", 7321948160,
     R"("hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "intermediate_size": 11008,
        "bias": true, "vocab_size": 103168)"},
    {"InternLM2ForCausalLM", "internlm/internlm2-7b", 7737708544,
     R"("hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
        "intermediate_size": 14336, "bias": false, "vocab_size": 92544)"},
    {"QWenLMHeadModel", "Qwen/Qwen-7B", 7721324544,
     R"("hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "intermediate_size": 22016,
        "kv_channels": 128, "no_bias": true, "vocab_size": 151936)"},
    {"MiniCPMForCausalLM", "openbmb/MiniCPM-2B-sft-bf16", 2724880896,
     R"("hidden_size": 2304, "num_hidden_layers": 40, "num_attention_heads": 36, "num_key_value_heads": 36,
        "intermediate_size": 5760, "vocab_size": 122753)"},
    {"SeedOssForCausalLM", "ByteDance-Seed/Seed-OSS-36B-Base", 36151104512,
     R"("hidden_size": 5120, "num_hidden_layers": 64, "num_attention_heads": 80, "num_key_value_heads": 8,
        "head_dim": 128, "intermediate_size": 27648, "attention_bias": true, "attention_out_bias": false,
        "vocab_size": 155136)"},
    {"Ernie4_5ForCausalLM", "baidu/ERNIE-4.5-0.3B-PT", 360748032,
     R"("hidden_size": 1024, "num_hidden_layers": 18, "num_attention_heads": 16, "num_key_value_heads": 2,
        "head_dim": 128, "intermediate_size": 3072, "use_bias": false, "vocab_size": 103424)"},
    {"Ernie4_5_MoeForCausalLM", "baidu/ERNIE-4.5-21B-A3B-PT", 21825437888,
     R"("hidden_size": 2560, "num_hidden_layers": 28, "num_attention_heads": 20, "num_key_value_heads": 4,
        "intermediate_size": 12288, "moe_num_experts": 64, "moe_k": 6, "moe_intermediate_size": 1536,
        "moe_num_shared_experts": 2, "moe_layer_start_index": 1, "moe_layer_end_index": 27,
        "moe_layer_interval": 1, "use_bias": false, "vocab_size": 103424)"},
    {"HunYuanMoEV1ForCausalLM", "tencent/Hunyuan-A13B-Instruct", 80393183232,
     R"("hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
        "head_dim": 128, "intermediate_size": 3072, "moe_intermediate_size": [3072, 3072], "num_experts": 64,
        "moe_topk": [8, 8], "num_shared_expert": [1, 1], "vocab_size": 128167, "tie_word_embeddings": true)"},
    {"PhiMoEForCausalLM", "microsoft/Phi-3.5-MoE-instruct", 41873153344,
     R"("hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
        "intermediate_size": 6400, "num_local_experts": 16, "num_experts_per_tok": 2, "attention_bias": true,
        "lm_head_bias": true, "vocab_size": 32064)"},
    {"DbrxForCausalLM", "databricks/dbrx-base", 131596523520,
     R"("d_model": 6144, "n_layers": 40, "n_heads": 48, "attn_config": {"kv_n_heads": 8},
        "ffn_config": {"ffn_hidden_size": 10752, "moe_num_experts": 16, "moe_top_k": 4}, "vocab_size": 100352)"},
    {"Dots1ForCausalLM", "rednote-hilab/dots.llm1.base", 142774381696,
     R"("hidden_size": 4096, "num_hidden_layers": 62, "num_attention_heads": 32, "num_key_value_heads": 32,
        "intermediate_size": 10944, "moe_intermediate_size": 1408, "n_routed_experts": 128, "n_shared_experts": 2,
        "num_experts_per_tok": 6, "first_k_dense_replace": 1, "vocab_size": 152064)"},
    {"GemmaForCausalLM", "google/gemma-2b", 2506172416,
     R"("hidden_size": 2048, "num_hidden_layers": 18, "num_attention_heads": 8, "num_key_value_heads": 1,
        "head_dim": 256, "intermediate_size": 16384, "vocab_size": 256000)"},
    {"Mamba2ForCausalLM", "mistralai/Mamba-Codestral-7B-v0.1", 7285403648,
     R"("hidden_size": 4096, "num_hidden_layers": 64, "num_heads": 128, "head_dim": 64, "n_groups": 8,
        "state_size": 128, "conv_kernel": 4, "use_conv_bias": true, "use_bias": false, "vocab_size": 32768)"},
    {"BambaForCausalLM", "ibm-ai-platform/Bamba-9B-v1", 9780235392,
     R"("hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
        "intermediate_size": 14336, "attn_layer_indices": [9, 18, 27], "mamba_n_heads": 128,
        "mamba_d_head": "auto", "mamba_n_groups": 1, "mamba_d_state": 128, "mamba_d_conv": 4, "mamba_expand": 2,
        "mamba_conv_bias": true, "mamba_proj_bias": false, "vocab_size": 128256)"},
};

constexpr Published kEncoders[] = {
    {"RobertaForMaskedLM", "FacebookAI/roberta-base", 124697433,
     R"("hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072,
        "max_position_embeddings": 514, "type_vocab_size": 1, "vocab_size": 50265)"},
    {"XLMRobertaForMaskedLM", "FacebookAI/xlm-roberta-base", 278295186,
     R"("hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072,
        "max_position_embeddings": 514, "type_vocab_size": 1, "vocab_size": 250002)"},
    {"CamembertForMaskedLM", "almanach/camembert-base", 110655493,
     R"("hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072,
        "max_position_embeddings": 514, "type_vocab_size": 1, "vocab_size": 32005)"},
    {"BertForTokenClassification", "dslim/bert-base-NER", 107726601,
     R"("hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072,
        "max_position_embeddings": 512, "type_vocab_size": 2, "vocab_size": 28996, "num_labels": 9)"},
    {"DistilBertForMaskedLM", "distilbert/distilbert-base-uncased", 66985530,
     R"("dim": 768, "n_layers": 6, "n_heads": 12, "hidden_dim": 3072, "max_position_embeddings": 512,
        "activation": "gelu", "vocab_size": 30522)"},
    {"DistilBertForSequenceClassification", "distilbert/distilbert-base-uncased-finetuned-sst-2-english", 66955010,
     R"("dim": 768, "n_layers": 6, "n_heads": 12, "hidden_dim": 3072, "max_position_embeddings": 512,
        "activation": "gelu", "vocab_size": 30522, "num_labels": 2)"},
    {"DistilBertForQuestionAnswering", "distilbert/distilbert-base-uncased-distilled-squad", 66364418,
     R"("dim": 768, "n_layers": 6, "n_heads": 12, "hidden_dim": 3072, "max_position_embeddings": 512,
        "activation": "gelu", "vocab_size": 30522)"},
    {"ElectraForPreTraining", "google/electra-base-discriminator", 109483009,
     R"("embedding_size": 768, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
        "intermediate_size": 3072, "max_position_embeddings": 512, "type_vocab_size": 2, "vocab_size": 30522)"},
    {"ElectraForPreTraining", "google/electra-small-discriminator", 13549057,
     R"("embedding_size": 128, "hidden_size": 256, "num_hidden_layers": 12, "num_attention_heads": 4,
        "intermediate_size": 1024, "max_position_embeddings": 512, "type_vocab_size": 2, "vocab_size": 30522)"},
    {"AlbertModel", "albert/albert-base-v2", 11683584,
     R"("embedding_size": 128, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
        "intermediate_size": 3072, "max_position_embeddings": 512, "type_vocab_size": 2, "hidden_act": "gelu_new",
        "num_hidden_groups": 1, "inner_group_num": 1, "vocab_size": 30000)"},
    {"AlbertForMaskedLM", "albert/albert-base-v2", 11221680,
     R"("embedding_size": 128, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
        "intermediate_size": 3072, "max_position_embeddings": 512, "type_vocab_size": 2, "hidden_act": "gelu_new",
        "vocab_size": 30000)"},
    {"MPNetModel", "sentence-transformers/all-mpnet-base-v2", 109486464,
     R"("hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072,
        "max_position_embeddings": 514, "relative_attention_num_buckets": 32, "vocab_size": 30527)"},
    {"ModernBertModel", "answerdotai/ModernBERT-base", 149014272,
     R"("hidden_size": 768, "num_hidden_layers": 22, "num_attention_heads": 12, "intermediate_size": 1152,
        "global_attn_every_n_layers": 3, "local_attention": 128, "hidden_activation": "gelu", "vocab_size": 50368)"},
    {"ModernBertForMaskedLM", "answerdotai/ModernBERT-base", 149655232,
     R"("hidden_size": 768, "num_hidden_layers": 22, "num_attention_heads": 12, "intermediate_size": 1152,
        "global_attn_every_n_layers": 3, "local_attention": 128, "hidden_activation": "gelu", "vocab_size": 50368)"},
    {"NomicBertModel", "nomic-ai/nomic-embed-text-v1.5", 136731648,
     R"("n_embd": 768, "n_layer": 12, "n_head": 12, "n_inner": 3072, "activation_function": "swiglu",
        "qkv_proj_bias": false, "mlp_fc1_bias": false, "prenorm": false, "rotary_emb_fraction": 1.0,
        "type_vocab_size": 2, "n_positions": 8192, "vocab_size": 30528)"},
    {"Dinov2Model", "facebook/dinov2-base", 86580480,
     R"("hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "mlp_ratio": 4, "image_size": 518,
        "patch_size": 14)"},
    {"Dinov2Model", "facebook/dinov2-giant", 1136480768,
     R"("hidden_size": 1536, "num_hidden_layers": 40, "num_attention_heads": 24, "mlp_ratio": 4, "image_size": 518,
        "patch_size": 14, "use_swiglu_ffn": true)"},
    {"Dinov2WithRegistersModel", "facebook/dinov2-with-registers-base", 86583552,
     R"("hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "mlp_ratio": 4, "image_size": 518,
        "patch_size": 14, "num_register_tokens": 4)"},
    {"DeiTModel", "facebook/deit-base-distilled-patch16-224", 86390784,
     R"("hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072,
        "image_size": 224, "patch_size": 16)"},
    {"DeiTForImageClassificationWithTeacher", "facebook/deit-base-distilled-patch16-224", 87338192,
     R"("hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072,
        "image_size": 224, "patch_size": 16, "num_labels": 1000)"},
    {"CLIPTextModel", "openai/clip-vit-large-patch14 (text)", 123060480,
     R"("hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072,
        "max_position_embeddings": 77, "vocab_size": 49408)"},
    {"CLIPTextModelWithProjection", "stabilityai/stable-diffusion-xl-base-1.0 (text_encoder_2)", 694659840,
     R"("hidden_size": 1280, "num_hidden_layers": 32, "num_attention_heads": 20, "intermediate_size": 5120,
        "hidden_act": "gelu", "max_position_embeddings": 77, "projection_dim": 1280, "vocab_size": 49408)"},
    {"CLIPVisionModel", "openai/clip-vit-large-patch14 (images)", 303179776,
     R"("hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096,
        "image_size": 224, "patch_size": 14)"},
};

constexpr Published kEncoderDecoders[] = {
    {"T5EncoderModel", "google-t5/t5-small", 35330816,
     R"("d_model": 512, "num_layers": 6, "num_heads": 8, "d_kv": 64, "d_ff": 2048, "vocab_size": 32128)"},
    {"MT5ForConditionalGeneration", "google/mt5-small", 300176768,
     R"("d_model": 512, "num_layers": 8, "num_heads": 6, "d_kv": 64, "d_ff": 1024, "feed_forward_proj": "gated-gelu",
        "tie_word_embeddings": false, "vocab_size": 250112)"},
    {"MT5EncoderModel", "google/mt5-small", 146940608,
     R"("d_model": 512, "num_layers": 8, "num_heads": 6, "d_kv": 64, "d_ff": 1024, "feed_forward_proj": "gated-gelu",
        "vocab_size": 250112)"},
    {"BartForConditionalGeneration", "facebook/bart-base", 139420416,
     R"("d_model": 768, "encoder_layers": 6, "decoder_layers": 6, "encoder_attention_heads": 12,
        "decoder_attention_heads": 12, "encoder_ffn_dim": 3072, "decoder_ffn_dim": 3072,
        "max_position_embeddings": 1024, "activation_function": "gelu", "vocab_size": 50265)"},
    {"MBartForConditionalGeneration", "facebook/mbart-large-50", 610879488,
     R"("d_model": 1024, "encoder_layers": 12, "decoder_layers": 12, "encoder_attention_heads": 16,
        "decoder_attention_heads": 16, "encoder_ffn_dim": 4096, "decoder_ffn_dim": 4096,
        "max_position_embeddings": 1024, "activation_function": "gelu", "vocab_size": 250054)"},
    {"PegasusForConditionalGeneration", "google/pegasus-xsum", 569748480,
     R"("d_model": 1024, "encoder_layers": 16, "decoder_layers": 16, "encoder_attention_heads": 16,
        "decoder_attention_heads": 16, "encoder_ffn_dim": 4096, "decoder_ffn_dim": 4096,
        "max_position_embeddings": 512, "activation_function": "relu", "vocab_size": 96103)"},
    {"BlenderbotForConditionalGeneration", "facebook/blenderbot-400M-distill", 364802560,
     R"("d_model": 1280, "encoder_layers": 2, "decoder_layers": 12, "encoder_attention_heads": 32,
        "decoder_attention_heads": 32, "encoder_ffn_dim": 5120, "decoder_ffn_dim": 5120,
        "max_position_embeddings": 128, "activation_function": "gelu", "vocab_size": 8008)"},
    {"MarianMTModel", "Helsinki-NLP/opus-mt-en-de", 74410496,
     R"("d_model": 512, "encoder_layers": 6, "decoder_layers": 6, "encoder_attention_heads": 8,
        "decoder_attention_heads": 8, "encoder_ffn_dim": 2048, "decoder_ffn_dim": 2048,
        "max_position_embeddings": 512, "activation_function": "swish", "vocab_size": 58101)"},
    {"M2M100ForConditionalGeneration", "facebook/nllb-200-distilled-600M", 615073792,
     R"("d_model": 1024, "encoder_layers": 12, "decoder_layers": 12, "encoder_attention_heads": 16,
        "decoder_attention_heads": 16, "encoder_ffn_dim": 4096, "decoder_ffn_dim": 4096,
        "max_position_embeddings": 1024, "activation_function": "relu", "vocab_size": 256206)"},
};

Json config_of(const Published& row) {
  Json config = Json::parse("{" + std::string(row.fields) + "}");
  config["architectures"] = {row.architecture};
  return config;
}

ModelSpec read(const Json& config) {
  auto spec = spec_from_json(config.dump(), "config.json");
  EXPECT_TRUE(spec) << spec.error().line();
  if (spec) spec->name = "the model";
  return spec ? *spec : ModelSpec{};
}

std::vector<Published> all_rows() {
  std::vector<Published> rows(std::begin(kDecoders), std::end(kDecoders));
  rows.insert(rows.end(), std::begin(kEncoders), std::end(kEncoders));
  rows.insert(rows.end(), std::begin(kEncoderDecoders), std::end(kEncoderDecoders));
  return rows;
}

// The configuration of one of them.
Json published(const std::string& architecture, const std::string& model) {
  for (const Published& row : all_rows())
    if (row.architecture == architecture && row.model == model) return config_of(row);
  ADD_FAILURE() << "no row " << architecture << " of " << model;
  return {};
}

TEST(Architectures, CountsEqualThePublishedOnes) {
  for (const Published& row : all_rows()) EXPECT_EQ(parameters(read(config_of(row))), row.parameters) << row.model;
}

// Operators own every parameter, and no other, whatever is asked of the model.
TEST(Architectures, GraphsOwnEveryParameter) {
  for (const Published& row : all_rows()) {
    const ModelSpec spec = read(config_of(row));
    Workload w;
    w.requests = {{2, 16, 0}};
    w.source_len = 16;
    const auto prompt = build(spec, w);
    ASSERT_TRUE(prompt) << row.model << ": " << prompt.error().line();
    EXPECT_EQ(parameters(*prompt), row.parameters) << row.model;
    if (!spec.decoder || spec.encoder || !spec.lm_head) continue;
    w.mode = Mode::decode;
    w.requests = {{4, 1, 100}};
    const auto step = build(spec, w);
    ASSERT_TRUE(step) << row.model << ": " << step.error().line();
    EXPECT_EQ(parameters(*step), row.parameters) << row.model;
  }
}

// A small model of Llama's shape; the same file under another class.
Json small(const std::string& architecture, const Json& changes = Json::object()) {
  Json config = {{"architectures", {architecture}},
                 {"hidden_size", 64},
                 {"num_hidden_layers", 4},
                 {"num_attention_heads", 4},
                 {"num_key_value_heads", 2},
                 {"intermediate_size", 128},
                 {"vocab_size", 1000},
                 {"torch_dtype", "bfloat16"}};
  config.merge_patch(changes);
  return config;
}
constexpr Count kSmallAttention = 64 * (64 + 32 + 32) + 64 * 64, kSmallMlp = 3 * 64 * 128;
constexpr Count kSmall = 2 * 64000 + 4 * (kSmallAttention + kSmallMlp + 2 * 64) + 64;
constexpr Count kSmallQkvBias = 4 * (64 + 32 + 32), kSmallHeadNorms = 4 * 2 * 16;

// Classes that are another's under a second name, and what they have over Llama.
std::vector<std::pair<std::string, Count>> second_names() {
  return {
      {"LlamaForCausalLM", kSmall},
      {"YiForCausalLM", kSmall},
      {"XverseForCausalLM", kSmall},
      {"AquilaForCausalLM", kSmall},
      {"MinistralForCausalLM", kSmall},
      {"Mistral3ForConditionalGeneration", kSmall},
      {"Phi3VForCausalLM", kSmall},
      {"Phi4MMForCausalLM", kSmall},
      {"DeciForCausalLM", kSmall},
      {"KimiK2ForCausalLM", kSmall},  // without fields of latent attention or experts, as the next two
      {"Glm4MoeLiteForCausalLM", kSmall},
      {"Glm4vMoeForConditionalGeneration", kSmall},
      {"MiMoForCausalLM", kSmall + kSmallQkvBias},
      {"Qwen2VLForConditionalGeneration", kSmall + kSmallQkvBias},
      {"Qwen2_5_VLForConditionalGeneration", kSmall + kSmallQkvBias},
      {"Qwen3VLForConditionalGeneration", kSmall + kSmallHeadNorms},
      {"Qwen3VLMoeForConditionalGeneration", kSmall + kSmallHeadNorms},
      {"HunYuanDenseV1ForCausalLM", kSmall + kSmallHeadNorms},
      {"GraniteMoeSharedForCausalLM", kSmall},
      {"OrionForCausalLM", kSmall + (2 * 4 + 1) * 64},          // LayerNorms with a shift
      {"StableLMEpochForCausalLM", kSmall + (2 * 4 + 1) * 64},  // the same
      {"ArceeForCausalLM", kSmall - 4 * 64 * 128},              // no gate
      {"Glm4vForConditionalGeneration", kSmall + 4 * 2 * 64},   // two norms more a layer
      {"Olmo3ForCausalLM", kSmall + 4 * (64 + 32)},             // norms over all heads
      {"Gemma2ForCausalLM", kSmall + 4 * 2 * 64 - 64000},       // two norms more a layer, a tied head
  };
}

TEST(Architectures, NamesOfTheSameShape) {
  for (const auto& [name, expected] : second_names()) EXPECT_EQ(parameters(read(small(name))), expected) << name;
}

// The stem of a class: the longest known one it begins with.
std::string stem_of(const std::string& architecture) {
  std::string longest;
  for (const std::string& stem : supported_architectures())
    if (architecture.starts_with(stem) && stem.size() > longest.size()) longest = stem;
  return longest;
}

// Every class the reader knows is held against a count: here, or by the library's own tests.
TEST(Architectures, EveryKnownClassIsCountedSomewhere) {
  std::set<std::string> counted;
  for (const Published& row : all_rows()) counted.insert(stem_of(row.architecture));
  for (const auto& [name, expected] : second_names()) counted.insert(stem_of(name));
  for (const EmbeddedFile& file : embedded_model_files()) {
    const Json config = Json::parse(file.text);
    if (config.contains("architectures")) counted.insert(stem_of(config["architectures"][0].get<std::string>()));
  }
  counted.insert("GraniteMoeHybrid");  // by a test of its own, below
  for (const std::string& stem : supported_architectures()) EXPECT_TRUE(counted.contains(stem)) << stem;
}

const AttentionSpec& attention(const StackSpec& stack, std::size_t run) {
  return std::get<AttentionSpec>(stack.layers.at(run).layer.mixer);
}

TEST(Architectures, Granite4MixesMambaAttentionAndExperts) {
  Json tiny = {{"architectures", {"GraniteMoeHybridForCausalLM"}},
               {"hidden_size", 1536},
               {"num_hidden_layers", 40},
               {"num_attention_heads", 12},
               {"num_key_value_heads", 4},
               {"intermediate_size", 512},
               {"num_local_experts", 64},
               {"num_experts_per_tok", 6},
               {"shared_intermediate_size", 1024},
               {"position_embedding_type", "nope"},
               {"mamba_n_heads", 48},
               {"mamba_d_head", 64},
               {"mamba_n_groups", 1},
               {"mamba_d_state", 128},
               {"mamba_d_conv", 4},
               {"tie_word_embeddings", true},
               {"vocab_size", 100352}};
  for (int i = 0; i < 40; ++i) tiny["layer_types"].push_back(i % 10 == 5 ? "attention" : "mamba");
  const ModelSpec model = read(tiny);
  EXPECT_EQ(parameters(model), 6939037248) << "ibm-granite/granite-4.0-h-tiny";
  EXPECT_EQ(attention(*model.decoder, 1).rotary_dim, 0);

  Json micro = tiny;  // no experts and no Mamba: a Llama of the shared width
  micro.merge_patch({{"hidden_size", 2560},
                     {"num_attention_heads", 40},
                     {"num_key_value_heads", 8},
                     {"num_local_experts", 0},
                     {"shared_intermediate_size", 8192},
                     {"position_embedding_type", "rope"}});
  micro["layer_types"] = std::vector<std::string>(40, "attention");
  EXPECT_EQ(parameters(read(micro)), 3402836480) << "ibm-granite/granite-4.0-micro";
  micro["layer_types"][3] = "magic";
  EXPECT_THAT(spec_from_json(micro.dump(), "x").error().line(), HasSubstr("layer_types: unknown kind 'magic'"));
}

TEST(Architectures, ModernBertLooksAroundInTwoLayersOfThree) {
  const ModelSpec model = read(published("ModernBertModel", "answerdotai/ModernBERT-base"));
  const StackSpec& stack = *model.encoder;
  EXPECT_FALSE(stack.layers[0].layer.mixer_norm);
  EXPECT_EQ(attention(stack, 0).window, 0);
  EXPECT_EQ(attention(stack, 1).window, 129) << "64 to either side and itself";
  EXPECT_EQ(stack.layers[1].repeats, 2);
  EXPECT_EQ(attention(stack, 2).window, 0);
  Workload w;
  w.requests = {{1, 4096, 0}};
  const auto graph = build(model, w);
  ASSERT_TRUE(graph) << graph.error().line();
  bool first_layer_normed = false;
  Count windowed = 0;
  for (const Section& section : graph->sections)
    for (const Operator& op : section.operators) {
      if (section.name == "layer 1" && op.name == "mixer_norm") first_layer_normed = true;
      if (const auto* a = std::get_if<AttentionPrefill>(&op.shape); a && a->window == 129) windowed += section.repeats;
    }
  EXPECT_FALSE(first_layer_normed);
  EXPECT_EQ(windowed, 14);
}

TEST(Architectures, LayersThatDoNotRotate) {
  const Json windows = {{"sliding_window", 8}};
  for (const char* name : {"Cohere2ForCausalLM", "Exaone4ForCausalLM"}) {
    const ModelSpec model = read(small(name, windows));
    ASSERT_EQ(model.decoder->layers.size(), 2u) << name;
    EXPECT_EQ(attention(*model.decoder, 0).window, 8) << name;
    EXPECT_EQ(attention(*model.decoder, 0).rotary_dim, 16) << name;
    EXPECT_EQ(attention(*model.decoder, 1).window, 0) << name;
    EXPECT_EQ(attention(*model.decoder, 1).rotary_dim, 0) << name;
    EXPECT_EQ(attention(*read(small(name)).decoder, 0).rotary_dim, 16) << name << " without windows";
  }
  const ModelSpec smol = read(small("SmolLM3ForCausalLM", {{"no_rope_layers", {1, 0, 1, 1}}}));
  ASSERT_EQ(smol.decoder->layers.size(), 3u);
  EXPECT_EQ(attention(*smol.decoder, 1).rotary_dim, 0);
  EXPECT_EQ(smol.decoder->layers[2].repeats, 2);
  EXPECT_EQ(attention(*read(small("SmolLM3ForCausalLM")).decoder, 1).rotary_dim, 0) << "the fourth";
}

TEST(Architectures, GptNeoTakesTurns) {
  const ModelSpec model = read(published("GPTNeoForCausalLM", "EleutherAI/gpt-neo-125m"));
  EXPECT_EQ(attention(*model.decoder, 0).window, 0);
  EXPECT_EQ(attention(*model.decoder, 1).window, 256);
  Json odd = published("GPTNeoForCausalLM", "EleutherAI/gpt-neo-125m");
  odd["attention_types"] = {{{"global", "local"}, 5}};
  EXPECT_THAT(spec_from_json(odd.dump(), "x").error().line(),
              HasSubstr("attention_types: has 10 entries for 12 layers"));
  odd["attention_types"] = "global";
  EXPECT_THAT(spec_from_json(odd.dump(), "x").error().line(), HasSubstr("must be a list of [kinds, repeats]"));
}

TEST(Architectures, BaichuanRotatesAtOneWidthOnly) {
  const Json fields = {{"num_key_value_heads", nullptr}};
  EXPECT_EQ(read(small("BaichuanForCausalLM", fields)).decoder->positions, Positions::alibi);
  EXPECT_EQ(read(published("BaichuanForCausalLM", "baichuan-inc/Baichuan2-7B-Base")).decoder->positions,
            Positions::rope);
}

TEST(Architectures, AlbertsLayersShareTheirWeights) {
  const ModelSpec model = read(published("AlbertModel", "albert/albert-base-v2"));
  ASSERT_EQ(model.encoder->layers.size(), 2u);
  EXPECT_FALSE(model.encoder->layers[0].layer.borrowed);
  EXPECT_EQ(model.encoder->layers[1].repeats, 11);
  Workload w;
  w.requests = {{1, 128, 0}};
  auto graph = build(model, w), like_bert = build(read(published("RobertaForMaskedLM", "FacebookAI/roberta-base")), w);
  ASSERT_TRUE(graph && like_bert);
  const auto layers_flops = [](const Graph& g) {
    double sum = 0;
    for (const Section& s : g.sections)
      if (s.name.starts_with("layer"))
        for (const Operator& op : s.operators) sum += static_cast<double>(s.repeats) * model_flops(op);
    return sum;
  };
  EXPECT_EQ(layers_flops(*graph), layers_flops(*like_bert)) << "borrowed weights are multiplied by all the same";
}

// The text part of models with several senses. Files of such parts leave out what their class defaults to.
TEST(Wrappers, TheTextPartIsTheModel) {
  const auto wrapped = [](const char* architecture, const char* key, const Json& text) {
    return Json{{"architectures", {architecture}}, {"vision_config", {{"hidden_size", 7}}}, {key, text}};
  };
  const ModelSpec llava =
      read(wrapped("LlavaForConditionalGeneration", "text_config",
                   {{"model_type", "llama"}, {"max_position_embeddings", 4096}, {"vocab_size", 32064}}));
  EXPECT_EQ(parameters(llava), 6738939904) << "llava-hf/llava-1.5-7b-hf: Llama 2 7B with 64 more tokens";
  EXPECT_THAT(llava.left_out, ElementsAre("vision_config"));
  const ModelSpec next = read(wrapped(
      "LlavaNextForConditionalGeneration", "text_config",
      {{"model_type", "mistral"}, {"intermediate_size", 14336}, {"sliding_window", nullptr}, {"vocab_size", 32064}}));
  EXPECT_EQ(parameters(next), 7242256384) << "llava-hf/llava-v1.6-mistral-7b-hf";
  const ModelSpec pixtral = read(wrapped("LlavaForConditionalGeneration", "text_config",
                                         {{"model_type", "mistral"},
                                          {"head_dim", 128},
                                          {"hidden_size", 5120},
                                          {"intermediate_size", 14336},
                                          {"num_hidden_layers", 40},
                                          {"num_key_value_heads", 8},
                                          {"vocab_size", 131072}}));
  EXPECT_EQ(parameters(pixtral), 12247782400) << "mistral-community/pixtral-12b: Mistral Nemo";
  const ModelSpec pali = read(wrapped("PaliGemmaForConditionalGeneration", "text_config",
                                      {{"model_type", "gemma"},
                                       {"hidden_size", 2048},
                                       {"intermediate_size", 16384},
                                       {"num_attention_heads", 8},
                                       {"num_hidden_layers", 18},
                                       {"num_key_value_heads", 1},
                                       {"vocab_size", 257216}}));
  // The checkpoint, its image tower and the product between them.
  EXPECT_EQ(parameters(pali), 2923466480 - 412442352 - 2361344) << "google/paligemma-3b-pt-224";
  for (const auto& [outer, key, inner] : std::vector<std::tuple<const char*, const char*, const char*>>{
           {"Idefics3ForConditionalGeneration", "text_config", "llama"},
           {"SmolVLMForConditionalGeneration", "text_config", "llama"},
           {"InternVLForConditionalGeneration", "text_config", "llama"},
           {"InternVLChatModel", "llm_config", "llama"},
           {"DeepseekVLV2ForCausalLM", "language_config", "llama"},
           {"VoxtralForConditionalGeneration", "text_config", "llama"}}) {
    Json text = small("", {{"architectures", nullptr}, {"model_type", inner}});
    const ModelSpec model = read(wrapped(outer, key, text));
    EXPECT_EQ(parameters(model), kSmall) << outer;
    EXPECT_TRUE(model.lm_head) << outer;
  }
  Json omni = {{"architectures", {"Qwen2_5OmniModel"}}, {"model_type", "qwen2_5_omni"}};
  omni["thinker_config"] = {
      {"text_config", small("", {{"architectures", nullptr}, {"model_type", "qwen2_5_omni_text"}})},
      {"audio_config", {{"d_model", 7}}}};
  EXPECT_EQ(parameters(read(omni)), kSmall + kSmallQkvBias);
  EXPECT_THAT(read(omni).left_out, ElementsAre("audio_config"));
}

TEST(Wrappers, ErrorsNameThePart) {
  const Json config = {
      {"architectures", {"InternVLChatModel"}},
      {"llm_config", small("", {{"architectures", nullptr}, {"model_type", "qwen2"}, {"vocab_size", -1}})}};
  EXPECT_THAT(spec_from_json(config.dump(), "x").error().line(), HasSubstr("llm_config.vocab_size: must lie between"));
}

TEST(Refused, WithTheReasonAndAWayOut) {
  for (const auto& [name, reason] : std::vector<std::pair<const char*, const char*>>{
           {"MambaForCausalLM", "Mamba-1's scan has no kernel here"},
           {"JambaForCausalLM", "Mamba-1's scan has no kernel here"},
           {"DebertaV2ForMaskedLM", "attention to content and to position apart"},
           {"SwinForImageClassification", "windows over an image"},
           {"MllamaForConditionalGeneration", "layers that look at images"},
           {"Wav2Vec2ForCTC", "convolutions over raw sound"},
           {"ResNetForImageClassification", "ONNX files only"}}) {
    const auto result = spec_from_json(small(name).dump(), "config.json");
    ASSERT_FALSE(result) << name;
    const std::string line = result.error().line();
    EXPECT_THAT(line, HasSubstr(fmt::format("config.json: architectures: '{}' is not supported: ", name)));
    EXPECT_THAT(line, HasSubstr(reason)) << name;
    EXPECT_THAT(line, HasSubstr("export it to ONNX, or write it as a graph file")) << name;
  }
}

// Each of the new classes with one field at a time made absurd: a model or one line.
TEST(Refused, NoFieldOfTheseCanHurt) {
  for (const Published& row : all_rows()) {
    const Json whole = config_of(row);
    for (const auto& [key, value] : whole.items())
      for (const Json& wrong :
           {Json(), Json(0), Json(-1), Json(1 << 20), Json("x\ny"), Json::array(), Json::object()}) {
        Json spoilt = whole;
        spoilt[key] = wrong;
        const auto spec = spec_from_json(spoilt.dump(), "config.json");
        const std::string what = std::string(row.architecture) + ": " + key + " = " + wrong.dump();
        if (spec) {
          EXPECT_GE(parameters(*spec), 0) << what;
          EXPECT_LE(active_parameters(*spec), parameters(*spec)) << what;
        } else {
          EXPECT_EQ(spec.error().line().find('\n'), std::string::npos) << what;
        }
      }
  }
}

}  // namespace
}  // namespace tilecast
