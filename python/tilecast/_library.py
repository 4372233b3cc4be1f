"""libtilecast.so through ctypes: found, checked and loaded once, when it is first needed.

ctypes releases the GIL for the time of a call, and the library keeps no state, so threads share it freely and a forked or
spawned process finds it as it was.
"""

from __future__ import annotations

import ctypes
import json
import os
import threading
from pathlib import Path
from typing import Any, List, Optional

from .errors import LibraryError, QueryError

ABI = 1  # TILECAST_ABI of include/tilecast/abi.h
VERSION = "0.2.0"

_OK, _REFUSED = 0, 1
_HERE = Path(__file__).resolve().parent


class _Error(ctypes.Structure):
    _fields_ = [("place", ctypes.c_char * 512), ("field", ctypes.c_char * 128),
                ("problem", ctypes.c_char * 2048), ("remedy", ctypes.c_char * 2048)]


class Column(ctypes.Structure):
    """tilecast_column: the name of a dimension, and where its values lie."""

    _fields_ = [("name", ctypes.c_char_p), ("values", ctypes.c_void_p)]


def _candidates() -> List[Path]:
    named = os.environ.get("TILECAST_LIBRARY")
    if named:
        return [Path(named)]
    tree = _HERE.parent.parent / "build"  # beside the sources: what `make` built
    installed = _HERE.parents[2] / "libtilecast.so.1"  # lib/python3/dist-packages/tilecast: what `make install` and Debian's packages put there
    return [_HERE / "libtilecast.so", tree / "release" / "libtilecast.so", tree / "libtilecast.so", installed]


_lock = threading.Lock()
_loaded: Optional[ctypes.CDLL] = None


def library() -> ctypes.CDLL:
    """The shared library, loaded and of the right version."""
    global _loaded
    if _loaded is None:
        with _lock:
            if _loaded is None:
                _loaded = _load()
    return _loaded


def _load() -> ctypes.CDLL:
    places = _candidates()
    found = next((place for place in places if place.exists()), None)
    if found is None:
        raise LibraryError("libtilecast.so was not found", "install the wheel of `make wheel`, or name the file in TILECAST_LIBRARY",
                           place=", ".join(map(str, places)))
    try:
        lib = ctypes.CDLL(str(found))
    except OSError as problem:
        raise LibraryError(f"cannot be loaded: {problem}", "install the wheel for this machine", place=str(found)) from None
    try:
        _declare(lib)
    except AttributeError as problem:
        raise LibraryError(f"is not a Tilecast library: {problem}", "name another in TILECAST_LIBRARY", place=str(found)) from None
    version = lib.tilecast_version().decode()
    if lib.tilecast_check_abi(ABI, None) != _OK or version != VERSION:
        raise LibraryError(f"is of version {version}, the package of {VERSION}", "install both from one wheel", place=str(found))
    return lib


def _declare(lib: ctypes.CDLL) -> None:
    text, error, pointer = ctypes.c_char_p, ctypes.POINTER(_Error), ctypes.c_void_p
    out = ctypes.POINTER(ctypes.c_void_p)
    forms = {
        "version": (text, []),
        "check_abi": (ctypes.c_int, [ctypes.c_int, error]),
        "text_data": (pointer, [pointer]),
        "text_size": (ctypes.c_size_t, [pointer]),
        "text_free": (None, [pointer]),
        "ask": (ctypes.c_int, [text, text, out, error]),
        "ask_many": (ctypes.c_int, [text, text, ctypes.c_int, out, error]),
        "questions": (ctypes.c_int, [out, error]),
        "kernel_times": (ctypes.c_int, [text, ctypes.POINTER(Column), ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int, pointer, error]),
        "predictor_new": (ctypes.c_int, [text, out, error]),
        "predictor_free": (None, [pointer]),
        "predictor_step": (ctypes.c_int, [pointer, ctypes.c_size_t, pointer, pointer, ctypes.c_size_t, pointer, pointer, error]),
    }
    for name, (result, arguments) in forms.items():
        function = getattr(lib, "tilecast_" + name)
        function.restype, function.argtypes = result, arguments


def new_error() -> _Error:
    return _Error()


def check(status: int, error: _Error) -> None:
    """Raises what a call reported."""
    if status == _OK:
        return
    parts = [getattr(error, part).decode("utf-8", "replace") for part in ("problem", "remedy", "field", "place")]
    parts[2] = parts[2].replace("-", "_")  # as Python writes its arguments
    raise (QueryError if status == _REFUSED else LibraryError)(*parts)


def to_json(query: Any) -> bytes:
    """JSON of a query whose values are plain (see _values)."""
    return json.dumps(query, allow_nan=False, separators=(",", ":")).encode()


def _answer(call: Any) -> Any:
    lib, handle, error = library(), ctypes.c_void_p(), _Error()
    check(call(lib, ctypes.byref(handle), ctypes.byref(error)), error)
    try:
        return json.loads(ctypes.string_at(lib.tilecast_text_data(handle), lib.tilecast_text_size(handle)))
    finally:
        lib.tilecast_text_free(handle)


def ask(question: str, query: Any) -> Any:
    """The document that `tilecast QUESTION --json` prints."""
    return _answer(lambda lib, out, error: lib.tilecast_ask(question.encode(), to_json(query), out, error))


def ask_many(question: str, queries: List[Any], threads: int = 0) -> List[Any]:
    """Documents or errors, in the order of the queries."""
    return list(_answer(lambda lib, out, error: lib.tilecast_ask_many(question.encode(), to_json(queries), threads, out, error)))


def questions() -> Any:
    return _answer(lambda lib, out, error: lib.tilecast_questions(out, error))
