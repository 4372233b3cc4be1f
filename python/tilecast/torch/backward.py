"""Runs autograd's graph over fake tensors, node by node.

PyTorch's own engine asks the driver for streams before it begins, so it cannot run for a card that is not there. The order
is the same: of the nodes whose gradients have all arrived, the one that forward made last.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
from typing import Any, Callable, ContextManager, Iterator, Optional
from unittest import mock

import torch
from torch import Tensor

from .older import results_of

Grads = list[Optional[Tensor]]


class Backward:
    """Takes the place of `torch.autograd.backward`."""

    def __init__(self, inside: Callable[[], ContextManager[Any]] = contextlib.nullcontext) -> None:
        self.inside = inside  # what holds while nodes run: PyTorch leaves its modes before it calls `backward`
        self.running: list[Any] = []  # nodes at work, the innermost last
        self.runs = self.walking = 0
        self.on_gradient: Callable[[Tensor], None] = lambda gradient: None
        self.hooks: dict[Any, list[tuple[int, Any]]] = {}  # of tensors, by the node whose result each is
        self.afterwards: list[Callable[[], Any]] = []  # what the engine was asked to call at its end

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        engine = _Engine(torch.autograd.Variable._execution_engine, self.afterwards)
        with mock.patch.object(torch.autograd, "backward", self.run), \
                mock.patch.object(torch.autograd.Variable, "_execution_engine", engine), \
                mock.patch.object(Tensor, "register_hook", lambda tensor, hook: self._hook(tensor, hook)), \
                mock.patch.object(torch._C, "_current_graph_task_id", lambda: self.runs if self.running else -1):
            yield
        self.hooks.clear()

    def _hook(self, tensor: Tensor, hook: Any) -> Any:
        """Takes the place of `Tensor.register_hook`: the engine that would call hooks does not run."""
        node = _gradient_node(tensor)
        kept = self.hooks.setdefault(node, [])
        kept.append((tensor.output_nr, hook))
        return _Handle(kept, kept[-1])

    @property
    def node(self) -> Any:
        return self.running[-1] if self.running else None

    def run(self, tensors: Any, grad_tensors: Any = None, retain_graph: Optional[bool] = None,
            create_graph: bool = False, *_: Any, **__: Any) -> None:
        roots = [tensors] if isinstance(tensors, Tensor) else list(tensors)
        given = [grad_tensors] if grad_tensors is None or isinstance(grad_tensors, Tensor) else list(grad_tensors)
        given += [None] * (len(roots) - len(given))
        self.runs += 1
        graph = _Graph()
        for root, gradient in zip(roots, given):
            if root.grad_fn is not None or root.requires_grad:
                gradient = torch.ones_like(root) if gradient is None else gradient
                graph.give(_gradient_node(root), root.output_nr, gradient)
        for root in roots:
            in_python = isinstance(root.grad_fn, torch.autograd.function.BackwardCFunction)
            if not retain_graph and root.grad_fn is not None and not root._is_view() and not in_python:
                root.detach_()  # the graph goes as it is walked
        del root, roots, tensors
        graph.count()
        with torch.set_grad_enabled(create_graph), self.inside():
            self.walking += 1
            try:
                self._walk(graph)
                while self.walking == 1 and self.afterwards:
                    self.afterwards.pop(0)()
            finally:
                self.walking -= 1

    def grad(self, outputs: Any, inputs: Any, grad_outputs: Any = None, *_: Any, **__: Any) -> tuple[Optional[Tensor], ...]:
        """Takes the place of `torch.autograd.grad` while a compiler traces: gradients of the inputs alone, handed back."""
        graph, wanted, found = _Graph(), list(inputs), {}
        edges = [(_gradient_node(tensor), tensor.output_nr) for tensor in wanted]
        for root, gradient in zip(outputs, grad_outputs or [None] * len(outputs)):
            graph.give(_gradient_node(root), root.output_nr, torch.ones_like(root) if gradient is None else gradient)
        graph.lead_to({node for node, _ in edges})
        graph.count()
        graph.seen = lambda node, gradients: found.update(
            {(node, place): gradient for place, gradient in enumerate(gradients) if (node, place) in edges})
        with torch.no_grad(), mock.patch.object(self, "_accumulate", lambda *_: None):
            self._walk(graph)
        return tuple(found.get(edge) for edge in edges)

    def _walk(self, graph: "_Graph") -> None:
        while graph.ready:
            edges, results = self._one(graph)
            for follower, number in edges:
                result = results.pop(0) if results else None
                if follower is not None and graph.wants(follower):
                    graph.arrive(follower, number, result)
                follower = result = None

    def _one(self, graph: "_Graph") -> tuple[Any, Grads]:
        """Runs the next node, which is let go as this returns."""
        node, gradients, owner = graph.next()
        for place, hook in self.hooks.pop(node, ()) if graph.on_the_way is None else ():
            if gradients[place] is not None:
                changed = hook(gradients[place])
                gradients[place] = gradients[place] if changed is None else changed
        graph.seen(node, gradients)
        edges = node.next_functions
        if graph.on_the_way is not None and not any(graph.wants(follower) for follower, _ in edges):
            return (), []  # an end of the way
        for follower, _ in edges:
            if isinstance(follower, torch.autograd.function.BackwardCFunction):
                graph.owners[follower] = (node, owner)
        self.running.append(node)
        try:
            with contextlib.nullcontext() if graph.on_the_way is None else _of_forward(node):
                results = self._apply(node, gradients, len(edges))
            for place, (follower, number) in enumerate(edges):
                if place < len(results) and results[place] is not None and follower is not None:
                    results[place] = _fitted(results[place], follower, number)
            return edges, results
        finally:
            self.running.pop()

    def _apply(self, node: Any, gradients: Grads, edges: int) -> Grads:
        if all(gradient is None for gradient in gradients):
            return [None] * edges
        if hasattr(node, "variable"):
            self._accumulate(node.variable, gradients[0])
            return []
        if isinstance(node, torch.autograd.function.BackwardCFunction):
            return _of_python(node, gradients, edges)
        if node.name() == "CumprodBackward0":
            return [_of_cumprod(node, gradients[0])]
        results = node(*gradients)
        return list(results) if isinstance(results, (tuple, list)) else [results]

    def _accumulate(self, variable: Tensor, gradient: Optional[Tensor]) -> None:
        """A first gradient is kept as it comes if it lies as the parameter does, and copied otherwise."""
        assert gradient is not None
        with torch.no_grad():
            if variable.grad is not None:
                variable.grad.add_(gradient)
                return
            kept = gradient.detach()
            if kept.stride() != variable.stride():
                kept = torch.empty_like(variable, dtype=kept.dtype).copy_(kept)
            variable.grad = kept
        self.on_gradient(kept)


class _Engine:
    """PyTorch's engine, except that what it shall call at its end is kept."""

    def __init__(self, real: Any, afterwards: list[Callable[[], Any]]) -> None:
        self.real, self.queue_callback = real, afterwards.append

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


