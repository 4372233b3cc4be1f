"""Makes PyTorch decide as on a machine with a CUDA card, while only fake tensors exist."""

from __future__ import annotations

import contextlib
import functools
import sys
import warnings
from typing import Any, Callable, Iterator
from unittest import mock

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode, unset_fake_temporarily
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from .attention import attention
from .encoder import forward_as_fused
from .recurrent import recurrent

ATTENTION = nn.functional.scaled_dot_product_attention
RECURRENT = (torch.lstm, torch.gru, torch.rnn_tanh, torch.rnn_relu)
CARD = torch.device("cuda", 0)


class Fakes(FakeTensorMode):
    """Fake tensors that know whether a card is really there, whatever `torch.cuda` is made to answer."""
    really = torch.cuda.is_available()

    @property
    def avoid_device_init(self) -> bool:
        return not self.really

    @avoid_device_init.setter
    def avoid_device_init(self, _: bool) -> None:
        """Older releases set it as they begin."""


@contextlib.contextmanager
def as_on_card(capability: tuple[int, int]) -> Iterator[None]:
    """Answers of `torch.cuda` that choose an operator: whether a card is there, what it can do."""
    answers: dict[str, Callable[..., Any]] = {
        "is_available": lambda: True, "device_count": lambda: 1, "current_device": lambda: 0,
        "is_bf16_supported": lambda *_, **__: capability >= (8, 0), "get_device_capability": lambda *_: capability,
        "synchronize": lambda *_: None, "is_current_stream_capturing": lambda: False}
    with contextlib.ExitStack() as stack:
        for name, answer in answers.items():
            stack.enter_context(mock.patch.object(torch.cuda, name, answer))
        optim = sys.modules["torch.optim.optimizer"]
        known = getattr(optim, "_foreach_supported_types", None)
        if known is not None:  # fake parameters go the way of real ones: all tensors in one call
            stack.enter_context(mock.patch.object(optim, "_foreach_supported_types", [*known, FakeTensor]))
        fakes = sys.modules[FakeTensorMode.__module__]
        for name in ("init_gpu_context", "init_cuda_context"):  # newer and older name of the same
            if hasattr(fakes, name):
                stack.enter_context(mock.patch.object(fakes, name, lambda *_: None))
        dynamo = sys.modules.get("torch._dynamo.utils")
        if hasattr(dynamo, "has_triton"):  # it logs Triton's release with every graph, and asks the driver for that
            stack.enter_context(mock.patch.object(dynamo, "has_triton", lambda: False))
        stack.enter_context(mock.patch.object(nn.Module, "_apply", _converted))
        chosen = functools.partial(attention, capability=capability)
        stack.enter_context(mock.patch.object(nn.functional, "scaled_dot_product_attention", chosen))
        stack.enter_context(mock.patch.object(nn.RNNBase, "flatten_parameters", lambda self: None))
        layer = nn.TransformerEncoderLayer
        stack.enter_context(mock.patch.object(layer, "forward", forward_as_fused(layer.forward, capability)))
        yield


@contextlib.contextmanager
def untraced() -> Iterator[None]:
    """transformers asks whether it is traced and then builds masks that a plain run leaves out."""
    with contextlib.ExitStack() as stack:
        for name, module in list(sys.modules.items()):
            if name.startswith("transformers.") and "is_tracing" in vars(module):
                stack.enter_context(mock.patch.object(module, "is_tracing", lambda *_, **__: False))
        yield


def _converted(self: nn.Module, fn: Any, recurse: bool = True) -> nn.Module:
    """`Module._apply` for fake parameters, which cannot be swapped in place; ties stay ties."""
    made: dict[int, Any] = vars(fn).setdefault("converted", {})
    if recurse:
        for child in self.children():
            child._apply(fn)
    for kept in (self._parameters, self._buffers):
        for name, tensor in kept.items():
            if tensor is None:
                continue
            if id(tensor) not in made:
                with torch.no_grad():
                    new = fn(tensor)
                if isinstance(tensor, nn.Parameter):
                    new = tensor if new is tensor else nn.Parameter(new, tensor.requires_grad)
                made[id(tensor)] = (new, tensor)  # the old one is kept, so that its number is not given away
            kept[name] = made[id(tensor)][0]
    return self


