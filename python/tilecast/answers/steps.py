"""Answers about a step of a model or of a recorded program: how long it takes, and what it needs of memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional

from ..pictures import Picture
from .answer import Answer, Interval


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


def _fullest_stage(document: Mapping[str, Any]) -> Memory:
    stages = [Memory.from_document(stage["memory_bytes"], stage["usable_bytes"]) for stage in document["stages"]]
    return max(stages, key=lambda stage: stage.total)


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
            memory = _fullest_stage(document)
            limited: Optional[str] = max(parts, key=parts.__getitem__)
            seen = document["seen"]
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
class MemoryForecast(Answer):
    """What a step needs of a GPU's memory; how long it takes is :func:`predict`'s to say."""

    model: str
    gpu: str
    mode: str
    engine: str
    dtype: str
    memory: Memory  # of one GPU; of many, the fullest stage's
    gpus: int
    cluster: str  # empty: one GPU

    @classmethod
    def from_document(cls, document: Dict[str, Any]) -> "MemoryForecast":
        if "stages" in document:
            memory = _fullest_stage(document)
        else:
            memory = Memory.from_document(document["memory_bytes"])
        return cls(document, document["model"], document["gpu"], document["mode"], document["engine"], document["dtype"], memory,
                   document.get("gpus", 1), document.get("cluster", ""))

    @property
    def fits(self) -> bool:
        return bool(self.document.get("fits", self.memory.fits))

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
