"""What questions are answered with: dataclasses over the documents of docs/json.md.

Fields have their units in their names. ``document`` is the whole answer as JSON has it, with everything that is not a field
of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, NamedTuple, Optional, Tuple, Type, TypeVar

from . import pictures
from .pictures import Picture

if TYPE_CHECKING:
    import pandas

Self = TypeVar("Self", bound="Answer")


class Interval(NamedTuple):
    """Four of five measured values are expected to lie inside."""

    low: float
    high: float


@dataclass(frozen=True)
class Answer:
    """What all answers have."""

    document: Dict[str, Any] = field(repr=False, compare=False)

    @classmethod
    def from_document(cls: Type[Self], document: Dict[str, Any]) -> Self:
        raise NotImplementedError

    def to_dict(self) -> Dict[str, Any]:
        """The whole answer, as `--json` prints it."""
        return self.document

    def figures(self) -> Dict[str, Any]:
        """The figures that a row of a table has."""
        return {}

    def details(self) -> List[Dict[str, Any]]:
        """The parts it is made of: rows of to_pandas()."""
        return [self.figures()]

    def to_pandas(self) -> "pandas.DataFrame":
        """The parts as a DataFrame; pandas must be there."""
        import pandas

        return pandas.DataFrame(self.details())

    def picture(self) -> Optional[Picture]:
        """What plot() and notebooks draw."""
        return None

    def plot(self, axes: Any = None) -> Any:
        """Draws it with matplotlib, which must be there, and answers with the axes."""
        drawn = self.picture()
        if drawn is None:
            raise ValueError(f"{type(self).__name__} has no picture")
        return pictures.plot(drawn, axes)

    def _repr_html_(self) -> str:
        drawn = self.picture()
        return pictures.facts(type(self).__name__, self.figures()) + (pictures.svg(drawn) if drawn else "")


@dataclass(frozen=True)
class KernelForecast(Answer):
    """One kernel on one GPU."""

    gpu: str
    family: str
    dtype: str
    dims: Dict[str, str]
    method: str
    latency_us: float
    interval_us: Interval
    bound_us: float  # no execution is faster
    ceiling_us: float  # what a well-tuned kernel reaches
    limited_by: str
    efficiency: float  # bound over latency
    seen: bool  # whether this card was measured
    standing: str  # "calibrated", "seen", "sibling seen" or "unseen"
    breakdown: List[Dict[str, Any]] = field(repr=False, compare=False)  # its launches, in order

    @classmethod
    def from_document(cls, document: Dict[str, Any]) -> "KernelForecast":
        kernel = document["kernel"]
        return cls(document, document["gpu"], kernel["family"], kernel["dtype"], kernel["dims"], document["method"],
                   document["latency_us"], Interval(*document["interval_us"]), document["bound_us"], document["ceiling_us"],
                   document["limited_by"], document["efficiency"], document["seen"], document["standing"], document["breakdown"])

    def figures(self) -> Dict[str, Any]:
        return {"gpu": self.gpu, "latency_us": self.latency_us, "low_us": self.interval_us.low, "high_us": self.interval_us.high,
                "bound_us": self.bound_us, "efficiency": self.efficiency, "limited_by": self.limited_by, "seen": self.standing}

    def details(self) -> List[Dict[str, Any]]:
        return [{"name": launch["name"], "latency_us": launch["latency_us"], "bound_us": launch["bound_us"],
                 "limited_by": launch["limited_by"], **launch["plan"], **launch["demand"]} for launch in self.breakdown]

    def picture(self) -> Picture:
        """How long each resource needs, beside the forecast."""
        times: Dict[str, float] = {}
        for launch in self.breakdown:
            for resource, value in launch["forecast_us"].items():
                times[resource] = times.get(resource, 0.0) + value
        bars = [(name, value) for name, value in times.items() if value > 0]
        return Picture.of_bars(f"{self.family} on {self.gpu}", "µs", bars + [("forecast", self.latency_us)], mark=self.bound_us,
                               mark_words="bound")


@dataclass(frozen=True)
class Memory:
    """Bytes of one GPU."""

    weights: float
    gradients: float
    optimizer: float
    activations: float
    cache: float
    workspace: float
    total: float
    usable: float
    fits: bool

    @classmethod
    def from_document(cls, document: Mapping[str, Any], usable: Optional[float] = None) -> "Memory":
        room = document.get("usable", usable or 0.0)
        return cls(document["weights"], document["gradients"], document["optimizer"], document["activations"], document["cache"],
                   document["workspace"], document["total"], room, document.get("fits", document["total"] <= room))


@dataclass(frozen=True)
class StepForecast(Answer):
    """One step of a model, on one GPU or spread over many."""

    model: str
    gpu: str
    mode: str
    engine: str
    dtype: str
    step_ms: float
    interval_ms: Interval
    bound_ms: float
    tokens_per_second: float
    mfu: float
    limited_by: Optional[str]  # a resource, or "host"; of many GPUs the longest part
    seen: str  # "yes", "sibling", "no" or "calibrated"
    memory: Memory  # of one GPU; of many, the fullest stage's
    gpus: int
    cluster: str  # empty: one GPU
    breakdown: Dict[str, float] = field(repr=False, compare=False)  # milliseconds by class of operators, or of the parts of many
    kernels: List[Dict[str, Any]] = field(repr=False, compare=False)  # every kernel; none of many GPUs

    @classmethod
    def from_document(cls, document: Dict[str, Any]) -> "StepForecast":
        many = "stages" in document
        parts = _parts_of_many(document) if many else _parts_by_class(document)
        if many:
            stages = [Memory.from_document(stage["memory_bytes"], stage["usable_bytes"]) for stage in document["stages"]]
            memory = max(stages, key=lambda stage: stage.total)
            limited: Optional[str] = max(parts, key=parts.__getitem__)
            seen = "yes" if document["seen"] else "no"
        else:
            memory = Memory.from_document(document["memory_bytes"])
            limited = "host" if document["host_bound"] else document["limited_by"]
            seen = document["seen"]
        return cls(document, document["model"], document["gpu"], document["mode"], document["engine"], document["dtype"],
                   document["step_ms"], Interval(*document["interval_ms"]), document["bound_ms"], document["tokens_per_second"],
                   document["mfu"], limited, seen, memory, document.get("gpus", 1), document.get("cluster", ""), parts,
                   document.get("kernels", []))

    @property
    def fits(self) -> bool:
        return bool(self.document.get("fits", self.memory.fits))

    def figures(self) -> Dict[str, Any]:
        where = {"cluster": self.cluster, "gpus": self.gpus} if self.cluster else {"gpu": self.gpu}
        return {**where, "engine": self.engine, "dtype": self.dtype, "step_ms": self.step_ms, "low_ms": self.interval_ms.low,
                "high_ms": self.interval_ms.high, "tokens_per_second": self.tokens_per_second, "mfu": self.mfu,
                "memory_gib": self.memory.total / 2**30, "fits": self.fits, "limited_by": self.limited_by, "seen": self.seen}

    def details(self) -> List[Dict[str, Any]]:
        if not self.kernels:
            return [{"part": name, "ms": value} for name, value in self.breakdown.items()]
        return [{key: value for key, value in kernel.items() if key != "interval_us"} for kernel in self.kernels]

    def picture(self) -> Picture:
        bars = sorted(self.breakdown.items(), key=lambda part: -part[1])
        return Picture.of_bars(f"{self.model}, {self.mode} on {self.cluster or self.gpu}", "ms", bars)


def _parts_by_class(document: Mapping[str, Any]) -> Dict[str, float]:
    parts: Dict[str, float] = {}
    for kernel in document["kernels"]:
        parts[kernel["class"]] = parts.get(kernel["class"], 0.0) + kernel["times"] * kernel["latency_us"] / 1e3
    rest = document["step_ms"] - document["gpu_ms"]
    if rest > 0:
        parts["host and between steps"] = rest
    return parts


def _parts_of_many(document: Mapping[str, Any]) -> Dict[str, float]:
    names = {"compute": "compute_ms", "bubble": "bubble_ms", "optimizer": "optimizer_ms", "exposed exchanges": "exposed_ms"}
    return {name: document[key] for name, key in names.items() if document[key] > 0}


@dataclass(frozen=True)
class ProgramForecast(Answer):
    """One step of a recorded PyTorch program (docs/program.md) on one GPU."""

    program: str
    gpu: str
    engine: str
    step_ms: float
    interval_ms: Interval
    bound_ms: float
    kernels_ms: float  # the kernels' own times, as a profiler shows them
    gpu_ms: float  # kernels back to back under load
    host_ms: float
    host_bound: bool  # whether the host takes longer than the GPU
    launches: int
    mfu: float
    seen: str  # "yes", "sibling", "no" or "calibrated"
    recognised: float  # share of the kernels' time of operators that have a rule
    peak_bytes: float  # handed out by the allocator at most
    reserved_bytes: float
    fits: bool
    phases: List[Dict[str, Any]] = field(repr=False, compare=False)  # forward, backward ... : name, time_ms, calls, launches
    breakdown: Dict[str, float] = field(repr=False, compare=False)  # milliseconds by class of operators
    operators: List[Dict[str, Any]] = field(repr=False, compare=False)  # those that take longest first
    modules: List[Dict[str, Any]] = field(repr=False, compare=False)  # path, forward_ms, backward_ms ...

    @classmethod
    def from_document(cls, document: Dict[str, Any]) -> "ProgramForecast":
        memory = document["memory_bytes"]
        parts = {one["name"]: one["time_ms"] for one in document["classes"]}
        return cls(document, document["program"], document["gpu"], document["engine"], document["step_ms"],
                   Interval(*document["interval_ms"]), document["bound_ms"], document["kernels_ms"], document["gpu_ms"],
                   document["host_ms"], document["host_bound"], document["launches"], document["mfu"], document["seen"],
                   document["recognised"], memory["peak"], memory["reserved"], memory["fits"], document["phases"], parts,
                   document["operators"], document["modules"])

    def figures(self) -> Dict[str, Any]:
        return {"gpu": self.gpu, "engine": self.engine, "step_ms": self.step_ms, "low_ms": self.interval_ms.low,
                "high_ms": self.interval_ms.high, "gpu_ms": self.gpu_ms, "host_ms": self.host_ms, "host_bound": self.host_bound,
                "mfu": self.mfu, "memory_gib": self.peak_bytes / 2**30, "fits": self.fits, "recognised": self.recognised,
                "seen": self.seen}

    def details(self) -> List[Dict[str, Any]]:
        return [dict(one) for one in self.operators]

    def picture(self) -> Picture:
        bars = sorted(self.breakdown.items(), key=lambda part: -part[1])
        return Picture.of_bars(f"{self.program} on {self.gpu}", "ms", bars + [("host", self.host_ms)], mark=self.step_ms, mark_words="step")


@dataclass(frozen=True)
class MemoryForecast(StepForecast):
    """What a step needs of a GPU's memory. Its times are the roofline's: memory does not ask how long."""

    @property
    def largest_batch(self) -> int:
        """The most requests alike that still fit; 0: none, or not known."""
        return int(self.document.get("largest_batch", 0))

    @property
    def longest_sequence(self) -> int:
        return int(self.document.get("longest_sequence", 0))

    def figures(self) -> Dict[str, Any]:
        where = {"cluster": self.cluster, "gpus": self.gpus} if self.cluster else {"gpu": self.gpu}
        gib = {name + "_gib": getattr(self.memory, name) / 2**30
               for name in ("weights", "gradients", "optimizer", "activations", "cache", "workspace", "total", "usable")}
        return {**where, "engine": self.engine, "dtype": self.dtype, **gib, "fits": self.fits, "largest_batch": self.largest_batch,
                "longest_sequence": self.longest_sequence}

    def details(self) -> List[Dict[str, Any]]:
        return [self.figures()]

    def picture(self) -> Picture:
        parts = ("weights", "gradients", "optimizer", "activations", "cache", "workspace")
        bars = [(name, getattr(self.memory, name) / 2**30) for name in parts if getattr(self.memory, name) > 0]
        return Picture.of_bars(f"{self.model} on {self.cluster or self.gpu}", "GiB", bars + [("total", self.memory.total / 2**30)],
                               mark=self.memory.usable / 2**30, mark_words="usable")


@dataclass(frozen=True)
class CollectiveForecast(Answer):
    """One collective, or tokens on their way to experts."""

    cluster: str
    op: str
    ranks: int
    library: str
    latency_us: float
    interval_us: Interval
    bound_us: float
    bus_bytes_per_s: float
    algorithm: str
    seen: bool

    @classmethod
    def from_document(cls, document: Dict[str, Any]) -> "CollectiveForecast":
        return cls(document, document["cluster"], document["op"], document["ranks"], document["library"], document["latency_us"],
                   Interval(*document["interval_us"]), document["bound_us"], document["bus_bytes_per_s"], document["algorithm"],
                   document["seen"])

    def figures(self) -> Dict[str, Any]:
        return {"cluster": self.cluster, "op": self.op, "ranks": self.ranks, "latency_us": self.latency_us,
                "low_us": self.interval_us.low, "high_us": self.interval_us.high, "bound_us": self.bound_us,
                "bus_gb_per_s": self.bus_bytes_per_s / 1e9, "algorithm": self.algorithm, "seen": self.seen}


@dataclass(frozen=True)
class Simulation(Answer):
    """Requests through a serving engine: what clients measure, load by load."""

    model: str
    gpu: str
    engine: str
    dtype: str
    loads: List[Dict[str, Any]] = field(repr=False, compare=False)
    notes: List[str] = field(repr=False, compare=False)

    @classmethod
    def from_document(cls, document: Dict[str, Any]) -> "Simulation":
        return cls(document, document["model"], document["gpu"], document["engine"], document["dtype"], document["loads"],
                   document["notes"])

    @property
    def metrics(self) -> Dict[str, Any]:
        """Of the first load, or the only one: under the names of `vllm bench serve`."""
        return dict(self.loads[0]["metrics"])

    def interval(self, metric: str, load: int = 0) -> Optional[Interval]:
        """The 80 % interval of a metric; None where none was asked for."""
        ends = [self.loads[load][end][metric] for end in ("fast", "slow") if end in self.loads[load]]
        return Interval(min(ends), max(ends)) if len(ends) == 2 else None

    def figures(self) -> Dict[str, Any]:
        return {"gpu": self.gpu, "engine": self.engine, "dtype": self.dtype, **_served(self.loads[0])}

    def details(self) -> List[Dict[str, Any]]:
        return [_served(load) for load in self.loads]

    def picture(self) -> Optional[Picture]:
        """The load curve: throughput against the time between tokens."""
        if len(self.loads) < 2:
            served = _served(self.loads[0])
            bars = [(name, served[name]) for name in served if name.endswith("_ms")]
            return Picture.of_bars(f"{self.model} on {self.gpu}", "ms", bars) if bars else None
        points = [(load["metrics"]["output_throughput"], load["metrics"]["mean_tpot_ms"]) for load in self.loads]
        return Picture.of_lines(f"{self.model} on {self.gpu}", "output tokens/s", "mean TPOT, ms", {"": points})


def _served(load: Mapping[str, Any]) -> Dict[str, Any]:
    wanted = ("request_throughput", "output_throughput", "mean_ttft_ms", "p99_ttft_ms", "mean_tpot_ms", "p99_tpot_ms", "mean_e2el_ms",
              "request_goodput", "completed", "refused")
    metrics = load["metrics"]
    return {"load": load["load"], **{name: metrics[name] for name in wanted if metrics.get(name) is not None}}


@dataclass(frozen=True)
class ServingPlan(Answer):
    """The best deployment for a load; ``best`` is None where nothing meets the objectives, and ``nearest`` what comes nearest."""

    model: str
    best: Optional[Dict[str, Any]] = field(repr=False)
    nearest: Optional[Dict[str, Any]] = field(repr=False)
    front: List[Dict[str, Any]] = field(repr=False, compare=False)
    finalists: List[Dict[str, Any]] = field(repr=False, compare=False)
    launch: str = field(repr=False)  # the command that starts the best
    notes: List[str] = field(repr=False, compare=False)

    @classmethod
    def from_document(cls, document: Dict[str, Any]) -> "ServingPlan":
        launch = document.get("launch", "")
        return cls(document, document["model"], document.get("best"), document.get("nearest"), document["front"],
                   document["finalists"], launch if isinstance(launch, str) else "\n".join(launch), document["notes"])

    def figures(self) -> Dict[str, Any]:
        chosen = self.best or self.nearest
        return {"meets": self.best is not None, **(_deployed(chosen) if chosen else {})}

    def details(self) -> List[Dict[str, Any]]:
        return [_deployed(one) for one in self.finalists]

    def picture(self) -> Optional[Picture]:
        """Speed for one client against throughput of a GPU, all finalists and the best of them."""
        points = {name: [point for point in (_speeds(one) for one in some) if point]
                  for name, some in (("others", self.finalists), ("front", self.front))}
        if not any(points.values()):
            return None
        return Picture.of_dots(f"{self.model}: deployments", "tokens/s of one request", "tokens/s of a GPU", points)


def _deployed(one: Mapping[str, Any]) -> Dict[str, Any]:
    pool = one["pool"]
    figures = {"gpu": one["gpu"], "gpus": one["gpus"], "engine": one["engine"], "dtype": one["dtype"], "tp": pool["tp"], "pp": pool["pp"],
               "ep": pool["ep"], "copies": pool["copies"], "usd_per_hour": one["usd_per_hour"]}
    simulated = one.get("simulated") or {}
    figures.update({name: value for name, value in simulated.items() if isinstance(value, (int, float)) and not isinstance(value, bool)})
    return figures


def _speeds(one: Mapping[str, Any]) -> Optional[Tuple[float, float]]:
    simulated = one.get("simulated")
    if not simulated:
        return None
    return simulated["output_tokens_per_second_per_user"], simulated["output_tokens_per_second_per_gpu"]


@dataclass(frozen=True)
class TrainingPlan(Answer):
    """Ways to spread a training over GPUs, the fastest first, and the whole run of the first."""

    model: str
    cluster: str
    gpus: int
    ranked: List[Dict[str, Any]] = field(repr=False, compare=False)
    days: Optional[float]
    usd: Optional[float]
    advice: List[Dict[str, Any]] = field(repr=False, compare=False)

    @classmethod
    def from_document(cls, document: Dict[str, Any]) -> "TrainingPlan":
        return cls(document, document["model"], document["cluster"], document["gpus"], document["ranked"], document["days"],
                   document["usd"], document["advice"])

    @property
    def best(self) -> Dict[str, Any]:
        return self.ranked[0]

    def figures(self) -> Dict[str, Any]:
        return {"cluster": self.cluster, "gpus": self.gpus, **_trained(self.best), "days": self.days, "usd": self.usd}

    def details(self) -> List[Dict[str, Any]]:
        return [_trained(one) for one in self.ranked]

    def picture(self) -> Picture:
        bars = [(_layout_words(one["layout"]) + f", {one['micro_batch']}", one["step_ms"]) for one in self.ranked[:8]]
        return Picture.of_bars(f"{self.model} on {self.gpus} GPUs of {self.cluster}", "ms a step", bars)


def _layout_words(layout: Mapping[str, Any]) -> str:
    return " ".join(f"{name}{layout[name]}" for name in ("tp", "cp", "pp", "dp", "ep") if layout[name] > 1) or "one GPU"


def _trained(one: Mapping[str, Any]) -> Dict[str, Any]:
    return {"layout": _layout_words(one["layout"]), "micro_batch": one["micro_batch"], "recompute": one["recompute"],
            "step_ms": one["step_ms"], "tokens_per_second": one["tokens_per_second"], "mfu": one["mfu"],
            "memory_gib": one["memory_bytes"] / 2**30}


@dataclass(frozen=True)
class Diagnosis(Answer):
    """A profiler's trace against the forecast."""

    work: List[Dict[str, Any]] = field(repr=False, compare=False)  # kernels, those that take longest first
    advice: List[Any] = field(repr=False, compare=False)

    @classmethod
    def from_document(cls, document: Dict[str, Any]) -> "Diagnosis":
        return cls(document, document["kernels"], document["advice"])

    def figures(self) -> Dict[str, Any]:
        return {name: value for name, value in self.document.items() if isinstance(value, (str, int, float))}

    def details(self) -> List[Dict[str, Any]]:
        return [{name: value for name, value in one.items() if not isinstance(value, (dict, list))} for one in self.work]

    def picture(self) -> Optional[Picture]:
        bars = [(one["family"] or "not recognised", one["total_us"] / 1e3) for one in self.document["families"] if one["total_us"] > 0]
        return Picture.of_bars("time by family", "ms", sorted(bars, key=lambda part: -float(part[1]))[:12]) if bars else None


