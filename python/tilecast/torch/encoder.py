"""PyTorch's fused encoder layer: the operators that `_transformer_encoder_layer_fwd` runs on a card.

`nn.TransformerEncoderLayer` takes it in inference, unless someone watches functions as recording does, so that it has to
be chosen here. The order of operators is that of aten/src/ATen/native/transformers/transformer.cpp and attention.cpp of
PyTorch 2.11. With a mask, its attention is made of products and a masked softmax, for which recording keeps the plain layer.
"""

from __future__ import annotations

import functools
from typing import Any, Optional

import torch
from torch import Tensor, nn

from .attention import attention

ops = torch.ops.aten


def applies(layer: nn.TransformerEncoderLayer, src: Tensor, *masks: Optional[Tensor]) -> bool:
    """As `TransformerEncoderLayer.forward` asks, of layers without a mask."""
    own = layer.self_attn
    learns = torch.is_grad_enabled() and any(parameter.requires_grad for parameter in layer.parameters())
    return not (learns or layer.training or any(mask is not None for mask in masks) or torch.is_autocast_enabled()) and \
        torch.backends.mha.get_fastpath_enabled() and src.dim() == 3 and own.batch_first and \
        own.in_proj_bias is not None and bool(own._qkv_same_embed_dim) and own.num_heads % 2 == 0 and \
        bool(layer.activation_relu_or_gelu) and layer.norm1.eps == layer.norm2.eps and src.device.type == "cuda"


def fused(layer: nn.TransformerEncoderLayer, src: Tensor, capability: tuple[int, int]) -> Tensor:
    first = layer.norm_first
    x = _self_attention(layer.self_attn, layer.norm1(src) if first else src, capability)
    x = x.add_(src)
    x = x if first else layer.norm1(x)
    up, down = layer.linear1, layer.linear2
    wide = ops._addmm_activation(up.bias, (layer.norm2(x) if first else x).flatten(0, 1), up.weight.t(),
                                 use_gelu=layer.activation_relu_or_gelu == 2)
    out = ops.addmm(down.bias, wide, down.weight.t()).view_as(x).add_(x)
    return out if first else layer.norm2(out)


def _self_attention(own: nn.MultiheadAttention, x: Tensor, capability: tuple[int, int]) -> Tensor:
    flat = ops.addmm(own.in_proj_bias, x.flatten(0, 1), own.in_proj_weight.t())
    parts = flat.view(*x.shape[:2], 3, own.num_heads, -1).permute(2, 0, 3, 1, 4)
    found = attention(parts[0], parts[1], parts[2], capability=capability)
    joined = found.transpose(1, 2).reshape(x.shape[0] * x.shape[1], x.shape[2])
    return ops.addmm(own.out_proj.bias, joined, own.out_proj.weight.t()).view_as(x)


def forward_as_fused(plain: Any, capability: tuple[int, int]) -> Any:
    """`TransformerEncoderLayer.forward` that takes the fused way where PyTorch would."""
    @functools.wraps(plain)
    def forward(self: nn.TransformerEncoderLayer, src: Tensor, src_mask: Optional[Tensor] = None,
                src_key_padding_mask: Optional[Tensor] = None, is_causal: bool = False) -> Any:
        if applies(self, src, src_mask, src_key_padding_mask):
            return fused(self, src, capability)
        return plain(self, src, src_mask, src_key_padding_mask, is_causal)
    return forward
