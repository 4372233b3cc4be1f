"""Programs of kinds that no earlier set has, written and set aside before the rules that they judge were final."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .unseen import Chain
from .work import Work, fused_adamw, momentum, own_loss, pixels, tokens


class Contrastive(nn.Module):
    """Two views of every picture through one residual net, to vectors of length one."""

    def __init__(self) -> None:
        super().__init__()
        import torchvision
        self.net = torchvision.models.resnet34(weights=None)
        self.net.fc = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 128))

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.normalize(self.net(x).float(), dim=1)


def contrastive(batch: int) -> Work:
    partner = torch.arange(2 * batch).roll(batch)

    def loss(out: Tensor) -> Tensor:
        alike = (out @ out.T / 0.1).fill_diagonal_(-1e4)
        return nn.functional.cross_entropy(alike, partner)
    return Work(Contrastive(), {"x": pixels(2 * batch)}, loss, momentum, torch.bfloat16, channels_last=True)


class Finder(nn.Module):
    """Objects by learned queries: a residual net's map through an encoder, a decoder whose queries each name one."""

    def __init__(self, width: int = 256, queries: int = 100) -> None:
        super().__init__()
        import torchvision
        net = torchvision.models.resnet18(weights=None)
        self.trunk = nn.Sequential(*list(net.children())[:-2])
        self.across = nn.Conv2d(512, width, 1)
        self.places = nn.Parameter(torch.randn(1, 400, width))
        self.queries = nn.Parameter(torch.randn(1, queries, width))
        self.encoder = nn.ModuleList(nn.TransformerEncoderLayer(width, 8, 1024, 0.1, batch_first=True) for _ in range(4))
        self.decoder = nn.ModuleList(nn.TransformerDecoderLayer(width, 8, 1024, 0.1, batch_first=True) for _ in range(4))
        self.kinds, self.boxes = nn.Linear(width, 92), nn.Linear(width, 4)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        memory = self.across(self.trunk(x)).flatten(2).transpose(1, 2) + self.places
        for layer in self.encoder:
            memory = layer(memory)
        y = self.queries.expand(x.shape[0], -1, -1)
        for layer in self.decoder:
            y = layer(y, memory)
        return self.kinds(y), self.boxes(y).sigmoid()


def finder(batch: int) -> Work:
    kinds, boxes = torch.randint(0, 92, (batch * 100,)), torch.rand(batch, 100, 4)

    def loss(out: tuple[Tensor, Tensor]) -> Tensor:
        named, placed = out
        return nn.functional.cross_entropy(named.flatten(0, 1).float(), kinds) + nn.functional.l1_loss(placed.float(), boxes)
    return Work(Finder(), {"x": pixels(batch, 640)}, loss, fused_adamw, torch.bfloat16)


class Codes(nn.Module):
    """A picture as words of a learned book: each place takes the nearest word, gradients pass straight through."""

    def __init__(self, width: int = 128, words: int = 1024, deep: int = 64) -> None:
        super().__init__()
        block = lambda: [nn.Conv2d(width, width, 3, padding=1), nn.SiLU(), nn.Conv2d(width, width, 1), nn.SiLU()]
        self.down = Chain(nn.Conv2d(3, width, 4, 2, 1), nn.SiLU(), nn.Conv2d(width, width, 4, 2, 1), nn.SiLU(), *block(),
                          nn.Conv2d(width, deep, 1))
        self.book = nn.Embedding(words, deep)
        self.up = Chain(nn.Conv2d(deep, width, 3, padding=1), nn.SiLU(), *block(), nn.ConvTranspose2d(width, width, 4, 2, 1),
                        nn.SiLU(), nn.ConvTranspose2d(width, 3, 4, 2, 1))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        found = self.down(x).permute(0, 2, 3, 1)
        rows = found.reshape(-1, found.shape[-1])
        far = rows.square().sum(1, keepdim=True) - 2 * rows @ self.book.weight.T + self.book.weight.square().sum(1)
        word = self.book(far.argmin(1)).view_as(found)
        apart = (word - found.detach()).square().mean() + 0.25 * (word.detach() - found).square().mean()
        return self.up((found + (word - found).detach()).permute(0, 3, 1, 2)), apart


def codes(batch: int, side: int) -> Work:
    x = pixels(batch, side)
    loss = lambda out: nn.functional.mse_loss(out[0], x) + out[1]
    return Work(Codes(), {"x": x}, loss, lambda parameters: torch.optim.Adam(parameters, lr=1e-3))


def depth(batch: int) -> Work:
    """How far every pixel is: maps from four depths of a vision transformer, joined by convolutions."""
    import transformers as hf
    return Work(hf.DPTForDepthEstimation(hf.DPTConfig()), {"pixel_values": pixels(batch, 384)}, dtype=torch.float16)


