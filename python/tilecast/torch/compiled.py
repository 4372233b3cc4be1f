"""What `torch.compile` makes of a module: the graphs that Inductor would turn into kernels, recorded operator by operator.

Dynamo, AOTAutograd and Inductor's own passes run as on a card, over fake tensors: attention is replaced or taken apart, operators
are decomposed, and the partitioner decides what the backward pass computes again and what it keeps. Inductor's code generation is
left out: the graphs it would get are run by an interpreter, and a reader of the record fuses what they say.
"""

from __future__ import annotations

import contextlib
import functools
import re
import warnings
from collections import OrderedDict
from typing import Any, Callable, Iterator
from unittest import mock

import torch
import torch._dynamo
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor
from torch.overrides import _get_current_function_mode_stack, _pop_mode, _push_mode
from torch.utils import _python_dispatch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from .attention import attention
from .backward import Backward
from .older import RELEASE
from .program import NO_GRAPH
from .surroundings import ATTENTION

# Products are padded by what a benchmark on the card says; the reader of the record pads them by its own rule.
SETTINGS = {"shape_padding": False, "fx_graph_cache": False}


class Compiler:
    """Runs modules as compiled ones. `modes` are those that hold on the card and record: Dynamo does not work under them, so
    they are left for it and entered again while graphs run."""

    def __init__(self, capability: tuple[int, int], modes: Callable[[], Any], backward: Backward) -> None:
        self.capability, self.modes, self.backward = capability, modes, backward
        self.graphs, self.running, self.left = 0, NO_GRAPH, False
        self.ran, self.left_alone, self.in_place = 0, set[int](), set[int]()
        self.path = ""  # the module that the node at hand comes from
        self.compiled: dict[int, tuple[nn.Module, Any]] = {}

    def __call__(self, module: nn.Module, *args: Any, **kwargs: Any) -> Any:
        known = self.compiled.get(id(module))
        if known is None:
            known = self.compiled[id(module)] = (module, torch.compile(self._entry(module), backend=self._backend,
                                                                       dynamic=False))
        if id(module) in self.left_alone:
            return module._call_impl(*args, **kwargs)
        ran = self.ran
        try:
            with self._outside():
                out = known[1](*args, **kwargs)
            if self.ran > ran:
                return out
        except Exception as error:
            if self.ran > ran:
                raise
            warnings.warn(f"{type(module).__name__} does not compile here and is recorded as it runs: {error}")
        self.left_alone.add(id(module))  # Dynamo passes over PyTorch's own modules, and so does the record
        return module._call_impl(*args, **kwargs)

    def _entry(self, module: nn.Module) -> Any:
        """`torch.compile(module)` takes PyTorch's own modules as well; `module.compile()` passes them over."""
        from torch._dynamo import external_utils, trace_rules
        if id(module) not in self.in_place and trace_rules.check(module.forward):
            return external_utils.wrap_inline(module._call_impl)
        return module._call_impl

    @contextlib.contextmanager
    def _outside(self) -> Iterator[None]:
        before, self.left = self.left, True
        try:
            with _unwatched(), _as_without_card():
                yield
        finally:
            self.left = before

    @contextlib.contextmanager
    def _inside(self) -> Iterator[None]:
        if not self.left:  # a backward graph: autograd's walk is inside already
            yield
            return
        self.left = False
        try:
            with self.modes():
                yield
        finally:
            self.left = True

    def _backend(self, graph: Any, inputs: Any) -> Any:
        from torch._inductor import config
        from torch._inductor.compile_fx import compile_fx
        self._choose_attention(graph)
        with config.patch(SETTINGS), _one_mode(inputs), _constants_on_host(), mock.patch.object(torch.autograd, "grad", self.backward.grad):
            return compile_fx(graph, inputs, inner_compile=self._inner)

    def _choose_attention(self, graph: Any) -> None:
        """PyTorch asks the driver which kernel attention runs; here the same rules answer."""
        def chosen(*args: Any, **kwargs: Any) -> Any:
            return attention(*args, **kwargs, capability=self.capability)

        for part in graph.modules():
            if isinstance(part, torch.fx.GraphModule):
                for node in part.graph.nodes:
                    if node.op == "call_function" and node.target is ATTENTION:
                        node.target = chosen
                part.recompile()

    def _inner(self, graph: Any, inputs: Any, **options: Any) -> Any:
        """Takes the place of Inductor's code generation: its last passes over the graph, then a run of what they leave."""
        from torch._inductor.compile_fx import _recursive_post_grad_passes, fake_tensor_prop, view_to_reshape
        from torch._inductor.virtualized import V
        self.graphs += 1
        view_to_reshape(graph)
        with self._outside(), torch.no_grad(), _one_mode(inputs), V.set_fake_mode(fake_tensor_prop(graph, inputs)):
            _recursive_post_grad_passes(graph, is_inference=options.get("is_inference", False))

        number = self.graphs - 1

        def run(values: list[Any]) -> Any:
            before, self.running = self.running, number
            self.ran += 1
            try:
                with torch.no_grad(), self._inside():
                    return Run(graph, self).boxed_run(values)
            finally:
                self.running, self.path = before, ""

        run._boxed_call = True  # type: ignore[attr-defined]
        return run


