"""Programs of other kinds: a recommender, graphs, recurrence, a radiance field, sound, an operator in Triton."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .work import Work, adagrad, classes, fused_adamw, plain_sgd


def _layers(*widths: int) -> nn.Sequential:
    made: list[nn.Module] = []
    for inside, outside in zip(widths, widths[1:]):
        made += [nn.Linear(inside, outside), nn.ReLU()]
    return nn.Sequential(*made[:-1])


class Recommender(nn.Module):
    """Dense features through layers, categories through tables, all pairs multiplied."""

    def __init__(self, tables: int, rows: int, width: int) -> None:
        super().__init__()
        self.bottom = _layers(13, 512, 256, width)
        self.tables = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables))
        pairs = (tables + 1) * tables // 2
        self.top = _layers(width + pairs, 1024, 1024, 512, 256, 1)
        self.register_buffer("pairs", torch.tril_indices(tables + 1, tables + 1, -1))

    def forward(self, dense: Tensor, indices: Tensor) -> Tensor:
        x = self.bottom(dense)
        found = [x] + [table(indices[:, place]) for place, table in enumerate(self.tables)]
        features = torch.stack(found, 1)
        products = torch.bmm(features, features.transpose(1, 2))[:, self.pairs[0], self.pairs[1]]
        return self.top(torch.cat((x, products), 1)).squeeze(1)


def recommender(batch: int, train: bool) -> Work:
    model = Recommender(26, 100000, 64)
    inputs = {"dense": torch.randn(batch, 13), "indices": torch.randint(0, 100000, (batch, 26, 4))}
    clicks = torch.rand(batch).round()
    loss = lambda out: nn.functional.binary_cross_entropy_with_logits(out, clicks)
    return Work(model, inputs, loss if train else None, adagrad)


class GraphNet(nn.Module):
    """Two layers that add up neighbours' features along edges, mean of degrees."""

    def __init__(self, inside: int, hidden: int, outside: int) -> None:
        super().__init__()
        self.own = nn.ModuleList([nn.Linear(inside, hidden), nn.Linear(hidden, outside)])
        self.near = nn.ModuleList([nn.Linear(inside, hidden, bias=False), nn.Linear(hidden, outside, bias=False)])

    def forward(self, x: Tensor, source: Tensor, target: Tensor) -> Tensor:
        ones = torch.ones(source.shape[0], 1, device=x.device, dtype=x.dtype)
        degree = torch.zeros(x.shape[0], 1, device=x.device, dtype=x.dtype).index_add(0, target, ones).clamp(min=1)
        for index, (own, near) in enumerate(zip(self.own, self.near)):
            gathered = torch.zeros_like(x).index_add(0, target, x[source]) / degree
            x = own(x) + near(gathered)
            x = torch.relu(x) if index == 0 else x
        return x


def graph(nodes: int, edges: int, train: bool) -> Work:
    inputs = {"x": torch.randn(nodes, 128), "source": torch.randint(0, nodes, (edges,)),
              "target": torch.randint(0, nodes, (edges,))}
    return Work(GraphNet(128, 256, 47), inputs, classes(47, nodes) if train else None)


class GraphAttention(nn.Module):
    """A layer with attention over edges: softmax by scatter."""

    def __init__(self, inside: int, heads: int, width: int) -> None:
        super().__init__()
        self.heads, self.width = heads, width
        self.linear = nn.Linear(inside, heads * width, bias=False)
        self.left, self.right = nn.Parameter(torch.randn(heads, width)), nn.Parameter(torch.randn(heads, width))

    def forward(self, x: Tensor, source: Tensor, target: Tensor) -> Tensor:
        h = self.linear(x).view(-1, self.heads, self.width)
        left, right = (h * self.left).sum(-1), (h * self.right).sum(-1)
        score = nn.functional.leaky_relu(left[source] + right[target], 0.2)
        index = target[:, None].expand_as(score)
        most = torch.full_like(left, -1e9).scatter_reduce(0, index, score, "amax")
        weight = (score - most[target]).exp()
        total = torch.zeros_like(left).scatter_add(0, index, weight)
        weight = weight / total[target]
        return torch.zeros_like(h).index_add(0, target, h[source] * weight[..., None]).flatten(1)