class Triangles(nn.Module):
    """What is known of pairs of residues: products along the third side, attention along rows with a bias of the pair."""

    def __init__(self, width: int, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(4))
        self.sides = nn.ModuleList(nn.Linear(width, 4 * width) for _ in range(2))
        self.gates = nn.ModuleList(nn.Linear(width, width) for _ in range(3))
        self.outs = nn.ModuleList(nn.Linear(width, width) for _ in range(3))
        self.qkv, self.bias = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, heads, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def _product(self, z: Tensor, i: int, rule: str) -> Tensor:
        y = self.norms[i](z)
        a, b, shut, close = self.sides[i](y).chunk(4, -1)
        made = torch.einsum(rule, a * torch.sigmoid(shut), b * torch.sigmoid(close))
        return torch.sigmoid(self.gates[i](y)) * self.outs[i](made)

    def forward(self, z: Tensor) -> Tensor:
        z = z + self._product(z, 0, "bikc,bjkc->bijc")
        z = z + self._product(z, 1, "bkic,bkjc->bijc")
        y = self.norms[2](z)
        q, k, v = self.qkv(y).unflatten(-1, (3, self.heads, -1)).permute(3, 0, 1, 4, 2, 5)
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5 + self.bias(y).permute(0, 3, 1, 2)[:, None]
        seen = (scores.softmax(-1) @ v).transpose(2, 3).flatten(3)
        z = z + self.outs[2](torch.sigmoid(self.gates[2](y)) * seen)
        return z + self.down(torch.relu(self.up(self.norms[3](z))))


class Pairs(nn.Module):
    def __init__(self, width: int = 128, layers: int = 3) -> None:
        super().__init__()
        self.residues, self.layers = nn.Embedding(21, width), nn.ModuleList(Triangles(width) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 64)

    def forward(self, residues: Tensor) -> Tensor:
        one = self.residues(residues)
        z = one[:, :, None] + one[:, None]
        for layer in self.layers:
            z = layer(z)
        return self.head(self.norm(z))


def pairs(batch: int, length: int, train: bool) -> Work:
    ids, aim = torch.randint(0, 21, (batch, length)), torch.randint(0, 64, (batch * length * length,))
    loss = lambda out: nn.functional.cross_entropy(out.reshape(-1, 64).float(), aim)
    return Work(Pairs(), {"residues": ids}, loss if train else None, fused_adamw, dtype=torch.bfloat16)


def captions(batch: int, length: int) -> Work:
    """A sentence about a picture: a vision transformer read by a decoder through cross-attention."""
    import transformers as hf
    ids = tokens(50000, batch, length)
    config = hf.VisionEncoderDecoderConfig.from_encoder_decoder_configs(
        hf.ViTConfig(), hf.GPT2Config(n_layer=6, add_cross_attention=True, use_cache=False))
    config.decoder_start_token_id, config.pad_token_id = 1, 0
    model = hf.VisionEncoderDecoderModel(config=config)
    return Work(model, {"pixel_values": pixels(batch), "labels": ids}, own_loss, fused_adamw, torch.bfloat16)


class Towers(nn.Module):
    """Sentences that belong together lie close: one encoder over both, the mean of its tokens."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        import transformers as hf
        self.encoder = hf.MPNetModel(hf.MPNetConfig(num_hidden_layers=layers), add_pooling_layer=False)

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        a, b = (self.encoder(input_ids=ids).last_hidden_state.mean(1) for ids in (first, second))
        return nn.functional.normalize(a, dim=1) @ nn.functional.normalize(b, dim=1).T * 20


def towers(batch: int, length: int, layers: int) -> Work:
    aim = torch.arange(batch)
    loss = lambda out: nn.functional.cross_entropy(out.float(), aim)
    inputs = {"first": tokens(30000, batch, length), "second": tokens(30000, batch, length)}
    return Work(Towers(layers), inputs, loss, fused_adamw, torch.bfloat16)


def patches(batch: int, layers: int) -> Work:
    """A vision tower trained by sigmoids, with a head that attends to all patches."""
    import transformers as hf
    config = hf.SiglipVisionConfig(hidden_size=1152, intermediate_size=4304, num_hidden_layers=layers,
                                   num_attention_heads=16, image_size=384, patch_size=14)
    return Work(hf.SiglipVisionModel(config), {"pixel_values": pixels(batch, 384)}, dtype=torch.bfloat16)


class Snake(nn.Module):
    """x + sin^2(ax) / a, a for each channel."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.a = nn.Parameter(torch.ones(1, width, 1))

    def forward(self, x: Tensor) -> Tensor:
        return x + torch.sin(self.a * x).square() / (self.a + 1e-9)


class Turn(nn.Module):
    def __init__(self, width: int, dilation: int) -> None:
        super().__init__()
        self.inside = nn.Sequential(Snake(width), nn.Conv1d(width, width, 7, dilation=dilation, padding=3 * dilation),
                                    Snake(width), nn.Conv1d(width, width, 1))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.inside(x)


