#!/usr/bin/env python3
"""Forecasts beside measured steps on the card that is there, eager and compiled, in one process.

    TILECAST=build/release/tilecast python3 tools/collect/programs/beside.py --gpu H200
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from typing import Any, Callable

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
sys.path.insert(0, os.path.join(ROOT, "python"))

import torch  # noqa: E402
from torch import nn  # noqa: E402

import tilecast.torch as tt  # noqa: E402


class Layers(nn.Module):
    """Layers of a decoder in PyTorch's own words."""

    def __init__(self, width: int, heads: int, layers: int) -> None:
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * layers))
        self.queries = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(layers))
        self.joins = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.ups = nn.ModuleList(nn.Linear(width, 4 * width) for _ in range(layers))
        self.downs = nn.ModuleList(nn.Linear(4 * width, width) for _ in range(layers))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        for i, query in enumerate(self.queries):
            parts = query(self.norms[2 * i](x)).view(batch, length, 3, self.heads, width // self.heads)
            q, k, v = parts.permute(2, 0, 3, 1, 4)
            seen = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.joins[i](seen.transpose(1, 2).reshape(batch, length, width))
            x = x + self.downs[i](nn.functional.gelu(self.ups[i](self.norms[2 * i + 1](x))))
        return x


def measured(step: Callable[[], Any]) -> tuple[float, int]:
    """Milliseconds of a step among others and the most bytes it holds."""
    for _ in range(10):
        step()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(21)]
    for mark in marks[:-1]:
        mark.record()
        step()
    marks[-1].record()
    torch.cuda.synchronize()
    return (statistics.median(a.elapsed_time(b) for a, b in zip(marks, marks[1:])), torch.cuda.max_memory_allocated())


def beside(gpu: str, training: bool, compiled: bool) -> None:
    model = Layers(1024, 16, 4).to("cuda", torch.bfloat16)
    x = torch.randn(8, 1024, 1024, device="cuda", dtype=torch.bfloat16)
    loss = lambda out: out.float().square().mean()
    adamw = lambda parameters: torch.optim.AdamW(parameters, fused=True)
    (forecast,) = tt.forecast(model, (x,), gpu=gpu, training=training, compile=compiled, optimizer=adamw, loss=loss)
    run = torch.compile(model) if compiled else model
    optimizer = adamw(list(model.parameters()))

    def step() -> None:
        if not training:
            with torch.no_grad():
                run(x)
            return
        loss(run(x)).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    took, held = measured(step)
    print(f"{'training' if training else 'inference'} {'compiled' if compiled else 'eager'}: forecast {forecast.step_ms:.2f} ms, "
          f"measured {took:.2f} ({100 * (forecast.step_ms / took - 1):+.1f} %); peak {forecast.peak_bytes / 1e9:.2f} GB, "
          f"measured {held / 1e9:.2f} ({100 * (forecast.peak_bytes / held - 1):+.1f} %)", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpu", required=True, help="as tilecast names the card")
    gpu = parser.parse_args().gpu
    for training in (False, True):
        for compiled in (False, True):
            beside(gpu, training, compiled)


if __name__ == "__main__":
    main()
