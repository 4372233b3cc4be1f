"""Grids of questions too large to ask at once: in chunks, over any executor, resumable from a file."""

from __future__ import annotations

import base64
import concurrent.futures
import hashlib
import json
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple, Union

from . import _library, _values
from .batches import batch
from .errors import QueryError

if TYPE_CHECKING:
    import numpy
    import pandas

# Figures of an answer that are kept, as paths into its document; of kernels asked in columns the time alone.
_FIGURES: Dict[str, Tuple[str, ...]] = {
    "kernel": ("latency_us",),
    "predict": ("step_ms", "tokens_per_second", "mfu", "memory_bytes.total"),
    "memory": ("memory_bytes.total", "largest_batch"),
    "collective": ("latency_us", "bus_bytes_per_s"),
    "simulate": ("loads.0.metrics.output_throughput", "loads.0.metrics.mean_ttft_ms", "loads.0.metrics.mean_tpot_ms"),
}
_PER_CHUNK = {"kernel": 65536}  # of others:
_FEW = 64

Progress = Callable[[int, int], None]


class Sweep:
    """The answers of a grid: for each figure an array as the grid is, NaN where the combination is impossible.

    ``errors`` says why, by the place in the flat grid.
    """

    def __init__(self, grid: Dict[str, Sequence[Any]], columns: Dict[str, "numpy.ndarray[Any, Any]"], errors: Dict[int, str]) -> None:
        self.grid, self.columns, self.errors = grid, columns, errors

    def __len__(self) -> int:
        return math.prod(len(values) for values in self.grid.values())

    def __getitem__(self, figure: str) -> "numpy.ndarray[Any, Any]":
        return self.columns[figure].reshape([len(values) for values in self.grid.values()])

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        for i in range(len(self)):
            yield {**point(self.grid, i), **{name: float(values[i]) for name, values in self.columns.items()}, "error": self.errors.get(i)}

    def to_dict(self) -> List[Dict[str, Any]]:
        return list(self)

    def to_pandas(self) -> "pandas.DataFrame":
        """One line for each combination; pandas must be there."""
        import pandas

        return pandas.DataFrame(list(self))


def point(grid: Mapping[str, Sequence[Any]], index: int) -> Dict[str, Any]:
    """The combination at a place of the grid, the last argument fastest."""
    found = {}
    for name in reversed(list(grid)):
        index, at = divmod(index, len(grid[name]))
        found[name] = grid[name][at]
    return {name: found[name] for name in grid}


def sweep(query: Union[str, Mapping[str, Any]], grid: Mapping[str, Any], executor: Optional[concurrent.futures.Executor] = None, *,
          figures: Optional[Sequence[str]] = None, file: Union[None, str, "os.PathLike[str]"] = None,
          progress: Union[None, bool, Progress] = None, chunk: int = 0, in_flight: int = 16, retries: int = 3) -> Sweep:
    """Asks a question for every combination of a grid.

    ``query`` holds the question and the arguments that do not vary, ``{"question": "predict", "model": "Llama-3.1-8B"}``, or is the
    question alone; ``grid`` the values of those that do. Chunks of combinations go to ``executor`` (processes, threads, a dask
    client's ``get_executor()``), ``in_flight`` at a time; without one they are asked here, on all cores. Finished chunks are
    appended to ``file``: the same call after an interruption goes on from there. A chunk that fails is handed out again,
    ``retries`` times, where the executor survives its workers (dask); a ``ProcessPoolExecutor`` breaks with its first dead worker,
    and the same call with a new one goes on from the file. The answer does not depend on who computed what.

    ``figures`` are paths into the answers' documents, ``"memory_bytes.total"``; they must be numbers. Where none are given, the
    usual ones that the documents have are kept. Kernels whose grid has whole-number dimensions only,
    beside ``gpu`` and ``dtype``, are asked in columns, hundreds of thousands a second, unless other figures are wanted.

    >>> import tilecast
    >>> found = tilecast.sweep({"question": "kernel", "family": "gemm", "n": 4096, "k": 4096},
    ...                        {"gpu": ["H100-SXM", "B200"], "m": [1, 64, 4096]})
    >>> found["latency_us"].shape
    (2, 3)
    """
    task = _Task.of(query, grid, figures, chunk)
    kept = _File(file, task) if file is not None else None
    done: Dict[int, Any] = kept.finished() if kept else {}
    report = _reporter(progress, task.chunks)
    try:
        report(len(done))
        for number, outcome in _run(task, [i for i in range(task.chunks) if i not in done], executor, in_flight, retries):
            done[number] = outcome
            if kept:
                kept.append(number, outcome)
            report(len(done))
    finally:
        if kept:
            kept.close()
    return _joined(task, done)


