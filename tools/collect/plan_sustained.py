"""Which kernels are also measured under sustained load: back to back for seconds, so that the card is
warm, and at its power limit where the kernel takes it there. Only a few, since each takes seconds: in each
family, those that draw the most power and the least."""

from itertools import zip_longest

from .case import make

# Seconds of load per case: clocks settle within a tenth of a second, dips come once a second. Cases follow each other without a
# pause, so that a short one finds the card as warm as a long one would make it.
SECONDS, QUICK_SECONDS, SMOKE_SECONDS = 2.0, 1.6, 0.3


def plan():
    """The most valuable first: a short run measures only those."""
    for cases in zip_longest(_products(), _attention(), _streams()):
        yield from (case.with_run("sustained") for case in cases if case)


def quick():
    """The cases of a one-minute run: the first of every kind."""
    seen, chosen = set(), []
    for case in plan():
        kind = (case.family, case.dtype, case.kernel_source, case.backward)
        if kind not in seen:
            seen.add(kind)
            chosen.append(case)
    return chosen


def _gemm(dtype, m, n, k):
    return make("gemm", dtype, "cublas", m=m, n=n, k=k)


def _products():
    yield _gemm("bf16", 4096, 28672, 4096)
    yield _gemm("fp8", 4096, 28672, 4096)
    yield _gemm("tf32", 2048, 14336, 4096)
    yield _gemm("fp32", 1024, 6144, 4096)
    yield _gemm("fp16", 2048, 10240, 8192)
    yield _gemm("bf16", 256, 10240, 8192)
    yield _gemm("bf16", 16384, 8192, 3584)
    yield _gemm("bf16", 1024, 4608, 3584)
    yield _gemm("bf16", 16, 57344, 8192)
    yield _gemm("fp8", 512, 10240, 8192)
    yield _gemm("fp8", 8192, 8192, 28672)
    yield _gemm("tf32", 4096, 5120, 5120)
    yield _gemm("fp32", 2048, 5120, 5120)
    yield make("bmm", "bf16", "cublas", batch=64, m=1024, n=1024, k=128)


def _attention():
    yield _prefill("cudnn", 2, 8192, 32, 8)
    yield _prefill("flash_attention_2", 2, 8192, 32, 8)
    yield make("attention_decode", "bf16", "flash_attention_2", batch=64, q_len=1, kv_len=4096, heads=32,
               kv_heads=8, head_dim=128, causal=0)
    yield _prefill("flash_attention_2", 4, 4096, 16, 16, 64, backward=1)
    yield _prefill("cudnn", 8, 1024, 16, 16)
    yield _prefill("flash_attention_2", 8, 2048, 16, 16, 64, causal=0)


def _prefill(source, batch, length, heads, kv_heads, head_dim=128, causal=1, **extra):
    return make("attention_prefill", "bf16", source, batch=batch, q_len=length, kv_len=length, heads=heads,
                kv_heads=kv_heads, head_dim=head_dim, causal=causal, **extra)


def _streams():
    yield make("rmsnorm", "bf16", "torch", rows=16384, cols=4096)
    yield make("elementwise", "bf16", "torch", elements=1 << 26, inputs=1, op="gelu")
    yield make("softmax", "fp32", "torch", rows=4096, cols=32000)
    yield make("layernorm", "fp32", "torch", rows=8192, cols=5120)
    yield make("elementwise", "fp32", "torch", elements=100_000_000, inputs=2, op="add")
