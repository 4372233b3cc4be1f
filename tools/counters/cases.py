"""The kernels whose hardware counters are read, and the order they are profiled in.

Cases are those of tools/collect, so the same builders launch them. Identifiers (tc000, tc001,
...) follow the list below; the profiling order is a fixed shuffle, so that a run cut short
still covers every family.
"""

import random

from collect.case import make

BF16_GEMMS = [
    (1, 4096, 4096), (1, 14336, 4096), (1, 128256, 4096), (8, 4096, 4096), (16, 4096, 4096),
    (17, 257, 1000), (17, 4096, 4096), (32, 8192, 8192), (64, 256, 16384), (64, 1024, 16384),
    (64, 4096, 4096), (128, 256, 256), (128, 4096, 4096), (128, 6144, 4096), (256, 256, 16384),
    (256, 4096, 14336), (257, 1000, 1000), (512, 512, 512), (512, 4096, 4096), (768, 768, 768),
    (1000, 1000, 1000), (1024, 1024, 257), (1024, 1024, 1024), (1024, 4096, 4096),
    (2048, 2048, 2048), (2048, 6144, 4096), (2048, 28672, 4096), (2048, 4096, 14336),
    (3000, 3000, 3000), (4096, 256, 4096), (4096, 1000, 4096), (4096, 4096, 4096),
    (4096, 11008, 4096), (4097, 4096, 4096), (8192, 1024, 8192), (8192, 8192, 8192),
    (16384, 256, 256), (16384, 512, 16384), (16384, 4096, 4096), (16384, 16384, 1024),
]
OTHER_GEMMS = {
    "fp32": [(1, 4096, 4096), (512, 512, 512), (1024, 1024, 1024), (2048, 1000, 257),
             (4096, 4096, 4096)],
    "tf32": [(64, 4096, 4096), (1024, 1024, 1024), (4096, 4096, 4096)],
    "fp16": [(128, 4096, 4096), (2048, 14336, 4096), (4096, 4096, 4096)],
    "fp8": [(128, 4096, 4096), (2048, 14336, 4096), (4096, 4096, 4096)],
}
BMMS = [(32, 128, 128, 128), (16, 512, 512, 64), (64, 1, 1024, 128), (8, 1024, 1024, 1024),
        (128, 256, 64, 256)]
# batch, q_len, kv_len, heads, kv_heads, head_dim, causal
FLASH = [
    (1, 1024, 1024, 32, 32, 128, 1), (1, 4096, 4096, 32, 32, 128, 1),
    (1, 4096, 4096, 32, 32, 128, 0), (1, 16384, 16384, 8, 8, 128, 1),
    (4, 2048, 2048, 32, 8, 128, 1), (4, 2048, 2048, 32, 8, 128, 0),
    (16, 512, 512, 16, 16, 64, 1), (16, 512, 512, 16, 16, 64, 0),
    (8, 1000, 1000, 12, 12, 64, 0), (2, 4096, 4096, 64, 8, 128, 1),
    (1, 128, 4096, 32, 8, 128, 0), (1, 1, 4096, 32, 8, 128, 0),
    (16, 1, 4096, 32, 8, 128, 0), (16, 1, 1024, 32, 32, 128, 0),
    (8, 1, 8192, 64, 8, 128, 0), (64, 1, 2048, 16, 16, 64, 0),
]
CUDNN = [(1, 4096, 4096, 32, 32, 128, 1), (4, 2048, 2048, 32, 8, 128, 1),
         (16, 512, 512, 16, 16, 64, 0), (16, 1, 4096, 32, 8, 128, 0)]