class _Task:
    """What every chunk needs; small, and the same wherever it is read."""

    def __init__(self, question: str, fixed: Dict[str, Any], grid: Dict[str, Sequence[Any]], figures: List[str], usual: bool, chunk: int,
                 columns: bool) -> None:
        self.question, self.fixed, self.grid, self.figures, self.columns = question, fixed, grid, figures, columns
        self.usual = usual  # figures that nobody named: those that documents lack are left out
        self.count = math.prod(len(values) for values in grid.values())
        self.chunk = min(chunk, max(1, self.count))
        self.chunks = -(-self.count // self.chunk)

    @classmethod
    def of(cls, query: Union[str, Mapping[str, Any]], grid: Mapping[str, Any], figures: Optional[Sequence[str]], chunk: int) -> "_Task":
        given = {"question": query} if isinstance(query, str) else dict(query)
        question = _values.question_of(given.pop("question", ""))
        if not question:
            raise QueryError("is missing", 'for example {"question": "predict", ...}', "question")
        axes: Dict[str, Sequence[Any]] = {}
        for name, values in grid.items():
            if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
                raise QueryError("needs a list of values", "what does not vary belongs to the query", name)
            axes[name] = _axis(values if isinstance(values, range) else list(_values.plain(name, list(values))))
            if not axes[name]:
                raise QueryError("is an empty list", "give one value or more", name)
        if not axes:
            raise QueryError("is empty", "give the values of one argument or more", "grid")
        wanted = list(figures if figures is not None else _FIGURES.get(question, ()))
        if not wanted:
            raise QueryError("are missing", f"say which of the document of '{question}' to keep", "figures")
        whole = all(isinstance(values, range) or all(type(value) is int for value in values)
                    for name, values in axes.items() if name not in ("gpu", "dtype"))
        columns = question == "kernel" and wanted == ["latency_us"] and whole and any(name not in ("gpu", "dtype") for name in axes)
        return cls(question, _values.query_of(given), axes, wanted, figures is None, chunk or _PER_CHUNK.get(question if columns else "", _FEW), columns)

    def places(self, number: int) -> range:
        return range(number * self.chunk, min(self.count, (number + 1) * self.chunk))

    def mark(self) -> str:
        """Tells sweeps apart: a file of another one is refused."""
        grid = {name: str(values) if isinstance(values, range) else values for name, values in self.grid.items()}
        text = json.dumps([self.question, self.fixed, grid, self.figures, self.usual, self.chunk, _library.VERSION], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:24]


def _axis(values: Sequence[Any]) -> Sequence[Any]:
    """The values; evenly spaced whole numbers as a range, so that a chunk's description stays small however many there are."""
    if isinstance(values, range) or len(values) < 3 or not all(type(value) is int for value in values):
        return values
    step = values[1] - values[0]
    even = range(values[0], values[-1] + (1 if step > 0 else -1), step) if step != 0 else values
    return even if len(even) == len(values) and all(a == b for a, b in zip(even, values)) else values


Outcome = Dict[str, Any]  # figures as bytes of 64-bit floats, base64, and errors by place


def run_chunk(task: _Task, number: int, threads: int = 1) -> Outcome:
    """One chunk, wherever it is asked."""
    values, errors = (_in_columns if task.columns else _one_by_one)(task, task.places(number), threads)
    return {"columns": {name: base64.b64encode(column.tobytes()).decode() for name, column in values.items()},
            "errors": {str(place): text for place, text in errors.items()}}


def _one_by_one(task: _Task, places: range, threads: int) -> Tuple[Dict[str, Any], Dict[int, str]]:
    import numpy

    outcomes = _library.ask_many(task.question, [{**task.fixed, **point(task.grid, place)} for place in places], threads)
    values = {name: numpy.full(len(places), numpy.nan) for name in task.figures}
    had: Set[str] = set()
    lacked: Set[str] = set()
    errors = {}
    for i, outcome in enumerate(outcomes):
        if "error" in outcome:
            error = outcome["error"]
            errors[places[i]] = ": ".join(part for part in (error["field"], error["problem"]) if part)
            continue
        for name in task.figures:
            figure = _figure(outcome["answer"], name)
            if figure is None and not task.usual:
                raise QueryError(f"the document has no '{name}'", "docs/json.md lists what it has", "figures")
            (lacked if figure is None else had).add(name)
            values[name][i] = math.nan if figure is None else figure
    return {name: column for name, column in values.items() if name in had or name not in lacked}, errors


def _figure(document: Any, path: str) -> Optional[float]:
    """None where the document has no such place."""
    if isinstance(document, list) and document and "arguments" in document[0]:
        raise QueryError("holds a range beside the grid", "give its values in the grid")
    found = document[0] if isinstance(document, list) else document
    for part in path.split("."):
        try:
            found = found[int(part)] if isinstance(found, list) else found[part]
        except (KeyError, IndexError, TypeError, ValueError):
            return None
    if found is None:
        return math.nan
    if not isinstance(found, (int, float)):
        kind = "a text" if isinstance(found, str) else "a list" if isinstance(found, list) else "an object"
        raise QueryError(f"'{path}' is {kind} in the document", "name numbers; docs/json.md lists them", "figures")
    return float(found)


def _in_columns(task: _Task, places: range, threads: int) -> Tuple[Dict[str, Any], Dict[int, str]]:
    """Kernels of one GPU and one format at a time."""
    import numpy

    index = numpy.unravel_index(numpy.arange(places.start, places.stop), [len(values) for values in task.grid.values()])
    at = dict(zip(task.grid, index))
    named = [name for name in task.grid if name in ("gpu", "dtype")]
    dims = {name: _picked(numpy, task.grid[name], at[name]) for name in task.grid if name not in named}
    group = numpy.zeros(len(places), dtype=numpy.int64)
    for name in named:
        group = group * len(task.grid[name]) + at[name]
    times, errors = numpy.full(len(places), numpy.nan), {}
    for one in numpy.unique(group):
        rows = numpy.nonzero(group == one)[0]
        query = {**task.fixed, **{name: task.grid[name][at[name][rows[0]]] for name in named}}
        bad = _fill(query, {name: numpy.ascontiguousarray(values[rows]) for name, values in dims.items()}, times, rows, threads)
        errors.update({places[row]: text for row, text in bad.items()})
    return {"latency_us": times * 1e6}, errors


def _picked(numpy: Any, values: Sequence[Any], places: Any) -> Any:
    if isinstance(values, range):
        return (values.start + values.step * places).astype(numpy.int64)
    return numpy.array(values, dtype=numpy.int64)[places]


def _fill(query: Dict[str, Any], dims: Dict[str, Any], times: Any, rows: Any, threads: int) -> Dict[int, str]:
    """Times of these rows; where one is impossible the rest is asked in halves, until those that are stand alone."""
    try:
        times[rows] = batch(threads=threads, **{**query, **dims})
        return {}
    except QueryError as problem:
        if len(rows) == 1:
            return {int(rows[0]): ": ".join(part for part in (problem.field, problem.problem) if part)}
    half, bad = len(rows) // 2, {}
    for part in (slice(0, half), slice(half, None)):
        bad.update(_fill(query, {name: values[part] for name, values in dims.items()}, times, rows[part], threads))
    return bad


def _run(task: _Task, numbers: List[int], executor: Optional[concurrent.futures.Executor], in_flight: int,
         retries: int) -> Iterator[Tuple[int, Outcome]]:
    if executor is None:
        for number in numbers:
            yield number, run_chunk(task, number, 0)
        return
    waiting, failures = list(reversed(numbers)), dict.fromkeys(numbers, 0)
    running: Dict["concurrent.futures.Future[Outcome]", int] = {}
    while waiting or running:
        while waiting and len(running) < in_flight:
            number = waiting.pop()
            running[executor.submit(run_chunk, task, number)] = number
        finished, _ = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
        for future in finished:
            number = running.pop(future)
            try:
                yield number, future.result()
            except (QueryError, concurrent.futures.BrokenExecutor):
                raise  # a wrong question stays wrong; a broken executor takes nothing more
            except Exception:
                failures[number] += 1
                if failures[number] > retries:
                    raise
                waiting.append(number)


def _reporter(progress: Union[None, bool, Progress], chunks: int) -> Callable[[int], None]:
    if progress is None or progress is False:
        return lambda done: None
    if callable(progress):
        tell = progress
        return lambda done: tell(done, chunks)
    return lambda done: print(f"\r{done} of {chunks} chunks", end="\n" if done == chunks else "", flush=True)


def _line(entry: Dict[str, Any]) -> bytes:
    return json.dumps(entry, separators=(",", ":")).encode() + b"\n"


class _File:
    """Lines of JSON: which sweep it is, then a line for every chunk that is done. The last may be cut off."""

    def __init__(self, path: Union[str, "os.PathLike[str]"], task: _Task) -> None:
        self._task = task
        self._done: Dict[int, Outcome] = {}
        self._path = Path(path)
        self._header = _line({"sweep": task.mark(), "count": task.count, "chunk": task.chunk})
        size = self._read() if self._path.exists() else 0
        self._out = open(self._path, "r+b" if size else "wb")
        self._out.seek(size)
        self._out.truncate()
        if not size:
            self._write(self._header)

    def _read(self) -> int:
        """Remembers whole lines, and answers with where they end."""
        size = 0
        with open(self._path, "rb") as lines:
            for line in lines:
                if not line.endswith(b"\n"):
                    if size == 0 and not self._header.startswith(line):
                        raise self._foreign()
                    break
                if size == 0:
                    self._check_header(line)
                else:
                    self._keep(line)
                size += len(line)
        return size

    def _check_header(self, line: bytes) -> None:
        entry = self._entry(line)
        if entry.get("sweep") != self._task.mark():
            raise self._foreign()

    def _keep(self, line: bytes) -> None:
        entry = self._entry(line)
        part, outcome = entry.get("part"), entry.get("outcome")
        if type(part) is not int or not 0 <= part < self._task.chunks or not isinstance(outcome, dict):
            raise self._foreign()
        self._done[part] = outcome

    def _entry(self, line: bytes) -> Dict[str, Any]:
        try:
            entry = json.loads(line)
        except ValueError:
            raise self._foreign() from None
        if not isinstance(entry, dict):
            raise self._foreign()
        return entry

    def _foreign(self) -> QueryError:
        return QueryError("holds another sweep", "name another file, or remove it", "file", str(self._path))

    def _write(self, line: bytes) -> None:
        self._out.write(line)
        self._out.flush()

    def finished(self) -> Dict[int, Outcome]:
        return dict(self._done)

    def append(self, number: int, outcome: Outcome) -> None:
        self._write(_line({"part": number, "outcome": outcome}))

    def close(self) -> None:
        self._out.close()


def _joined(task: _Task, done: Mapping[int, Outcome]) -> Sweep:
    import numpy

    columns = {}
    for name in task.figures:
        parts = [done[i]["columns"].get(name) for i in range(task.chunks)]
        column = numpy.concatenate([numpy.full(len(task.places(i)), numpy.nan) if part is None else numpy.frombuffer(base64.b64decode(part))
                                    for i, part in enumerate(parts)])
        if None not in parts or not numpy.isnan(column).all():  # absent from every document: left out
            columns[name] = column
    errors = {int(place): text for i in range(task.chunks) for place, text in done[i]["errors"].items()}
    return Sweep(task.grid, columns, errors)
