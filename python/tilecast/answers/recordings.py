"""Answers about a profiler's trace."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional

from ..pictures import Picture
from .answer import Answer


@dataclass(frozen=True)
class RecordedWork(Answer):
    """What a trace's kernels come to: the document's plain figures, and a row for each kernel."""

    work: List[Dict[str, Any]] = field(repr=False, compare=False)  # kernels, those that take longest first

    def figures(self) -> Dict[str, Any]:
        return {name: value for name, value in self.document.items() if isinstance(value, (str, int, float))}

    def details(self) -> List[Dict[str, Any]]:
        return [{name: value for name, value in one.items() if not isinstance(value, (dict, list))} for one in self.work]


@dataclass(frozen=True)
class Diagnosis(RecordedWork):
    """A profiler's trace against the forecast."""

    advice: List[Any] = field(repr=False, compare=False)

    @classmethod
    def from_document(cls, document: Dict[str, Any]) -> "Diagnosis":
        return cls(document, document["kernels"], document["advice"])

    def picture(self) -> Optional[Picture]:
        bars = [(one["family"] or "not recognised", one["total_us"] / 1e3) for one in self.document["families"] if one["total_us"] > 0]
        return Picture.of_bars("time by family", "ms", sorted(bars, key=lambda part: -float(part[1]))[:12]) if bars else None


@dataclass(frozen=True)
class Retiming(RecordedWork):
    """A profiler's trace as it would be on another card."""

    @classmethod
    def from_document(cls, document: Dict[str, Any]) -> "Retiming":
        return cls(document, document["kernels"])