class _Handle:
    """What `register_hook` returns."""

    def __init__(self, kept: list[Any], entry: Any) -> None:
        self.kept, self.entry = kept, entry

    def remove(self) -> None:
        if self.entry in self.kept:
            self.kept.remove(self.entry)


class _Graph:
    """Nodes that wait for gradients, and those that have them all."""

    def __init__(self) -> None:
        self.waits: dict[Any, int] = {}
        self.held: dict[Any, Grads] = {}
        self.ready: list[tuple[int, int, Any]] = []
        self.owners: dict[Any, Any] = {}  # Functions written in Python live as long as what leads to them
        self.order = itertools.count()
        self.on_the_way: Optional[set[Any]] = None  # to what is asked for; None: everything is
        self.seen: Callable[[Any, Grads], None] = lambda node, gradients: None  # is told what has arrived at a node

    def wants(self, node: Any) -> bool:
        return self.on_the_way is None or node in self.on_the_way

    def lead_to(self, ends: set[Any]) -> None:
        """Leaves out nodes from which none of the ends is reached."""
        order, seen = [], set(self.held)
        leaders: dict[Any, list[Any]] = {}
        open_nodes = list(self.held)
        while open_nodes:
            node = open_nodes.pop()
            order.append(node)
            for follower, _ in node.next_functions:
                if follower is None:
                    continue
                leaders.setdefault(follower, []).append(node)
                if follower not in seen:
                    seen.add(follower)
                    open_nodes.append(follower)
        self.on_the_way = {node for node in order if node in ends}
        open_nodes = list(self.on_the_way)
        while open_nodes:
            for leader in leaders.get(open_nodes.pop(), ()):
                if leader not in self.on_the_way:
                    self.on_the_way.add(leader)
                    open_nodes.append(leader)
        self.held = {node: slots for node, slots in self.held.items() if node in self.on_the_way}

    def give(self, node: Any, place: int, gradient: Optional[Tensor]) -> None:
        """One more gradient for a node's output; those that meet are added."""
        slots = self.held.setdefault(node, [None] * max(len(results_of(node)), place + 1))
        if gradient is None:
            return
        before = slots[place]
        slots[place] = gradient if before is None else before + gradient

    def count(self) -> None:
        """How many gradients each node waits for; roots that wait for none are ready."""
        seen, open_nodes = set(self.held), list(self.held)
        while open_nodes:
            for follower, _ in open_nodes.pop().next_functions:
                if follower is not None and self.wants(follower):
                    self.waits[follower] = self.waits.get(follower, 0) + 1
                    if follower not in seen:
                        seen.add(follower)
                        open_nodes.append(follower)
        for node in self.held:
            if not self.waits.get(node):
                self._push(node)

    def _push(self, node: Any) -> None:
        number = -(1 << 63) if hasattr(node, "variable") else -node._sequence_nr()
        heapq.heappush(self.ready, (number, next(self.order), node))

    def arrive(self, node: Any, place: int, gradient: Optional[Tensor]) -> None:
        self.give(node, place, gradient)
        self.waits[node] -= 1
        if self.waits[node] == 0:
            del self.waits[node]
            self._push(node)

    def next(self) -> tuple[Any, Grads, Any]:
        node = heapq.heappop(self.ready)[2]
        return node, self.held.pop(node), self.owners.pop(node, None)


