// Popular architectures that cannot be expressed with the operators here. A forecast that left out what is special
// about them would be silently wrong, so they are rejected with the reason.
#include "model/families.h"
#include "support/text.h"

namespace tilecast {
namespace {

struct Refused {
  std::string_view stem, why;
};

constexpr std::string_view kMamba1 = "Mamba-1's scan has no kernel here (Mamba-2's has: Mamba2, Bamba, NemotronH)";
constexpr std::string_view kTwoMixers = "attention and Mamba side by side in one layer cannot be expressed";
constexpr std::string_view kShifted = "windows over an image that shift or merge have no operator here";
constexpr std::string_view kApart = "attention to content and to position apart has no operator here";
constexpr std::string_view kSparse = "sparse attention by blocks has no operator here";
constexpr std::string_view kWaves = "convolutions over raw sound cannot be expressed as a configuration";
constexpr std::string_view kRecurrent = "its recurrence has no kernel here";
constexpr std::string_view kConvolutions = "networks of convolutions come as ONNX files only";

constexpr Refused kRefused[] = {
    {"Mamba", kMamba1},
    {"FalconMamba", kMamba1},
    {"Jamba", kMamba1},
    {"Zamba", kMamba1},
    {"Zamba2", "attention that many layers share, each with weights added, cannot be expressed"},
    {"FalconH1", kTwoMixers},
    {"Hymba", kTwoMixers},
    {"Rwkv", kRecurrent},
    {"Rwkv5", kRecurrent},
    {"RecurrentGemma", kRecurrent},
    {"xLSTM", kRecurrent},
    {"RetNet", kRecurrent},
    {"Lfm2", "its short convolutions between gates have no operator here"},
    {"MiniMax", "its lightning attention has no kernel here (MiniMaxM2 has none of it)"},
    {"MiniMaxText01", "its lightning attention has no kernel here (MiniMaxM2 has none of it)"},
    {"MiniMaxM1", "its lightning attention has no kernel here (MiniMaxM2 has none of it)"},
    {"Arctic", "experts and a dense part beside each other, each with a norm, cannot be expressed"},
    {"Gemma3n", "its several streams and embeddings of every layer cannot be expressed (Gemma3 can)"},
    {"Mllama", "layers that look at images instead of tokens cannot be expressed (Llama can)"},
    {"Idefics", "layers that look at images instead of tokens cannot be expressed (Idefics2 and 3 can)"},
    {"Phi3Small", kSparse},
    {"BigBird", kSparse},
    {"Longformer", kSparse},
    {"LED", kSparse},
    {"Deberta", kApart},
    {"DebertaV2", kApart},
    {"XLNet", kApart},
    {"Funnel", kApart},
    {"MobileBert", "bottlenecks around every layer cannot be expressed"},
    {"UMT5", "a table of distances in every layer cannot be expressed (T5's first layer alone has one)"},
    {"Swin", kShifted},
    {"Swinv2", kShifted},
    {"Segformer", kShifted},
    {"Beit", "a table of distances in every layer cannot be expressed (ViT can)"},
    {"Siglip", "its pooling by attention cannot be expressed (CLIP can)"},
    {"Siglip2", "its pooling by attention cannot be expressed (CLIP can)"},
    {"Wav2Vec2", kWaves},
    {"Hubert", kWaves},
    {"WavLM", kWaves},
    {"ResNet", kConvolutions},
    {"ConvNext", kConvolutions},
    {"ConvNextV2", kConvolutions},
    {"EfficientNet", kConvolutions},
    {"MobileNetV2", kConvolutions},
};

}  // namespace

std::string_view why_not(std::string_view stem) {
  stem = stem.substr(0, stem.find("For"));  // endings of classes nobody here knows: Wav2Vec2ForCTC
  for (const Refused& refused : kRefused)
    if (name_key(refused.stem) == name_key(stem)) return refused.why;
  return {};
}

}  // namespace tilecast
