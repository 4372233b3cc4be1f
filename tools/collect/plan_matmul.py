"""Which matrix products are measured: model shapes, a cube grid, tile edges, random sizes."""

from .case import make

# (n, k) of the linear layers of Llama, Qwen, Mistral, Gemma, GPT-2 and DeepSeek models,
# whole and split over tensor-parallel ranks.
MODEL_LAYERS = [
    (4096, 4096), (6144, 4096), (28672, 4096), (14336, 4096), (4096, 14336), (128256, 4096),
    (22016, 4096), (11008, 4096), (4096, 11008), (12288, 4096), (8192, 8192), (10240, 8192),
    (57344, 8192), (8192, 28672), (1280, 8192), (7168, 8192), (8192, 3584), (8192, 1024),
    (3584, 3584), (4608, 3584), (37888, 3584), (3584, 18944), (5120, 5120), (15360, 5120),
    (27648, 5120), (5120, 13824), (768, 768), (2304, 768), (3072, 768), (768, 3072),
    (50304, 768), (1536, 7168), (7168, 2048), (2048, 2048), (16384, 2048), (2048, 8192),
]
TOKENS = [1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048,
          3072, 4096, 8192, 16384]
EDGES = [15, 17, 63, 65, 127, 129, 191, 193, 255, 257, 319, 320, 383, 385, 511, 513, 1000,
         1025, 2047, 2049, 4097]
TIME_LIMIT_FLOPS = {"bf16": 9e12, "fp16": 5e12, "fp8": 9e12, "tf32": 1.2e12, "fp32": 1.5e11}


def plan(rng):
    yield from _within("bf16", _bf16_shapes(rng))
    yield from _within("fp32", _fp32_shapes(rng))
    yield from _within("tf32", _few_shapes(rng, 110))
    yield from _within("fp16", _few_shapes(rng, 150))
    yield from _within("fp8", _fp8_shapes(rng))
    yield from _warm_gemms(rng)
    yield from _batched(rng)


def _gemm(dtype, shape, warmth="cold"):
    m, n, k = shape
    return make("gemm", dtype, "cublas", warmth=warmth, m=m, n=n, k=k)


def _within(dtype, shapes):
    for m, n, k in shapes:
        if 2.0 * m * n * k <= TIME_LIMIT_FLOPS[dtype]:
            yield _gemm(dtype, (m, n, k))


def _bf16_shapes(rng):
    yield from model_shapes(TOKENS)
    yield from _cube([256, 512, 1024, 2048, 4096, 8192, 16384])
    yield from _edge_shapes()
    yield from _random_shapes(rng, 600, 16384)


def _fp32_shapes(rng):
    yield from _cube([128, 256, 512, 1024, 2048, 4096])
    yield from model_shapes([1, 8, 16, 64, 128, 512, 1024])
    yield from _random_shapes(rng, 200, 8192)


def _few_shapes(rng, count):
    shapes = list(model_shapes([1, 16, 64, 256, 1024, 4096])) + list(_cube([512, 1024, 4096]))
    yield from rng.sample(shapes, count)


def _fp8_shapes(rng):
    shapes = [(m, n, k) for m, n, k in model_shapes([16, 64, 128, 512, 1024, 2048, 4096, 8192])
              if n % 16 == 0 and k % 16 == 0]
    yield from rng.sample(shapes, 160)


def model_shapes(tokens):
    for n, k in MODEL_LAYERS:
        for m in tokens:
            yield m, n, k


def _cube(sides):
    for m in sides:
        for n in sides:
            for k in sides:
                yield m, n, k


def _edge_shapes():
    for edge in EDGES:
        for n, k in [(4096, 4096), (1024, 8192), (8192, 512)]:
            yield edge, n, k
        for m, k in [(4096, 1024), (256, 4096)]:
            yield m, edge, k
        for m, n in [(1024, 1024), (64, 4096)]:
            yield m, n, edge


def _random_shapes(rng, count, longest):
    """Log-uniform sizes; most are multiples of 8 as in models, some are any integer."""
    for _ in range(count):
        step = rng.choice([1, 8, 8, 16, 64, 128])
        yield tuple(_log_uniform(rng, 16, longest, step) for _ in range(3))


def _log_uniform(rng, low, high, step=1):
    value = low * (high / low) ** rng.random()
    return max(step, round(value / step) * step)


def _warm_gemms(rng):
    """Products whose operands stay in the L2 cache between runs."""
    shapes = [s for s in model_shapes(TOKENS) if _megabytes(s) < 32]
    shapes += [s for s in _cube([256, 512, 1024, 2048, 4096]) if _megabytes(s) < 32]
    for shape in rng.sample(shapes, 220):
        yield _gemm("bf16", shape, "warm")


def _megabytes(shape):
    m, n, k = shape
    return 2 * (m * k + n * k + m * n) / 1e6


def _batched(rng):
    for _ in range(170):
        batch = rng.choice([2, 4, 8, 16, 32, 64, 128, 256])
        m = rng.choice([1, 16, 64, 128, 256, 512, 1024, 2048])
        n = rng.choice([64, 128, 256, 512, 1024, 2048])
        k = rng.choice([32, 64, 128, 256, 512, 1024])
        if 2.0 * batch * m * n * k < 2e12:
            yield make("bmm", "bf16", "cublas", batch=batch, m=m, n=n, k=k)