@contextlib.contextmanager
def _unwatched() -> Iterator[None]:
    """Dynamo leaves code alone that runs under modes other than its own."""
    functions = []
    while _get_current_function_mode_stack():
        functions.append(_pop_mode())
    try:
        with _disable_current_modes(), _flags_down():
            yield
    finally:
        for mode in reversed(functions):
            _push_mode(mode)


@contextlib.contextmanager
def _one_mode(inputs: Any) -> Iterator[None]:
    """Inputs are fake already. PyTorch 2.11 makes them anew in the mode that it traces in; earlier releases want them to be of that
    mode, so they trace in the inputs'."""
    context: Any = torch._guards.TracingContext.try_get()
    modes = {value.fake_mode for value in inputs if isinstance(value, FakeTensor)}
    if RELEASE >= (2, 11) or context is None or len(modes) != 1:
        yield
        return
    with mock.patch.object(context, "fake_mode", modes.pop()):
        yield


@contextlib.contextmanager
def _flags_down() -> Iterator[None]:
    """Releases before 2.11 go by what was entered, not by what still holds: modes that are left for a while count."""
    with contextlib.ExitStack() as stack:
        names = ("_is_in_torch_dispatch_mode", "_is_in_non_infra_torch_dispatch_mode", "_is_in_any_mode_without_ignore_compile_internals")
        for name in names if RELEASE < (2, 11) else names[:2]:
            if hasattr(_python_dispatch, name):
                stack.enter_context(mock.patch.object(_python_dispatch, name, False))
        yield


@contextlib.contextmanager
def _as_without_card() -> Iterator[None]:
    """Dynamo and Inductor ask the driver about streams, random numbers and Triton where a card is there."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.object(torch.cuda, "is_available", lambda: False))
        stack.enter_context(mock.patch.object(nn.functional, "scaled_dot_product_attention", ATTENTION))
        stack.enter_context(mock.patch.object(nn.Module, "__call__", nn.Module._wrapped_call_impl))
        for hooks in ("_global_forward_pre_hooks", "_global_forward_hooks", "_global_forward_hooks_always_called"):
            stack.enter_context(mock.patch.object(nn.modules.module, hooks, OrderedDict()))
        try:
            yield
        finally:
            _forget_answers()


def _forget_answers() -> None:
    """PyTorch remembers whether Triton can be used; where a card is there, it can."""
    from torch.utils import _triton
    for name in dir(_triton):
        forget = getattr(getattr(_triton, name), "cache_clear", None)
        if forget is not None:
            forget()


class Run(torch.fx.Interpreter):
    """A graph's run that says where each node comes from."""

    def __init__(self, graph: Any, compiler: Compiler) -> None:
        super().__init__(graph)
        self.compiler = compiler

    def run_node(self, n: Any) -> Any:
        stack = n.meta.get("nn_module_stack") or n.meta.get("fwd_nn_module_stack") or {}
        self.compiler.path = module_path(next(reversed(stack.values()))[0]) if stack else ""
        return super().run_node(n)


def module_path(said: str) -> str:
    """`L['self'].model.layers[0]` or `L['self']._modules['model']` as `named_modules` has it."""
    plain = re.sub(r"^L\['\w+'\](\.__self__)?\.?", "", said).replace("._modules", "").replace("_modules", "")
    return re.sub(r"\[['\"]?([^\]'\"]+)['\"]?\]", r".\1", plain).strip(".")


class OnHost(TorchDispatchMode):
    """Constants that are made for the card are made on the host."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        def moved(value: Any) -> Any:
            return torch.device("cpu") if isinstance(value, torch.device) else value
        return func(*map(moved, args), **{name: moved(value) for name, value in (kwargs or {}).items()})


@contextlib.contextmanager
def _constants_on_host() -> Iterator[None]:
    """Inductor folds tensors of one value by computing that value on the card, and numbers that a graph holds are moved there as it
    is traced."""
    from torch._inductor.fx_passes import joint_graph
    from torch.fx.experimental import proxy_tensor
    folder = joint_graph.UniformValueConstantFolder

    def on_host(plain: Any) -> Any:
        @functools.wraps(plain)
        def run(*args: Any, **kwargs: Any) -> Any:
            with OnHost():
                return plain(*args, **kwargs)
        return run

    @contextlib.contextmanager
    def real_on_host(plain: Any = proxy_tensor.unset_fake_temporarily) -> Iterator[Any]:
        with plain() as found, OnHost():
            yield found

    with contextlib.ExitStack() as stack:
        for name in ("__init__", "_deduce_value"):
            if hasattr(folder, name):  # 2.4 has no _deduce_value
                stack.enter_context(mock.patch.object(folder, name, on_host(getattr(folder, name))))
        stack.enter_context(mock.patch.object(proxy_tensor, "unset_fake_temporarily", real_on_host))
        yield
