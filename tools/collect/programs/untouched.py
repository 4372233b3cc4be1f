"""Programs of still other kinds, measured once when all rules of fusion, memory and the host's time were final."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .unseen import Chain
from .work import Work, fused_adamw, momentum, own_loss, pixels, tokens


class Pyramid(nn.Module):
    """A detector: a small residual net, its last maps joined from coarse to fine, and the same head over every map."""

    def __init__(self, width: int = 128, kinds: int = 80) -> None:
        super().__init__()
        import torchvision
        net = torchvision.models.resnet18(weights=None)
        self.enter = nn.Sequential(net.conv1, net.bn1, net.relu, net.maxpool, net.layer1)
        self.stages = nn.ModuleList((net.layer2, net.layer3, net.layer4))
        self.across = nn.ModuleList(nn.Conv2d(w, width, 1) for w in (128, 256, 512))
        self.smooth = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(3))
        self.tower = nn.Sequential(*(layer for _ in range(2) for layer in (
            nn.Conv2d(width, width, 3, padding=1), nn.GroupNorm(16, width), nn.ReLU())))
        self.kinds, self.boxes = nn.Conv2d(width, kinds, 3, padding=1), nn.Conv2d(width, 4, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        x, maps = self.enter(x), []
        for stage, across in zip(self.stages, self.across):
            x = stage(x)
            maps.append(across(x))
        for fine in (1, 0):
            maps[fine] = maps[fine] + nn.functional.interpolate(maps[fine + 1], scale_factor=2.0, mode="nearest")
        found = []
        for level, smooth in zip(maps, self.smooth):
            y = self.tower(smooth(level))
            found.append(torch.cat((self.kinds(y), self.boxes(y).exp()), 1).flatten(2))
        return torch.cat(found, 2)


def pyramid(batch: int, side: int) -> Work:
    def loss(out: Tensor) -> Tensor:
        """Focal loss: examples that are already classified well count little."""
        chance = out[:, :80].float().sigmoid()
        return -(chance.square() * (1 - chance + 1e-6).log()).mean() + out[:, 80:].float().abs().mean()
    return Work(Pyramid(), {"x": pixels(batch, side)}, loss, momentum, torch.bfloat16, channels_last=True)


def parallel_decoder(batch: int, length: int, layers: int = 8) -> Work:
    """Attention and feed-forward side by side, rotary positions over a quarter of a head."""
    import transformers as hf
    config = hf.GPTNeoXConfig(hidden_size=1024, num_hidden_layers=layers, num_attention_heads=16, intermediate_size=4096,
                              vocab_size=50304, max_position_embeddings=2048, use_cache=False)
    ids = tokens(50000, batch, length)
    return Work(hf.GPTNeoXForCausalLM(config), {"input_ids": ids, "labels": ids}, own_loss, fused_adamw,
                dtype=torch.bfloat16)


class Listener(nn.Module):
    """Two strided convolutions over a spectrogram, gated recurrent layers in both directions, a letter a frame."""

    def __init__(self, width: int = 512) -> None:
        super().__init__()
        self.enter = nn.Sequential(nn.Conv2d(1, 32, (11, 5), (2, 2), (5, 2)), nn.BatchNorm2d(32), nn.Hardtanh(0.0, 20.0),
                                   nn.Conv2d(32, 32, (11, 5), (2, 1), (5, 2)), nn.BatchNorm2d(32), nn.Hardtanh(0.0, 20.0))
        self.layers = nn.GRU(32 * 20, width, 3, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * width, 29)

    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x).permute(0, 3, 1, 2).flatten(2)
        return self.head(self.layers(x)[0])


def listener(batch: int, frames: int) -> Work:
    letters = torch.randint(0, 29, (batch * (frames // 2),))
    loss = lambda out: nn.functional.cross_entropy(out.flatten(0, 1).float(), letters)
    return Work(Listener(), {"x": torch.randn(batch, 1, 80, frames)}, loss, fused_adamw)


class Autoencoder(nn.Module):
    """An image to a normal distribution and back."""

    def __init__(self, hidden: int = 128) -> None:
        super().__init__()
        widths = (3, 64, 128, 256, 512)
        down = [layer for a, b in zip(widths, widths[1:]) for layer in (nn.Conv2d(a, b, 4, 2, 1), nn.BatchNorm2d(b), nn.LeakyReLU(0.2))]
        back = widths[:0:-1]
        up = [layer for a, b in zip(back, back[1:]) for layer in (nn.ConvTranspose2d(a, b, 4, 2, 1), nn.BatchNorm2d(b), nn.ReLU())]
        self.down, self.up = Chain(*down), Chain(*up, nn.ConvTranspose2d(64, 3, 4, 2, 1))
        self.both, self.back = nn.Linear(512 * 16, 2 * hidden), nn.Linear(hidden, 512 * 16)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mean, spread = self.both(self.down(x).flatten(1)).chunk(2, 1)
        drawn = mean + (0.5 * spread).exp() * torch.randn_like(mean)
        return self.up(self.back(drawn).unflatten(1, (512, 4, 4))).sigmoid(), mean, spread


def autoencoder(batch: int) -> Work:
    x = torch.randn(batch, 3, 64, 64)

    def loss(out: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        made, mean, spread = out
        return nn.functional.mse_loss(made, x) - 0.5e-3 * (1 + spread - mean.square() - spread.exp()).mean()
    return Work(Autoencoder(), {"x": x}, loss, lambda parameters: torch.optim.Adam(parameters, lr=1e-3))


class NextItem(nn.Module):
    """What someone takes next, by causal attention over what was taken: items seen against items drawn at random."""

    def __init__(self, items: int, length: int, width: int = 128, layers: int = 4, heads: int = 2) -> None:
        super().__init__()
        self.heads = heads
        self.items, self.places = nn.Embedding(items, width), nn.Embedding(length, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * layers + 1))
        self.qkv = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(layers))
        self.joins = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.ups = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.downs = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.register_buffer("order", torch.arange(length))

    def forward(self, taken: Tensor, right: Tensor, wrong: Tensor) -> Tensor:
        x = self.items(taken) * 11.3 + self.places(self.order)
        x = nn.functional.dropout(x, 0.2, self.training)
        for i, qkv in enumerate(self.qkv):
            q, k, v = qkv(self.norms[2 * i](x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
            seen = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.joins[i](seen.transpose(1, 2).flatten(2))
            y = torch.relu(self.ups[i](self.norms[2 * i + 1](x)))
            x = x + nn.functional.dropout(self.downs[i](y), 0.2, self.training)
        x = self.norms[-1](x)
        good, bad = (x * self.items(right)).sum(-1), (x * self.items(wrong)).sum(-1)
        return nn.functional.softplus(-good).mean() + nn.functional.softplus(bad).mean()


def next_item(batch: int, length: int) -> Work:
    inputs = {name: tokens(50000, batch, length) for name in ("taken", "right", "wrong")}
    return Work(NextItem(50000, length), inputs, lambda out: out, fused_adamw, torch.bfloat16)


def prompted_encoder(batch: int, layers: int = 6) -> Work:
    """The image encoder of a segmenter: attention in windows and over all, positions added to every score by axis."""
    import transformers as hf
    config = hf.SamVisionConfig(hidden_size=768, num_hidden_layers=layers, num_attention_heads=12, image_size=512,
                                global_attn_indexes=[2, 5], window_size=14)
    return Work(hf.SamVisionModel(config), {"pixel_values": pixels(batch, 512)}, dtype=torch.bfloat16)


def sloped_decoder(batch: int, length: int, layers: int) -> Work:
    """Scores fall with the distance, by a slope for every head, added before the softmax."""
    import transformers as hf
    config = hf.BloomConfig(vocab_size=50000, hidden_size=1024, n_layer=layers, n_head=16, use_cache=False)
    return Work(hf.BloomForCausalLM(config), {"input_ids": tokens(49000, batch, length)}, dtype=torch.bfloat16)


class Crossed(nn.Module):
    """A table for every kind of a thing, features multiplied by each other in low rank, and layers beside them."""

    def __init__(self, tables: int = 20, rows: int = 100000, width: int = 32, dense: int = 16, rank: int = 128) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(rows, width) for _ in range(tables))
        size = tables * width + dense
        self.down = nn.ModuleList(nn.Linear(size, rank, bias=False) for _ in range(3))
        self.up = nn.ModuleList(nn.Linear(rank, size) for _ in range(3))
        self.deep = nn.Sequential(nn.Linear(size, 1024), nn.BatchNorm1d(1024), nn.ReLU(), nn.Linear(1024, 512),
                                  nn.BatchNorm1d(512), nn.ReLU())
        self.head = nn.Linear(size + 512, 1)

    def forward(self, kinds: Tensor, dense: Tensor) -> Tensor:
        first = torch.cat([table(kinds[:, i]) for i, table in enumerate(self.tables)] + [dense], 1)
        x = first
        for down, up in zip(self.down, self.up):
            x = first * up(down(x)) + x
        return self.head(torch.cat((x, self.deep(first)), 1)).squeeze(1)


def crossed(batch: int) -> Work:
    taken = torch.randint(0, 2, (batch,)).float()
    loss = lambda out: nn.functional.binary_cross_entropy_with_logits(out.float(), taken)
    inputs = {"kinds": torch.randint(0, 100000, (batch, 20)), "dense": torch.randn(batch, 16)}
    return Work(Crossed(), inputs, loss, lambda parameters: torch.optim.Adam(parameters, lr=1e-3))


class Outline(nn.Module):
    """Two convolutions, twice: down with pools, up with transposed convolutions, what went down joined on the way up."""

    def __init__(self, base: int = 48, levels: int = 4) -> None:
        super().__init__()
        widths = [base * 2 ** n for n in range(levels)]
        self.down = nn.ModuleList(self._two(a, b) for a, b in zip([1, *widths], widths))
        self.grow = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, 2) for a, b in zip(widths, widths[1:]))
        self.up = nn.ModuleList(self._two(2 * a, a) for a in widths[:-1])
        self.leave = nn.Conv2d(base, 2, 1)

    @staticmethod
    def _two(inside: int, outside: int) -> nn.Module:
        return nn.Sequential(nn.Conv2d(inside, outside, 3, padding=1, bias=False), nn.BatchNorm2d(outside), nn.ReLU(),
                             nn.Conv2d(outside, outside, 3, padding=1, bias=False), nn.BatchNorm2d(outside), nn.ReLU())

    def forward(self, x: Tensor) -> Tensor:
        kept = []
        for level, block in enumerate(self.down):
            x = block(nn.functional.max_pool2d(x, 2) if level else x)
            kept.append(x)
        kept.pop()
        for grow, block in zip(reversed(self.grow), reversed(self.up)):
            x = block(torch.cat((kept.pop(), grow(x)), 1))
        return self.leave(x)


def outline(batch: int, side: int) -> Work:
    inside = torch.randint(0, 2, (batch, side, side))

    def loss(out: Tensor) -> Tensor:
        """Of pixels, and of areas that overlap."""
        chance = out.float().softmax(1)[:, 1]
        overlap = 2 * (chance * inside).sum() / (chance.sum() + inside.sum() + 1)
        return nn.functional.cross_entropy(out.float(), inside) + 1 - overlap
    return Work(Outline(), {"x": torch.randn(batch, 1, side, side)}, loss, fused_adamw, torch.bfloat16)


class Coupling(nn.Module):
    """Half of the numbers, scaled and shifted by what layers make of the other half."""

    def __init__(self, width: int, hidden: int, turned: bool) -> None:
        super().__init__()
        self.turned = turned
        self.layers = nn.Sequential(nn.Linear(width // 2, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, width))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        a, b = x.chunk(2, 1)
        if self.turned:
            a, b = b, a
        scale, shift = self.layers(a).chunk(2, 1)
        scale = torch.tanh(scale)
        b = b * scale.exp() + shift
        return torch.cat((b, a) if self.turned else (a, b), 1), scale.sum(1)


class Flow(nn.Module):
    def __init__(self, width: int = 256, hidden: int = 1024, layers: int = 8) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Coupling(width, hidden, n % 2 == 1) for n in range(layers))

    def forward(self, x: Tensor) -> Tensor:
        volume = 0.0
        for layer in self.layers:
            x, more = layer(x)
            volume = volume + more
        return (0.5 * x.square().sum(1) - volume).mean()


def flow(batch: int) -> Work:
    return Work(Flow(), {"x": torch.randn(batch, 256)}, lambda out: out, lambda parameters: torch.optim.Adam(parameters, lr=1e-3))


class Reader(nn.Module):
    """A few hidden numbers that read many inputs by attention, think among themselves, and are read by a query."""

    def __init__(self, width: int = 512, hidden: int = 256, layers: int = 6, heads: int = 8) -> None:
        super().__init__()
        self.heads = heads
        self.hidden = nn.Parameter(torch.randn(hidden, width))
        self.enter, self.norm = nn.Linear(64, width), nn.LayerNorm(width)
        self.query, self.key_value = nn.Linear(width, width), nn.Linear(width, 2 * width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * layers))
        self.qkv = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(layers))
        self.joins = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.ups = nn.ModuleList(nn.Linear(width, 4 * width) for _ in range(layers))
        self.downs = nn.ModuleList(nn.Linear(4 * width, width) for _ in range(layers))
        self.head = nn.Linear(width, 1000)

    def _attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in (q, k, v))
        return nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)

    def forward(self, x: Tensor) -> Tensor:
        k, v = self.key_value(self.norm(nn.functional.gelu(self.enter(x)))).chunk(2, -1)
        x = self.hidden + self._attend(self.query(self.hidden).expand(x.shape[0], -1, -1), k, v)
        for i, qkv in enumerate(self.qkv):
            x = x + self.joins[i](self._attend(*qkv(self.norms[2 * i](x)).chunk(3, -1)))
            x = x + self.downs[i](nn.functional.gelu(self.ups[i](self.norms[2 * i + 1](x))))
        return self.head(x.mean(1)).log_softmax(-1)


def reader(batch: int, length: int) -> Work:
    return Work(Reader(), {"x": torch.randn(batch, length, 64)}, dtype=torch.float16)


class Columns(nn.Module):
    """A table's row as a sentence: every number scales a learned vector, attention over the columns."""

    def __init__(self, columns: int, width: int = 192, layers: int = 3, heads: int = 8) -> None:
        super().__init__()
        self.heads = heads
        self.scales, self.shifts = nn.Parameter(torch.randn(columns, width)), nn.Parameter(torch.randn(columns, width))
        self.first = nn.Parameter(torch.zeros(1, 1, width))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * layers + 1))
        self.qkv = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(layers))
        self.joins = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.ups = nn.ModuleList(nn.Linear(width, 512) for _ in range(layers))
        self.downs = nn.ModuleList(nn.Linear(256, width) for _ in range(layers))
        self.head = nn.Linear(width, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = x[..., None] * self.scales + self.shifts
        x = torch.cat((self.first.expand(x.shape[0], -1, -1), x), 1)
        for i, qkv in enumerate(self.qkv):
            q, k, v = qkv(self.norms[2 * i](x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
            seen = nn.functional.scaled_dot_product_attention(q, k, v)
            x = x + self.joins[i](seen.transpose(1, 2).flatten(2))
            a, b = self.ups[i](self.norms[2 * i + 1](x)).chunk(2, -1)
            x = x + self.downs[i](a * torch.relu(b))
        return self.head(torch.relu(self.norms[-1](x[:, 0]))).squeeze(1)


def columns(batch: int, columns: int) -> Work:
    aim = torch.randn(batch)
    loss = lambda out: nn.functional.mse_loss(out.float(), aim)
    return Work(Columns(columns), {"x": torch.randn(batch, columns)}, loss, fused_adamw, torch.bfloat16)
