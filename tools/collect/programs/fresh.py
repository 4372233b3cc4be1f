"""Programs of further kinds, measured once after the rules of convolutions were final: they judge those too."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from .unseen import Chain
from .work import DTYPES, Work, classes, fused_adamw, own_loss, pixels, tokens


class FeedForward(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(nn.functional.silu(self.up(self.norm(x))))


class ConformerBlock(nn.Module):
    """Half a feed-forward, attention, a gated depthwise convolution over time, the other half."""

    def __init__(self, width: int, heads: int, taps: int) -> None:
        super().__init__()
        self.heads = heads
        self.first, self.second = FeedForward(width), FeedForward(width)
        self.norm1, self.qkv, self.join = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm2, self.enter = nn.LayerNorm(width), nn.Conv1d(width, 2 * width, 1)
        self.over_time = nn.Conv1d(width, width, taps, padding=taps // 2, groups=width)
        self.batch_norm, self.leave = nn.BatchNorm1d(width), nn.Conv1d(width, width, 1)
        self.last = nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        x = x + 0.5 * self.first(x)
        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        x = x + self.join(nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
        y = nn.functional.glu(self.enter(self.norm2(x).transpose(1, 2)), 1)
        y = self.leave(nn.functional.silu(self.batch_norm(self.over_time(y))))
        x = x + y.transpose(1, 2)
        return self.last(x + 0.5 * self.second(x))


class Conformer(nn.Module):
    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.enter = nn.Sequential(nn.Conv2d(1, width, 3, 2), nn.ReLU(), nn.Conv2d(width, width, 3, 2), nn.ReLU())
        self.project = nn.Linear(width * 19, width)
        self.layers = nn.ModuleList(ConformerBlock(width, 4, 31) for _ in range(layers))
        self.head = nn.Linear(width, 1000)

    def forward(self, x: Tensor) -> Tensor:
        x = self.project(self.enter(x).permute(0, 2, 1, 3).flatten(2))
        for layer in self.layers:
            x = layer(x)
        return self.head(x.mean(1))


def conformer(batch: int, frames: int, layers: int = 8, train: bool = True) -> Work:
    return Work(Conformer(256, layers), {"x": torch.randn(batch, 1, frames, 80)},
                classes(1000, batch) if train else None, fused_adamw, torch.bfloat16 if train else None,
                torch.float32 if train else torch.float16)


class Gated(nn.Module):
    """A dilated convolution of two taps through a gate, a skip and a way on."""

    def __init__(self, width: int, dilation: int) -> None:
        super().__init__()
        self.reach = dilation
        self.both = nn.Conv1d(width, 2 * width, 2, dilation=dilation)
        self.on, self.skip = nn.Conv1d(width, width, 1), nn.Conv1d(width, 2 * width, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        value, gate = self.both(nn.functional.pad(x, (self.reach, 0))).chunk(2, 1)
        y = torch.tanh(value) * torch.sigmoid(gate)
        return x + self.on(y), self.skip(y)


class WaveNet(nn.Module):
    def __init__(self, width: int, cycles: int) -> None:
        super().__init__()
        self.enter = nn.Conv1d(1, width, 1)
        self.layers = nn.ModuleList(Gated(width, 2 ** n) for _ in range(cycles) for n in range(8))
        self.leave = nn.Sequential(nn.ReLU(), nn.Conv1d(2 * width, 2 * width, 1), nn.ReLU(), nn.Conv1d(2 * width, 256, 1))

    def forward(self, x: Tensor) -> Tensor:
        x, out = self.enter(x), None
        for layer in self.layers:
            x, skip = layer(x)
            out = skip if out is None else out + skip
        return self.leave(out)


def wavenet(batch: int, length: int, train: bool = True) -> Work:
    targets = torch.randint(0, 256, (batch, length))
    loss = lambda out: nn.functional.cross_entropy(out, targets)
    return Work(WaveNet(64, 2), {"x": torch.randn(batch, 1, length)}, loss if train else None, fused_adamw)


class Grow(nn.Module):
    """Two convolutions behind group norms, and twice the image."""

    def __init__(self, inside: int, outside: int, twice: bool) -> None:
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(32, inside), nn.Conv2d(inside, outside, 3, padding=1)
        self.norm2, self.conv2 = nn.GroupNorm(32, outside), nn.Conv2d(outside, outside, 3, padding=1)
        self.skip = nn.Conv2d(inside, outside, 1) if inside != outside else nn.Identity()
        self.twice = nn.Conv2d(outside, outside, 3, padding=1) if twice else None

    def forward(self, x: Tensor) -> Tensor:
        h = self.conv1(nn.functional.silu(self.norm1(x)))
        x = self.skip(x) + self.conv2(nn.functional.silu(self.norm2(h)))
        if self.twice is None:
            return x
        return self.twice(nn.functional.interpolate(x, scale_factor=2.0, mode="nearest"))


def latent_decoder(batch: int, side: int) -> Work:
    """The decoder of an autoencoder: four channels in, an image of eight times the side out."""
    widths = (512, 512, 256, 128)
    blocks = [Grow(a, b, n < 3) for n, (a, b) in enumerate(zip((512, *widths), widths))]
    model = Chain(nn.Conv2d(4, 512, 3, padding=1), *blocks, nn.GroupNorm(32, 128), nn.SiLU(),
                  nn.Conv2d(128, 3, 3, padding=1))
    return Work(model, {"x": torch.randn(batch, 4, side, side)}, dtype=torch.float16)


def distilled_image(batch: int, train: bool = False, layers: int = 12) -> Work:
    """A vision transformer with a token to distil by."""
    import transformers as hf
    config = hf.DeiTConfig(num_hidden_layers=layers)
    config.num_labels = 1000
    return Work(hf.DeiTForImageClassification(config), {"pixel_values": pixels(batch)},
                classes(1000, batch) if train else None, fused_adamw, dtype=torch.float16)


def summarizer(batch: int, source: int, target: int, layers: int = 6) -> Work:
    """An encoder and a decoder with learned positions, shared embeddings and GELU."""
    import transformers as hf
    config = hf.BartConfig(d_model=768, encoder_layers=layers, decoder_layers=layers, encoder_attention_heads=12,
                           decoder_attention_heads=12, encoder_ffn_dim=3072, decoder_ffn_dim=3072, vocab_size=50265,
                           dropout=0.0)
    ids, labels = tokens(50000, batch, source), tokens(50000, batch, target)
    return Work(hf.BartForConditionalGeneration(config), {"input_ids": ids, "labels": labels}, own_loss, fused_adamw,
                dtype=torch.bfloat16)


def discriminator(batch: int, length: int, layers: int = 12) -> Work:
    """Which tokens were replaced: a classifier of every token."""
    import transformers as hf
    config = hf.ElectraConfig(embedding_size=128, hidden_size=256, num_hidden_layers=layers, num_attention_heads=4,
                              intermediate_size=1024)
    labels = torch.randint(0, 2, (batch, length))
    return Work(hf.ElectraForPreTraining(config), {"input_ids": tokens(30000, batch, length), "labels": labels},
                own_loss, fused_adamw, torch.bfloat16)


def segmentation(batch: int, side: int) -> Work:
    """Dilated convolutions in place of strides, several dilations side by side."""
    import torchvision
    model = torchvision.models.segmentation.deeplabv3_resnet50(weights=None, weights_backbone=None)

    class Logits(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = model

        def forward(self, x: Tensor) -> Tensor:
            return self.net(x)["out"]
    return Work(Logits(), {"x": pixels(batch, side)}, dtype=DTYPES["bf16"])


class PlainRecurrent(nn.Module):
    """Recurrent layers of tanh, a classifier of the last state."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.layers, self.head = nn.RNN(64, width, 2, batch_first=True), nn.Linear(width, 100)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.layers(x)[0][:, -1])


def plain_recurrent(batch: int, length: int) -> Work:
    return Work(PlainRecurrent(512), {"x": torch.randn(batch, length, 64)}, classes(100, batch), fused_adamw)
