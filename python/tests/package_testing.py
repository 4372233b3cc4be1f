"""What tests of the package share: where things were built, and whether there is enough to test with."""

import os
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))

try:
    import numpy  # noqa: F401
    import tilecast
    tilecast.gpus()
    MISSING = ""
except (ImportError, RuntimeError) as problem:
    MISSING = str(problem)

needs_package = unittest.skipIf(MISSING, f"the package cannot be tested here: {MISSING}")
PROGRAM = os.environ.get("TILECAST_PROGRAM", str(ROOT / "build" / "release" / "tilecast"))
C_PROGRAM = os.environ.get("TILECAST_C_PROGRAM", "")
