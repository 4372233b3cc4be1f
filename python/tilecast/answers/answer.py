"""What all answers have."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Type, TypeVar

from .. import pictures
from ..pictures import Picture

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