READ_BACK = torch.ops.aten._local_scalar_dense.default
ALL = {torch.ops.aten.all.default, torch.ops.aten.all.dim}
TABLES = {torch.ops.aten.linspace.default, torch.ops.aten.arange.start_step, torch.ops.aten.arange.default}


def stand_in(tensor: torch.Tensor) -> Any:
    """A number read back from a tensor without data: one. Of truths, all hold and none of "any" does."""
    if tensor.dtype == torch.bool:
        return getattr(tensor, "tilecast_all", False)
    return 1.0 if tensor.dtype.is_floating_point else 1


class Numbers(TorchDispatchMode):
    """Numbers read back from tensors. Small tables made on the CPU are real, since models are laid out by them."""

    def __init__(self, unwatched: Callable[[], bool] = lambda: False) -> None:
        super().__init__()
        self.unwatched = unwatched  # whether the step is still to come

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is READ_BACK and isinstance(args[0], FakeTensor):
            if self.unwatched() and args[0].dtype != torch.bool:
                warnings.warn("a number was read back from a fake tensor before the step and is taken to be 1: a model whose layers follow "
                              "from tensors is another one then; make it outside and hand it to Recorder.fake", stacklevel=2)
            return stand_in(args[0])
        on_cpu = func in TABLES and getattr(kwargs.get("device"), "type", "") == "cpu"
        if on_cpu or (args and not isinstance(args[0], FakeTensor) and func is READ_BACK):
            with unset_fake_temporarily():
                return func(*args, **kwargs)
        out = func(*args, **kwargs)
        if func in ALL:
            out.tilecast_all = True
        return out


CONVOLUTIONS = {torch.ops.aten.convolution.default, torch.ops.aten.convolution_backward.default}


class Convolutions(TorchDispatchMode):
    """Layouts of convolutions in bf16: without a driver PyTorch thinks that cuDNN cannot run them, and would lay their results
    out as its own slow kernel does. In fp16 it does not ask."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func not in CONVOLUTIONS or args[0].dtype != torch.bfloat16 or args[0].device.type != "cuda":
            return func(*args, **kwargs)
        out = func(*(_of_type(value, torch.bfloat16, torch.float16) for value in args), **kwargs)
        if isinstance(out, torch.Tensor):
            return _of_type(out, torch.float16, torch.bfloat16)
        return tuple(_of_type(value, torch.float16, torch.bfloat16) for value in out)


def _of_type(value: Any, old: torch.dtype, new: torch.dtype) -> Any:
    if not isinstance(value, torch.Tensor) or value.dtype != old:
        return value
    return torch.empty_strided(value.shape, value.stride(), dtype=new, device=value.device)


class ChooseKernels(TorchFunctionMode):
    """Sends attention and recurrent layers to the operators that the card would run."""

    def __init__(self, capability: tuple[int, int]) -> None:
        super().__init__()
        self.capability = capability

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is ATTENTION:
            return attention(*args, **(kwargs or {}), capability=self.capability)
        if func in RECURRENT and len(args) == 9 and args[0].device.type == "cuda":
            return recurrent(func.__name__, *args)
        return func(*args, **(kwargs or {}))


def to_fakes(module: nn.Module, mode: FakeTensorMode, device: torch.device = CARD) -> nn.Module:
    """Replaces a module's parameters and buffers, in place, by fake ones on the device; ties stay ties."""
    made: dict[int, Any] = {}

    def fake(tensor: torch.Tensor) -> Any:
        if id(tensor) not in made:
            with mode:
                new: Any = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=device)
                if isinstance(tensor, nn.Parameter):
                    new = nn.Parameter(new, tensor.requires_grad)
            made[id(tensor)] = new
        return made[id(tensor)]

    for part in module.modules():
        for kept in (part._parameters, part._buffers):
            for name, tensor in kept.items():
                if tensor is not None:
                    kept[name] = fake(tensor)
    return module