def graph_attention(nodes: int, edges: int) -> Work:
    inputs = {"x": torch.randn(nodes, 256), "source": torch.randint(0, nodes, (edges,)),
              "target": torch.randint(0, nodes, (edges,))}
    return Work(GraphAttention(256, 4, 64), inputs)


class Recurrent(nn.Module):
    def __init__(self, vocabulary: int, width: int, layers: int, kind: type[nn.RNNBase]) -> None:
        super().__init__()
        self.table = nn.Embedding(vocabulary, width)
        self.rnn = kind(width, width, layers, batch_first=True)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, ids: Tensor) -> Tensor:
        return self.head(self.rnn(self.table(ids))[0])


def lstm(batch: int, length: int, train: bool, kind: type[nn.RNNBase] = nn.LSTM) -> Work:
    ids = torch.randint(0, 10000, (batch, length))
    loss = lambda out: nn.functional.cross_entropy(out.flatten(0, 1), ids.flatten())
    return Work(Recurrent(10000, 1024, 2, kind), {"ids": ids}, loss if train else None, plain_sgd,
                dtype=torch.float32 if train else torch.float16)


class Field(nn.Module):
    """Points encoded by sines, eight layers, colours summed along rays."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = _layers(63, 256, 256, 256, 256), _layers(319, 256, 256, 256, 4)
        self.register_buffer("waves", 2.0 ** torch.arange(10))

    def forward(self, points: Tensor) -> Tensor:
        angles = (points[..., None] * self.waves).flatten(-2)
        x = torch.cat((points, angles.sin(), angles.cos()), -1)
        out = self.second(torch.cat((torch.relu(self.first(x)), x), -1))
        thick = 1 - torch.exp(-torch.relu(out[..., 3]) * 0.01)
        light = torch.cumprod(1 - thick + 1e-10, 1) * thick
        return (light[..., None] * torch.sigmoid(out[..., :3])).sum(1)


def radiance(rays: int, samples: int) -> Work:
    aim = torch.rand(rays, 3)
    return Work(Field(), {"points": torch.randn(rays, samples, 3)}, lambda out: nn.functional.mse_loss(out, aim),
                fused_adamw)


class Waves(nn.Module):
    """Dilated convolutions over time with gates."""

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.enter = nn.Conv1d(1, width, 1)
        self.gates = nn.ModuleList(nn.Conv1d(width, 2 * width, 3, padding=2 ** (n % 8), dilation=2 ** (n % 8))
                                   for n in range(layers))
        self.out = nn.ModuleList(nn.Conv1d(width, width, 1) for _ in range(layers))
        self.leave = nn.Conv1d(width, 256, 1)

    def forward(self, x: Tensor) -> Tensor:
        x, total = self.enter(x), torch.zeros((), device=x.device, dtype=x.dtype)
        for gate, out in zip(self.gates, self.out):
            a, b = gate(x).chunk(2, 1)
            y = out(torch.tanh(a) * torch.sigmoid(b))
            x, total = x + y, total + y
        return self.leave(torch.relu(total))


def waves(batch: int, length: int) -> Work:
    return Work(Waves(128, 16), {"x": torch.randn(batch, 1, length)}, dtype=torch.float16)


class GatedLayers(nn.Module):
    """Feed-forward layers whose activation is an operator of our own, written in Triton."""

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.RMSNorm(width) for _ in range(layers))
        self.wide = nn.ModuleList(nn.Linear(width, 8 * width, bias=False) for _ in range(layers))
        self.narrow = nn.ModuleList(nn.Linear(4 * width, width, bias=False) for _ in range(layers))

    def forward(self, x: Tensor) -> Tensor:
        from .triton_op import silu_gate
        for norm, wide, narrow in zip(self.norms, self.wide, self.narrow):
            x = x + narrow(silu_gate(wide(norm(x))))
        return x


def triton_layers(rows: int) -> Work:
    return Work(GatedLayers(2048, 4), {"x": torch.randn(rows, 2048)}, dtype=torch.bfloat16)
