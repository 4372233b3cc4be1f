"""The layers that are tuned: experts of public models as one rank of the usual splits holds them."""

from dataclasses import dataclass

TOKENS = (1, 4, 16, 64, 256, 1024, 4096, 8192)


@dataclass(frozen=True)
class Layer:
    name: str
    experts: int  # on this rank
    topk: int  # experts of this rank that a token visits
    hidden: int
    inter: int  # of this rank

    def weight_bytes(self, experts):
        return experts * 3 * self.inter * self.hidden * 2


# inter is the model's over the ranks of tensor parallelism. DeepSeek-V3 with expert parallelism
# over 8 ranks: 32 of 256 experts, so one of a token's 8 experts is here on average.
LAYERS = [
    Layer("qwen3-30b-a3b", 128, 8, 2048, 768),
    Layer("mixtral-8x7b-tp2", 8, 2, 4096, 7168),
    Layer("deepseek-v3-tp8", 256, 8, 7168, 256),
    Layer("qwen3-235b-a22b-tp4", 128, 8, 4096, 384),
    Layer("mixtral-8x7b-tp8", 8, 2, 4096, 1792),
    Layer("deepseek-v3-ep8", 32, 1, 7168, 2048),
    Layer("qwen3-30b-a3b-tp2", 128, 8, 2048, 384),
    Layer("qwen3-235b-a22b-tp2", 128, 8, 4096, 768),
]
