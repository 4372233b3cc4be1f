"""The one place that asks Tilecast for forecasts of a recorded program."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from typing import Any, Optional, Sequence

from .. import _library
from ..errors import LibraryError, QueryError
from .program import Program


def binary() -> str:
    """The program `tilecast`: $TILECAST, the build beside this package, or the one on the path."""
    named = os.environ.get("TILECAST")
    if named:
        return named
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
    for place in ("build/tilecast", "build/release/tilecast"):
        if os.access(os.path.join(root, place), os.X_OK):
            return os.path.join(root, place)
    found = shutil.which("tilecast")
    if not found:
        raise LibraryError("neither libtilecast.so nor the program tilecast was found",
                           "build it with make, or name the program in TILECAST")
    return found


def _ask(path: str, gpus: Sequence[str], engine: Optional[str], clusters: Sequence[str]) -> list[dict[str, Any]]:
    """Forecasts of a program's file, one for each GPU, as `tilecast predict --json` says them (docs/json.md): by the library
    where it is, else by the program."""
    try:
        _library.library()
    except LibraryError:
        return _ask_program(path, gpus, engine, clusters)
    asked: dict[str, Any] = {"model": path}
    for name, values in (("gpu", gpus), ("cluster", clusters), ("engine", [engine] if engine else [])):
        if values:
            asked[name] = list(values)
    answers: list[dict[str, Any]] = _library.ask("predict", asked)
    return answers


def _ask_program(path: str, gpus: Sequence[str], engine: Optional[str], clusters: Sequence[str]) -> list[dict[str, Any]]:
    flags = (("--gpu", gpus), ("--cluster", clusters), ("--engine", [engine] if engine else []))
    words = [word for flag, values in flags if values for word in (flag, ",".join(values))]
    done = subprocess.run([binary(), "predict", path, *words, "--json"],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise QueryError(done.stderr.strip() or f"tilecast ended with {done.returncode}")
    answers: list[dict[str, Any]] = json.loads(done.stdout)
    return answers


def ask(program: Program, gpus: Sequence[str], engine: Optional[str] = None,
        clusters: Sequence[str] = ()) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "program.json")
        program.save(path)
        return _ask(path, gpus, engine, clusters)