class Vocoder(nn.Module):
    """Sound from codes: every stage makes it longer by a transposed convolution, then three dilated residual units."""

    def __init__(self, width: int = 1024) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Conv1d(128, width, 7, padding=3)]
        for stride in (8, 5, 4, 2):
            layers += [Snake(width), nn.ConvTranspose1d(width, width // 2, 2 * stride, stride, (stride + 1) // 2,
                                                        output_padding=stride % 2)]
            width //= 2
            layers += [Turn(width, dilation) for dilation in (1, 3, 9)]
        self.layers = nn.ModuleList([*layers, Snake(width), nn.Conv1d(width, 1, 7, padding=3)])

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return torch.tanh(x)


def vocoder(batch: int, length: int) -> Work:
    return Work(Vocoder(), {"x": torch.randn(batch, 128, length)}, dtype=torch.float16)


class Standard(nn.Conv2d):
    """A convolution whose filters are brought to mean zero and variance one at every step."""

    def forward(self, x: Tensor) -> Tensor:
        spread, mean = torch.var_mean(self.weight, (1, 2, 3), keepdim=True)
        return self._conv_forward(x, (self.weight - mean) * torch.rsqrt(spread + 1e-6), self.bias)


class Bare(nn.Module):
    """A residual block without norms over what flows: scaled activations, gates of the mean of each channel."""

    def __init__(self, width: int, stride: int) -> None:
        super().__init__()
        inside = width // 2
        self.convs = nn.ModuleList((Standard(width, inside, 1), Standard(inside, inside, 3, stride, 1),
                                    Standard(inside, inside, 3, 1, 1), Standard(inside, width, 1)))
        self.skip = Standard(width, width, 1) if stride > 1 else None
        self.shut, self.open, self.gain = nn.Linear(width, width // 4), nn.Linear(width // 4, width), nn.Parameter(torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        y = nn.functional.gelu(x) * 1.7
        kept = x if self.skip is None else self.skip(nn.functional.avg_pool2d(y, 2))
        for i, conv in enumerate(self.convs):
            y = conv(nn.functional.gelu(y) * 1.7 if i else y)
        gate = torch.sigmoid(self.open(torch.relu(self.shut(y.mean((2, 3))))))
        return kept + y * (2 * gate)[:, :, None, None] * self.gain * 0.2


class Normless(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = [Standard(3, 64, 3, 2, 1), nn.GELU(), Standard(64, 256, 3, 2, 1)]
        for wide, narrow, count in ((256, 256, 1), (256, 512, 2), (512, 1024, 3)):
            layers += [Standard(wide, narrow, 1)] if wide != narrow else []
            layers += [Bare(narrow, 2 if i == 0 and wide != narrow else 1) for i in range(count)]
        self.layers, self.head = nn.ModuleList(layers), nn.Linear(1024, 1000)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return self.head(nn.functional.gelu(x).mean((2, 3)))


def normless(batch: int) -> Work:
    aim = torch.randint(0, 1000, (batch,))
    loss = lambda out: nn.functional.cross_entropy(out.float(), aim)
    return Work(Normless(), {"x": pixels(batch)}, loss, momentum, torch.bfloat16, channels_last=True)


class Ensemble(nn.Module):
    """Many small networks over the same rows at once, each with weights of its own."""

    def __init__(self, members: int = 16, width: int = 512, layers: int = 4) -> None:
        super().__init__()
        sizes = [128, *(width for _ in range(layers)), 2]
        self.weights = nn.ParameterList(nn.Parameter(torch.randn(members, a, b) / a ** 0.5) for a, b in zip(sizes, sizes[1:]))
        self.biases = nn.ParameterList(nn.Parameter(torch.zeros(members, 1, b)) for b in sizes[1:])
        self.members = members

    def forward(self, x: Tensor) -> Tensor:
        y = x.expand(self.members, -1, -1)
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases)):
            y = torch.baddbmm(bias, y, weight)
            if i + 1 < len(self.weights):
                y = nn.functional.dropout(nn.functional.silu(nn.functional.layer_norm(y, y.shape[-1:])), 0.1, self.training)
        return y


def ensemble(batch: int) -> Work:
    aim = torch.randn(batch)

    def loss(out: Tensor) -> Tensor:
        mean, spread = out.float().unbind(-1)
        return (0.5 * spread + 0.5 * (aim - mean).square() * torch.exp(-spread)).mean()
    return Work(Ensemble(), {"x": torch.randn(batch, 128)}, loss, lambda parameters: torch.optim.Adam(parameters, lr=1e-3),
                dtype=torch.bfloat16)


def normed_decoder(batch: int, length: int, layers: int) -> Work:
    """A decoder whose queries and keys are normed head by head, eight heads of keys for sixteen."""
    import transformers as hf
    config = hf.Qwen3Config(hidden_size=1024, num_hidden_layers=layers, num_attention_heads=16, num_key_value_heads=8,
                            head_dim=128, intermediate_size=3072, vocab_size=50304, use_cache=False)
    ids = tokens(50000, batch, length)
    return Work(hf.Qwen3ForCausalLM(config), {"input_ids": ids, "labels": ids}, own_loss, fused_adamw, dtype=torch.bfloat16)
