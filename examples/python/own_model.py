"""A model of one's own in PyTorch, on cards that are not here: how long a step takes, where its time and memory go.

    make && PYTHONPATH=python python3 examples/python/own_model.py
"""

import torch
from torch import nn

import tilecast.torch as tt


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.heads = heads

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm2(x))


# 1. The model as it is: real tensors on the CPU, or on the meta device where it would not fit.
model = nn.Sequential(*(Block(1024, 16) for _ in range(8))).to(torch.bfloat16)
x = torch.empty(8, 1024, 1024, dtype=torch.bfloat16)

# 2. One pass on three cards.
for step in tt.forecast(model, (x,), gpu=["A100-SXM-80GB", "H100-SXM", "B200"]):
    low, high = step.interval_ms
    print(f"{step.gpu:14} forward {step.step_ms:6.2f} ms ({low:.2f} to {high:.2f}), {step.launches} launches")

# 3. A training step, written as one writes it.
optimizer = torch.optim.AdamW(model.parameters(), fused=True)
with tt.Estimate(gpu="B200") as estimate:
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
step = estimate.result
print(f"\ntraining on B200: {step.step_ms:.1f} ms, {step.peak_bytes / 2**30:.1f} GiB at the peak")
for phase in step.raw["phases"]:
    print(f"  {phase['name']:10} {phase['time_ms']:6.2f} ms")

# 4. Which parts cost most, and which operators.
for path, times in sorted(step.modules.items(), key=lambda item: -item[1]["own_ms"])[:3]:
    print(f"  {path or '(model)':10} {times['own_ms']:6.2f} ms of its own")
for operator in step.operators[:4]:
    print(f"  {operator['name']:45} {operator['time_ms']:6.2f} ms in {operator['calls']} calls")

# 5. The same compiled.
(compiled,) = tt.forecast(model, (x,), gpu="B200", compile=True)
print(f"\ncompiled forward on B200: {compiled.step_ms:.2f} ms, {compiled.launches} launches")

# 6. An operator that nobody knows is priced by its bytes; a line says better.
tt.formula("my_library.my_operator", read=1, written=1, flops=8)

# 7. The recording is a file that needs no Python: tilecast predict own-model.json.gz --gpu B200
estimate.program.save("own-model.json.gz")
