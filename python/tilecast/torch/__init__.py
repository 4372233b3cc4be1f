"""PyTorch programs recorded and forecast without a GPU: nothing is allocated and nothing runs.

>>> with Estimate(gpu="B200") as estimate:                                   # doctest: +SKIP
...     loss = model(x); loss.backward(); optimizer.step()
>>> estimate.result.step_ms                                                  # doctest: +SKIP
>>> forecast(model, (x,), gpu=["H100-SXM", "B200"], training=True)           # doctest: +SKIP

>>> import torch
>>> from tilecast.torch import Recorder
>>> with Recorder("layer") as recorder:
...     model = torch.nn.Linear(256, 512, device="cuda:0")
...     x = torch.randn(32, 256, device="cuda:0")
...     with recorder.step():
...         y = model(x)
>>> [operator.name for operator in recorder.program.operators][-1]
'aten.addmm'
>>> recorder.save("layer.json.gz")  # doctest: +SKIP
"""

from ..errors import TilecastError
from .estimate import Estimate, Forecast, forecast, forecast_program
from .program import Program, formula
from .ranks import ranks
from .record import Recorder

__all__ = ["Estimate", "Forecast", "Program", "Recorder", "TilecastError", "forecast", "forecast_program", "formula", "ranks"]
