#!/usr/bin/env python3
"""The expert products of a mixture of experts as one Triton kernel each, bf16, by ourselves.

The work is cut as vLLM and SGLang cut it, so that configurations carry over: the (token, expert)
pairs are sorted by expert and each expert's run is padded to BLOCK_SIZE_M (`align`), a CTA
computes BLOCK_SIZE_M pairs x BLOCK_SIZE_N columns of one expert, and CTAs are numbered so that
GROUP_SIZE_M blocks of rows share a column block in L2. Two passes: `up` (gate and up together,
N = 2 inter, K = hidden) and `down` (N = hidden, K = inter), SiLU and product between them.

One difference: GROUP_SIZE_M and topk are arguments, not constants, and the routing weight is
always multiplied in (ones in the first pass), so that one binary serves all shapes and passes.

    python3 tools/tune/fused_moe.py      # check against PyTorch; needs a GPU
"""

import os
import sys
from dataclasses import dataclass

import torch
import triton
import triton.language as tl

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from collect.models import kernels  # noqa: E402


@triton.jit(do_not_specialize=["pairs", "capacity", "share", "group"])
def fused_moe_kernel(a_ptr, b_ptr, c_ptr, weight_ptr, pair_ptr, block_expert_ptr, padded_ptr,
                     n, k, stride_a, stride_expert, stride_b, stride_c,
                     pairs, capacity, share, group,
                     BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr,
                     BLOCK_SIZE_K: tl.constexpr):
    """c[pair] = weight[pair] * a[pair // share] @ b[expert of pair].T"""
    program = tl.program_id(0)
    row_blocks = tl.cdiv(capacity, BLOCK_SIZE_M)
    col_blocks = tl.cdiv(n, BLOCK_SIZE_N)
    first_row_block = program // (group * col_blocks) * group
    inside = program % (group * col_blocks)
    rows_here = tl.minimum(row_blocks - first_row_block, group)
    row_block = first_row_block + inside % rows_here
    col_block = inside // rows_here
    if row_block * BLOCK_SIZE_M >= tl.load(padded_ptr):
        return  # the grid is sized before the routing is known

    pair = tl.load(pair_ptr + row_block * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M))
    real = pair < pairs  # padding names a pair past the end
    expert = tl.load(block_expert_ptr + row_block).to(tl.int64)
    col = (col_block * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)) % n
    depth = tl.arange(0, BLOCK_SIZE_K)
    a = a_ptr + (pair // share).to(tl.int64)[:, None] * stride_a + depth[None, :]
    b = b_ptr + expert * stride_expert + col[None, :].to(tl.int64) * stride_b + depth[:, None]
    sums = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for step in range(0, tl.cdiv(k, BLOCK_SIZE_K)):
        left = k - step * BLOCK_SIZE_K
        a_tile = tl.load(a, mask=real[:, None] & (depth[None, :] < left), other=0.0)
        b_tile = tl.load(b, mask=depth[:, None] < left, other=0.0)
        sums = tl.dot(a_tile, b_tile, sums)
        a += BLOCK_SIZE_K
        b += BLOCK_SIZE_K
    sums *= tl.load(weight_ptr + pair, mask=real, other=0.0)[:, None]
    col = col_block * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    c = c_ptr + pair.to(tl.int64)[:, None] * stride_c + col[None, :]
    tl.store(c, sums.to(c_ptr.dtype.element_ty), mask=real[:, None] & (col[None, :] < n))


@dataclass(frozen=True)
class Routing:
    """The pairs in the order the kernel takes them."""
    pair: torch.Tensor  # [capacity] pair of each padded row; `pairs` where it is padding
    block_expert: torch.Tensor  # [capacity / block_m]
    padded: torch.Tensor  # [1] rows in use
    pairs: int

    @property
    def capacity(self):
        return self.pair.numel()


def align(experts_of, experts, block_m):
    """Sorts pairs by expert and pads each expert's run to block_m. experts_of: [tokens, topk].

    The size is the most that any routing can need, as in vLLM's moe_align_block_size, since the
    grid is launched without knowing the routing. Nothing here waits for the GPU, so that a CUDA
    graph can hold it.
    """
    flat = experts_of.flatten().long()
    pairs, device = flat.numel(), flat.device
    most = min(pairs + experts * (block_m - 1), pairs * block_m)
    capacity = triton.cdiv(most, block_m) * block_m
    owner, order = torch.sort(flat, stable=True)
    first = torch.searchsorted(owner, torch.arange(experts + 1, device=device))
    padded = (first.diff() + block_m - 1) // block_m * block_m
    end = padded.cumsum(0)
    pair = torch.full((capacity,), pairs, dtype=torch.int32, device=device)
    pair[(end - padded)[owner] + torch.arange(pairs, device=device) - first[owner]] = order.int()
    starts = torch.arange(0, capacity, block_m, device=device)
    block_expert = torch.searchsorted(end, starts, right=True).clamp(max=experts - 1).int()
    return Routing(pair, block_expert, end[-1:].int(), pairs)


def product(a, b, c, weight, routing, share, config):
    """One pass: a [rows, k], b [experts, n, k], c [pairs, n], weight [pairs] fp32."""
    n, k = b.shape[1], b.shape[2]
    grid = (routing.capacity // config["BLOCK_SIZE_M"] * triton.cdiv(n, config["BLOCK_SIZE_N"]),)
    return fused_moe_kernel[grid](
        a, b, c, weight, routing.pair, routing.block_expert, routing.padded, n, k, a.stride(0),
        b.stride(0), b.stride(1), c.stride(0), routing.pairs, routing.capacity, share,
        config["GROUP_SIZE_M"], BLOCK_SIZE_M=config["BLOCK_SIZE_M"],
        BLOCK_SIZE_N=config["BLOCK_SIZE_N"], BLOCK_SIZE_K=config["BLOCK_SIZE_K"],
        num_warps=config["num_warps"], num_stages=config["num_stages"])


def fused_moe(x, w13, w2, experts_of, weight, config):
    """Both passes, the activation between and the sum over a token's experts."""
    tokens, topk = experts_of.shape
    inter = w2.shape[2]
    routing = align(experts_of, w13.shape[0], config["BLOCK_SIZE_M"])
    wide = torch.empty((tokens * topk, 2 * inter), dtype=x.dtype, device=x.device)
    ones = torch.ones(tokens * topk, device=x.device)
    product(x, w13, wide, ones, routing, topk, config)
    gated = torch.empty((tokens * topk, inter), dtype=x.dtype, device=x.device)
    kernels.silu_mul(wide, gated)
    out = torch.empty((tokens * topk, x.shape[1]), dtype=x.dtype, device=x.device)
    product(gated, w2, out, weight.flatten().contiguous(), routing, 1, config)
    return out.view(tokens, topk, -1).sum(1)


def reference(x, w13, w2, experts_of, weight):
    """The same, expert by expert in fp32."""
    inter = w2.shape[2]
    out = torch.zeros(x.shape, dtype=torch.float32, device=x.device)
    for expert in range(w13.shape[0]):
        token, slot = (experts_of == expert).nonzero(as_tuple=True)
        wide = x[token].float() @ w13[expert].float().T
        gated = torch.nn.functional.silu(wide[:, :inter]) * wide[:, inter:]
        part = (gated @ w2[expert].float().T) * weight[token, slot][:, None]
        out.index_add_(0, token, part)
    return out


def relative_error(out, right):
    """Not a number, as unwritten memory may give, counts as infinitely wrong."""
    error = ((out.float() - right).norm() / right.norm()).item()
    return error if error == error else float("inf")


def random_case(tokens, hidden, inter, experts, topk):
    """Data of a small layer, each token to topk different experts."""
    make = lambda *size: torch.randn(size, device="cuda", dtype=torch.bfloat16)
    scores = torch.rand((tokens, experts), device="cuda")
    weight, experts_of = scores.topk(topk, dim=1)
    return (make(tokens, hidden), make(experts, 2 * inter, hidden) * hidden ** -0.5,
            make(experts, hidden, inter) * inter ** -0.5, experts_of, weight)


def check():
    """Odd sizes, idle experts, one token: every path of the kernel once. True when all agree."""
    torch.backends.cuda.matmul.allow_tf32 = False
    fine = True
    for tokens, hidden, inter, experts, topk in [(1, 512, 256, 8, 2), (37, 512, 192, 16, 4),
                                                 (300, 1024, 768, 8, 2), (1000, 272, 144, 64, 8),
                                                 (5, 512, 384, 128, 1)]:
        case = random_case(tokens, hidden, inter, experts, topk)
        right = reference(*case)
        for block_m, block_n, block_k, group, warps, stages in [
                (16, 32, 64, 1, 4, 3), (64, 64, 32, 8, 4, 3), (32, 64, 128, 16, 4, 4),
                (128, 128, 64, 16, 8, 3), (64, 256, 64, 64, 8, 2)]:
            config = {"BLOCK_SIZE_M": block_m, "BLOCK_SIZE_N": block_n, "BLOCK_SIZE_K": block_k,
                      "GROUP_SIZE_M": group, "num_warps": warps, "num_stages": stages}
            error = relative_error(fused_moe(*case, config), right)
            fine &= error < 0.01
            print(f"tokens {tokens} hidden {hidden} inter {inter} experts {experts} topk {topk} "
                  f"blocks {block_m}x{block_n}x{block_k}: error {error:.2e}", flush=True)
    print("all agree" if fine else "WRONG RESULTS")
    return fine


if __name__ == "__main__":
    sys.exit(0 if check() else 1)
