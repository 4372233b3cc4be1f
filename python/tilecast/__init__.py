"""Forecasts how long deep-learning work takes on GPUs, without running it.

>>> import tilecast
>>> tilecast.predict("Llama-3.1-8B", gpu="H100-SXM", mode="decode", batch=32, context=2048).limited_by
'dram'

The functions ask what the commands of the program `tilecast` ask and answer to the same digit; docs/python.md has a page of
each. ``tilecast.torch`` forecasts PyTorch programs.
"""

import importlib as _importlib
import types as _types

from ._library import VERSION as __version__
from .answers import (Answer, Calibration, CollectiveForecast, Diagnosis, GemmTuning, Gpu, Interval, KernelForecast, Memory, MemoryForecast,
                      Model, MoeTuning, ProgramForecast, Retiming, ServingPlan, Simulation, StepForecast, TrainingPlan)
from .batches import batch
from .errors import LibraryError, QueryError, TilecastError
from .predictor import StepPredictor
from .questions import (arguments, calibrate, clusters, collective, diagnose, gpu, gpus, kernel, memory, models, plan_serve, plan_train,
                        predict, retime, simulate, tune_gemm, tune_moe)
from .sweeps import Sweep, sweep
from .tables import Row, Table

__all__ = [
    "Answer", "Calibration", "CollectiveForecast", "Diagnosis", "GemmTuning", "Gpu", "Interval", "KernelForecast", "LibraryError", "Memory",
    "MemoryForecast", "Model", "MoeTuning", "ProgramForecast", "QueryError", "Retiming", "Row", "ServingPlan", "Simulation", "StepForecast",
    "StepPredictor", "Sweep", "Table", "TilecastError", "TrainingPlan", "__version__", "arguments", "batch", "calibrate", "clusters", "collective", "diagnose",
    "gpu", "gpus", "kernel", "memory", "models", "plan_serve", "plan_train", "predict", "retime", "simulate", "sweep", "tune_gemm", "tune_moe",
]


def __getattr__(name: str) -> "_types.ModuleType":
    """``tilecast.torch`` is imported when it is first named: it needs PyTorch."""
    if name == "torch":
        return _importlib.import_module(".torch", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
