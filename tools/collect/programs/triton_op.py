"""An operator written in Triton and registered with PyTorch: silu of one half of a row times the other."""

import torch
from torch import Tensor

try:
    import triton
    import triton.language as tl
except ImportError:  # a CPU build of PyTorch; recording needs the operator's name and shapes alone
    triton = None

if triton is not None:
    @triton.jit
    def _silu_gate_kernel(pair, out, width, BLOCK: tl.constexpr):
        row, columns = tl.program_id(0).to(tl.int64), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
        inside = columns < width
        value = tl.load(pair + row * 2 * width + columns, inside).to(tl.float32)
        gate = tl.load(pair + row * 2 * width + width + columns, inside).to(tl.float32)
        tl.store(out + row * width + columns, value * tl.sigmoid(value) * gate, inside)


@torch.library.custom_op("tilecast_example::silu_gate", mutates_args=())
def silu_gate(pair: Tensor) -> Tensor:
    width = pair.shape[-1] // 2
    out = pair.new_empty(pair.shape[:-1] + (width,))
    _silu_gate_kernel[(pair.numel() // (2 * width), triton.cdiv(width, 1024))](pair, out, width, BLOCK=1024)
    return out


@silu_gate.register_fake
def _(pair: Tensor) -> Tensor:
    return pair.new_empty(pair.shape[:-1] + (pair.shape[-1] // 2,))
