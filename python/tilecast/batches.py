"""Many kernels at once: columns in, a column of times out."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Dict, List

from . import _library, _values
from .errors import QueryError

if TYPE_CHECKING:
    import numpy


def batch(family: str, gpu: Any = None, threads: int = 0, **arguments: Any) -> "numpy.ndarray[Any, Any]":
    """Times in seconds of many kernels that differ in whole-number dimensions.

    Dimensions that are NumPy arrays (or lists) are columns, all of one length; the other arguments are as of
    :func:`tilecast.kernel`. Columns of 64-bit integers are read where they lie; others are converted first. All cores work on it,
    or ``threads`` of them, without the GIL.

    >>> import numpy, tilecast
    >>> m = numpy.array([1, 128, 4096])
    >>> times = tilecast.batch("gemm", m=m, n=4096, k=4096, gpu="H100-SXM")
    >>> bool(times[2] * 1e6 == tilecast.kernel("gemm", m=4096, n=4096, k=4096, gpu="H100-SXM").latency_us)
    True
    """
    import numpy

    columns = {name: _column(name, value) for name, value in arguments.items() if _values.is_many(value)}
    if not columns:
        raise QueryError("no dimension is a column", "give an array for one or more of them, or ask kernel()")
    lengths = {len(values) for values in columns.values()}
    if len(lengths) > 1:
        shown = ", ".join(f"{name} {len(values)}" for name, values in columns.items())
        raise QueryError(f"columns differ in length: {shown}", "one value for each row", next(iter(columns)))
    common = _values.query_of({"family": family, "gpu": gpu, **{name: value for name, value in arguments.items() if name not in columns}})
    times: "numpy.ndarray[Any, Any]" = _times(common, columns, lengths.pop(), threads, numpy)
    return times


def _column(name: str, value: Any) -> "numpy.ndarray[Any, Any]":
    import numpy

    values = numpy.asarray(value)
    if values.ndim != 1:
        raise QueryError(f"has {values.ndim} dimensions", "a column has one", name)
    if values.dtype.kind == "f" and not (values == numpy.floor(values)).all():
        raise QueryError("must be whole numbers", "a dimension has no fraction", name)
    if values.dtype.kind not in "iuf":
        raise QueryError(f"takes no {values.dtype}", "whole numbers", name)
    if values.dtype.kind in "uf" and len(values) and not (numpy.abs(values) < 2**63).all():
        raise QueryError("does not fit 64 bits", "smaller numbers", name)
    return numpy.ascontiguousarray(values, dtype=numpy.int64)


def _times(common: Dict[str, Any], columns: Dict[str, Any], rows: int, threads: int, numpy: Any) -> Any:
    seconds: Any = numpy.empty(rows)
    described = (_library.Column * len(columns))()
    names: List[bytes] = []  # kept for as long as the library reads them
    for place, (name, values) in zip(described, columns.items()):
        names.append(name.replace("_", "-").encode())
        place.name, place.values = names[-1], values.ctypes.data
    error = _library.new_error()
    status = _library.library().tilecast_kernel_times(_library.to_json(common), described, len(columns), rows, threads,
                                                      seconds.ctypes.data, ctypes.byref(error))
    _library.check(status, error)
    return seconds
