"""Input tensors cut from large arenas of normal random numbers.

Drawing fresh numbers for every case would cost more time than the measurement. An arena per
type is filled once; a case takes consecutive views, so its input sets never overlap. Outputs
come from a separate scratch arena and never overwrite the inputs.
"""

import torch

ARENA_BYTES = 4 << 30
ALIGN_BYTES = 512
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32,
          "tf32": torch.float32}


class Arena:
    """One large tensor handed out as consecutive views."""

    def __init__(self, dtype, fill):
        self.item = torch.empty((), dtype=dtype).element_size()
        self.memory = torch.empty(ARENA_BYTES // self.item, dtype=dtype, device="cuda")
        if fill:
            self.memory.normal_()
        self.used = 0

    def take(self, shape):
        """A view of the shape, or None when the rest of the arena is too small."""
        count = 1
        for side in shape:
            count *= side
        step = ALIGN_BYTES // self.item
        end = self.used + (count + step - 1) // step * step
        if end > self.memory.numel():
            return None
        view = self.memory[self.used:self.used + count].view(shape)
        self.used = end
        return view


class Data:
    def __init__(self):
        self.inputs, self.outputs, self.common = {}, {}, {}

    def reset(self):
        """Every view handed out so far may be reused."""
        for arena in list(self.inputs.values()) + list(self.outputs.values()):
            arena.used = 0
        self.common.clear()

    def shared(self, name, make):
        """One tensor for all input sets of a case, such as an embedding table."""
        if name not in self.common:
            self.common[name] = make()
        return self.common[name]

    def normal(self, shape, dtype):
        view = self._arena(self.inputs, dtype, True).take(shape)
        return torch.randn(shape, dtype=dtype, device="cuda") if view is None else view

    def output(self, shape, dtype):
        view = self._arena(self.outputs, dtype, False).take(shape)
        return torch.empty(shape, dtype=dtype, device="cuda") if view is None else view

    def integers(self, high, shape):
        return torch.randint(0, high, shape, device="cuda")

    @staticmethod
    def _arena(arenas, dtype, fill):
        if dtype not in arenas:
            arenas[dtype] = Arena(dtype, fill)
        return arenas[dtype]
