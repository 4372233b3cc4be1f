"""Which kernel `scaled_dot_product_attention` runs on a card, as PyTorch chooses it.

The order is that of PyTorch 2.11 (aten/src/ATen/native/transformers/cuda/sdp_utils.cpp): cuDNN first on compute capability
9.0 and 10.0 where it is newer than 9.15, then flash, memory-efficient, plain products.
"""

from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor

# PyTorch 2.4 has cuDNN's kernel without masks and without sizes of its results, and runs it only when asked to; flash is next.
CUDNN = "attn_bias" in {argument.name for argument in torch.ops.aten._scaled_dot_product_cudnn_attention.default._schema.arguments}
HALF = (torch.float16, torch.bfloat16)
ops = torch.ops.aten


def backend(query: Tensor, key: Tensor, value: Tensor, mask: Optional[Tensor], capability: tuple[int, int]) -> str:
    """cudnn | flash | efficient | math"""
    if query.dim() != 4 or query.dtype not in (*HALF, torch.float32):
        return "math"
    width, alike = query.shape[-1], query.shape[-1] == value.shape[-1]
    half = query.dtype in HALF and key.dtype == query.dtype == value.dtype
    dense = all(t.stride(-1) == 1 for t in (query, key, value))
    dense_mask = mask is None or mask.stride(-1) == 1
    learned = mask is not None and mask.requires_grad and torch.is_grad_enabled()  # cuDNN's has no derivative
    if CUDNN and half and alike and dense and dense_mask and not learned and capability in ((9, 0), (10, 0)):
        if width <= 256 and width % 8 == 0:
            return "cudnn"
    if half and alike and dense and mask is None and capability >= (8, 0) and width <= 256:
        return "flash"
    step = 8 if half else 4
    if dense and dense_mask and query.shape[1] == key.shape[1] and width % step == 0 and value.shape[-1] % step == 0:
        return "efficient"
    return "math"


def attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Optional[Tensor] = None, dropout_p: float = 0.0,
              is_causal: bool = False, scale: Optional[float] = None, enable_gqa: bool = False, *,
              capability: tuple[int, int] = (9, 0)) -> Tensor:
    """The call, lowered to the operator of the chosen backend."""
    chosen = backend(query, key, value, attn_mask, capability)
    if chosen == "math":
        grouped = {"enable_gqa": True} if enable_gqa else {}  # 2.4 does not know the word
        with torch.autocast(query.device.type, enabled=False):  # it casts the call's operands, not the products inside
            return ops._scaled_dot_product_attention_math(query, key, value, attn_mask, dropout_p, is_causal, None,
                                                          scale=scale, **grouped)[0]
    if chosen == "flash":
        return _flash(query, key, value, dropout_p, is_causal, scale)
    saves = torch.is_grad_enabled() and any(t.requires_grad for t in (query, key, value))
    bias = _bias(attn_mask, query, key)
    if chosen == "cudnn":
        return ops._scaled_dot_product_cudnn_attention(query, key, value, bias, saves, dropout_p, is_causal, False,
                                                       scale=scale)[0]
    return ops._scaled_dot_product_efficient_attention(query, key, value, bias, saves, dropout_p, is_causal,
                                                       scale=scale)[0]


def _flash(query: Tensor, key: Tensor, value: Tensor, dropout: float, causal: bool, scale: Optional[float]) -> Tensor:
    width = query.shape[-1]
    if width % 8:
        fill = 8 - width % 8
        query, key, value = (torch.nn.functional.pad(t, (0, fill)) for t in (query, key, value))
        scale = scale if scale is not None else width ** -0.5
    out: Any = ops._scaled_dot_product_flash_attention(query, key, value, dropout, causal, False, scale=scale)[0]
    return out[..., :width] if width % 8 else out


def _bias(mask: Optional[Tensor], query: Tensor, key: Tensor) -> Optional[Tensor]:
    """A mask of truths becomes one of numbers, and every mask spans all heads."""
    if mask is None:
        return None
    if mask.dtype == torch.bool:
        zero = torch.zeros((), dtype=query.dtype, device=query.device)
        mask = torch.where(mask, zero, float("-inf"))
    return mask.expand(query.shape[0], query.shape[1], query.shape[2], key.shape[2])
