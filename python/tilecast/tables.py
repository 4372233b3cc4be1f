"""Answers to all combinations of arguments that were given several values."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, Generic, Iterator, List, Optional, Sequence, TypeVar, Union, overload

from . import pictures
from .answers import Answer
from .errors import QueryError
from .pictures import Picture, number

if TYPE_CHECKING:
    import pandas

A = TypeVar("A", bound=Answer)


@dataclass(frozen=True)
class Row(Generic[A]):
    """One combination: an answer, or why there is none."""

    arguments: Dict[str, Any]  # those that vary
    answer: Optional[A]
    error: Optional[QueryError]

    def figures(self) -> Dict[str, Any]:
        figures = {name: _words(value) for name, value in self.arguments.items()}
        if self.answer is not None:
            figures.update(self.answer.figures())
        return figures


def _words(value: Any) -> Any:
    if isinstance(value, dict):
        return value.get("name", value.get("_name_or_path", "described"))
    return value if isinstance(value, (str, int, float, bool)) or value is None else getattr(value, "name", str(value))


class Table(Sequence[Row[A]]):
    """All combinations in order, the last argument fastest; those that are impossible say why."""

    def __init__(self, rows: List[Row[A]]) -> None:
        self._rows = rows

    @overload
    def __getitem__(self, index: int) -> Row[A]: ...

    @overload
    def __getitem__(self, index: slice) -> "Table[A]": ...

    def __getitem__(self, index: Union[int, slice]) -> Union[Row[A], "Table[A]"]:
        return Table(self._rows[index]) if isinstance(index, slice) else self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row[A]]:
        return iter(self._rows)

    def __repr__(self) -> str:
        return f"<Table of {len(self)} answers, {len(self.errors())} impossible>"

    def answers(self) -> List[A]:
        """Those that there are."""
        return [row.answer for row in self._rows if row.answer is not None]

    def errors(self) -> List[QueryError]:
        return [row.error for row in self._rows if row.error is not None]

    def to_dict(self) -> List[Dict[str, Any]]:
        return [{"arguments": row.arguments, "answer": row.answer.to_dict() if row.answer is not None else None,
                 "error": str(row.error) if row.error is not None else None} for row in self._rows]

    def figures(self) -> List[Dict[str, Any]]:
        """A row of figures for each, under the same names."""
        rows = [row.figures() for row in self._rows]
        names = list(dict.fromkeys(name for row in rows for name in row))
        return [{**{name: row.get(name) for name in names}, "error": str(source.error) if source.error is not None else None}
                for row, source in zip(rows, self._rows)]

    def to_pandas(self) -> "pandas.DataFrame":
        """One line for each combination; pandas must be there."""
        import pandas

        return pandas.DataFrame(self.figures())

    def picture(self) -> Optional[Picture]:
        """The first figure of time, combination by combination."""
        unit = next((name for row in self._rows if row.answer for name in row.answer.figures() if name.endswith(("_us", "_ms"))), None)
        if unit is None:
            return None
        bars = [(", ".join(str(_words(value)) for value in row.arguments.values()), row.answer.figures()[unit])
                for row in self._rows if row.answer is not None]
        return Picture.of_bars(unit[:-3], unit[-2:].replace("us", "µs"), bars[:40])

    def plot(self, axes: Any = None) -> Any:
        """Draws with matplotlib, which must be there, and answers with the axes."""
        drawn = self.picture()
        if drawn is None:
            raise ValueError("the table has no figure to draw")
        return pictures.plot(drawn, axes)

    def _repr_html_(self) -> str:
        figures = self.figures()
        names = list(figures[0]) if figures else []
        if not self.errors():
            names = [name for name in names if name != "error"]
        head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
        lines = ["<tr>" + "".join(f"<td>{html.escape('' if row[name] is None else number(row[name]))}</td>" for name in names) + "</tr>"
                 for row in figures[:200]]
        drawn = self.picture()
        return f"<table><tr>{head}</tr>{''.join(lines)}</table>" + (pictures.svg(drawn) if drawn else "")
