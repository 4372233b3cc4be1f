"""Where a call belongs: the module whose forward made it, and forward, backward or optimizer.

Backward operators find their module by the number that autograd gives every node as forward makes it.
"""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterator

import torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from .backward import Backward


@contextlib.contextmanager
def optimizers_stepping() -> Iterator[Callable[[], bool]]:
    """Tells whether an optimizer is at work."""
    deep = [0]

    def begin(*_: Any) -> None:
        deep[0] += 1

    def end(*_: Any) -> None:
        deep[0] -= 1

    handles = [register_optimizer_step_pre_hook(begin), register_optimizer_step_post_hook(end)]
    try:
        yield lambda: deep[0] > 0
    finally:
        for handle in handles:
            handle.remove()


class Paths:
    def __init__(self, backward: Backward) -> None:
        self.backward = backward
        self.stack: list[str] = []
        self.names: dict[int, str] = {}
        self.owners: dict[int, str] = {}  # parameters' modules
        self.made: dict[int, str] = {}  # autograd's number -> module
        self.stepping = 0

    def know(self, module: nn.Module) -> None:
        for name, part in module.named_modules():
            self.names[id(part)] = name
            for parameter in part.parameters(recurse=False):
                self.owners[id(parameter)] = name

    @contextlib.contextmanager
    def watching(self, modules: tuple[nn.Module, ...]) -> Iterator[None]:
        for module in modules:
            self.know(module)
        handles = [nn.modules.module.register_module_forward_pre_hook(self._enter),
                   nn.modules.module.register_module_forward_hook(self._leave, always_call=True),
                   register_optimizer_step_pre_hook(self._begin_step), register_optimizer_step_post_hook(self._end_step)]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _enter(self, module: nn.Module, _: Any) -> None:
        self.stack.append(self.names.get(id(module), type(module).__name__))

    def _leave(self, module: nn.Module, *_: Any) -> None:
        if self.stack:
            self.stack.pop()

    def _begin_step(self, *_: Any) -> None:
        self.stepping += 1

    def _end_step(self, *_: Any) -> None:
        self.stepping -= 1

    def where(self) -> tuple[str, str]:
        """(phase, module path) of the call at hand."""
        if self.stepping:
            return "optimizer", ""
        node = self.backward.node
        if node is None and self.backward.walking:
            return "backward", ""  # gradients that meet
        if node is None:
            return "forward", self._forward_path()
        if self.stack:  # recomputation: a forward pass inside backward
            return "recompute", self._forward_path()
        if hasattr(node, "variable"):
            return "backward", self.owners.get(id(node.variable), "")
        return "backward", self.made.get(node._sequence_nr(), "")

    def _forward_path(self) -> str:
        path = self.stack[-1] if self.stack else ""
        number = torch.autograd._get_sequence_nr() - 1
        self.made.setdefault(number, path)
        return path
