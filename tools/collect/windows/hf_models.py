"""Models of transformers with random weights, built from their configurations on the card."""

import torch
import transformers as hf


def _ids(vocab, batch, length):
    return torch.randint(10, vocab - 10, (batch, length), device="cuda")


def _pixels(batch, side=224):
    return torch.randn(batch, 3, side, side, device="cuda")


def vit(size):
    config = hf.ViTConfig() if size == "base" else hf.ViTConfig(
        hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096)
    config.num_labels = 1000
    return hf.ViTForImageClassification(config), lambda b: {"pixel_values": _pixels(b)}


def siglip():
    config = hf.SiglipVisionConfig(hidden_size=1152, intermediate_size=4304, num_hidden_layers=27,
                                   num_attention_heads=16, image_size=384, patch_size=14)
    return hf.SiglipVisionModel(config), lambda b: {"pixel_values": _pixels(b, 384)}


def convnext():
    config = hf.ConvNextConfig(depths=[3, 3, 27, 3], hidden_sizes=[128, 256, 512, 1024])
    config.num_labels = 1000
    return hf.ConvNextForImageClassification(config), lambda b: {"pixel_values": _pixels(b)}


def swin():
    config = hf.SwinConfig(embed_dim=128, depths=[2, 2, 18, 2], num_heads=[4, 8, 16, 32])
    config.num_labels = 1000
    return hf.SwinForImageClassification(config), lambda b: {"pixel_values": _pixels(b)}


def resnet():
    config = hf.ResNetConfig()
    config.num_labels = 1000
    return hf.ResNetForImageClassification(config), lambda b: {"pixel_values": _pixels(b)}


def _whisper_config(size):
    if size == "small":
        return hf.WhisperConfig(d_model=768, encoder_layers=12, decoder_layers=12,
                                encoder_attention_heads=12, decoder_attention_heads=12,
                                encoder_ffn_dim=3072, decoder_ffn_dim=3072, num_mel_bins=80)
    return hf.WhisperConfig(d_model=1280, encoder_layers=32, decoder_layers=32,
                            encoder_attention_heads=20, decoder_attention_heads=20,
                            encoder_ffn_dim=5120, decoder_ffn_dim=5120, num_mel_bins=128)


def whisper_encoder(size):
    config = _whisper_config(size)
    model = hf.WhisperModel(config).encoder
    sound = lambda b: torch.randn(b, config.num_mel_bins, 3000, device="cuda")
    return model, lambda b: {"input_features": sound(b)}


def whisper_decoder(size, new):
    config = _whisper_config(size)
    model = hf.WhisperModel(config).decoder
    return model, lambda b: {"input_ids": _ids(config.vocab_size, b, new), "use_cache": False,
                             "encoder_hidden_states": torch.randn(b, 1500, config.d_model,
                                                                  device="cuda")}


def wav2vec2():
    model = hf.Wav2Vec2Model(hf.Wav2Vec2Config())
    return model, lambda b: {"input_values": torch.randn(b, 160000, device="cuda")}


def t5(size):
    wide = {"base": dict(d_model=768, d_ff=3072, num_layers=12, num_heads=12),
            "large": dict(d_model=1024, d_ff=4096, num_layers=24, num_heads=16)}[size]
    config = hf.T5Config(d_kv=64, decoder_start_token_id=0, **wide)
    return hf.T5ForConditionalGeneration(config), lambda b: {
        "input_ids": _ids(config.vocab_size, b, 512), "use_cache": False,
        "decoder_input_ids": _ids(config.vocab_size, b, 128)}


def bart():
    config = hf.BartConfig()  # the large model
    return hf.BartForConditionalGeneration(config), lambda b: {
        "input_ids": _ids(config.vocab_size, b, 512), "use_cache": False,
        "decoder_input_ids": _ids(config.vocab_size, b, 128)}


def bert(size, length=512):
    config = hf.BertConfig() if size == "base" else hf.BertConfig(
        hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096)
    return hf.BertForMaskedLM(config), lambda b: {"input_ids": _ids(config.vocab_size, b, length)}


def gpt2():
    config = hf.GPT2Config(n_embd=1024, n_layer=24, n_head=16)
    return hf.GPT2LMHeadModel(config), lambda b: {"input_ids": _ids(50257, b, 512),
                                                  "use_cache": False}


