"""The Triton kernels of the `fused` operators, one launch each, as serving engines have them.

Tensors are row-major: one row per token. `qkv` holds the query, key and value heads side by side.
"""

import triton
import triton.language as tl


@triton.jit
def _rmsnorm_kernel(x_ptr, residual_ptr, weight_ptr, out_ptr, cols, eps,
                    ADD: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, BLOCK)
    inside = lane < cols
    x = tl.load(x_ptr + row * cols + lane, mask=inside, other=0.0).to(tl.float32)
    if ADD:
        x += tl.load(residual_ptr + row * cols + lane, mask=inside, other=0.0).to(tl.float32)
        tl.store(residual_ptr + row * cols + lane, x.to(residual_ptr.dtype.element_ty),
                 mask=inside)
    scale = tl.rsqrt(tl.sum(x * x, axis=0) / cols + eps)
    weight = tl.load(weight_ptr + lane, mask=inside, other=0.0).to(tl.float32)
    tl.store(out_ptr + row * cols + lane, (x * scale * weight).to(out_ptr.dtype.element_ty),
             mask=inside)


def rmsnorm(x, residual, weight, out, eps):
    """residual += x, out = norm(residual); without a residual out = norm(x)."""
    rows, cols = x.shape
    block = triton.next_power_of_2(cols)
    _rmsnorm_kernel[(rows,)](x, x if residual is None else residual, weight, out, cols, eps,
                             ADD=residual is not None, BLOCK=block,
                             num_warps=min(16, max(1, block // 512)))


@triton.jit
def _head_norm_kernel(qkv_ptr, weight_ptr, row_cols, first_col, heads, eps,
                      DIM: tl.constexpr, BLOCK_HEADS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1) * BLOCK_HEADS + tl.arange(0, BLOCK_HEADS)
    lane = tl.arange(0, DIM)
    offsets = row * row_cols + first_col + head[:, None] * DIM + lane[None, :]
    inside = head[:, None] < heads
    x = tl.load(qkv_ptr + offsets, mask=inside, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, axis=1) / DIM + eps)
    weight = tl.load(weight_ptr + lane).to(tl.float32)
    tl.store(qkv_ptr + offsets, (x * scale[:, None] * weight[None, :]).to(
        qkv_ptr.dtype.element_ty), mask=inside)


def head_norm(qkv, weight, first_col, heads, head_dim, eps, block_heads=8):
    """Normalises some heads of every row in place (queries or keys of Qwen3)."""
    grid = (qkv.shape[0], triton.cdiv(heads, block_heads))
    _head_norm_kernel[grid](qkv, weight, qkv.shape[1], first_col, heads, eps, DIM=head_dim,
                            BLOCK_HEADS=block_heads, num_warps=4)


@triton.jit
def _rope_kernel(qkv_ptr, positions_ptr, cos_ptr, sin_ptr, row_cols, heads,
                 HALF: tl.constexpr, BLOCK_HEADS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    position = tl.load(positions_ptr + row)
    head = tl.program_id(1) * BLOCK_HEADS + tl.arange(0, BLOCK_HEADS)
    lane = tl.arange(0, HALF)
    cos = tl.load(cos_ptr + position * HALF + lane)[None, :]
    sin = tl.load(sin_ptr + position * HALF + lane)[None, :]
    offsets = row * row_cols + head[:, None] * (2 * HALF) + lane[None, :]
    inside = head[:, None] < heads
    first = tl.load(qkv_ptr + offsets, mask=inside, other=0.0).to(tl.float32)
    second = tl.load(qkv_ptr + offsets + HALF, mask=inside, other=0.0).to(tl.float32)
    kind = qkv_ptr.dtype.element_ty
    tl.store(qkv_ptr + offsets, (first * cos - second * sin).to(kind), mask=inside)
    tl.store(qkv_ptr + offsets + HALF, (second * cos + first * sin).to(kind), mask=inside)


def rope(qkv, positions, cos, sin, heads, block_heads=16):
    """Rotates the first `heads` heads (queries and keys) of every row in place; fp32 tables."""
    grid = (qkv.shape[0], triton.cdiv(heads, block_heads))
    _rope_kernel[grid](qkv, positions, cos, sin, qkv.shape[1], heads, HALF=cos.shape[1],
                       BLOCK_HEADS=block_heads, num_warps=4)


@triton.jit
def _kv_write_kernel(qkv_ptr, slots_ptr, keys_ptr, values_ptr, row_cols, first_col, cols,
                     BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    slot = tl.load(slots_ptr + row)
    lane = tl.arange(0, BLOCK)
    inside = lane < cols
    source = qkv_ptr + row * row_cols + first_col + lane
    key = tl.load(source, mask=inside)
    value = tl.load(source + cols, mask=inside)
    tl.store(keys_ptr + slot * cols + lane, key, mask=inside)
    tl.store(values_ptr + slot * cols + lane, value, mask=inside)


def kv_write(qkv, slots, keys, values, first_col, cols):
    """Copies keys and values of every row to its slot of the cache [slots, cols]."""
    block = triton.next_power_of_2(cols)
    _kv_write_kernel[(qkv.shape[0],)](qkv, slots, keys, values, qkv.shape[1], first_col, cols,
                                      BLOCK=block, num_warps=min(8, max(1, block // 256)))


@triton.jit
def _silu_mul_kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lane = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = lane < cols
    gate = tl.load(x_ptr + row * 2 * cols + lane, mask=inside, other=0.0).to(tl.float32)
    up = tl.load(x_ptr + row * 2 * cols + cols + lane, mask=inside, other=0.0).to(tl.float32)
    out = gate * tl.sigmoid(gate) * up
    tl.store(out_ptr + row * cols + lane, out.to(out_ptr.dtype.element_ty), mask=inside)


def silu_mul(x, out, block=1024):
    """out = silu(first half of a row) * second half."""
    rows, cols = out.shape
    _silu_mul_kernel[(rows, triton.cdiv(cols, block))](x, out, cols, BLOCK=block, num_warps=4)
