"""PyTorch programs recorded without a GPU: nothing is allocated and nothing runs.

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

from .program import Program
from .record import Recorder

__all__ = ["Program", "Recorder"]
