"""Small Triton kernels: the SM's own cycle counter, and loops that keep one pipe busy."""

import torch
import triton
import triton.language as tl


@triton.jit
def _stamp_kernel(out_ptr):
    cycles = tl.inline_asm_elementwise("mov.u64 $0, %clock64;", "=l", [], dtype=tl.int64,
                                       is_pure=False, pack=1)
    nanos = tl.inline_asm_elementwise("mov.u64 $0, %globaltimer;", "=l", [], dtype=tl.int64,
                                      is_pure=False, pack=1)
    place = tl.inline_asm_elementwise("mov.u32 $0, %smid;", "=r", [], dtype=tl.int32,
                                      is_pure=False, pack=1)
    tl.store(out_ptr, cycles)
    tl.store(out_ptr + 1, nanos)
    tl.store(out_ptr + 2, place.to(tl.int64))


MARKS = 1024


class CycleClock:
    """The mean SM clock between two stamps, from an SM's cycle counter and the global timer."""

    def __init__(self):
        self.marks = torch.zeros(MARKS, 4, dtype=torch.int64, device="cuda")
        self.stamp(0)
        torch.cuda.synchronize()

    def stamp(self, index):
        if index < MARKS:
            _stamp_kernel[(1,)](self.marks[index], num_warps=1)

    def megahertz(self):
        """Between the first two stamps."""
        return _clock(*self.marks[:2].tolist())

    def series(self, pairs):
        """Of many pairs of stamps, one clock each."""
        marks = self.marks.tolist()
        return [_clock(marks[first], marks[second]) if second < MARKS else ""
                for first, second in pairs]


def _clock(first, second):
    """"" where the stamps are of different SMs or too close."""
    nanos = second[1] - first[1]
    if first[2] != second[2] or nanos < 20_000:
        return ""
    return round(1e3 * (second[0] - first[0]) / nanos, 1)


@triton.jit
def _fma_kernel(x_ptr, shift_ptr, out_ptr, rounds, BLOCK: tl.constexpr):
    """x -> shift - 0.999 x, again and again: every fused multiply-add changes its operand."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x, shift = tl.load(x_ptr + offsets), tl.load(shift_ptr + offsets)
    for _ in range(rounds):
        for _ in tl.static_range(16):
            x = x * -0.999 + shift
    tl.store(out_ptr + offsets, x)


@triton.jit
def _exp2_kernel(x_ptr, out_ptr, rounds, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    for _ in range(rounds):
        for _ in tl.static_range(16):
            x = tl.exp2(-x)
    tl.store(out_ptr + offsets, x)


BLOCK, BLOCKS, ROUNDS = 1024, 132 * 16, 200
OPERATIONS = BLOCK * BLOCKS * ROUNDS * 16  # of one call


def pipe(kind, fill):
    """A call that keeps `fma_fp32`, `fma_fp64` or `exp2` busy; fill(shape, dtype) makes the data."""
    dtype = torch.float64 if kind == "fma_fp64" else torch.float32
    rounds = ROUNDS // 4 if kind == "exp2" else ROUNDS
    x, shift = fill((BLOCK * BLOCKS,), dtype), fill((BLOCK * BLOCKS,), dtype)
    out = torch.empty_like(x)
    if kind == "exp2":
        return lambda: _exp2_kernel[(BLOCKS,)](x, out, rounds, BLOCK=BLOCK, num_warps=4)
    return lambda: _fma_kernel[(BLOCKS,)](x, shift, out, rounds, BLOCK=BLOCK, num_warps=4)