def llama():
    config = hf.LlamaConfig(hidden_size=2048, intermediate_size=8192, num_hidden_layers=16,
                            num_attention_heads=32, num_key_value_heads=8, vocab_size=128256,
                            max_position_embeddings=8192, tie_word_embeddings=True)
    return hf.LlamaForCausalLM(config), lambda b: {"input_ids": _ids(128256, b, 512),
                                                   "use_cache": False}


def qwen2():
    config = hf.Qwen2Config(hidden_size=896, intermediate_size=4864, num_hidden_layers=24,
                            num_attention_heads=14, num_key_value_heads=2, vocab_size=151936,
                            tie_word_embeddings=True)
    return hf.Qwen2ForCausalLM(config), lambda b: {"input_ids": _ids(151936, b, 512),
                                                   "use_cache": False}


def _tokens_as_labels(inputs):
    return {**inputs, "labels": inputs["input_ids"]}


def _classes(inputs):
    batch = inputs["pixel_values"].shape[0]
    return {**inputs, "labels": torch.randint(0, 1000, (batch,), device="cuda")}


def _answers(inputs):
    rest = {key: value for key, value in inputs.items() if key != "decoder_input_ids"}
    return {**rest, "labels": inputs["decoder_input_ids"]}


# name -> (builder, tokens or frames a sample, batches, labels for training or None)
MODELS = {
    "vit-base": (lambda: vit("base"), 197, (1, 8, 64), _classes),
    "bert-base": (lambda: bert("base"), 512, (1, 8, 32), _tokens_as_labels),
    "whisper-small-encoder": (lambda: whisper_encoder("small"), 1500, (1, 8), None),
    "whisper-small-decoder": (lambda: whisper_decoder("small", 1), 1, (1, 8), None),
    "t5-base": (lambda: t5("base"), 640, (1, 8), _answers),
    "swin-base": (swin, 3136, (1, 8, 64), _classes),
    "convnext-base": (convnext, 3136, (1, 8, 64), _classes),
    "gpt2-medium": (gpt2, 512, (1, 8), _tokens_as_labels),
    "llama-3.2-1b": (llama, 512, (1, 8), _tokens_as_labels),
    "qwen2.5-0.5b": (qwen2, 512, (1, 8), None),
    "vit-large": (lambda: vit("large"), 197, (1, 8, 64), None),
    "bert-large": (lambda: bert("large"), 512, (1, 8, 32), _tokens_as_labels),
    "bert-base-128": (lambda: bert("base", 128), 128, (1, 64), None),
    "siglip-so400m": (siglip, 729, (1, 8, 32), None),
    "whisper-large-encoder": (lambda: whisper_encoder("large"), 1500, (1, 8), None),
    "whisper-large-decoder": (lambda: whisper_decoder("large", 1), 1, (1, 8), None),
    "whisper-large-decoder-64": (lambda: whisper_decoder("large", 64), 64, (8,), None),
    "t5-large": (lambda: t5("large"), 640, (1, 8), None),
    "bart-large": (bart, 640, (1, 8), _answers),
    "wav2vec2-base": (wav2vec2, 499, (1, 8), None),
    "resnet-50": (resnet, 0, (1, 8, 64), _classes),
}

# While a stream is being captured, transformers hands attention a mask that it otherwise leaves
# out, so that other kernels run in the graph than in the plain step.
MASKED_IN_GRAPHS = {"vit-base", "vit-large", "bert-base", "bert-large", "bert-base-128", "bart-large",
                    "gpt2-medium", "llama-3.2-1b", "qwen2.5-0.5b"}


def build(name, dtype):
    """(model, inputs(batch)) on the card; floating inputs follow the type."""
    with torch.device("cuda"):
        model, inputs = MODELS[name][0]()
    kind = torch.bfloat16 if dtype == "bf16" else torch.float32
    model = model.to(kind).eval()  # eval: no dropout, in training steps too

    def cast(batch):
        return {key: value.to(kind) if torch.is_tensor(value) and value.is_floating_point()
                else value for key, value in inputs(batch).items()}
    return model, cast
