"""Records a PyTorch program: every operator with shapes, strides, types, module and phase, and every storage's life."""

from __future__ import annotations

import contextlib
import functools
import weakref
from typing import Any, Iterator, Optional

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from .arguments import Describer
from .backward import Backward
from .compiled import Compiler
from .modules import Paths, optimizers_stepping
from .older import check_compiles, guards_without_driver, results_seen, triton_unasked
from .program import NEVER, ROLES, Call, Operator, Program, Storage
from .ranks import COLLECTIVES, Streams, groups_of, is_spread, local, meshes_on_host, resizes_seen, shardings_apart, world
from .surroundings import READ_BACK, ChooseKernels, Convolutions, Fakes, Numbers, as_on_card, to_fakes, untraced

IGNORED = {torch.ops.aten.detach.default, torch.ops.aten.alias.default, torch.ops.aten.lift_fresh.default}


class Recorder:
    """Everything inside is fake; calls inside `step()` are recorded.

    Tensors and modules made inside live on the card that `device="cuda"` names; modules that exist already are taken by
    `fake(module)`. `capability` is the card's, for PyTorch's choice of an attention kernel.
    """

    def __init__(self, name: str = "program", capability: tuple[int, int] = (9, 0)) -> None:
        self.program = Program(name, {"torch": torch.__version__, "capability": f"{capability[0]}.{capability[1]}"})
        self.capability = capability
        self.mode = Fakes(allow_non_fake_inputs=True)
        self.backward = Backward(lambda: ChooseKernels(capability))
        self.compiler = Compiler(capability, self._modes, self.backward)
        self.streams = Streams()
        self.watch: Optional["Watch"] = None
        self._open: Optional[contextlib.ExitStack] = None

    def __enter__(self) -> "Recorder":
        self._open = contextlib.ExitStack()
        self._open.enter_context(guards_without_driver(Fakes.really))
        self._open.enter_context(triton_unasked())
        self._open.enter_context(as_on_card(self.capability))
        self._open.enter_context(self.mode)
        stepping = self._open.enter_context(optimizers_stepping())  # they read their count of steps
        self._open.enter_context(Numbers(lambda: self.watch is None and not stepping()))
        self._open.enter_context(Convolutions())
        self._open.enter_context(results_seen())
        self._open.enter_context(ChooseKernels(self.capability))
        self._open.enter_context(self.backward.installed())
        self._open.enter_context(self.streams.installed())
        self._open.enter_context(meshes_on_host())
        self._open.enter_context(shardings_apart(self.aside))
        self._open.enter_context(resizes_seen(self._resized))
        return self

    def __exit__(self, *error: Any) -> None:
        assert self._open is not None
        self._open.close()

    def _resized(self, storage: Any) -> None:
        if self.watch:
            self.watch.resized(storage)

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """What runs here is no part of the step."""
        watch = self.watch
        before = watch.paused if watch else False
        if watch:
            watch.paused = True
        try:
            yield
        finally:
            if watch:
                watch.paused = before

    @contextlib.contextmanager
    def _modes(self) -> Iterator[None]:
        with self.mode, Numbers(), Convolutions(), self.watch or contextlib.nullcontext():
            yield

    def fake(self, module: nn.Module) -> nn.Module:
        return to_fakes(module, self.mode)

    def compile(self, module: nn.Module, in_place: bool = False) -> nn.Module:
        """From here on calls of the module are recorded as `torch.compile(module)` would run them, or `module.compile()`."""
        check_compiles()
        self.program.compiled = True
        if in_place:
            self.compiler.in_place.add(id(module))
        module._compiled_call_impl = functools.partial(self.compiler, module)
        return module

    @contextlib.contextmanager
    def step(self, *modules: nn.Module, optimizers: tuple[torch.optim.Optimizer, ...] = (),
             traced: bool = False) -> Iterator["Watch"]:
        """Records what runs inside. Modules named here lend their names and the roles of their tensors.

        With `traced`, models of transformers hand over the masks that they build when a compiler traces them.
        """
        watch = Watch(self.program, self.backward, self.compiler, self.streams)
        watch.know(modules, optimizers)
        self.watch = watch
        self.streams.calls, self.streams.waits = lambda: len(self.program.calls), []
        self.backward.on_gradient = watch.gradient
        with contextlib.nullcontext() if traced else untraced(), watch.paths.watching(modules), watch:
            yield watch
        self.watch = None
        self.backward.on_gradient = lambda gradient: None
        watch.finish()

    def save(self, path: str) -> None:
        self.program.save(path)


