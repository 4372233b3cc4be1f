"""Cards and models: those that are known by name, described, or calibrated."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Tuple

from ..pictures import Picture
from .answer import Answer


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
