"""Forecasts of PyTorch programs on GPUs that are not there: `Estimate` around code, `forecast` of a model."""

from __future__ import annotations

import contextlib
import functools
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator, Optional, Sequence, Union

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensor
from torch.optim.optimizer import register_optimizer_step_pre_hook
from torch.overrides import TorchFunctionMode

from ..answers import ProgramForecast
from ..errors import QueryError
from ..pictures import Picture, plot, svg
from .ask import ask
from .older import check_compiles
from .program import Program
from .ranks import local
from .record import Recorder, Watch, tensors_in
from .surroundings import CARD

ENGINES = {"eager": "pytorch", "pytorch": "pytorch", "compile": "compile"}


@dataclass
class Forecast:
    """One program on one GPU. Times are in milliseconds, sizes in bytes; `raw` has everything else (docs/json.md)."""
    gpu: str
    step_ms: float
    interval_ms: tuple[float, float]
    kernels_ms: float
    host_ms: float
    host_bound: bool
    launches: int
    peak_bytes: int
    fits: bool
    recognised: float
    raw: dict[str, Any] = field(repr=False)

    @property
    def modules(self) -> dict[str, dict[str, float]]:
        """Forward and backward time of every module by its path, with the modules inside."""
        return {module["path"]: {key: value for key, value in module.items() if key != "path"}
                for module in self.raw["modules"]}

    @property
    def operators(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.raw["operators"]
        return found

    @property
    def unknown(self) -> dict[str, float]:
        """Operators priced by their bytes, with their share of the kernels' time."""
        whole = sum(operator["time_ms"] for operator in self.operators)
        return {operator["name"]: operator["time_ms"] / whole for operator in self.raw["unknown"]}

    @property
    def exposed_ms(self) -> float:
        """What the step waits for collectives; 0 of a program on one card."""
        return float(self.raw.get("exposed_ms", 0.0))

    @property
    def collectives(self) -> list[dict[str, Any]]:
        """Kinds of collectives, of a program over many cards: op, ranks, bytes, calls, latency_us, algorithm."""
        found: list[dict[str, Any]] = self.raw.get("collectives", [])
        return found

    @property
    def memory(self) -> list[tuple[int, int]]:
        """Bytes handed out over the step: (call, most until the next sample)."""
        return [(int(call), int(held)) for call, held in self.raw["memory_bytes"]["over_calls"]]

    @property
    def answer(self) -> ProgramForecast:
        """The same as `tilecast.predict` answers for the recorded file."""
        return ProgramForecast.from_document(self.raw)

    @property
    def seen(self) -> str:
        """What the kernels' forecasts rest on: "yes", "sibling", "no" or "calibrated"."""
        return self.answer.seen

    @property
    def breakdown(self) -> dict[str, float]:
        """Milliseconds by class of operators."""
        return self.answer.breakdown

    def to_dict(self) -> dict[str, Any]:
        return dict(self.raw)

    def to_pandas(self) -> Any:
        """Operators, those that take longest first, as a DataFrame; pandas must be there."""
        return self.answer.to_pandas()

    def picture(self) -> Picture:
        """Where the step's time goes."""
        return self.answer.picture()

    def memory_picture(self) -> Picture:
        """Memory handed out over the step."""
        held = [(float(call), at_most / 2**30) for call, at_most in self.memory]
        return Picture.of_lines(f"Memory of {self.raw['program']} on {self.gpu}", "operator", "GiB", {"": held})

    def plot(self, axes: Any = None, memory: bool = False) -> Any:
        """Draws time, or memory over the step, with matplotlib, which must be there, and answers with the axes."""
        return plot(self.memory_picture() if memory else self.picture(), axes)

    def _repr_html_(self) -> str:
        return self.answer._repr_html_() + svg(self.memory_picture())


def _forecast_of(answer: dict[str, Any]) -> Forecast:
    if "error" in answer:
        raise QueryError(answer["error"])
    low, high = answer["interval_ms"]
    memory = answer["memory_bytes"]
    return Forecast(answer["gpu"], answer["step_ms"], (low, high), answer["kernels_ms"], answer["host_ms"],
                    answer["host_bound"], answer["launches"], int(memory["peak"]), memory["fits"], answer["recognised"],
                    answer)


def forecast_program(program: Program, gpu: Union[str, Sequence[str]] = (), compile: bool = False,
                     cluster: Union[str, Sequence[str]] = ()) -> list[Forecast]:
    """A recorded program on GPUs, in their order; one over many cards on clusters, or on as many of each GPU."""
    gpus, clusters = _listed(gpu), _listed(cluster)
    if not gpus and not clusters:
        raise QueryError("is missing", "for example B200", "gpu")
    return [_forecast_of(answer) for answer in ask(program, gpus, "compile" if compile else "pytorch", clusters)]


def _listed(names: Union[str, Sequence[str]]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _is_fake(tensor: Tensor) -> bool:
    return isinstance(local(tensor), FakeTensor)


class TakeOver(TorchFunctionMode):
    """Real tensors that meet those of the card are there already."""

    def __init__(self, estimate: "Estimate") -> None:
        super().__init__()
        self.estimate = estimate

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if any(_is_fake(t) and t.device.type == "cuda" for t in tensors_in((args, kwargs))):
            args, kwargs = self.estimate.moved(args), self.estimate.moved(kwargs)
        return func(*args, **kwargs)


class Estimate:
    """What runs inside is recorded as one step, and forecast at the end.

    >>> with Estimate(gpu="B200") as estimate:                       # doctest: +SKIP
    ...     loss = model(x); loss.backward(); optimizer.step()
    >>> estimate.result.step_ms, estimate.result.peak_bytes          # doctest: +SKIP

    Models, tensors and optimizers may be real ones: modules that are called have fake parameters on the card meanwhile, and
    their own again afterwards. `mode` is "eager" or "compile". With several GPUs `results` has one forecast each.

    A program over many cards is made inside, `aside()` of the step, under `ranks()`; `cluster` says what joins them:

    >>> with ranks(8), Estimate(cluster="hgx-h100") as estimate:     # doctest: +SKIP
    ...     with estimate.aside():
    ...         model = Model().to("cuda:0"); fully_shard(model, mesh=init_device_mesh("cuda", (8,)))
    ...     model(x).sum().backward()
    """

    def __init__(self, gpu: Union[str, Sequence[str]] = (), mode: str = "eager", name: str = "program",
                 capability: tuple[int, int] = (9, 0), cluster: Union[str, Sequence[str]] = ()) -> None:
        if mode not in ENGINES:
            raise QueryError(f"must be eager or compile, not {mode!r}", "", "mode")
        self.gpus, self.clusters = _listed(gpu), _listed(cluster)
        if not self.gpus and not self.clusters:
            raise QueryError("is missing", "for example B200", "gpu")
        self.engine = ENGINES[mode]
        if self.engine == "compile":
            check_compiles()
        self.recorder = Recorder(name, capability)
        self.results: list[Forecast] = []
        self._fakes: dict[int, tuple[Tensor, Tensor]] = {}  # by a real tensor's number: itself and its fake
        self._undo: list[Callable[[], None]] = []
        self._inside = False
        self._ready: set[int] = set()
        self._stack: Optional[contextlib.ExitStack] = None
        self.watch: Optional[Watch] = None

    @property
    def program(self) -> Program:
        return self.recorder.program

    @property
    def result(self) -> Forecast:
        return self.results[0]

    def __enter__(self) -> "Estimate":
        self._stack = stack = contextlib.ExitStack()
        stack.enter_context(self.recorder)
        stack.enter_context(self._calls())
        stack.enter_context(self._steps())
        stack.enter_context(TakeOver(self))
        self.watch = stack.enter_context(self.recorder.step(traced=self.engine == "compile"))
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        assert self._stack is not None
        try:
            self._stack.__exit__(kind, value, trace)
        finally:
            for undo in reversed(self._undo):
                undo()
        if kind is None:
            self.results = [_forecast_of(answer) for answer in ask(self.program, self.gpus, self.engine, self.clusters)]

    def aside(self) -> contextlib.AbstractContextManager[None]:
        """What runs here was there before the step: a model that is made on the card."""
        return self.recorder.aside()

    def moved(self, value: Any) -> Any:
        """The same on the card: real tensors as fakes, each one once."""
        if isinstance(value, Tensor):
            return value if _is_fake(value) else self._fake(value)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*(self.moved(item) for item in value))
        if isinstance(value, (list, tuple)):
            return type(value)(self.moved(item) for item in value)
        if isinstance(value, dict):
            return type(value)({key: self.moved(item) for key, item in value.items()})
        return value

    def _fake(self, tensor: Tensor) -> Tensor:
        known = self._fakes.get(id(tensor))
        if known is None:
            with self.recorder.aside(), self.recorder.mode:
                new: Any = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=CARD)
                if isinstance(tensor, nn.Parameter):
                    new = nn.Parameter(new, tensor.requires_grad)
                elif tensor.is_leaf and tensor.requires_grad:
                    new.requires_grad_()
            known = self._fakes[id(tensor)] = (tensor, new)
        return known[1]

    def _take(self, module: nn.Module) -> None:
        """A module's parameters and buffers become fakes of the card, and the recording knows their names and roles."""
        for part in module.modules():
            for kept in (part._parameters, part._buffers):
                for name, tensor in list(kept.items()):
                    if tensor is None or _is_fake(tensor):
                        continue
                    kept[name] = self._fake(tensor)
                    self._undo.append(functools.partial(kept.__setitem__, name, tensor))
        assert self.watch is not None
        self.watch.know((module,), ())
        self.watch.paths.know(module)

    @contextlib.contextmanager
    def _calls(self) -> Iterator[None]:
        plain = nn.Module.__call__

        def call(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
            if self._inside or self.watch is None:
                return plain(module, *args, **kwargs)
            self._inside = True
            try:
                if id(module) not in self._ready:
                    self._ready.add(id(module))
                    self._take(module)
                    if self.engine == "compile":
                        self._undo.append(functools.partial(setattr, module, "_compiled_call_impl", module._compiled_call_impl))
                        self.recorder.compile(module)
                return plain(module, *self.moved(args), **self.moved(kwargs))
            finally:
                self._inside = False

        nn.Module.__call__ = call
        try:
            yield
        finally:
            nn.Module.__call__ = plain

    @contextlib.contextmanager
    def _steps(self) -> Iterator[None]:
        """Optimizers update the fakes. Their state is there already, as after a first step."""
        ready: set[int] = set()

        def before(optimizer: Any, args: Any, kwargs: Any) -> None:
            if id(optimizer) in ready or self.watch is None:
                return
            ready.add(id(optimizer))
            groups = [list(group["params"]) for group in optimizer.param_groups]
            state = dict(optimizer.state)
            for group in optimizer.param_groups:
                group["params"] = [self._fakes[id(p)][1] if id(p) in self._fakes else p for p in group["params"]]
            optimizer.state.clear()

            def undo() -> None:
                for group, own in zip(optimizer.param_groups, groups):
                    group["params"] = own
                optimizer.state.clear()
                optimizer.state.update(state)

            self._undo.append(undo)
            with self.recorder.aside():
                optimizer.step()
            self.watch.know((), (optimizer,))

        handle = register_optimizer_step_pre_hook(before)
        try:
            yield
        finally:
            handle.remove()


def forecast(model: Any, args: Any = (), kwargs: Optional[dict[str, Any]] = None, *,
             gpu: Union[str, Sequence[str]], training: bool = False, compile: bool = False,
             optimizer: Optional[Callable[[Any], Any]] = None, loss: Optional[Callable[[Any], Tensor]] = None,
             name: str = "") -> list[Forecast]:
    """A model's step on GPUs, in their order: one pass, or with `training` forward, backward and the optimizer's step.

    `model` is a module, an FX graph or a program of `torch.export`; `args` are its inputs, of which sizes and types count.
    `optimizer` takes parameters (default AdamW), `loss` the model's result (default its `loss`, or the mean of what it
    returns).
    """
    if hasattr(model, "example_inputs") and hasattr(model, "graph_signature"):  # torch.export's program
        example = model.example_inputs
        if not args and example is not None:
            args, kwargs = example
        model = model.module()
    if not isinstance(model, nn.Module):
        raise QueryError(f"must be a torch.nn.Module, not {type(model).__name__}",
                         "an FX graph or a program of torch.export will do", "model")
    args = args if isinstance(args, (tuple, list)) else (args,)
    mode = "compile" if compile else "eager"
    with Estimate(gpu, mode, name or type(model).__name__) as estimate:
        if not training:
            with torch.no_grad():
                model(*args, **(kwargs or {}))
        else:
            out = model(*args, **(kwargs or {}))
            (loss or _loss_of)(out).backward()
            make = optimizer or torch.optim.AdamW
            make([p for p in model.parameters() if p.requires_grad]).step()
    return estimate.results


def _loss_of(out: Any) -> Tensor:
    own = getattr(out, "loss", None)
    if isinstance(own, Tensor):
        return own
    found = [tensor for tensor in tensors_in(out) if tensor.is_floating_point() and tensor.requires_grad]
    if not found:
        raise QueryError("the model returns nothing that has a gradient", "give a function of its result", "loss")
    return found[0].mean()
