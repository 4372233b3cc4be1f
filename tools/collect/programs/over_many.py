#!/usr/bin/env python3
"""Records a decoder over eight cards without any: tensor parallel, fully sharded (FSDP2), and both together.

    python3 tools/collect/programs/over_many.py --out data/programs/ranks
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
sys.path[0] = os.path.join(ROOT, "tools")
sys.path.insert(1, os.path.join(ROOT, "python"))

import torch  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from torch.distributed.device_mesh import init_device_mesh  # noqa: E402

import tilecast.torch as tt  # noqa: E402

PLANS = {"tensor": {"tp": 8}, "sharded": {"dp": 8}, "both": {"dp": 4, "tp": 2}}


class Layer(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.width_of_head = width // heads
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.q, self.k, self.v, self.join = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.gate, self.up = nn.Linear(width, 4 * width, bias=False), nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        h = self.norm1(x)
        split = lambda t: t.unflatten(-1, (-1, self.width_of_head)).transpose(1, 2)
        seen = nn.functional.scaled_dot_product_attention(split(self.q(h)), split(self.k(h)), split(self.v(h)),
                                                          is_causal=True)
        x = x + self.join(seen.transpose(1, 2).flatten(2))
        h = self.norm2(x)
        return x + self.down(nn.functional.silu(self.gate(h)) * self.up(h))


class Decoder(nn.Module):
    def __init__(self, width: int, heads: int, layers: int, vocabulary: int) -> None:
        super().__init__()
        self.table = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.norm, self.head = nn.RMSNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.table(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def spread_tensors(model: Decoder, mesh: Any) -> None:
    """Megatron's plan with its sequence parallel norms."""
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor.parallel import (ColwiseParallel, PrepareModuleInput, RowwiseParallel,
                                                   SequenceParallel, parallelize_module)
    parallelize_module(model, mesh, {"table": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
                                     "norm": SequenceParallel(),
                                     "head": ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate())})
    gathered = {"norm1": SequenceParallel(), "norm2": SequenceParallel()}
    wide = {name: ColwiseParallel(input_layouts=Shard(1)) for name in ("q", "k", "v", "gate", "up")}
    narrow = {name: RowwiseParallel(output_layouts=Shard(1)) for name in ("join", "down")}
    for layer in model.layers:
        parallelize_module(layer, mesh, {**gathered, **wide, **narrow})


def shard(model: Decoder, mesh: Any) -> None:
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in model.layers:
        fully_shard(layer, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)


def record(plan: str, width: int, layers: int, batch: int, length: int) -> tt.Recorder:
    sizes = PLANS[plan]
    with tt.ranks(8), tt.Recorder(f"decoder-{plan}-training") as recorder:
        mesh = init_device_mesh("cuda", tuple(sizes.values()), mesh_dim_names=tuple(sizes))
        model = Decoder(width, width // 128, layers, 32000).to("cuda:0")
        if "dp" not in sizes:
            model.to(torch.bfloat16)
        if "tp" in sizes:
            spread_tensors(model, mesh["tp"])
        if "dp" in sizes:
            shard(model, mesh["dp"])
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
        for parameter in model.parameters():
            parameter.grad = torch.empty_like(parameter)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        ids = torch.randint(0, 32000, (batch, length), device="cuda:0")
        with recorder.step(model, optimizers=(optimizer,)):
            out = model(ids)
            nn.functional.cross_entropy(out.flatten(0, 1).float(), ids.flatten()).backward()
            optimizer.step()
        return recorder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    for plan in PLANS:
        recorder = record(plan, width=4096, layers=2, batch=2, length=2048)
        path = os.path.join(args.out, recorder.program.name + ".json.gz")
        recorder.save(path)
        made = recorder.program
        print(f"{made.name}: {len(made.calls)} calls, groups {made.groups}, {len(made.waits)} waits, "
              f"peak {made.peak_bytes() / 1e9:.2f} GB, {os.path.getsize(path)} bytes", flush=True)


if __name__ == "__main__":
    main()
