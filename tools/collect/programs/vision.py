"""Programs on images: classifiers of torchvision and transformers, segmentation, diffusion, a generator."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from .work import DTYPES, Work, classes, fused_adamw, momentum, own_loss, pixels, tokens


def torchvision_model(name: str, batch: int, side: int = 224, train: bool = False, dtype: str = "fp32",
                      autocast: str = "", channels_last: bool = False, optimizer: Any = None) -> Work:
    import torchvision
    model = torchvision.models.get_model(name, weights=None)
    return Work(model, {"x": pixels(batch, side)}, classes(1000, batch) if train else None,
                optimizer or momentum, DTYPES.get(autocast), DTYPES[dtype], channels_last)


def video(batch: int, frames: int, side: int) -> Work:
    import torchvision
    model = torchvision.models.video.r3d_18(weights=None)
    return Work(model, {"x": torch.randn(batch, 3, frames, side, side)}, dtype=torch.float16)


def vit(batch: int, side: int = 224, layers: int = 12, train: bool = True, hidden: int = 768) -> Work:
    import transformers as hf
    config = hf.ViTConfig(hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=hidden // 64,
                          intermediate_size=4 * hidden, image_size=side)
    config.num_labels = 1000
    model = hf.ViTForImageClassification(config)
    return Work(model, {"pixel_values": pixels(batch, side)}, classes(1000, batch) if train else None, fused_adamw,
                dtype=torch.bfloat16)


def segformer(batch: int, side: int, train: bool) -> Work:
    import transformers as hf
    config = hf.SegformerConfig(hidden_sizes=[64, 128, 320, 512], depths=[3, 4, 6, 3], decoder_hidden_size=768)
    config.num_labels = 150
    model = hf.SegformerForSemanticSegmentation(config)
    inputs: dict[str, Any] = {"pixel_values": pixels(batch, side)}
    if train:
        inputs["labels"] = torch.randint(0, 150, (batch, side, side))
    return Work(model, inputs, own_loss if train else None, dtype=torch.float32 if train else torch.float16,
                autocast=torch.bfloat16 if train else None)


def clip(batch: int, train: bool) -> Work:
    import transformers as hf
    model = hf.CLIPModel(hf.CLIPConfig())
    inputs = {"pixel_values": pixels(batch), "input_ids": tokens(49408, batch, 77), "return_loss": train}
    return Work(model, inputs, own_loss if train else None, autocast=torch.bfloat16 if train else None,
                dtype=torch.float32 if train else torch.float16)


class Residual(nn.Module):
    """Two convolutions with group norms, moved by the time's embedding."""

    def __init__(self, inside: int, outside: int, time: int) -> None:
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(32, inside), nn.Conv2d(inside, outside, 3, padding=1)
        self.time = nn.Linear(time, outside)
        self.norm2, self.conv2 = nn.GroupNorm(32, outside), nn.Conv2d(outside, outside, 3, padding=1)
        self.skip = nn.Conv2d(inside, outside, 1) if inside != outside else nn.Identity()

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        h = self.conv1(nn.functional.silu(self.norm1(x)))
        h = h + self.time(nn.functional.silu(time))[:, :, None, None]
        return self.skip(x) + self.conv2(nn.functional.silu(self.norm2(h)))


class Attend(nn.Module):
    """Self-attention over pixels, cross-attention to a text, a gated feed-forward."""

    def __init__(self, width: int, heads: int, text: int) -> None:
        super().__init__()
        self.heads, self.norm = heads, nn.GroupNorm(32, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.q = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(2))
        self.kv = nn.ModuleList(nn.Linear(size, 2 * width, bias=False) for size in (width, text))
        self.out = nn.ModuleList(nn.Linear(width, width) for _ in range(2))
        self.wide, self.narrow = nn.Linear(width, 8 * width), nn.Linear(4 * width, width)

    def _attention(self, index: int, x: Tensor, other: Tensor) -> Tensor:
        split = lambda t: t.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        keys, values = self.kv[index](other).chunk(2, -1)
        found = nn.functional.scaled_dot_product_attention(split(self.q[index](x)), split(keys), split(values))
        return self.out[index](found.transpose(1, 2).flatten(2))

    def forward(self, image: Tensor, text: Tensor) -> Tensor:
        x = self.norm(image).flatten(2).transpose(1, 2)
        y = self.norms[0](x)
        x = x + self._attention(0, y, y)
        x = x + self._attention(1, self.norms[1](x), text)
        value, gate = self.wide(self.norms[2](x)).chunk(2, -1)
        x = x + self.narrow(value * nn.functional.gelu(gate))
        return image + x.transpose(1, 2).reshape(image.shape)


