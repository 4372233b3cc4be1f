"""Answers about whole deployments: requests served, and the best ways to serve or to train."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Tuple

from ..pictures import Picture
from .answer import Answer, Interval


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
