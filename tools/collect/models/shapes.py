"""The shapes of the measured models. Weights are random; nothing here needs PyTorch."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Shape:
    name: str
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    inter: int
    vocab: int
    kind: str = "llama"  # llama: RMSNorm, SwiGLU, rotary; gpt2: LayerNorm, GELU, learned positions
    qkv_bias: bool = False
    qk_norm: bool = False
    tied: bool = False
    theta: float = 10000.0
    eps: float = 1e-5
    positions: int = 16384

    @property
    def q_cols(self):
        return self.heads * self.head_dim

    @property
    def kv_cols(self):
        return self.kv_heads * self.head_dim

    @property
    def qkv_cols(self):
        return self.q_cols + 2 * self.kv_cols

    def cache_bytes(self, batch, length):
        return 2 * 2 * self.layers * batch * length * self.kv_cols

    def parameters(self):
        if self.kind == "gpt2":
            layer = 12 * self.hidden ** 2 + 13 * self.hidden
            return (self.layers * layer + (self.vocab + self.positions) * self.hidden
                    + 2 * self.hidden)
        layer = (self.hidden * (self.qkv_cols + self.q_cols) + 3 * self.hidden * self.inter
                 + 2 * self.hidden + (self.qkv_cols if self.qkv_bias else 0)
                 + (2 * self.head_dim if self.qk_norm else 0))
        tables = self.vocab * self.hidden * (1 if self.tied else 2)
        return self.layers * layer + tables + self.hidden


SHAPES = {shape.name: shape for shape in [
    Shape("llama-3.1-8b", 4096, 32, 32, 8, 128, 14336, 128256, theta=500000.0),
    Shape("qwen2.5-7b", 3584, 28, 28, 4, 128, 18944, 152064, qkv_bias=True, theta=1e6, eps=1e-6),
    Shape("qwen3-4b", 2560, 36, 32, 8, 128, 9728, 151936, qk_norm=True, tied=True, theta=1e6,
          eps=1e-6),
    Shape("llama-2-13b", 5120, 40, 40, 40, 128, 13824, 32000),
    Shape("gpt2-medium", 1024, 24, 16, 16, 64, 4096, 50257, kind="gpt2", tied=True,
          positions=1024),
    Shape("gpt2-large", 1280, 36, 20, 20, 64, 5120, 50257, kind="gpt2", tied=True,
          positions=1024),
    Shape("llama-3.2-1b", 2048, 16, 32, 8, 64, 8192, 128256, tied=True, theta=500000.0),
    Shape("tinyllama-1.1b", 2048, 22, 32, 4, 64, 5632, 32000),
]}


def tiny(shape):
    """The same structure, small enough to try every path in a second."""
    grouped = shape.kv_heads < shape.heads
    return replace(shape, hidden=256, layers=2, heads=4, kv_heads=2 if grouped else 4,
                   head_dim=64, inter=1024, vocab=1000)
