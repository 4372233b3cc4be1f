"""What questions are answered with: dataclasses over the documents of docs/json.md.

Fields have their units in their names. ``document`` is the whole answer as JSON has it, with everything that is not a field
of its own.
"""

from .answer import Answer, Interval
from .kernels import CollectiveForecast, GemmTuning, KernelForecast, MoeTuning
from .known import Calibration, Gpu, Model
from .plans import ServingPlan, Simulation, TrainingPlan
from .recordings import Diagnosis, Retiming
from .steps import Memory, MemoryForecast, ProgramForecast, StepForecast

__all__ = [
    "Answer",
    "Calibration",
    "CollectiveForecast",
    "Diagnosis",
    "GemmTuning",
    "Gpu",
    "Interval",
    "KernelForecast",
    "Memory",
    "MemoryForecast",
    "Model",
    "MoeTuning",
    "ProgramForecast",
    "Retiming",
    "ServingPlan",
    "Simulation",
    "StepForecast",
    "TrainingPlan",
]
