"""Weights, activations and routings of one layer on the GPU, and the launches of its passes."""

import torch

import fused_moe

MANY_BYTES = 400e6  # several times any L2: what launches in a row should read before they repeat
MOST_ROUTINGS = 8


class LayerData:
    def __init__(self, layer):
        self.layer = layer
        weights = lambda *size: torch.empty(size, dtype=torch.bfloat16, device="cuda").normal_(0, 0.02)
        self.w13 = weights(layer.experts, 2 * layer.inter, layer.hidden)
        self.w2 = weights(layer.experts, layer.hidden, layer.inter)

    def batch(self, tokens):
        return Batch(self, tokens)


class Batch:
    """`tokens` tokens, balanced: pair p goes to expert p modulo the experts, as in SynPerf's sweep.

    Where few experts are in use their weights would stay in L2 from launch to launch; then
    several routings to different experts take turns.
    """

    def __init__(self, data, tokens):
        layer, pairs = data.layer, tokens * data.layer.topk
        make = lambda *size: torch.randn(size, dtype=torch.bfloat16, device="cuda")
        self.data, self.tokens, self.pairs = data, tokens, pairs
        self.x, self.gated = make(tokens, layer.hidden), make(pairs, layer.inter)
        self.wide, self.out = make(pairs, 2 * layer.inter), make(pairs, layer.hidden)
        self.ones, self.weight = torch.ones(pairs, device="cuda"), torch.rand(pairs, device="cuda")
        used = layer.weight_bytes(min(layer.experts, pairs))
        self.routings = int(min(MOST_ROUTINGS, max(1, -(-MANY_BYTES // used))))
        self._aligned = {}

    def aligned(self, block_m):
        if block_m not in self._aligned:
            layer = self.data.layer
            pair = torch.arange(self.pairs, device="cuda").view(self.tokens, layer.topk)
            self._aligned[block_m] = [
                fused_moe.align((pair + turn * self.pairs) % layer.experts, layer.experts, block_m)
                for turn in range(self.routings)]
        return self._aligned[block_m]

    def calls(self, which, config):
        """One launch per routing of the pass `which`: "up" or "down"."""
        data, topk = self.data, self.data.layer.topk
        if which == "up":
            a, b, c, weight, share = self.x, data.w13, self.wide, self.ones, topk
        else:
            a, b, c, weight, share = self.gated, data.w2, self.out, self.weight, 1
        return [lambda routing=routing: fused_moe.product(a, b, c, weight, routing, share, config)
                for routing in self.aligned(config["BLOCK_SIZE_M"])]
