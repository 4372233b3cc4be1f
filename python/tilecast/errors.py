"""What can go wrong, as exceptions that name the argument and say what to do."""

from __future__ import annotations

from typing import Mapping, Tuple


class TilecastError(Exception):
    """Something Tilecast refuses to do, or cannot.

    ``field`` is the argument it is about, ``place`` the file or row, ``problem`` what is wrong and ``remedy`` what to do
    about it; those that do not apply are empty.
    """

    def __init__(self, problem: str, remedy: str = "", field: str = "", place: str = "") -> None:
        super().__init__(problem, remedy, field, place)
        self.problem, self.remedy, self.field, self.place = problem, remedy, field, place

    def __str__(self) -> str:
        parts = [part for part in (self.place, self.field) if part] + [self.problem]
        return ": ".join(parts) + (f" ({self.remedy})" if self.remedy else "")

    def __reduce__(self) -> Tuple[type, Tuple[str, str, str, str]]:
        return type(self), (self.problem, self.remedy, self.field, self.place)


class QueryError(TilecastError, ValueError):
    """A question that makes no sense, or names what is not known.

    >>> import tilecast
    >>> try:
    ...     tilecast.kernel("gemm", m=4096, n=4096, k=4096, gpu="H100-SXM", dtype="fp7")
    ... except tilecast.QueryError as problem:
    ...     print(problem.field)
    dtype
    """


class LibraryError(TilecastError, RuntimeError):
    """The shared library is absent, of another version, or failed."""


def from_document(error: Mapping[str, str]) -> QueryError:
    """The exception for an error that the library reports as JSON."""
    return QueryError(error["problem"], error["remedy"], error["field"].replace("-", "_"), error["place"])
