"""Which training-side kernels are measured: embeddings, cross-entropy, optimizer steps."""

from .case import make

OPTIMIZERS = ["adam_fused", "adamw_fused", "adam_foreach", "adam_single", "sgd_foreach",
              "sgd_fused", "sgd_momentum_foreach", "sgd_momentum_fused"]
VOCABULARIES = [32000, 50304, 128256, 152064]


def plan(rng):
    yield from _embeddings()
    yield from _cross_entropies()
    yield from _optimizers()


def _embeddings():
    for tokens in [1, 32, 256, 1024, 4096, 16384, 65536]:
        for vocab, cols in [(32000, 4096), (50304, 768), (128256, 4096), (152064, 3584)]:
            for dtype in ["bf16", "fp32"]:
                yield make("embedding", dtype, "torch", tokens=tokens, vocab=vocab, cols=cols)
                if tokens >= 256:
                    yield make("embedding", dtype, "torch", tokens=tokens, vocab=vocab,
                               cols=cols, backward=1)


def _cross_entropies():
    for rows in [1, 64, 512, 1024, 2048, 4096, 8192]:
        for cols in [1000] + VOCABULARIES:
            for dtype in ["bf16", "fp32"]:
                if rows * cols > 700_000_000:
                    continue
                yield make("cross_entropy", dtype, "torch", rows=rows, cols=cols)
                yield make("cross_entropy", dtype, "torch", rows=rows, cols=cols, backward=1)


def _optimizers():
    for kind in OPTIMIZERS:
        for dtype in ["fp32", "bf16"]:
            for params in [10_000, 300_000, 1_000_000, 4_194_304, 20_000_000, 124_000_000,
                           500_000_000]:
                case = make("optimizer", dtype, "torch", params=params, kind=kind)
                yield case
                if dtype == "fp32" and params >= 1_000_000:
                    yield case.with_runtime("eager")
