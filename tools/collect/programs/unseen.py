"""Programs of kinds that no rule was chosen by: they are measured once, to judge blindly."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from .work import DTYPES, Work, classes, fused_adamw, momentum, own_loss, pixels, tokens


class Chain(nn.Module):
    """Layers one after the other. `module.compile()` passes over modules of PyTorch itself, nn.Sequential among them."""

    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


def _masked(model: nn.Module, ids: Tensor, train: bool, autocast: str, dtype: str) -> Work:
    inputs: dict[str, Any] = {"input_ids": ids}
    if train:
        inputs["labels"] = ids
    return Work(model, inputs, own_loss if train else None, fused_adamw, DTYPES.get(autocast), DTYPES[dtype])


def registers(batch: int, side: int, layers: int = 12) -> Work:
    """A vision transformer with register tokens and scaled layers."""
    import transformers as hf
    config = hf.Dinov2WithRegistersConfig(hidden_size=768, num_hidden_layers=layers, num_attention_heads=12,
                                          image_size=side, patch_size=14, num_register_tokens=4)
    return Work(hf.Dinov2WithRegistersModel(config), {"pixel_values": pixels(batch, side)}, dtype=torch.bfloat16)


def rotary_encoder(batch: int, length: int, layers: int = 12, train: bool = True, autocast: str = "",
                   dtype: str = "fp32") -> Work:
    """Local and global attention in turn, rotary positions, gated layers."""
    import transformers as hf
    config = hf.ModernBertConfig(num_hidden_layers=layers, max_position_embeddings=max(1024, length))
    config._attn_implementation = "sdpa"
    return _masked(hf.ModernBertForMaskedLM(config), tokens(50000, batch, length), train, autocast, dtype)


def disentangled(batch: int, length: int, layers: int = 12, train: bool = True, autocast: str = "",
                 dtype: str = "fp32") -> Work:
    """Attention whose scores have parts of content and of relative position, gathered by index."""
    import transformers as hf
    config = hf.DebertaV2Config(hidden_size=768, num_hidden_layers=layers, num_attention_heads=12,
                                intermediate_size=3072, vocab_size=30000, relative_attention=True,
                                pos_att_type=["p2c", "c2p"], position_buckets=256, norm_rel_ebd="layer_norm",
                                share_att_key=True, max_position_embeddings=512)
    return _masked(hf.DebertaV2ForMaskedLM(config), tokens(29000, batch, length), train, autocast, dtype)


def shared_layers(batch: int, length: int, train: bool, dtype: str = "bf16") -> Work:
    """One layer's weights, run twelve times."""
    import transformers as hf
    config = hf.AlbertConfig(hidden_size=1024, num_hidden_layers=12, num_attention_heads=16, intermediate_size=4096,
                             vocab_size=30000)
    return _masked(hf.AlbertForMaskedLM(config), tokens(29000, batch, length), train, "", dtype)


def distilled(batch: int, length: int) -> Work:
    import transformers as hf
    return Work(hf.DistilBertModel(hf.DistilBertConfig()), {"input_ids": tokens(30000, batch, length)},
                dtype=torch.float16)


def mixture(batch: int, length: int, layers: int, experts: int = 8, train: bool = True) -> Work:
    import transformers as hf
    config = hf.MixtralConfig(hidden_size=1024, intermediate_size=2816, num_hidden_layers=layers,
                              num_attention_heads=16, num_key_value_heads=4, num_local_experts=experts,
                              num_experts_per_tok=2, vocab_size=32000, use_cache=False)
    ids = tokens(32000, batch, length)
    return _masked(hf.MixtralForCausalLM(config), ids, train, "", "bf16")