class UNet(nn.Module):
    """A denoiser as latent diffusion has it: three resolutions, attention at the two coarser ones."""

    def __init__(self, base: int = 320, text: int = 768) -> None:
        super().__init__()
        widths, time = [base, 2 * base, 4 * base], 4 * base
        self.enter = nn.Conv2d(4, base, 3, padding=1)
        self.time = nn.Sequential(nn.Linear(base, time), nn.SiLU(), nn.Linear(time, time))
        self.down, self.up, width = nn.ModuleList(), nn.ModuleList(), base
        for level, wide in enumerate(widths):
            attend = Attend(wide, 8, text) if level else nn.Identity()
            smaller = nn.Conv2d(wide, wide, 3, 2, 1) if level < 2 else nn.Identity()
            self.down.append(nn.ModuleList([Residual(width, wide, time), attend, smaller]))
            width = wide
        self.middle = nn.ModuleList([Residual(width, width, time), Attend(width, 8, text)])
        for level, wide in reversed(list(enumerate(widths))):
            attend = Attend(wide, 8, text) if level else nn.Identity()
            self.up.append(nn.ModuleList([Residual(width + wide, wide, time), attend,
                                          nn.Conv2d(wide, wide, 3, padding=1)]))
            width = wide
        self.leave = nn.Sequential(nn.GroupNorm(32, base), nn.SiLU(), nn.Conv2d(base, 4, 3, padding=1))

    def forward(self, x: Tensor, time: Tensor, text: Tensor) -> Tensor:
        t, x, kept = self.time(time), self.enter(x), []
        attend = lambda part, image: part(image, text) if isinstance(part, Attend) else image
        for block, attention, smaller in self.down:
            x = attend(attention, block(x, t))
            kept.append(x)
            x = smaller(x)
        x = self.middle[1](self.middle[0](x, t), text)
        for level, (block, attention, conv) in enumerate(self.up):
            if level:
                x = nn.functional.interpolate(x, scale_factor=2.0, mode="nearest")
            x = conv(attend(attention, block(torch.cat((x, kept.pop()), 1), t)))
        return self.leave(x)


def unet(batch: int, side: int, train: bool) -> Work:
    inputs = {"x": torch.randn(batch, 4, side, side), "time": torch.randn(batch, 320),
              "text": torch.randn(batch, 77, 768)}
    aim = torch.randn(batch, 4, side, side)
    loss = lambda out: nn.functional.mse_loss(out.float(), aim)
    return Work(UNet(), inputs, loss if train else None, fused_adamw, torch.bfloat16 if train else None,
                torch.float32 if train else torch.float16)


def generator(batch: int) -> Work:
    """A picture from noise by transposed convolutions, trained against a fixed picture."""
    widths, layers = [1024, 512, 256, 128, 64], [nn.ConvTranspose2d(128, 1024, 4), nn.BatchNorm2d(1024), nn.ReLU()]
    for wide, narrow in zip(widths, widths[1:]):
        layers += [nn.ConvTranspose2d(wide, narrow, 4, 2, 1, bias=False), nn.BatchNorm2d(narrow), nn.ReLU(True)]
    model = nn.Sequential(*layers, nn.Conv2d(64, 3, 3, padding=1), nn.Tanh())
    aim = torch.randn(batch, 3, 64, 64)
    return Work(model, {"input": torch.randn(batch, 128, 1, 1)}, lambda out: nn.functional.l1_loss(out, aim),
                lambda parameters: torch.optim.Adam(parameters, lr=2e-4, betas=(0.5, 0.999)))


class SuperResolution(nn.Module):
    """Residual blocks at full width, then a pixel shuffle."""

    def __init__(self, width: int = 128, blocks: int = 16) -> None:
        super().__init__()
        self.enter, self.blocks = nn.Conv2d(3, width, 3, padding=1), nn.ModuleList()
        for _ in range(blocks):
            self.blocks.append(nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.PReLU(width),
                                             nn.Conv2d(width, width, 3, padding=1)))
        self.leave = nn.Sequential(nn.Conv2d(width, 4 * width, 3, padding=1), nn.PixelShuffle(2),
                                   nn.Conv2d(width, 3, 3, padding=1))

    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        for block in self.blocks:
            x = x + 0.1 * block(x)
        return self.leave(x)


def super_resolution(batch: int, side: int) -> Work:
    return Work(SuperResolution(), {"x": pixels(batch, side)}, dtype=torch.float16, channels_last=True)
