"""Which memory-bound kernels are measured: elementwise, norms, softmax, copies, reductions,
gated activations and rotary embeddings."""

from .case import make
from . import cost

UNARY = ["gelu", "silu", "relu", "tanh", "pow"]
BINARY = ["add", "mul", "div"]
SIZES = [1024, 10_000, 65_536, 262_144, 1_000_000, 1 << 21, 1 << 22, 10_000_000, 1 << 24,
         1 << 25, 1 << 26, 100_000_000, 1 << 28]
ROWS = [1, 7, 32, 128, 512, 1000, 2048, 4096, 8192, 16384, 65536]
NORM_COLS = [128, 256, 768, 1000, 1024, 2048, 3072, 4096, 5120, 7168, 8192, 12288, 16384]
SOFTMAX_COLS = [64, 128, 256, 512, 1000, 1024, 2048, 4096, 8192, 16384, 32000, 65536, 128256]
L2_WARM_BYTES = 30e6


def plan(rng):
    yield from _elementwise()
    yield from _rowwise(rng, "layernorm", NORM_COLS)
    yield from _rowwise(rng, "rmsnorm", NORM_COLS)
    yield from _rowwise(rng, "softmax", SOFTMAX_COLS)
    yield from _copies()
    yield from _reductions(rng)
    yield from _gated()
    yield from _rope()


def _both_warmths(case):
    yield case
    if cost.of(case).bytes < L2_WARM_BYTES:
        yield case.with_warmth("warm")


def _elementwise():
    for dtype in ["bf16", "fp32"]:
        for elements in SIZES:
            for op in UNARY + BINARY:
                inputs = 2 if op in BINARY else 1
                yield from _both_warmths(make("elementwise", dtype, "torch", elements=elements,
                                              inputs=inputs, op=op))


def _row_shapes(cols_choices, largest=400_000_000):
    return [(rows, cols) for rows in ROWS for cols in cols_choices if rows * cols <= largest]


def _rowwise(rng, family, cols_choices):
    shapes = _row_shapes(cols_choices)
    for dtype, forward_count, backward_count in [("bf16", 110, 80), ("fp32", 60, 40)]:
        for rows, cols in rng.sample(shapes, forward_count):
            yield from _maybe_warm(rng, make(family, dtype, "torch", rows=rows, cols=cols))
        for rows, cols in rng.sample(shapes, backward_count):
            yield make(family, dtype, "torch", rows=rows, cols=cols, backward=1)


def _maybe_warm(rng, case):
    yield case
    if cost.of(case).bytes < L2_WARM_BYTES and rng.random() < 0.5:
        yield case.with_warmth("warm")


def _copies():
    for dtype in ["bf16", "fp32"]:
        for elements in SIZES:
            yield from _both_warmths(make("copy", dtype, "cuda_memcpy", elements=elements))
    for elements in SIZES:
        yield make("copy", "bf16", "torch", elements=elements, op="cast_fp32")
    for dtype in ["bf16", "fp32"]:
        for rows in [64, 512, 1000, 4096, 16384]:
            for cols in [64, 128, 1000, 4096, 16384]:
                yield make("transpose", dtype, "torch", rows=rows, cols=cols)


def _reductions(rng):
    shapes = _row_shapes(SOFTMAX_COLS)
    for dtype in ["bf16", "fp32"]:
        for rows, cols in rng.sample(shapes, 45):
            yield make("reduction", dtype, "torch", rows=rows, cols=cols)
        for rows, cols in rng.sample(shapes, 20):
            yield make("reduction", dtype, "torch", rows=rows, cols=cols, axis=0)
        for rows, cols in rng.sample(shapes, 15):
            yield make("reduction", dtype, "torch", rows=rows, cols=cols, op="max")


def _gated():
    for rows in [1, 16, 128, 512, 1000, 2048, 4096, 8192, 16384]:
        for cols in [3072, 8192, 11008, 14336, 18944, 28672]:
            for source in ["triton_fused", "torch_unfused"]:
                yield from _both_warmths(make("gated_activation", "bf16", source,
                                              rows=rows, cols=cols))


def _rope():
    for tokens in [1, 16, 128, 512, 1000, 2048, 4096, 8192, 16384, 32768]:
        for heads, head_dim in [(8, 128), (32, 128), (40, 128), (64, 128), (12, 64), (32, 64)]:
            yield from _both_warmths(make("rope", "bf16", "triton", tokens=tokens, heads=heads,
                                          head_dim=head_dim))
