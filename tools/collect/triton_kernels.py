"""Two small Triton kernels that PyTorch lacks in fused form: gated SiLU and rotary embedding."""

import triton
import triton.language as tl


@triton.jit
def _silu_mul_kernel(a_ptr, b_ptr, out_ptr, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < count
    a = tl.load(a_ptr + offsets, mask=inside).to(tl.float32)
    b = tl.load(b_ptr + offsets, mask=inside).to(tl.float32)
    out = a * tl.sigmoid(a) * b
    tl.store(out_ptr + offsets, out.to(out_ptr.dtype.element_ty), mask=inside)


def silu_mul(a, b, out, block=1024):
    """out = silu(a) * b for contiguous tensors of one shape."""
    count = a.numel()
    _silu_mul_kernel[(triton.cdiv(count, block),)](a, b, out, count, BLOCK=block, num_warps=4)


@triton.jit
def _rope_kernel(x_ptr, cos_ptr, sin_ptr, out_ptr, heads,
                 HALF: tl.constexpr, BLOCK_HEADS: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1) * BLOCK_HEADS + tl.arange(0, BLOCK_HEADS)
    lane = tl.arange(0, HALF)
    cos = tl.load(cos_ptr + token * HALF + lane)[None, :]
    sin = tl.load(sin_ptr + token * HALF + lane)[None, :]
    offsets = (token * heads + head[:, None]) * (2 * HALF) + lane[None, :]
    inside = head[:, None] < heads
    first = tl.load(x_ptr + offsets, mask=inside).to(tl.float32)
    second = tl.load(x_ptr + offsets + HALF, mask=inside).to(tl.float32)
    kind = out_ptr.dtype.element_ty
    tl.store(out_ptr + offsets, (first * cos - second * sin).to(kind), mask=inside)
    tl.store(out_ptr + offsets + HALF, (second * cos + first * sin).to(kind), mask=inside)


def rope(x, cos, sin, out, block_heads=16):
    """Rotates the two halves of each head: x, out [tokens, heads, head_dim], cos, sin fp32."""
    tokens, heads, head_dim = x.shape
    grid = (tokens, triton.cdiv(heads, block_heads))
    _rope_kernel[grid](x, cos, sin, out, heads, HALF=head_dim // 2, BLOCK_HEADS=block_heads,
                       num_warps=4)
