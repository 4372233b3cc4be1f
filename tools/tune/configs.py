"""The configurations that are searched, which of them can run, and the engines' defaults.

Nothing here needs PyTorch or a GPU.
"""

from itertools import product

NAMES = ("BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K", "GROUP_SIZE_M", "num_warps",
         "num_stages")

# The values that the tuning scripts of vLLM (benchmarks/kernels/benchmark_moe.py) and SGLang
# (benchmark/kernels/fused_moe_triton) search for bf16, less GROUP_SIZE_M 32, which lies between
# its neighbours.
BLOCK_M = (16, 32, 64, 128, 256)
BLOCK_N = (32, 64, 128, 256)
BLOCK_K = (64, 128, 256)
GROUP_M = (1, 16, 64)
WARPS = (4, 8)
STAGES = (2, 3, 4, 5)

SHARED_BYTES_PER_CTA = 227 << 10  # compute capability 9.0
REGISTERS_PER_THREAD = 255


def of(values):
    return dict(zip(NAMES, values, strict=True))


def legal(config):
    """Tiles of all stages fit in shared memory, fp32 sums in registers."""
    m, n, k = (config[name] for name in NAMES[:3])
    shared = config["num_stages"] * (m + n) * k * 2
    sums = m * n // (32 * config["num_warps"])
    return shared <= SHARED_BYTES_PER_CTA and sums <= REGISTERS_PER_THREAD


def grid():
    every = (of(values) for values in product(BLOCK_M, BLOCK_N, BLOCK_K, GROUP_M, WARPS, STAGES))
    return [config for config in every if legal(config)]


def default_by_tokens(tokens, experts):
    """get_default_config of vLLM in 2026 (fused_moe.py), bf16 without a tuned file."""
    block_m = 16 if tokens <= 32 else 32 if tokens <= 96 else 64 if tokens <= 512 else 128
    return of((block_m, 64 if tokens <= 64 else 128, 128 if tokens <= 64 else 64,
               16 if tokens // experts > 128 else 1, 4 if tokens <= 128 else 8,
               4 if tokens <= 32 else 3))


def default_by_experts(tokens, experts):
    """get_default_config of vLLM up to 0.14 and of SGLang 0.5 (fused_moe_triton_config.py);
    warps and stages are Triton's own defaults."""
    return of((16, 32, 64, 1, 4, 3) if tokens <= experts else (64, 64, 32, 8, 4, 3))


DEFAULTS = {"vllm": default_by_tokens, "sglang": default_by_experts}


def for_shape(tokens, experts):
    """The grid and the defaults, each once."""
    found = {tuple(config.values()): config for config in grid()}
    for default in DEFAULTS.values():
        config = default(tokens, experts)
        found.setdefault(tuple(config.values()), config)
    return list(found.values())


def binaries():
    """Configurations that differ by more than GROUP_SIZE_M, which is an argument."""
    extra = [default_by_experts(2, 1)]
    return list({without_group(config): config for config in grid() + extra}.values())


def without_group(config):
    return tuple(value for name, value in config.items() if name != "GROUP_SIZE_M")
