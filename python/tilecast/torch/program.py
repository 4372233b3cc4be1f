"""What a recording holds, and its file: tables of repeated things and a list of calls. docs/program.md says the form."""

from __future__ import annotations

import gzip
import json
import math
import os
from dataclasses import dataclass, field
from typing import Any, Hashable

FORMAT, VERSION = "tilecast.program", 1
NO_GRAPH = -1  # a call that no compiler has seen
NEVER = -1  # a storage that exists before the first call, or after the last one
ROLES = ("other", "parameter", "buffer", "gradient", "optimizer")


FORMULAS: dict[str, dict[str, float]] = {}


def formula(op: str, read: float = 1.0, written: float = 1.0, flops: float = 0.0) -> None:
    """What an operator of one's own costs: bytes over those of its tensor arguments and of its results, and operations for
    every element of its first result. `op` is its name as `torch.ops` has it.

    >>> formula("my_library.my_operator", read=1, written=1, flops=8)
    """
    name = op.replace("::", ".")
    values = {"read": float(read), "written": float(written), "flops": float(flops)}
    if name.count(".") != 1 or not all(name.split(".")):
        raise ValueError(f"op: must be library.operator, not {op!r}")
    for field_, value in values.items():
        if not math.isfinite(value) or value < 0:
            raise ValueError(f"{field_}: must be a number from 0 on, not {value}")
    FORMULAS[name] = values


@dataclass(frozen=True)
class Operator:
    """One distinct call: name, arguments and results by their layouts."""
    name: str
    view: bool
    arguments: tuple[tuple[str, str, Any], ...]
    results: tuple[int, ...]


class Table:
    """Distinct things in the order of their first use."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self.places: dict[Hashable, int] = {}

    def place(self, key: Hashable, item: Any = None) -> int:
        found = self.places.get(key)
        if found is None:
            found = self.places[key] = len(self.items)
            self.items.append(key if item is None else item)
        return found


@dataclass
class Storage:
    bytes: int
    device: str
    role: int = 0
    born: int = NEVER
    dies: int = NEVER


@dataclass
class Call:
    operator: int
    module: int
    phase: int
    reads: list[int]
    writes: list[int]
    graph: int = NO_GRAPH
    stream: int = 0


@dataclass
class Program:
    name: str
    about: dict[str, str] = field(default_factory=dict)
    layouts: Table = field(default_factory=Table)
    operator_table: Table = field(default_factory=Table)
    modules: Table = field(default_factory=Table)
    phases: Table = field(default_factory=Table)
    storages: list[Storage] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    compiled: bool = False  # calls say which of a compiler's graphs they are in
    world: int = 1  # cards that the program runs over
    rank: int = 0  # the one that was recorded
    groups: list[tuple[str, list[int]]] = field(default_factory=list)  # process groups that have collectives, and their ranks
    waits: list[tuple[int, int, int, int]] = field(default_factory=list)  # before a call, a stream waits for another up to a call

    @property
    def operators(self) -> list[Operator]:
        return self.operator_table.items

    def peak_bytes(self, device: str = "cuda") -> int:
        """The most that storages of a device hold together, without the allocator's rounding."""
        change = [0] * (len(self.calls) + 2)
        for storage in self.storages:
            if storage.device == device:
                change[storage.born + 1] += storage.bytes
                if storage.dies != NEVER:
                    change[storage.dies + 2] -= storage.bytes
        held = most = 0
        for bytes_ in change:
            held += bytes_
            most = max(most, held)
        return most

    def formulas(self) -> list[dict[str, Any]]:
        """Those of its operators."""
        names = {".".join(operator.name.split(".")[:2]) for operator in self.operators}
        return [{"op": op, **FORMULAS[op]} for op in sorted(names & FORMULAS.keys())]

    def to_json(self) -> dict[str, Any]:
        calls, storages = self.calls, self.storages
        formulas = self.formulas()
        return {
            "format": FORMAT, "version": VERSION, "name": self.name, "about": self.about,
            "modules": self.modules.items, "phases": self.phases.items,
            "layouts": [{"dtype": dtype, "device": device, "shape": list(shape), "strides": list(strides)}
                        for dtype, device, shape, strides in self.layouts.items],
            "operators": [{"name": operator.name, "view": operator.view,
                           "arguments": [list(argument) for argument in operator.arguments],
                           "results": list(operator.results)} for operator in self.operators],
            "storages": {"bytes": [s.bytes for s in storages], "device": [s.device for s in storages],
                         "role": [ROLES[s.role] for s in storages], "born": [s.born for s in storages],
                         "dies": [s.dies for s in storages]},
            "calls": {"operator": [c.operator for c in calls], "module": [c.module for c in calls],
                      "phase": [c.phase for c in calls], "reads": [c.reads for c in calls],
                      "writes": [c.writes for c in calls],
                      **({"graph": [c.graph for c in calls]} if self.compiled else {}),
                      **({"stream": [c.stream for c in calls]} if any(c.stream for c in calls) else {})},
            **({"ranks": self._ranks()} if self.world > 1 else {}),
            **({"formulas": formulas} if formulas else {}),
        }

    def _ranks(self) -> dict[str, Any]:
        columns = list(zip(*self.waits)) or [()] * 4
        return {"world": self.world, "rank": self.rank,
                "groups": [{"name": name, "ranks": members} for name, members in self.groups],
                "waits": {name: list(column) for name, column in zip(("call", "stream", "for", "until"), columns)}}

    def save(self, path: str) -> None:
        """Writes the file whole or not at all; gzip without a date, so that the same program is the same file."""
        text = json.dumps(self.to_json(), separators=(",", ":"), allow_nan=False).encode()
        part = path + ".part"
        with open(part, "wb") as file:
            file.write(gzip.compress(text, 9, mtime=0) if path.endswith(".gz") else text)
        os.replace(part, path)


def number(value: float) -> tuple[str, Any]:
    """A float as JSON can hold it: what is not finite is text."""
    if math.isfinite(value):
        return "float", value
    return "text", "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