class Watch(TorchDispatchMode):
    """The dispatch mode that writes calls down."""

    def __init__(self, program: Program, backward: Backward, compiler: Compiler, streams: Streams) -> None:
        super().__init__()
        self.program, self.paths, self.compiler, self.streams = program, Paths(backward), compiler, streams
        self.describer = Describer(program.layouts)
        self.over = False
        self.paused = False
        self.known: dict[int, int] = {}  # a storage's address among fakes -> its place in the program
        self.groups: set[str] = set()  # names of the process groups of its collectives

    def know(self, modules: tuple[nn.Module, ...], optimizers: tuple[torch.optim.Optimizer, ...]) -> None:
        for module in modules:
            for parameter in module.parameters():
                self._storage(parameter, "parameter")
            for buffer in module.buffers():
                self._storage(buffer, "buffer")
        for optimizer in optimizers:
            for state in optimizer.state.values():
                for value in state.values():
                    if isinstance(value, Tensor):
                        self._storage(value, "optimizer")

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if is_spread(types):
            return NotImplemented  # DTensor makes a rank's operators of it, which come here one by one
        if self.paused:
            return func(*args, **kwargs)
        if func is READ_BACK:
            self._record(func, args, kwargs, ())
            return func(*args)
        reads = self._storages(args, kwargs)
        out = func(*args, **kwargs)
        if func not in IGNORED and func.namespace not in ("prim", "profiler"):
            self._record(func, args, kwargs, out, reads)
        return out

    def _storages(self, *values: Any) -> list[int]:
        return [self._storage(tensor) for tensor in tensors_in(values)]

    def _storage(self, tensor: Tensor, role: str = "other", born: int = NEVER) -> int:
        tensor = local(tensor)
        storage = tensor.untyped_storage()
        key = storage._cdata
        place = self.known.get(key)
        if place is None:
            place = self.known[key] = len(self.program.storages)
            self.program.storages.append(Storage(storage.nbytes(), tensor.device.type, ROLES.index(role), born))
            weakref.finalize(storage, self._freed, key, place)
        return place

    def _freed(self, key: int, place: int) -> None:
        if self.over:
            return
        self.known.pop(key, None)
        storage = self.program.storages[place]
        if storage.dies == NEVER:
            storage.dies = max(len(self.program.calls) - 1, 0)

    def resized(self, storage: Any) -> None:
        """Memory that is given back, or taken anew under the same name."""
        place = self.known.get(storage._cdata)
        if place is None:
            return
        role, device = self.program.storages[place].role, self.program.storages[place].device
        self._freed(storage._cdata, place)
        place = self.known[storage._cdata] = len(self.program.storages)
        self.program.storages.append(Storage(storage.nbytes(), device, role, len(self.program.calls)))
        weakref.finalize(storage, self._freed, storage._cdata, place)

    def _record(self, func: Any, args: Any, kwargs: Any, out: Any, reads: Optional[list[int]] = None) -> None:
        program = self.program
        born = len(program.calls)
        phase, path = self.paths.where()
        path = self.compiler.path or path
        writes = [self._storage(tensor, "other", born) for tensor in tensors_in(out)]
        operator = self._operator(func, args, kwargs, out)
        program.calls.append(Call(operator, program.modules.place(path), program.phases.place(phase),
                                  self._storages(args, kwargs) if reads is None else reads, writes, self.compiler.running,
                                  self.streams.current))
        if func.namespace in COLLECTIVES:
            self.groups.update(value for name, _, value in program.operators[operator].arguments
                               if name in ("group_name", "process_group"))

    def _operator(self, func: Any, args: Any, kwargs: Any, out: Any) -> int:
        name, view = self.describer.name_of(func)
        arguments = self.describer.arguments(func, args, kwargs)
        results = tuple(self.describer.layout(tensor) for tensor in tensors_in(out))
        operator = Operator(name, view, arguments, results)
        return self.program.operator_table.place(operator)

    def gradient(self, tensor: Tensor) -> None:
        self.program.storages[self._storage(tensor)].role = ROLES.index("gradient")

    def finish(self) -> None:
        """What still lives at the end lives on."""
        self.over = True
        self.known.clear()
        self.program.world, self.program.rank = world()
        self.program.groups, self.program.waits = groups_of(self.groups), self.streams.waits


def tensors_in(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors_in(item)

