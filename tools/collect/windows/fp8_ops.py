"""fp8 as training programs use it: casts by kind of scale, in PyTorch operators and in Triton, and
the operands of `torch._scaled_mm`.

The arithmetic of a cast is that of torchao's float8 training: the scale is the type's largest number
over the absolute maximum, found in fp64; rows round it down to a power of two; numbers are widened to
fp32, scaled, clamped and narrowed. Scales handed to the product are the inverse ones.
"""

import torch
import torch.nn.functional as F
import triton
import triton.language as tl

E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
LEAST = 1e-12
BLOCK = 128


def scale_of(amax, kind, power_of_2=False):
    scale = (torch.finfo(kind).max / amax.double().clamp(min=LEAST)).float()
    return torch.exp2(torch.floor(torch.log2(scale))) if power_of_2 else scale


def narrow(x, scale, kind):
    largest = torch.finfo(kind).max
    return (x.float() * scale).clamp(-largest, largest).to(kind)


def turned(x):
    """The transpose, contiguous."""
    return x.t().contiguous()


def amax_tensor(x, scale, kind):
    return torch.max(torch.abs(x))


def amax_row(x, scale, kind):
    return torch.amax(torch.abs(x), -1)


def amax_col(x, scale, kind):
    return torch.amax(torch.abs(x), 0)


def known(x, scale, kind):
    """Delayed scaling: the scale is there before the data."""
    return narrow(x, scale, kind)


def known_amax(x, scale, kind):
    """Delayed scaling with the absolute maximum of now, for the next step."""
    return narrow(x, scale, kind), torch.max(torch.abs(x))


def known_turned(x, scale, kind):
    return turned(narrow(x, scale, kind))


def known_both(x, scale, kind):
    x8 = narrow(x, scale, kind)
    return x8, turned(x8)


def current(x, scale, kind):
    found = scale_of(torch.max(torch.abs(x)), kind)
    return narrow(x, found, kind), found.reciprocal()


def current_both(x, scale, kind):
    x8, inverse = current(x, scale, kind)
    return x8, turned(x8), inverse


def row(x, scale, kind):
    found = scale_of(torch.amax(torch.abs(x), -1, keepdim=True), kind, True)
    return narrow(x, found, kind), found.reciprocal()


def col_turned(x, scale, kind):
    """A scale for each column; the result lies transposed, as the product wants it."""
    found = scale_of(torch.amax(torch.abs(x), 0, keepdim=True), kind, True)
    return turned(narrow(x, found, kind)), found.reciprocal()


def row_and_col(x, scale, kind):
    return *row(x, scale, kind), *col_turned(x, scale, kind)


def block_1x128(x, scale, kind):
    parts = x.view(x.shape[0], -1, BLOCK)
    found = scale_of(parts.abs().amax(-1, keepdim=True), kind)
    return narrow(parts, found, kind).view(x.shape), found.reciprocal().squeeze(-1)