@dataclass(frozen=True)
class Retiming(Answer):
    """A profiler's trace as it would be on another card."""

    work: List[Dict[str, Any]] = field(repr=False, compare=False)  # kernels, those that took longest first

    @classmethod
    def from_document(cls, document: Dict[str, Any]) -> "Retiming":
        return cls(document, document["kernels"])

    def figures(self) -> Dict[str, Any]:
        return {name: value for name, value in self.document.items() if isinstance(value, (str, int, float))}

    def details(self) -> List[Dict[str, Any]]:
        return [{name: value for name, value in one.items() if not isinstance(value, (dict, list))} for one in self.work]


@dataclass(frozen=True)
class MoeTuning(Answer):
    """Triton configurations of fused experts, ranked by forecast for each number of tokens."""

    gpu: str
    dtype: str
    picks: Dict[int, Dict[str, int]]  # by tokens
    tuned: List[Dict[str, Any]] = field(repr=False, compare=False)

    @classmethod
    def from_document(cls, document: Dict[str, Any]) -> "MoeTuning":
        return cls(document, document["gpu"], document["dtype"], {one["tokens"]: one["pick"] for one in document["tuned"]},
                   document["tuned"])

    def figures(self) -> Dict[str, Any]:
        return {"gpu": self.gpu, "dtype": self.dtype, "configurations": self.document["configurations"],
                "tokens": ", ".join(map(str, self.picks))}

    def details(self) -> List[Dict[str, Any]]:
        return [{"tokens": one["tokens"], **one["pick"], "forecast_us": one["best"][0]["forecast_us"]} for one in self.tuned]


