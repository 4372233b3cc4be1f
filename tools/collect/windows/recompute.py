"""Blocks of a decoder and what is recomputed of them in the backward pass.

full: every block. alternate: the first, third, ... block. attention: the attention kernel alone. ops: in every
block all operators but attention and every second product, whose results are kept.
"""

import torch
import torch.nn.functional as F
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

from ..models.inference import rotate
from ..models.training import LlamaBlock

ATTENTION = [torch.ops.aten._scaled_dot_product_flash_attention.default,
             torch.ops.aten._scaled_dot_product_cudnn_attention.default,
             torch.ops.aten._scaled_dot_product_efficient_attention.default]


def attend(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=q.shape[1] != k.shape[1])


def again(function, *inputs, **more):
    return checkpoint(function, *inputs, use_reentrant=False, preserve_rng_state=False, **more)


def policy_of_ops():
    """A policy with a count of products of its own, for forward and recomputation apart."""
    seen = {"forward": 0, "recompute": 0}

    def policy(context, op, *args, **kwargs):
        if op in ATTENTION:
            return CheckpointPolicy.MUST_SAVE
        if op == torch.ops.aten.mm.default:
            place = "recompute" if context.is_recompute else "forward"
            seen[place] += 1
            if seen[place] % 2:
                return CheckpointPolicy.MUST_SAVE
        return CheckpointPolicy.PREFER_RECOMPUTE
    return create_selective_checkpoint_contexts(policy)


class Block(LlamaBlock):
    attention_again = False

    def forward(self, x, cos, sin):
        size = (*x.shape[:2], -1, self.head_dim)
        normed = self.attn_norm(x)
        q, k, v = (layer(normed).view(size) for layer in (self.q, self.k, self.v))
        q, k, v = (part.transpose(1, 2) for part in (rotate(q, cos, sin), rotate(k, cos, sin), v))
        out = again(attend, q, k, v) if self.attention_again else attend(q, k, v)
        x = x + self.out(out.transpose(1, 2).reshape(*x.shape[:2], -1))
        normed = self.mlp_norm(x)
        return x + self.down(F.silu(self.gate(normed)) * self.up(normed))


class Recomputed(torch.nn.Module):
    def __init__(self, block, ops):
        super().__init__()
        self.block, self.ops = block, ops

    def forward(self, x, cos, sin):
        more = {"context_fn": policy_of_ops} if self.ops else {}
        return again(self.block, x, cos, sin, **more)


def apply(model, how):
    """Wraps or marks the blocks of the model."""
    for index, block in enumerate(model.blocks):
        if how == "attention":
            block.attention_again = True
        elif how in ("full", "ops") or how == "alternate" and index % 2 == 0:
            model.blocks[index] = Recomputed(block, how == "ops")
