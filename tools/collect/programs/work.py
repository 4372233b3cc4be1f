"""One step of a program: a forward pass, or a forward pass, a backward pass and an optimizer's step."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, Callable

import torch
from torch import Tensor, nn

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
Mark = Callable[[str], Any]


@dataclass
class Work:
    """What a builder returns. Without a loss the step is inference."""
    model: nn.Module
    inputs: dict[str, Any]
    loss: Callable[[Any], Tensor] | None = None
    optimizer: Callable[[list[Tensor]], torch.optim.Optimizer] | None = None
    autocast: torch.dtype | None = None
    dtype: torch.dtype = torch.float32
    channels_last: bool = False
    keep: list[Any] = field(default_factory=list)

    def prepare(self, compiled: bool = False) -> "Work":
        """Casts, sets the mode, makes the optimizer. Everything is on the right device already."""
        self.model.to(self.dtype)
        if self.channels_last:
            self.model.to(memory_format=torch.channels_last)
        self.inputs = {name: self._cast(value) for name, value in self.inputs.items()}
        self.model.train(self.loss is not None)
        if self.loss is not None:
            trained = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
            make = self.optimizer or (lambda parameters: torch.optim.AdamW(parameters, lr=1e-5))
            self.keep.append(make(trained))
        if compiled:
            self.model.compile(dynamic=False)
        return self

    def _cast(self, value: Any) -> Any:
        if not isinstance(value, Tensor) or not value.is_floating_point():
            return value
        value = value.to(self.dtype)
        if self.channels_last and value.dim() == 4:
            value = value.contiguous(memory_format=torch.channels_last)
        return value

    def _forward(self) -> Any:
        cast = torch.autocast("cuda", self.autocast) if self.autocast else nullcontext()
        with cast:
            out = self.model(**self.inputs)
            return out if self.loss is None else self.loss(out)

    def run(self, mark: Mark = lambda name: None) -> Any:
        """One step; `mark` is told the name of each phase as it begins."""
        mark("forward")
        if self.loss is None:
            with torch.no_grad():
                return self._forward()
        loss = self._forward()
        mark("backward")
        loss.backward()
        mark("optimizer")
        optimizer: torch.optim.Optimizer = self.keep[0]
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return None


def fused_adamw(parameters: list[Tensor]) -> torch.optim.Optimizer:
    return torch.optim.AdamW(parameters, lr=1e-5, fused=True)


def momentum(parameters: list[Tensor]) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, lr=1e-3, momentum=0.9, weight_decay=1e-4)


def plain_sgd(parameters: list[Tensor]) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, lr=1e-3)


def adagrad(parameters: list[Tensor]) -> torch.optim.Optimizer:
    return torch.optim.Adagrad(parameters, lr=1e-3)


def own_loss(out: Any) -> Tensor:
    """The loss that a model of transformers returns with its labels."""
    return out.loss


def classes(count: int, batch: int) -> Callable[[Any], Tensor]:
    targets = torch.randint(0, count, (batch,))

    def loss(out: Any) -> Tensor:
        logits = getattr(out, "logits", out)
        return nn.functional.cross_entropy(logits.float(), targets)
    return loss


def tokens(vocabulary: int, batch: int, length: int) -> Tensor:
    return torch.randint(10, vocabulary - 10, (batch, length))


def pixels(batch: int, side: int = 224) -> Tensor:
    return torch.randn(batch, 3, side, side)
