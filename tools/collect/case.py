"""What one measurement is: a kernel family, its dimensions and how it is to be run.

Nothing here needs PyTorch, so cases can be planned, listed and checked on any machine.
"""

from dataclasses import dataclass, replace

ELEMENT_BYTES = {"fp8": 1, "bf16": 2, "fp16": 2, "fp32": 4, "tf32": 4}


@dataclass(frozen=True)
class Case:
    family: str
    dtype: str
    dims: tuple  # ((name, value), ...) in the order they are written
    kernel_source: str
    runtime: str = "graph"  # graph | eager
    warmth: str = "cold"  # cold | warm
    run: str = "burst"  # burst: milliseconds; sustained: seconds back to back

    def __getitem__(self, name):
        return dict(self.dims)[name]

    def get(self, name, default=None):
        return dict(self.dims).get(name, default)

    @property
    def backward(self):
        return self.get("backward", 0) == 1

    @property
    def dims_text(self):
        return ";".join(f"{name}={value}" for name, value in self.dims)

    @property
    def key(self):
        """Identifies a finished measurement when a run is resumed."""
        return (self.kernel_source, self.family, self.dtype, self.dims_text,
                self.runtime, self.warmth, self.run)

    def with_warmth(self, warmth):
        return replace(self, warmth=warmth)

    def with_runtime(self, runtime):
        return replace(self, runtime=runtime)

    def with_run(self, run):
        return replace(self, run=run)


def make(family, dtype, kernel_source, warmth="cold", runtime="graph", **dims):
    """A case from keyword dimensions: `q_len=4` is written `q-len=4`."""
    named = tuple((name.replace("_", "-"), value) for name, value in dims.items())
    return Case(family, dtype, named, kernel_source, runtime, warmth)
