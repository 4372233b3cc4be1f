"""Answers about single kernels: a forecast, a collective, configurations tuned."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List

from ..pictures import Picture
from .answer import Answer, Interval


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
    seen: str  # "yes", "sibling", "no" or "calibrated"
    breakdown: List[Dict[str, Any]] = field(repr=False, compare=False)  # its launches, in order

    @classmethod
    def from_document(cls, document: Dict[str, Any]) -> "KernelForecast":
        kernel = document["kernel"]
        return cls(document, document["gpu"], kernel["family"], kernel["dtype"], kernel["dims"], document["method"],
                   document["latency_us"], Interval(*document["interval_us"]), document["bound_us"], document["ceiling_us"],
                   document["limited_by"], document["efficiency"], document["seen"], document["breakdown"])

    def figures(self) -> Dict[str, Any]:
        return {"gpu": self.gpu, "latency_us": self.latency_us, "low_us": self.interval_us.low, "high_us": self.interval_us.high,
                "bound_us": self.bound_us, "efficiency": self.efficiency, "limited_by": self.limited_by, "seen": self.seen}

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

    @property
    def files(self) -> Dict[str, str]:
        """What vLLM and SGLang load, by the paths they look for under a folder; asked for by ``tune_moe(..., files=True)``."""
        return {file["name"]: file["text"] for file in self.document["files"]}

    def save(self, folder: Any) -> List[Path]:
        """Writes the files, and says where they are."""
        written = []
        for name, text in self.files.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            written.append(path)
        return written

    def figures(self) -> Dict[str, Any]:
        return {"gpu": self.gpu, "dtype": self.dtype, "configurations": self.document["configurations"],
                "tokens": ", ".join(map(str, self.picks))}

    def details(self) -> List[Dict[str, Any]]:
        return [{"tokens": one["tokens"], **one["pick"], "forecast_us": one["best"][0]["forecast_us"]} for one in self.tuned]


@dataclass(frozen=True)
class GemmTuning(Answer):
    """Triton configurations of a plain product, ranked by forecast."""

    gpu: str
    dtype: str
    m: int
    n: int
    k: int
    pick: Dict[str, int]
    best: List[Dict[str, Any]] = field(repr=False, compare=False)

    @classmethod
    def from_document(cls, document: Dict[str, Any]) -> "GemmTuning":
        return cls(document, document["gpu"], document["dtype"], document["m"], document["n"], document["k"], document["pick"],
                   document["best"])

    def figures(self) -> Dict[str, Any]:
        return {"gpu": self.gpu, "dtype": self.dtype, "m": self.m, "n": self.n, "k": self.k,
                "configurations": self.document["configurations"], **self.pick}

    def details(self) -> List[Dict[str, Any]]:
        return [{**one["config"], "forecast_us": one["forecast_us"]} for one in self.best]
