"""Names for parts of a step, seen by the profiler only while a step is being labelled."""

from contextlib import nullcontext

_maker = None


def label_steps(on):
    """Switches the names on or off."""
    global _maker
    if on:
        from torch.profiler import record_function
        _maker = record_function
    else:
        _maker = None


def operator(name):
    return nullcontext() if _maker is None else _maker("op:" + name)


def phase(name):
    return nullcontext() if _maker is None else _maker("phase:" + name)