ELEMENTWISE = [  # op, dtype, elements
    ("add", "bf16", 10_000), ("add", "bf16", 1_000_000), ("add", "bf16", 10_000_000),
    ("add", "bf16", 100_000_000), ("add", "fp32", 1_000_000), ("add", "fp32", 100_000_000),
    ("mul", "bf16", 16_777_216), ("mul", "fp32", 10_000_000), ("div", "fp32", 16_777_216),
    ("gelu", "bf16", 1_000_000), ("gelu", "bf16", 58_720_256), ("gelu", "fp32", 16_777_216),
    ("silu", "bf16", 100_000), ("silu", "bf16", 29_360_128), ("silu", "fp32", 10_000_000),
    ("relu", "bf16", 16_777_216), ("relu", "fp32", 100_000_000), ("tanh", "bf16", 16_777_216),
    ("pow", "fp32", 16_777_216),
]
LAYERNORMS = [("bf16", 1, 4096), ("bf16", 128, 768), ("bf16", 2048, 4096), ("bf16", 8192, 1024),
              ("bf16", 16384, 8192), ("bf16", 4096, 5000), ("fp32", 2048, 4096),
              ("fp32", 8192, 768)]
RMSNORMS = [("bf16", 1, 4096), ("bf16", 2048, 4096), ("bf16", 8192, 8192), ("bf16", 512, 7168),
            ("fp32", 2048, 4096), ("fp32", 16384, 1024)]
SOFTMAXES = [("bf16", 16384, 128), ("bf16", 4096, 1024), ("bf16", 2048, 4096),
             ("bf16", 1024, 32000), ("bf16", 512, 65536), ("fp32", 65536, 256),
             ("fp32", 2048, 2048), ("fp32", 256, 65536)]


def all_cases():
    """[(identifier, case)] in profiling order."""
    numbered = [(f"tc{index:03d}", case) for index, case in enumerate(_listed())]
    random.Random(7).shuffle(numbered)
    return numbered


def _listed():
    yield from _matmuls()
    for shape in FLASH:
        yield _attention(shape, "flash_attention_2")
    for shape in CUDNN:
        yield _attention(shape, "cudnn")
    yield from _memory_bound()


def _matmuls():
    for dtype, shapes in {"bf16": BF16_GEMMS, **OTHER_GEMMS}.items():
        for m, n, k in shapes:
            yield make("gemm", dtype, "cublas", m=m, n=n, k=k)
    for batch, m, n, k in BMMS:
        yield make("bmm", "bf16", "cublas", batch=batch, m=m, n=n, k=k)


def _attention(shape, source):
    batch, q_len, kv_len, heads, kv_heads, head_dim, causal = shape
    family = "attention_decode" if q_len == 1 else "attention_prefill"
    return make(family, "bf16", source, batch=batch, q_len=q_len, kv_len=kv_len, heads=heads,
                kv_heads=kv_heads, head_dim=head_dim, causal=causal)


def _memory_bound():
    for op, dtype, elements in ELEMENTWISE:
        inputs = 2 if op in ("add", "mul", "div") else 1
        yield make("elementwise", dtype, "torch", elements=elements, inputs=inputs, op=op)
    for family, shapes in [("layernorm", LAYERNORMS), ("rmsnorm", RMSNORMS),
                           ("softmax", SOFTMAXES)]:
        for dtype, rows, cols in shapes:
            yield make(family, dtype, "torch", rows=rows, cols=cols)
    yield make("embedding", "bf16", "torch", tokens=4096, vocab=128256, cols=4096)
    yield make("embedding", "bf16", "torch", tokens=64, vocab=32000, cols=4096)
    for dtype, rows, cols in [("bf16", 4096, 4096), ("fp32", 8192, 1024), ("fp32", 16, 1048576)]:
        yield make("reduction", dtype, "torch", rows=rows, cols=cols)
    yield make("transpose", "bf16", "torch", rows=4096, cols=4096)
    yield make("transpose", "fp32", "torch", rows=8192, cols=2048)
    yield make("copy", "bf16", "torch", elements=16_777_216, op="cast_fp32")
    yield make("copy", "bf16", "cuda_memcpy", elements=16_777_216)
    yield make("gated_activation", "bf16", "triton_fused", rows=2048, cols=14336)
    yield make("rope", "bf16", "triton", tokens=4096, heads=32, head_dim=128)
    yield make("layernorm", "bf16", "torch", rows=4096, cols=4096, backward=1)
    yield make("attention_prefill", "bf16", "flash_attention_2", batch=2, q_len=2048,
               kv_len=2048, heads=32, kv_heads=32, head_dim=128, causal=1, backward=1)
