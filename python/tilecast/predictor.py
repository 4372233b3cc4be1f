"""Times of an engine's steps, one after the other: what a simulator of its own asks thousands of times."""

from __future__ import annotations

import ctypes
from array import array
from typing import Any, Dict, Iterable, Tuple

from . import _library, _values
from .errors import QueryError


def _address(values: Any) -> Tuple[int, int, Any]:
    """Where 64-bit integers lie, how many they are, and what keeps them there."""
    interface = getattr(values, "__array_interface__", None)
    if interface is not None and interface["typestr"] == "<i8" and interface["strides"] is None and len(interface["shape"]) == 1:
        return interface["data"][0], interface["shape"][0], values
    kept = values if isinstance(values, array) and values.typecode == "q" else _whole("decode", values, "tokens cached of each request")
    place, count = kept.buffer_info()
    return place, count, kept


def _whole(field: str, values: Any, remedy: str) -> "array[int]":
    if isinstance(values, (bytes, bytearray)):  # an array would take them for the numbers' memory
        raise QueryError(f"takes no {type(values).__name__}", remedy, field)
    try:
        return array("q", values)
    except (TypeError, ValueError) as problem:
        raise QueryError(f"must hold whole numbers: {problem}", remedy, field) from problem
    except OverflowError as problem:
        raise QueryError("does not fit 64 bits", remedy, field) from problem


_PAIRS = "(new tokens, tokens cached before them) of each prompt"


def _pairs(values: Any) -> Tuple["array[int]", "array[int]"]:
    try:
        pairs = [(new, old) for new, old in values]  # walked once: it may be an iterator
    except (TypeError, ValueError) as problem:
        raise QueryError(f"must hold pairs: {problem}", _PAIRS, "prefill") from problem
    return _whole("prefill", [new for new, _ in pairs], _PAIRS), _whole("prefill", [old for _, old in pairs], _PAIRS)


class StepPredictor:
    """Steps of one deployment.

    ``model``, ``gpu`` and the other arguments are those of :func:`tilecast.predict`, without the requests: engine, dtype, layout
    (tp, ep ...) and cluster.

    >>> import tilecast
    >>> steps = tilecast.StepPredictor("Llama-3.1-8B", gpu="H100-SXM", engine="vllm")
    >>> one = steps.step_time(prefill=[(512, 0)], decode=[2048] * 32)
    >>> exact = tilecast.predict("Llama-3.1-8B", gpu="H100-SXM", engine="vllm", mode="mixed", requests="32x1+2048,1x512")
    >>> abs(one * 1e3 / exact.step_ms - 1) < 0.005
    True
    """

    def __init__(self, model: Any, gpu: Any = None, engine: Any = None, layout: Any = None, **arguments: Any) -> None:
        given = dict(layout or {}, model=model, gpu=gpu, engine=engine, **arguments)
        self._query: Dict[str, Any] = _values.query_of(given)
        self._open()

    def _open(self) -> None:
        self._library = _library.library()
        handle, error = ctypes.c_void_p(), _library.new_error()
        _library.check(self._library.tilecast_predictor_new(_library.to_json(self._query), ctypes.byref(handle), ctypes.byref(error)), error)
        self._handle = handle
        self._step = self._library.tilecast_predictor_step

    def step_time(self, prefill: Iterable[Tuple[int, int]] = (), decode: Iterable[int] = ()) -> float:
        """Seconds of a step with these prompts, (new tokens, tokens cached before them) each, and these requests that decode a
        token, the tokens cached of each. Arrays of 64-bit integers for ``decode`` are read where they lie."""
        cached, decodes, kept = _address(decode)
        fresh, before = _pairs(prefill)
        seconds, error = ctypes.c_double(), _library.new_error()
        status = self._step(self._handle, len(fresh), fresh.buffer_info()[0], before.buffer_info()[0], decodes, cached,
                            ctypes.addressof(seconds), ctypes.byref(error))
        if status != 0:
            _library.check(status, error)
        del kept
        return seconds.value

    def __getstate__(self) -> Dict[str, Any]:
        return self._query

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self._query = state
        self._open()

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._library.tilecast_predictor_free(self._handle)
