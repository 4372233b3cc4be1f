"""A small mixture-of-experts decoder with random weights, and the operator its experts are.

Layers of Qwen3-235B-A22B as one of two ranks holds them: half of the heads, half of every expert's
width and of the vocabulary. What the ranks would exchange is left out.
"""

import os
import sys
from typing import Sequence

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tune"))

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

import configs  # noqa: E402
import fused_moe  # noqa: E402
from collect.models import inference  # noqa: E402
from collect.models.shapes import Shape  # noqa: E402

# https://huggingface.co/Qwen/Qwen3-235B-A22B/blob/main/config.json, over two ranks; `inter` is an expert's.
RANK = Shape("qwen3-235b-a22b-tp2", hidden=4096, layers=4, heads=32, kv_heads=2, head_dim=128, inter=768,
             vocab=75968, qk_norm=True, theta=1e6, eps=1e-6)
EXPERTS, TOPK = 128, 8


@torch.library.custom_op("tilecast::fused_moe", mutates_args=())
def moe_op(x: torch.Tensor, w13: torch.Tensor, w2: torch.Tensor, experts_of: torch.Tensor,
           weight: torch.Tensor, config: Sequence[int]) -> torch.Tensor:
    """An operator of PyTorch, as the engines' is, so that the trace has its shapes."""
    return fused_moe.fused_moe(x, w13, w2, experts_of, weight, configs.of(config))


class MoeDecoder(inference.Fused):
    """`choose(tokens, experts)` gives the configuration of a layer's two products."""

    def __init__(self, weights, choose):
        super().__init__(weights)
        self.choose = choose

    def forward(self, request):
        weights = self.weights
        residual, x = F.embedding(request.ids, weights.embedding), None
        for index, layer in enumerate(weights.layers):
            x = self.norm(residual, None, layer.attn_norm) if x is None else \
                self.norm(x, residual, layer.attn_norm)
            x = self.attention(layer, x, request, index)
            x = self.experts(layer, self.norm(x, residual, layer.mlp_norm))
        x = self.norm(x, residual, weights.norm)
        last = x.view(request.batch, request.steps, weights.shape.hidden)[:, -1]
        return torch.argmax(F.linear(last, weights.head), -1)

    def experts(self, layer, x):
        weight, chosen = route(layer, x)
        config = self.choose(x.shape[0], EXPERTS)
        return moe_op(x, layer.w13, layer.w2, chosen, weight, list(config.values()))


def route(layer, x):
    """A token's experts and their shares."""
    scores = torch.softmax(F.linear(x, layer.router), -1, dtype=torch.float32)
    weight, chosen = scores.topk(TOPK, dim=1)
    return weight / weight.sum(1, keepdim=True), chosen


def weights_of(shape):
    """Those of a dense decoder, experts in the place of its products."""
    weights = inference.Weights(shape)
    random = lambda *size: torch.empty(size, dtype=torch.bfloat16, device="cuda").normal_(0, 0.02)
    for layer in weights.layers:
        del layer.gate_up, layer.down, layer.gate, layer.up
        layer.router = random(EXPERTS, shape.hidden)
        layer.w13 = random(EXPERTS, 2 * shape.inter, shape.hidden)
        layer.w2 = random(EXPERTS, shape.hidden, shape.inter)
    return weights