class Modulated(nn.Module):
    """A transformer's layer whose norms are shifted, scaled and gated by the picture's time and class."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.LayerNorm(width, elementwise_affine=False, eps=1e-6) for _ in range(2))
        self.qkv, self.join = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.modulate = nn.Linear(width, 6 * width)

    def forward(self, x: Tensor, condition: Tensor) -> Tensor:
        shift, scale, gate, shift2, scale2, gate2 = self.modulate(nn.functional.silu(condition))[:, None].chunk(6, -1)
        parts = self.qkv(self.norms[0](x) * (1 + scale) + shift).unflatten(-1, (3, self.heads, -1))
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        x = x + gate * self.join(nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
        y = self.norms[1](x) * (1 + scale2) + shift2
        return x + gate2 * self.down(nn.functional.gelu(self.up(y), approximate="tanh"))


class DiffusionTransformer(nn.Module):
    def __init__(self, width: int, heads: int, layers: int, side: int, patch: int = 2) -> None:
        super().__init__()
        self.patch, self.side = patch, side
        self.enter = nn.Conv2d(4, width, patch, patch)
        self.places = nn.Parameter(torch.zeros(1, (side // patch) ** 2, width))
        self.time = nn.Sequential(nn.Linear(256, width), nn.SiLU(), nn.Linear(width, width))
        self.labels = nn.Embedding(1001, width)
        self.layers = nn.ModuleList(Modulated(width, heads) for _ in range(layers))
        self.norm, self.leave = nn.LayerNorm(width), nn.Linear(width, patch * patch * 8)
        self.register_buffer("waves", torch.exp(-torch.arange(128) / 14.0))

    def forward(self, x: Tensor, time: Tensor, label: Tensor) -> Tensor:
        angles = time[:, None] * self.waves
        condition = self.time(torch.cat((angles.cos(), angles.sin()), -1)) + self.labels(label)
        x = self.enter(x).flatten(2).transpose(1, 2) + self.places
        for layer in self.layers:
            x = layer(x, condition)
        x, many = self.leave(self.norm(x)), self.side // self.patch
        x = x.reshape(-1, many, many, self.patch, self.patch, 8)
        return torch.einsum("nhwpqc->nchpwq", x).reshape(-1, 8, self.side, self.side)


def diffusion_transformer(batch: int, side: int, layers: int = 12, train: bool = True) -> Work:
    inputs = {"x": torch.randn(batch, 4, side, side), "time": torch.rand(batch),
              "label": torch.randint(0, 1000, (batch,))}
    aim = torch.randn(batch, 8, side, side)
    loss = lambda out: nn.functional.mse_loss(out.float(), aim)
    return Work(DiffusionTransformer(768, 12, layers, side), inputs, loss if train else None, fused_adamw,
                dtype=torch.bfloat16)


class PointNet(nn.Module):
    """Layers of one tap over points, the greatest of each feature, a classifier."""

    def __init__(self) -> None:
        super().__init__()
        made: list[nn.Module] = []
        for inside, outside in zip((3, 64, 128, 256), (64, 128, 256, 1024)):
            made += [nn.Conv1d(inside, outside, 1), nn.BatchNorm1d(outside), nn.ReLU()]
        self.points = nn.Sequential(*made)
        self.head = nn.Sequential(nn.Linear(1024, 512), nn.BatchNorm1d(512), nn.ReLU(), nn.Dropout(0.3),
                                  nn.Linear(512, 40))

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.points(x).amax(-1))


def points(batch: int, count: int) -> Work:
    return Work(PointNet(), {"x": torch.randn(batch, 3, count)}, classes(40, batch),
                lambda parameters: torch.optim.Adam(parameters, lr=1e-3))


class Causal(nn.Module):
    def __init__(self, inside: int, outside: int, dilation: int) -> None:
        super().__init__()
        self.reach = 4 * dilation
        self.first = nn.Conv1d(inside, outside, 5, padding=self.reach, dilation=dilation)
        self.second = nn.Conv1d(outside, outside, 5, padding=self.reach, dilation=dilation)
        self.skip = nn.Conv1d(inside, outside, 1) if inside != outside else nn.Identity()
        self.drop = nn.Dropout(0.1)

    def forward(self, x: Tensor) -> Tensor:
        y = self.drop(torch.relu(self.first(x)[..., :-self.reach]))
        y = self.drop(torch.relu(self.second(y)[..., :-self.reach]))
        return torch.relu(y + self.skip(x))


def temporal(batch: int, length: int, train: bool) -> Work:
    """Dilated causal convolutions over time."""
    widths = [32, 256, 256, 256, 256, 256]
    layers = [Causal(a, b, 2 ** n) for n, (a, b) in enumerate(zip(widths, widths[1:]))]
    model = Chain(*layers, nn.Conv1d(256, 32, 1))
    aim = torch.randn(batch, 32, length)
    loss = lambda out: nn.functional.mse_loss(out, aim)
    return Work(model, {"x": torch.randn(batch, 32, length)}, loss if train else None)


class Block3d(nn.Module):
    def __init__(self, inside: int, outside: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Conv3d(inside, outside, 3, padding=1), nn.InstanceNorm3d(outside, affine=True),
                                    nn.LeakyReLU(0.01), nn.Conv3d(outside, outside, 3, padding=1),
                                    nn.InstanceNorm3d(outside, affine=True), nn.LeakyReLU(0.01))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


class Volumes(nn.Module):
    """A U-Net over three axes: pooled down, transposed convolutions up."""

    def __init__(self, base: int = 32, levels: int = 4) -> None:
        super().__init__()
        widths = [base * 2 ** n for n in range(levels)]
        self.down = nn.ModuleList(Block3d(a, b) for a, b in zip([1, *widths], widths))
        self.grow = nn.ModuleList(nn.ConvTranspose3d(b, a, 2, 2) for a, b in zip(widths, widths[1:]))
        self.up = nn.ModuleList(Block3d(2 * a, a) for a in widths[:-1])
        self.leave = nn.Conv3d(base, 3, 1)

    def forward(self, x: Tensor) -> Tensor:
        kept = []
        for level, block in enumerate(self.down):
            x = block(nn.functional.max_pool3d(x, 2) if level else x)
            kept.append(x)
        kept.pop()
        for grow, block in zip(reversed(self.grow), reversed(self.up)):
            x = block(torch.cat((grow(x), kept.pop()), 1))
        return self.leave(x)


def volumes(batch: int, side: int, train: bool) -> Work:
    targets = torch.randint(0, 3, (batch, side, side, side))
    loss = lambda out: nn.functional.cross_entropy(out.float(), targets)
    return Work(Volumes(), {"x": torch.randn(batch, 1, side, side, side)}, loss if train else None, momentum,
                torch.bfloat16 if train else None, torch.float32 if train else torch.float16)


class LinearAttention(nn.Module):
    """Attention without softmax in chunks: inside a chunk by masked products, across chunks by a running state."""

    def __init__(self, width: int, heads: int, chunk: int = 128) -> None:
        super().__init__()
        self.heads, self.chunk = heads, chunk
        self.norm, self.qkv = nn.RMSNorm(width), nn.Linear(width, 3 * width, bias=False)
        self.gate, self.join = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.norm2 = nn.RMSNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)
        self.register_buffer("mask", torch.ones(chunk, chunk).tril())

    def forward(self, x: Tensor) -> Tensor:
        h = self.norm(x)
        split = self.qkv(h).unflatten(1, (-1, self.chunk)).unflatten(-1, (3, self.heads, -1))
        q, k, v = split.permute(3, 0, 4, 1, 2, 5)
        q, k = nn.functional.elu(q) + 1, nn.functional.elu(k) + 1
        inside = ((q @ k.transpose(-1, -2)) * self.mask) @ v
        states = (k.transpose(-1, -2) @ v).cumsum(2)
        before = nn.functional.pad(states[:, :, :-1], (0, 0, 0, 0, 1, 0))
        found = (inside + q @ before).permute(0, 2, 3, 1, 4).flatten(3).flatten(1, 2)
        x = x + self.join(found * torch.sigmoid(self.gate(h)))
        return x + self.down(torch.relu(self.up(self.norm2(x))).square())


def linear_attention(batch: int, length: int, layers: int, train: bool) -> Work:
    model = Chain(nn.Embedding(32000, 1024), *(LinearAttention(1024, 16) for _ in range(layers)), nn.RMSNorm(1024),
                  nn.Linear(1024, 32000, bias=False))
    ids = tokens(32000, batch, length)
    loss = lambda out: nn.functional.cross_entropy(out.flatten(0, 1).float(), ids.flatten())
    return Work(model, {"x": ids}, loss if train else None, fused_adamw, dtype=torch.bfloat16)


class Translator(nn.Module):
    """Gated recurrent layers that read, others that write, additive attention between them."""

    def __init__(self, vocabulary: int, width: int) -> None:
        super().__init__()
        self.read, self.write = nn.Embedding(vocabulary, width), nn.Embedding(vocabulary, width)
        self.encoder = nn.GRU(width, width // 2, 2, batch_first=True, bidirectional=True)
        self.decoder = nn.GRU(width, width, 2, batch_first=True)
        self.query, self.join = nn.Linear(width, width, bias=False), nn.Linear(2 * width, width)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        seen, _ = self.encoder(self.read(source))
        made, _ = self.decoder(self.write(target))
        weights = torch.bmm(self.query(made), seen.transpose(1, 2)).softmax(-1)
        return self.head(torch.tanh(self.join(torch.cat((made, torch.bmm(weights, seen)), -1))))


def translator(batch: int, length: int) -> Work:
    source, target = tokens(16000, batch, length), tokens(16000, batch, length)
    loss = lambda out: nn.functional.cross_entropy(out.flatten(0, 1), target.flatten())
    return Work(Translator(16000, 512), {"source": source, "target": target}, loss,
                lambda parameters: torch.optim.Adam(parameters, lr=1e-3))


class Mixer(nn.Module):
    """Layers over patches and layers over channels in turn."""

    def __init__(self, patches: int, width: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.across = nn.Sequential(nn.Linear(patches, 384), nn.GELU(), nn.Linear(384, patches))
        self.along = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.across(self.norms[0](x).transpose(1, 2)).transpose(1, 2)
        return x + self.along(self.norms[1](x))


class MixerNet(nn.Module):
    def __init__(self, layers: int, width: int = 768) -> None:
        super().__init__()
        self.enter = nn.Conv2d(3, width, 16, 16)
        self.layers = nn.Sequential(*(Mixer(196, width) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 1000)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.norm(self.layers(self.enter(x).flatten(2).transpose(1, 2))).mean(1))


def mixer(batch: int, layers: int = 12) -> Work:
    return Work(MixerNet(layers), {"x": pixels(batch)}, dtype=torch.float16)
