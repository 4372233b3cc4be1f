# %% [markdown]
# # A model of one's own
#
# PyTorch code as it is written, on cards that are not here: how long a step takes, where its time and memory go, and what
# compiling it would change. Nothing is allocated and nothing runs; PyTorch's CPU wheel and an ordinary machine will do.

# %%
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


model = nn.Sequential(*(Block(1024, 16) for _ in range(8))).to(torch.bfloat16)
x = torch.empty(8, 1024, 1024, dtype=torch.bfloat16)

# %% [markdown]
# Tensors may be real ones, or lie on the meta device where they would not fit. One pass on three cards:

# %%
for step in tt.forecast(model, (x,), gpu=["A100-SXM-80GB", "H100-SXM", "B200"]):
    low, high = step.interval_ms
    print(f"{step.gpu:14} forward {step.step_ms:6.2f} ms ({low:.2f} to {high:.2f}), {step.launches} launches, card measured: {step.seen}")

# %% [markdown]
# A training step, written as one writes it. The model has its own parameters again afterwards.

# %%
optimizer = torch.optim.AdamW(model.parameters(), fused=True)
with tt.Estimate(gpu="B200") as estimate:
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
training = estimate.result
print(f"training on B200: {training.step_ms:.1f} ms, {training.peak_bytes / 2**30:.1f} GiB at the peak")
for phase in training.raw["phases"]:
    print(f"  {phase['name']:10} {phase['time_ms']:6.2f} ms")
training

# %% [markdown]
# What the allocator has handed out, operator by operator:

# %%
memory = training.memory_picture()
memory

# %% [markdown]
# Which parts cost most, and which operators. `training.to_pandas()` has all of them as a table.

# %%
for path, times in sorted(training.modules.items(), key=lambda item: -item[1]["own_ms"])[:3]:
    print(f"  {path or '(model)':10} {times['own_ms']:6.2f} ms of its own")
for operator in training.operators[:4]:
    print(f"  {operator['name']:45} {operator['time_ms']:6.2f} ms in {operator['calls']} calls")

# %% [markdown]
# The same pass as `torch.compile` would make it. A release of PyTorch that cannot compile without a card says so.

# %%
try:
    (compiled,) = tt.forecast(model, (x,), gpu="B200", compile=True)
    print(f"compiled forward on B200: {compiled.step_ms:.2f} ms, {compiled.launches} launches")
except tt.TilecastError as problem:
    print(problem)

# %% [markdown]
# An operator that nobody knows, a Triton kernel for example, is priced by the bytes of its tensors, marked, and listed with its
# share (`training.unknown`). A line says better: bytes read and written over those of its tensors, and operations an element.

# %%
tt.formula("my_library.my_operator", read=1, written=1, flops=8)
print(training.unknown)

# %% [markdown]
# The recording is a file that needs no Python: `tilecast predict own-model.json.gz --gpu B200`.

# %%
estimate.program.save("own-model.json.gz")
