// A transformer by its sizes: what a Hugging Face config.json says, in one form for all architectures.
//
// model/config.h reads it from JSON; model/build.h turns it into operators for a workload.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "model/wide_products.h"
#include "tilecast/train.h"
#include "tilecast/units.h"

namespace tilecast {

enum class NormKind : std::uint8_t { none, rms, layer };
enum class Positions : std::uint8_t { none, learned, rope, alibi, relative };
// `gelu_tanh` is GPT-2's, written as eight pointwise kernels by Hugging Face ("gelu_new"); `gelu` has one kernel.
enum class ActivationKind : std::uint8_t { relu, relu_squared, gelu, gelu_tanh, silu };

// Softmax attention over keys and values, grouped or not.
struct AttentionSpec {
  Count heads = 0, kv_heads = 0;
  Count head_dim = 0, v_head_dim = 0;  // v_head_dim 0: as head_dim
  Count window = 0;                    // keys a query sees at most, itself included; 0: all
  bool causal = true;
  bool q_bias = false, kv_bias = false, out_bias = false;
  bool key_bias = true;       // with kv_bias: Whisper has none on its keys
  bool qk_norm = false;       // a norm over each head of queries and keys (Qwen 3, Gemma 3)
  bool qk_norm_wide = false;  // ... over all heads at once instead (OLMo 2, MiniMax M2)
  bool qk_norm_scale = true;  // that norm has weights (Llama 4's has none)
  bool qk_norm_each = false;  // every head has weights of its own for it (Cohere, StableLM)
  NormKind qk_norm_kind = NormKind::rms;
  bool qk_norm_bias = false;   // LayerNorm's shift (Persimmon)
  bool gate = false;           // the output is gated by a second half of the query projection (Qwen3-Next)
  bool sinks = false;          // one learned logit per head (gpt-oss)
  Count rotary_dim = 0;        // of head_dim; 0: none
  Count relative_buckets = 0;  // T5: a table of biases (first layer only owns it)
  bool fused_qkv = false;      // one projection in the checkpoint (GPT-2, BLOOM, Falcon, Phi-3)
  Count value_dim() const { return v_head_dim > 0 ? v_head_dim : head_dim; }
  friend bool operator==(const AttentionSpec&, const AttentionSpec&) = default;
};

// Multi-head latent attention (DeepSeek V2/V3, Kimi K2, GLM 5).
struct MlaSpec {
  Count heads = 0;
  Count q_rank = 0;  // 0: queries are projected straight
  Count kv_rank = 512;
  Count nope_dim = 128, rope_dim = 64, v_dim = 128;
  // DeepSeek Sparse Attention: a small indexer picks the keys (0: none).
  Count index_heads = 0, index_dim = 0, index_topk = 0;
  friend bool operator==(const MlaSpec&, const MlaSpec&) = default;
};

enum class ScanRule : std::uint8_t { gated_delta, kda, mamba2 };
// Linear attention and state-space mixers (Qwen3-Next, Kimi Linear, Nemotron-H, Mamba-2).
struct ScanSpec {
  ScanRule rule = ScanRule::gated_delta;
  Count heads = 0, head_dim = 0;     // values
  Count key_heads = 0, key_dim = 0;  // keys; Mamba-2: groups and state
  Count conv_width = 4;
  bool conv_bias = false;
  bool bias = false;  // on the products in and out; Mamba-2 alone
  // Gated delta: the output gate and the two numbers of a head have matrices of their own (Qwen 3.5), where Qwen3-Next
  // has one for all that is as wide as keys and values, and one for the numbers.
  bool apart = false;
  friend bool operator==(const ScanSpec&, const ScanSpec&) = default;
};

struct MlpSpec {
  Count inter = 0;
  bool gated = true;
  ActivationKind activation = ActivationKind::silu;
  bool bias = false;
  friend bool operator==(const MlpSpec&, const MlpSpec&) = default;
};

struct MoeSpec {
  Count experts = 0, topk = 0;
  Count inter = 0;
  bool gated = true;
  ActivationKind activation = ActivationKind::silu;
  bool bias = false;         // on the experts' products
  bool router_bias = false;  // or a correction bias per expert (DeepSeek V3)
  Count shared_inter = 0;    // all shared experts together; 0: none
  bool shared_gate = false;  // the shared expert is gated by a projection to one number (Qwen 2 MoE)
  // Routing limited to groups (DeepSeek): experts are divided into `groups`, and a token's experts all lie in
  // `topk_groups` of them.
  Count groups = 1, topk_groups = 1;
  Count capacity = 0;  // tokens an expert takes of each sequence, the others skip it (Switch); 0: all
  // Of a rank (parallel/split.h): those that share the experts and an expert's width, and how many times the rank's own
  // tokens are routed among them.
  Count ep = 1, tp = 1;
  double gathered = 1;
  friend bool operator==(const MoeSpec&, const MoeSpec&) = default;
};

using Mixer = std::variant<std::monostate, AttentionSpec, MlaSpec, ScanSpec>;
using FeedForward = std::variant<std::monostate, MlpSpec, MoeSpec>;

// Where a layer's norms are.
enum class NormPlace : std::uint8_t {
  before,      // before mixer and feed-forward (most)
  after,       // after each residual sum (BERT, the first OPT-350m)
  both,        // before each, and after each before the sum (Gemma 2 and 3)
  after_only,  // after each, before the sum (OLMo 2)
  shared,      // one norm feeds mixer and feed-forward side by side (GPT-J, Falcon-7B, Phi-2)
  parallel,    // two norms side by side (Falcon-40B, GPT-NeoX)
};

struct LayerSpec {
  Mixer mixer;
  std::optional<AttentionSpec> cross;  // decoder of an encoder-decoder model
  FeedForward feed_forward;
  bool mixer_norm = true;  // ModernBERT's first layer has none, coming right after the embeddings' own
  bool borrowed = false;   // its weights are those of the layer before (ALBERT)
  bool wide = false;       // its products stay in the type of activations where a training's others are narrower
  WideProducts unquantised = {};
  friend bool operator==(const LayerSpec&, const LayerSpec&) = default;
};
struct LayerRun {
  LayerSpec layer;
  Count repeats = 1;
};

struct StackSpec {
  Count hidden = 0;
  std::vector<LayerRun> layers;  // in order
  NormKind norm = NormKind::rms;
  bool norm_bias = false;    // LayerNorm's shift; RMSNorm has none
  bool norm_scale = true;    // OLMo's first LayerNorm has no weights at all
  bool layer_scale = false;  // what a block adds to the stream is scaled by a learned vector first (DINOv2)
  NormPlace place = NormPlace::before;
  bool final_norm = true;
  bool embedding_norm = false;  // a norm right after the embeddings (BERT, BLOOM)
  Positions positions = Positions::rope;
  Count max_positions = 0;  // rows of a learned table (its offset included: OPT has two more)
  Count token_types = 0;    // BERT
  Count embedding_dim = 0;  // where it is not `hidden` (OPT-350m): projected in and out
  bool factored = false;    // with it: all tables and their norm are as narrow, and the head too (ALBERT, ELECTRA)
  Count layer_count() const {
    Count n = 0;
    for (const LayerRun& run : layers) n += run.repeats;
    return n;
  }
};

// What comes before a stack that does not read tokens.
struct PatchFrontend {  // ViT, CLIP's images
  Count image = 224, patch = 16, channels = 3;
  bool class_token = true;
  bool bias = true;
  Count more_tokens = 0;       // learned ones beside the class token: DeiT's for distillation, registers
  bool more_positions = true;  // those have positions as well; registers do not
  bool mask_token = false;     // one that only training uses (DINOv2)
  Count positions() const {
    return (image / patch) * (image / patch) + (class_token ? 1 : 0) + (more_positions ? more_tokens : 0);
  }
  Count tokens() const { return positions() + (more_positions ? 0 : more_tokens); }
  Count learned_tokens() const { return (class_token ? 1 : 0) + more_tokens + (mask_token ? 1 : 0); }
};
struct AudioFrontend {  // Whisper: two convolutions over mel bins, the second halves the frames
  Count mel_bins = 80, frames = 3000;
};

// Which products of a quantised checkpoint hold quantised weights; the others are kept in the checkpoint's own type.
// Embeddings, routers, gates and heads are never quantised.
struct QuantizedParts {
  bool attention = true;  // projections into and out of attention, linear attention and state spaces
  bool mlp = true;        // dense feed-forward layers
  bool shared = true;     // shared experts
  bool experts = true;
  friend bool operator==(const QuantizedParts&, const QuantizedParts&) = default;
};

// Adapters of low rank beside frozen products (LoRA).
struct AdapterSpec {
  Count rank = 16;
  AdapterTargets targets = AdapterTargets::all;
  bool packed = false;  // the frozen products' weights are kept in four bits (QLoRA)
};

// Multi-token prediction: heads that each predict one token further.
struct AheadSpec {
  Count heads = 0;
  Count parts = 1;  // ranks that share the product in front of each head's layer
};

struct ModelSpec;
// The tower that encodes images before the text tokens, at the largest image it accepts.
struct TowerSpec {
  std::shared_ptr<const ModelSpec> encoder;  // one pass of it
  Count passes = 1;
  Count tokens = 0;  // that the image becomes
};

struct ModelSpec {
  std::string name;          // as the user gave it
  std::string architecture;  // "LlamaForCausalLM"
  Count vocab = 0;           // 0: no tokens (ViT)
  std::optional<StackSpec> encoder, decoder;
  std::optional<PatchFrontend> patches;  // in front of the encoder
  std::optional<AudioFrontend> audio;
  bool lm_head = true;
  bool tied_head = false;  // the head's matrix is the embedding's
  bool head_bias = false;
  bool head_transform = false;  // BERT's masked-LM head: dense, activation, norm before the vocabulary
  bool transform_bias = true;   // that dense product has a bias (not ModernBERT's)
  bool pooler = false;          // BERT: dense and tanh over the first token, or over all with `token_classes`
  Count classes = 0;            // a classifier instead of a vocabulary (BertForPreTraining has both)
  bool token_classes = false;   // of every token, not of the sequence
  Count class_tokens = 1;       // tokens side by side that the classifier reads (DINOv2: the first and the mean)
  Count classifiers = 1;        // DeiT has two: of the class token and of the distilled one
  Count projection = 0;         // CLIP: each tower ends in a product to this width
  Count max_context = 0;        // positions the model was made for; 0: not said
  std::string dtype = "bf16";   // of the checkpoint
  std::string quantization;     // format of quantised weights in the checkpoint ("fp8_block"), or empty
  QuantizedParts quantized;     // ... which of them, but for LayerSpec::unquantised
  std::vector<std::string> quantization_notes;  // ... what is to be said of that
  Count quantization_group = 0;                 // ... weights that share a scale; 0: as the format has it
  bool fp8_cache = false;                       // the checkpoint asks for keys and values in fp8
  std::optional<AdapterSpec> adapters;          // training: all else is frozen
  AheadSpec ahead;                              // training: forward passes of other kinds leave them out
  std::optional<TowerSpec> tower;               // engines load it with the text part
  std::vector<std::string> left_out;            // parts of the checkpoint that are not modelled: "vision_config"
};

Count parameters(const ModelSpec& spec);
// The parameters that one token's pass multiplies, without experts it does not visit and the embedding table.
Count active_parameters(const ModelSpec& spec);

// More is taken for a mistake: two hundred times
// the largest published.
inline constexpr double kMostParameters = 1e15;

// T5's table of biases belongs to the first layer of a stack and is used by all.
Count relative_table(const StackSpec& stack);

struct CachePart {
  Count per_token = 0;  // elements of all layers alike
  Count window = 0;     // tokens kept at most; 0: all
};
struct CacheNeed {               // what a sequence keeps for its next tokens
  std::vector<CachePart> parts;  // one for each window in use
  Count state = 0;               // elements of a sequence whatever its length: states of linear attention, in fp32
  Count per_source_token = 0;    // keys and values of cross-attention, for each token of the encoder
};
CacheNeed cache_need(const ModelSpec& spec);

}  // namespace tilecast