@dataclass(frozen=True)
class Calibration(Answer):
    """A card's own rows, fitted: give it as ``gpu`` to any question."""

    gpu: str
    rows: int
    error_before: float
    error_after: float  # of rows that the fit had not seen
    families: List[Dict[str, Any]] = field(repr=False, compare=False)

    @classmethod
    def from_document(cls, document: Dict[str, Any]) -> "Calibration":
        return cls(document, document["gpu"], document["rows"], document["error_before"], document["error_after"],
                   document["families"])

    def to_gpu(self) -> str:
        """The card as its questions want it: the description's text, or the file it was written to."""
        return str(self.document.get("description") or self.document["written"])

    def figures(self) -> Dict[str, Any]:
        return {"gpu": self.gpu, "rows": self.rows, "error_before": self.error_before, "error_after": self.error_after}

    def details(self) -> List[Dict[str, Any]]:
        return list(self.families)


@dataclass(frozen=True)
class Gpu(Answer):
    """A GPU's description; give it, or its name, as ``gpu``."""

    name: str
    architecture: str
    sms: int
    dram_bytes: float
    dram_bytes_per_s: float
    peak_tflops: Dict[str, float] = field(repr=False)
    source: Any = field(repr=False, compare=False)  # what describes it: its name, a dict

    @classmethod
    def from_document(cls, document: Dict[str, Any], source: Any = None) -> "Gpu":
        return cls(document, document["name"], document["architecture"], document["sms"], document["dram_bytes"],
                   document["dram_bytes_per_s"], document["peak_tflops"], document["name"] if source is None else source)

    def to_gpu(self) -> Any:
        return self.source

    def figures(self) -> Dict[str, Any]:
        return {"name": self.name, "architecture": self.architecture, "sms": self.sms, "dram_gib": self.dram_bytes / 2**30,
                "dram_gb_per_s": self.dram_bytes_per_s / 1e9, **{name + " T/s": rate for name, rate in self.peak_tflops.items()}}

    def details(self) -> List[Dict[str, Any]]:
        return [self.figures()]

    def picture(self) -> Picture:
        """Its roofline: operations a second by operations a byte from memory."""
        roofs: Dict[str, List[Tuple[float, float]]] = {}
        for name, peak in self.peak_tflops.items():
            if not name.startswith("tensor") or peak <= 0:
                continue
            ridge = peak * 1e12 / self.dram_bytes_per_s
            roofs[name] = [(1.0, self.dram_bytes_per_s / 1e12), (ridge, peak), (max(10 * ridge, 10000.0), peak)]
        return Picture.of_lines(self.name, "operations a byte", "T/s", roofs, logarithmic=True)


@dataclass(frozen=True)
class Model(Answer):
    """A model that is known by name or described by a file."""

    name: str
    architecture: str
    parameters: int
    active_parameters: int
    layers: int
    dtype: str

    @classmethod
    def from_document(cls, document: Dict[str, Any]) -> "Model":
        return cls(document, document["name"], document["architecture"], document["parameters"], document["active_parameters"],
                   document["layers"], document["dtype"])

    def figures(self) -> Dict[str, Any]:
        return {"name": self.name, "architecture": self.architecture, "parameters": self.parameters,
                "active_parameters": self.active_parameters, "layers": self.layers, "dtype": self.dtype}
