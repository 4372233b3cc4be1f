"""Arguments as Python has them to what the library reads: plain JSON values, one combination at a time."""

from __future__ import annotations

import functools
import itertools
import math
import os
from typing import Any, Dict, FrozenSet, Iterable, List, Mapping, Tuple

from . import _library
from .errors import QueryError

# Arguments whose value is itself a list, by question: a list of lists asks for each of them.
_LISTS = ("list", "counts")


@functools.lru_cache(maxsize=64)  # as many as there are questions, and names that are none
def _lists_of(question: str) -> FrozenSet[str]:
    names = set()
    for one in _library.questions():
        if one["name"] != question:
            continue
        arguments = list(one["arguments"])
        for family in one.get("families", []):
            arguments += family["dims"]
        names = {argument["name"].replace("-", "_") for argument in arguments if argument["kind"] in _LISTS}
    return frozenset(names)


def question_of(name: Any) -> str:
    """The library's name of a question: ``plan_serve`` is "plan serve", ``tune_moe`` "tune fused-moe"."""
    words = str(name).replace("_", " ").replace("-", " ")
    return {"tune moe": "tune fused-moe", "tune fused moe": "tune fused-moe"}.get(words, words)


def plain(name: str, value: Any) -> Any:
    """A value as JSON has it."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise QueryError(f"is no finite number: {value}", "leave it out, or give a number", name)
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {str(key): plain(name, part) for key, part in value.items()}
    if isinstance(value, (list, tuple, set, frozenset, range)):
        return [plain(name, part) for part in value]
    if hasattr(value, "to_gpu"):  # what calibrate() answers
        return value.to_gpu()
    if hasattr(value, "to_dict"):  # a configuration of transformers; one of our own answers
        return config_of(name, value)
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:  # a number of NumPy or PyTorch
        return plain(name, value.item())
    if hasattr(value, "tolist"):  # their arrays
        return plain(name, value.tolist())
    raise QueryError(f"takes no {type(value).__name__}", "a text, a number, a list of them, or a dict", name)


def config_of(name: str, value: Any) -> Any:
    """The dict of a configuration, without what JSON cannot hold: transformers leaves types of torch in some."""
    document = value.to_dict()
    if not isinstance(document, Mapping):
        raise QueryError(f"takes no {type(value).__name__}", "a name, a path or a dict", name)

    def keep(part: Any) -> Any:
        if isinstance(part, Mapping):
            return {str(key): keep(inner) for key, inner in part.items()}
        if isinstance(part, (list, tuple)):
            return [keep(inner) for inner in part]
        if part is None or isinstance(part, (bool, int, str)) or (isinstance(part, float) and math.isfinite(part)):
            return part
        return str(part)[len("torch."):] if str(part).startswith("torch.") else None

    return {str(key): keep(part) for key, part in document.items()}


def is_many(value: Any) -> bool:
    if isinstance(value, (list, tuple, set, frozenset, range)):
        return True
    return hasattr(value, "tolist") and getattr(value, "ndim", 0) > 0


def varied(question: str, arguments: Mapping[str, Any]) -> Dict[str, List[Any]]:
    """The arguments that were given several values, with them."""
    lists = _lists_of(question)
    found: Dict[str, List[Any]] = {}
    for name, value in arguments.items():
        if not is_many(value):
            continue
        values = list(value.tolist() if hasattr(value, "tolist") else value)
        if name.replace("-", "_") in lists and not any(is_many(part) for part in values):
            continue
        if not values:
            raise QueryError("is an empty list", "leave it out, or give one value or more", name)
        found[name] = values
    return found


def combinations(grid: Mapping[str, Iterable[Any]]) -> Iterable[Tuple[Any, ...]]:
    """All of them, the last argument fastest."""
    return itertools.product(*grid.values())


def query_of(arguments: Mapping[str, Any]) -> Dict[str, Any]:
    return {name: plain(name, value) for name, value in arguments.items() if value is not None}
