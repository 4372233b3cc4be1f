"""Recurrent layers as cuDNN runs them: one operator for all layers and times."""

from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor

MODES = {"rnn_relu": 0, "rnn_tanh": 1, "lstm": 2, "gru": 3}  # cuDNN's numbers of the cells (cudnnRNNMode_t)
_library: Optional[Any] = None


def recurrent(kind: str, x: Tensor, state: Any, weights: list[Tensor], biases: bool, layers: int, dropout: float,
              train: bool, bidirectional: bool, batch_first: bool) -> Any:
    """`torch.lstm`, `torch.gru` and the plain cells on a padded batch."""
    _teach()
    hidden, cell = (state[0], state[1]) if kind == "lstm" else (state, None)
    width = hidden.shape[-1]
    buffer = torch.empty(sum(weight.numel() for weight in weights), dtype=x.dtype, device=x.device)
    out = torch.ops.aten._cudnn_rnn(x, weights, 4 if biases else 2, buffer, hidden, cell, MODES[kind], width, 0, layers,
                                    batch_first, dropout, train, bidirectional, [], None)
    return (out[0], out[1], out[2]) if kind == "lstm" else (out[0], out[1])


def _teach() -> None:
    """PyTorch has no shapes for the backward operator of its own."""
    global _library
    if _library is None:
        _library = torch.library.Library("aten", "IMPL", "Meta")
        _library.impl("_cudnn_rnn_backward", _backward_shapes)


def _backward_shapes(x: Tensor, weight: list[Tensor], stride: int, buffer: Tensor, hx: Tensor, cx: Optional[Tensor],
                     *_: Any) -> Any:
    return (torch.empty_like(x), torch.empty_like(hx), torch.empty_like(hx if cx is None else cx),
            [torch.empty_like(one) for one in weight])
