"""Programs on text and sound: models of transformers with random weights, adapters, recomputation."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from .work import DTYPES, Work, fused_adamw, own_loss, tokens


def _labelled(model: nn.Module, ids: Tensor, train: bool, **more: Any) -> Work:
    inputs: dict[str, Any] = {"input_ids": ids}
    if train:
        inputs["labels"] = ids
    return Work(model, inputs, own_loss if train else None, **more)


def bert(batch: int, length: int, size: str = "base", layers: int = 0, train: bool = False, dtype: str = "fp32",
         autocast: str = "") -> Work:
    import transformers as hf
    wide = {"base": (768, 12), "large": (1024, 24)}[size]
    config = hf.BertConfig(hidden_size=wide[0], num_hidden_layers=layers or wide[1], num_attention_heads=wide[0] // 64,
                           intermediate_size=4 * wide[0])
    return _labelled(hf.BertForMaskedLM(config), tokens(30522, batch, length), train, optimizer=fused_adamw,
                     autocast=DTYPES.get(autocast), dtype=DTYPES[dtype])


def t5(batch: int, source: int, target: int, train: bool) -> Work:
    import transformers as hf
    config = hf.T5Config(d_kv=64, decoder_start_token_id=0, d_model=768, d_ff=3072, num_layers=12, num_heads=12)
    model = hf.T5ForConditionalGeneration(config)
    inputs: dict[str, Any] = {"input_ids": tokens(32128, batch, source), "use_cache": False}
    inputs["labels" if train else "decoder_input_ids"] = tokens(32128, batch, target)
    return Work(model, inputs, own_loss if train else None, dtype=torch.bfloat16)


def gpt2(batch: int, length: int, layers: int = 24, train: bool = True, recompute: bool = False,
         autocast: bool = False, fused: bool = False) -> Work:
    import transformers as hf
    config = hf.GPT2Config(n_embd=1024, n_layer=layers, n_head=16, n_positions=max(1024, length), use_cache=False)
    model = hf.GPT2LMHeadModel(config)
    if recompute:
        model.gradient_checkpointing_enable()
    return _labelled(model, tokens(50257, batch, length), train, optimizer=fused_adamw if fused else None,
                     autocast=torch.bfloat16 if autocast else None,
                     dtype=torch.float32 if autocast else torch.bfloat16)


def _llama_config(layers: int, hidden: int) -> Any:
    import transformers as hf
    return hf.LlamaConfig(hidden_size=hidden, intermediate_size=4 * hidden, num_hidden_layers=layers,
                          num_attention_heads=hidden // 64, num_key_value_heads=8, vocab_size=32000,
                          max_position_embeddings=8192, use_cache=False)


def llama(batch: int, length: int, layers: int = 16, hidden: int = 2048, train: bool = False,
          recompute: bool = False) -> Work:
    import transformers as hf
    model = hf.LlamaForCausalLM(_llama_config(layers, hidden))
    if recompute:
        model.gradient_checkpointing_enable()
    return _labelled(model, tokens(32000, batch, length), train, optimizer=fused_adamw, dtype=torch.bfloat16)


class Adapter(nn.Module):
    """A frozen linear layer with a trained product of low rank beside it."""

    def __init__(self, base: nn.Linear, rank: int) -> None:
        super().__init__()
        self.base = base
        self.down = nn.Linear(base.in_features, rank, bias=False)
        self.up = nn.Linear(rank, base.out_features, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.base(x) + self.up(self.down(x)) * 2.0


def lora(batch: int, length: int, layers: int = 16, rank: int = 16) -> Work:
    import transformers as hf
    model = hf.LlamaForCausalLM(_llama_config(layers, 2048))
    model.requires_grad_(False)
    for layer in model.model.layers:
        for name in ("q_proj", "v_proj"):
            setattr(layer.self_attn, name, Adapter(getattr(layer.self_attn, name), rank))
    return _labelled(model, tokens(32000, batch, length), True, dtype=torch.bfloat16)


def qwen_moe(batch: int, length: int, layers: int, train: bool = False) -> Work:
    import transformers as hf
    config = hf.Qwen3MoeConfig(hidden_size=2048, num_hidden_layers=layers, num_attention_heads=32,
                               num_key_value_heads=4, head_dim=128, intermediate_size=6144, moe_intermediate_size=768,
                               num_experts=64, num_experts_per_tok=8, vocab_size=32000, decoder_sparse_step=1,
                               use_cache=False)
    model = hf.Qwen3MoeForCausalLM(config)
    return _labelled(model, tokens(32000, batch, length), train, optimizer=fused_adamw, dtype=torch.bfloat16)


def mamba(batch: int, length: int, layers: int) -> Work:
    import transformers as hf
    config = hf.Mamba2Config(hidden_size=768, num_hidden_layers=layers, num_heads=24, head_dim=64, state_size=128,
                             expand=2, n_groups=1, chunk_size=256, vocab_size=32000, use_cache=False)
    return _labelled(hf.Mamba2ForCausalLM(config), tokens(32000, batch, length), False, dtype=torch.bfloat16)


def whisper(batch: int, length: int, train: bool) -> Work:
    import transformers as hf
    config = hf.WhisperConfig(d_model=768, encoder_layers=12, decoder_layers=12, encoder_attention_heads=12,
                              decoder_attention_heads=12, encoder_ffn_dim=3072, decoder_ffn_dim=3072,
                              num_mel_bins=80, use_cache=False)
    model = hf.WhisperForConditionalGeneration(config)
    inputs: dict[str, Any] = {"input_features": torch.randn(batch, 80, 3000)}
    inputs["labels" if train else "decoder_input_ids"] = tokens(51865, batch, length)
    return Work(model, inputs, own_loss if train else None, fused_adamw, torch.bfloat16 if train else None,
                torch.float32 if train else torch.float16)


def wav2vec2(batch: int, seconds: int) -> Work:
    import transformers as hf
    model = hf.Wav2Vec2Model(hf.Wav2Vec2Config(mask_time_prob=0.0))
    return Work(model, {"input_values": torch.randn(batch, 16000 * seconds)}, dtype=torch.float16)


def encoder(batch: int, length: int, train: bool) -> Work:
    """PyTorch's own encoder layers."""
    layer = nn.TransformerEncoderLayer(1024, 16, 4096, batch_first=True, norm_first=True, activation="gelu")
    model = nn.TransformerEncoder(layer, 12, enable_nested_tensor=False)
    loss = (lambda out: out.float().square().mean()) if train else None
    return Work(model, {"src": torch.randn(batch, length, 1024)}, loss, dtype=torch.bfloat16)
