"""What older releases of PyTorch lack and recording needs: operators over fake tensors of a card without a driver, and the sizes of the
tensors whose gradients autograd's nodes take. With PyTorch 2.11 nothing here does anything."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
from typing import Any, Iterator, Optional, NamedTuple, Sequence
from unittest import mock

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from ..errors import QueryError

RELEASE = tuple(int(part) for part in torch.__version__.split(".")[:2])
CUDA, META = 1, 14  # c10/core/DeviceType.h
DEVICE_TYPES = 20
GUARDS = "_ZN3c104impl26device_guard_impl_registryE"  # c10::impl::device_guard_impl_registry, one pointer for each type of device


@contextlib.contextmanager
def guards_without_driver(really: bool) -> Iterator[None]:
    """Entering a card does nothing, where none is `really` there.

    Tensor methods such as `copy_` and indexing enter the device of their tensor, for which PyTorch asks the driver or, built
    without CUDA, fails. Newer releases set a guard that does nothing (`_ensureCUDADeviceGuardSet`). 2.4 has such a guard for the
    device "meta" alone, and here it stands in for CUDA's.
    """
    if really or hasattr(torch._C, "_ensureCUDADeviceGuardSet"):
        yield
        return
    core = ctypes.CDLL(os.path.join(os.path.dirname(torch.__file__), "lib", "libc10.so"))
    guards = (ctypes.c_void_p * DEVICE_TYPES).in_dll(core, GUARDS)
    before = guards[CUDA]
    guards[CUDA] = guards[META]
    try:
        yield
    finally:
        guards[CUDA] = before


class Result(NamedTuple):
    """What autograd knows of one result of a node's forward operator."""
    shape: Sequence[int]
    dtype: torch.dtype
    device: torch.device


_results: dict[int, list[Result]] = {}  # by the number that autograd gives a node


def results_of(node: Any) -> Sequence[Any]:
    """Shapes, types and devices of the tensors that a node takes the gradients of: `node._input_metadata`, which 2.4
    does not have, or what `results_seen` has noted; None of a result that is not known."""
    known: Optional[Sequence[Any]] = getattr(node, "_input_metadata", None)
    if known is not None:
        return known
    if hasattr(node, "variable"):
        return [_result(node.variable)]
    # CopySlices is made after its operator has run, and its number is another operator's
    seen = _results.get(node._sequence_nr(), []) if node.name() != "CopySlices" else []
    if isinstance(node, torch.autograd.function.BackwardCFunction):
        return seen
    count = _gradients_taken(node)  # results that have no gradient come last
    return [*seen[:count], *[None] * (count - len(seen))]


def _gradients_taken(node: Any) -> int:
    """Nothing tells but the complaint about a call without any: "expected 3 arguments, got 0 instead"."""
    try:
        node()
    except TypeError as complaint:
        return int(str(complaint).split()[1])
    return 0


def _result(tensor: Tensor) -> Result:
    return Result(tuple(tensor.shape), tensor.dtype, tensor.device)


class _Seen(TorchDispatchMode):
    """An operator runs right after its node has been made, so that the last number given is the node's."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        number = torch.autograd._get_sequence_nr() - 1
        differentiable = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in _tensors((args, kwargs or {})))
        out = func(*args, **(kwargs or {}))
        results = _tensors(out) if differentiable else []
        if results:  # questions for sizes and devices come here too, and return none
            _results.setdefault(number, [_result(tensor) for tensor in results])
        return out


def _tensors(value: Any) -> list[Tensor]:
    return [leaf for leaf in torch.utils._pytree.tree_leaves(value) if isinstance(leaf, Tensor)]


@functools.lru_cache(maxsize=None)
def _nodes_have_results() -> bool:
    with torch.enable_grad():
        return hasattr(torch.ones((), device="cpu", requires_grad=True).clone().grad_fn, "_input_metadata")


def check_compiles() -> None:
    """While a compiler traces, nothing sees the results of operators, so that nodes have to know them."""
    if not _nodes_have_results():
        raise QueryError(f"cannot be compile with PyTorch {torch.__version__}, whose autograd does not tell the sizes of results",
                         "PyTorch 2.8 or later records compiled programs", "mode")


@contextlib.contextmanager
def triton_unasked() -> Iterator[None]:
    """2.8 notes Triton's version as it compiles a backward pass, and asks the driver whether the card can run it."""
    if RELEASE >= (2, 11):
        yield
        return
    from torch._dynamo import utils
    with mock.patch.object(utils, "has_triton", lambda: False, create=True):
        yield


@contextlib.contextmanager
def results_seen() -> Iterator[None]:
    """Notes what forward operators return."""
    if _nodes_have_results():
        yield
        return
    plain: Any = getattr(torch.autograd.Function.apply, "__func__")

    def apply(function: Any, *args: Any, **kwargs: Any) -> Any:
        """A Function written in Python: what runs inside it bears its number, but is not what it returns."""
        out = plain(function, *args, **kwargs)
        results = [value for value in (out if isinstance(out, tuple) else (out,)) if isinstance(value, Tensor)]
        for result in results:
            if isinstance(result.grad_fn, torch.autograd.function.BackwardCFunction):
                _results[result.grad_fn._sequence_nr()] = [_result(tensor) for tensor in results]
        return out

    with mock.patch.object(torch.autograd.Function, "apply", classmethod(apply)), _Seen():
        yield
    _results.clear()
