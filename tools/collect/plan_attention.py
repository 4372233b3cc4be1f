"""Which attention calls are measured: prefill (and its backward), chunks and decode."""

from .case import make

# (heads, kv_heads, head_dim)
HEADS = [(32, 32, 128), (32, 8, 128), (64, 8, 128), (28, 4, 128), (40, 40, 128), (8, 8, 128),
         (16, 16, 64), (12, 12, 64), (32, 8, 64), (16, 2, 128), (8, 4, 256), (16, 16, 96)]
FLASH, CUDNN = "flash_attention_2", "cudnn"


def plan(rng):
    prefill = list(_prefill_shapes())
    for shape in rng.sample(prefill, min(430, len(prefill))):
        yield _prefill(rng, shape)
    for shape in rng.sample([s for s in prefill if _flops(s) < 2e12], 280):
        yield _prefill(rng, shape, backward=1)
    for shape in rng.sample([s for s in prefill if s[3][2] <= 128], 50):
        yield _prefill(rng, shape, source=CUDNN)
    yield from _chunks(rng)
    yield from _decode(rng)


def _prefill_shapes():
    for batch in [1, 2, 4, 8, 16, 32]:
        for length in [64, 128, 200, 256, 512, 777, 1024, 2048, 4096, 8192, 16384]:
            for causal in [0, 1]:
                for heads in HEADS:
                    shape = (batch, length, causal, heads)
                    if batch * length <= 65536 and _flops(shape) <= 5e12:
                        yield shape


def _flops(shape):
    batch, length, causal, (heads, _, head_dim) = shape
    return 4.0 * batch * heads * length * length * head_dim / (2 if causal else 1)


def _prefill(rng, shape, backward=0, source=FLASH):
    batch, length, causal, (heads, kv_heads, head_dim) = shape
    dtype = "fp16" if rng.random() < 0.2 else "bf16"
    extra = {"backward": 1} if backward else {}
    return make("attention_prefill", dtype, source, batch=batch, q_len=length, kv_len=length,
                heads=heads, kv_heads=kv_heads, head_dim=head_dim, causal=causal, **extra)


def _chunks(rng):
    """A chunk of new queries against a longer cache (full mask: the flash kernels in PyTorch
    take the causal mask only for equal lengths)."""
    for _ in range(70):
        heads, kv_heads, head_dim = rng.choice(HEADS)
        yield make("attention_prefill", "bf16", FLASH, batch=rng.choice([1, 1, 2, 4]),
                   q_len=rng.choice([16, 64, 128, 256, 512, 1024, 2048]),
                   kv_len=rng.choice([1024, 2048, 4096, 8192, 16384]),
                   heads=heads, kv_heads=kv_heads, head_dim=head_dim, causal=0)


def _decode(rng):
    for batch in [1, 2, 4, 8, 16, 32, 64, 128, 256]:
        for kv_len in [128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536]:
            for heads, kv_heads, head_dim in [(32, 8, 128), (32, 32, 128), (64, 8, 128),
                                              (16, 16, 64)]:
                if batch * kv_len * kv_heads * head_dim > 1 << 29 or rng.random() < 0.3:
                    continue
                dtype = "fp16" if rng.random() < 0.15 else "bf16"
                yield make("attention_decode", dtype, FLASH, batch=batch, q_len=1,
                           kv_len=kv_len, heads=heads, kv_heads=kv_heads,
                           head_dim=head_dim, causal=0)
