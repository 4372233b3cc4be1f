"""The one place that asks Tilecast for forecasts of a recorded program."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from typing import Any, Sequence

from .program import Program


class TilecastError(ValueError):
    """What is wrong with a question, and what to do, in a line."""


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
        raise TilecastError("the program tilecast is not there: build it with make, or name it by the variable TILECAST")
    return found


def _ask(path: str, gpus: Sequence[str], engine: str) -> list[dict[str, Any]]:
    """Forecasts of a program's file, one for each GPU, as `tilecast predict --json` says them (docs/json.md)."""
    done = subprocess.run([binary(), "predict", path, "--gpu", ",".join(gpus), "--engine", engine, "--json"],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise TilecastError(done.stderr.strip() or f"tilecast ended with {done.returncode}")
    answers: list[dict[str, Any]] = json.loads(done.stdout)
    return answers


def ask(program: Program, gpus: Sequence[str], engine: str = "pytorch") -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "program.json")
        program.save(path)
        return _ask(path, gpus, engine)