@contextlib.contextmanager
def _of_forward(node: Any) -> Iterator[None]:
    """A tracer finds the module of a backward operator by the number of its node."""
    from torch.fx import traceback
    traceback.set_grad_fn_seq_nr(node._sequence_nr())
    try:
        yield
    finally:
        traceback.reset_grad_fn_seq_nr()


def _gradient_node(tensor: Tensor) -> Any:
    if tensor.grad_fn is not None:
        return tensor.grad_fn
    return torch.autograd.graph.get_gradient_edge(tensor).node


def _fitted(gradient: Any, node: Any, place: int) -> Any:
    """As the engine does: summed to the shape and cast to the type of the tensor that it belongs to."""
    known = results_of(node)
    if place >= len(known) or known[place] is None:
        return gradient
    shape, dtype = tuple(known[place].shape), known[place].dtype
    if tuple(gradient.shape) != shape:
        gradient = gradient.sum_to_size(shape)
    return gradient if gradient.dtype == dtype else gradient.to(dtype)


def _of_cumprod(node: Any, gradient: Optional[Tensor]) -> Tensor:
    """What PyTorch does where no factor is zero. Of fake tensors it cannot ask, and would take the long way."""
    dim = node._saved_dim - (1 << 64) if node._saved_dim >= 1 << 63 else node._saved_dim
    weighted = node._saved_result * gradient
    return weighted.flip(dim).cumsum(dim).flip(dim) / node._saved_self


def _of_python(node: Any, gradients: Grads, edges: int) -> Grads:
    """A `torch.autograd.Function`: absent gradients are zeros, and what is not a tensor has none."""
    known = results_of(node)
    filled = [torch.zeros(known[place].shape, dtype=known[place].dtype, device=known[place].device)
              if gradient is None and place < len(known) else gradient for place, gradient in enumerate(gradients)]
    found = node.apply(*filled)
    results = list(found) if isinstance(found, tuple) else [found]
    for place in reversed(range(len(results))):
        if len(results) > edges and results[place] is None:
            del results[place]
    return results