def block_128x128(x, scale, kind):
    parts = x.view(x.shape[0] // BLOCK, BLOCK, -1, BLOCK)
    found = scale_of(parts.abs().amax((1, 3), keepdim=True), kind)
    return narrow(parts, found, kind).view(x.shape), found.reciprocal().view(x.shape[0] // BLOCK, -1)


def block_128x1_turned(x, scale, kind):
    """Blocks of 128 rows of one column, transposed: the operands of a weight gradient."""
    parts = x.view(-1, BLOCK, x.shape[1])
    found = scale_of(parts.abs().amax(1, keepdim=True), kind)
    return turned(narrow(parts, found, kind).view(x.shape)), found.reciprocal().squeeze(1)


def block_both(x, scale, kind):
    return *block_1x128(x, scale, kind), *block_128x1_turned(x, scale, kind)


def rescale_row(x, scale, kind):
    """What torchao does after a row-wise product without fast accumulation."""
    return torch.mul(x, scale.expand(x.shape[0])[:, None] * scale.expand(x.shape[1]), out=torch.empty_like(x))


def rms(x):
    return F.rms_norm(x, x.shape[-1:], None, 1e-5)


def rms_current(x, scale, kind):
    return current(rms(x), scale, kind)


def rms_row(x, scale, kind):
    return row(rms(x), scale, kind)


def silu_mul_current(x, scale, kind):
    return current(F.silu(x) * x, scale, kind)


def silu_mul_row(x, scale, kind):
    return row(F.silu(x) * x, scale, kind)


CASTS = {function.__name__: function for function in [
    amax_tensor, amax_row, amax_col, known, known_amax, known_turned, known_both, current, current_both,
    row, col_turned, row_and_col, block_1x128, block_128x128, block_128x1_turned, block_both,
    rescale_row, rms_current, rms_row, silu_mul_current, silu_mul_row]}
ALSO_E5M2 = ("known", "current", "current_both", "row")


def single_kernels(x):
    """Casts and copies that are one eager kernel."""
    x8 = x.to(E4M3)
    return {"plain_e4m3": lambda: x.to(E4M3), "plain_e5m2": lambda: x.to(E5M2),
            "widen_bf16": lambda: x8.to(torch.bfloat16), "turned_fp8": lambda: turned(x8),
            "turned_bf16": lambda: turned(x), "amax_norm": lambda: torch.linalg.vector_norm(x, float("inf")),
            "abs": lambda: torch.abs(x), "max": lambda: torch.max(x)}


@triton.jit
def _row_kernel(x_ptr, out_ptr, scale_ptr, cols, SPAN: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    place = tl.arange(0, SPAN)
    inside = place < cols
    x = tl.load(x_ptr + row * cols + place, inside, 0.0).to(tl.float32)
    scale = 448.0 / tl.maximum(tl.max(tl.abs(x)), 1e-12)
    tl.store(scale_ptr + row, 1.0 / scale)
    tl.store(out_ptr + row * cols + place, (x * scale).to(tl.float8e4nv), inside)


@triton.jit
def _block_kernel(x_ptr, out_ptr, scale_ptr, cols, ROWS: tl.constexpr, WHOLE: tl.constexpr):
    """ROWS x 128 numbers; one scale for all of them, or for each row."""
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    place = rows[:, None] * cols + tl.program_id(1) * 128 + tl.arange(0, 128)[None, :]
    x = tl.load(x_ptr + place).to(tl.float32)
    highest = tl.max(tl.abs(x), 1)
    if WHOLE:
        scale = 448.0 / tl.maximum(tl.max(highest), 1e-12)
        tl.store(scale_ptr + tl.program_id(0) * (cols // 128) + tl.program_id(1), 1.0 / scale)
        y = x * scale
    else:
        scales = 448.0 / tl.maximum(highest, 1e-12)
        tl.store(scale_ptr + rows * (cols // 128) + tl.program_id(1), 1.0 / scales)
        y = x * scales[:, None]
    tl.store(out_ptr + place, y.to(tl.float8e4nv))


@triton.jit
def _both_kernel(x_ptr, scale_ptr, out_ptr, turned_ptr, rows, cols, SIDE: tl.constexpr):
    down = tl.program_id(0).to(tl.int64) * SIDE + tl.arange(0, SIDE)
    across = tl.program_id(1).to(tl.int64) * SIDE + tl.arange(0, SIDE)
    x = tl.load(x_ptr + down[:, None] * cols + across[None, :]).to(tl.float32) * tl.load(scale_ptr)
    y = tl.clamp(x, -448.0, 448.0).to(tl.float8e4nv)
    tl.store(out_ptr + down[:, None] * cols + across[None, :], y)
    tl.store(turned_ptr + across[:, None] * rows + down[None, :], tl.trans(y))


def triton_casts(x, scale):
    rows, cols = x.shape
    out, turned_out = torch.empty_like(x, dtype=E4M3), torch.empty(cols, rows, dtype=E4M3, device="cuda")
    scales = torch.empty(rows * max(1, cols // BLOCK), device="cuda")
    blocks = lambda rows_each, whole: _block_kernel[(rows // rows_each, cols // BLOCK)](
        x, out, scales, cols, ROWS=rows_each, WHOLE=whole, num_warps=4 if rows_each < BLOCK else 8)
    return {
        "row": lambda: _row_kernel[(rows,)](x, out, scales, cols, SPAN=triton.next_power_of_2(cols), num_warps=8),
        "block_1x128": lambda: blocks(16, False), "block_128x128": lambda: blocks(128, True),
        "known_both": lambda: _both_kernel[(rows // 64, cols // 64)](x, scale, out, turned_out, rows, cols, SIDE=64,
                                                                     num_warps=4)}


# Products. All operands are [m, k] and [n, k], contiguous: the second is handed over transposed, the
# only order in which Hopper multiplies fp8.

def tensor_operand(x, kind=E4M3):
    return current(x, None, kind)


def block_operand(x, square):
    """Values and inverse scales as cuBLAS wants them: rows of a column lie together; a whole column
    of 128x128 blocks is padded to a multiple of four."""
    x8, inverse = (block_128x128 if square else block_1x128)(x, None, E4M3)
    if not square:
        return x8, turned(inverse).t()
    return x8, F.pad(inverse, (0, -inverse.shape[1] % 4)).contiguous()[:, :inverse.shape[1]]


def multiply(a, b, scale_a, scale_b, fast):
    return torch._scaled_mm(a, b.t(), scale_a=scale_a, scale_b=scale_b, out_dtype=torch.bfloat16, use_fast_accum=fast)


def product_call(variant, product, x, w):
    """One call of the product x @ w.T in a variant. x and w are bf16, [m, k] and [n, k]; bf16 itself runs in
    the layout that autograd gives it."""
    if variant == "bf16":
        first = turned(x).t() if product == "weight_grad" else x
        second = w.t() if product == "forward" else turned(w)
        return lambda: torch.mm(first, second)
    fast = not variant.endswith("slow")
    if variant.startswith("tensor"):
        a, scale_a = tensor_operand(x, E4M3 if product == "forward" else E5M2)
        b, scale_b = tensor_operand(w)
    elif variant.startswith("row"):
        a, scale_a = row(x, None, E4M3)
        b, scale_b = row(w, None, E4M3)
        scale_b = scale_b.t()
    else:
        fast = False
        a, scale_a = block_operand(x, False)
        b, scale_b = block_operand(w, product != "weight_grad")
        scale_b = scale_b.t()
    return lambda: multiply(a, b, scale_a, scale_b, fast)
