"""The questions: one function each, thin over the library. Any argument may be a list; the answer is a table then."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Optional, Type, TypeVar, Union

from . import _library, _values
from .answers import (Answer, Calibration, CollectiveForecast, Diagnosis, GemmTuning, Gpu, KernelForecast, MemoryForecast, Model, MoeTuning,
                      ProgramForecast, Retiming, ServingPlan, Simulation, StepForecast, TrainingPlan)
from .errors import QueryError, from_document
from .tables import Row, Table

A = TypeVar("A", bound=Answer)
Read = Callable[[Any], A]


def _first(kind: Type[A]) -> Read[A]:
    """Documents that are lists, of one where one was asked for."""
    return lambda document: kind.from_document(document[0])


def _whole(kind: Type[A]) -> Read[A]:
    return kind.from_document


# Questions whose document is a list of one object where one thing was asked.
_LISTED = ("kernel", "predict", "memory", "collective")


def _ask(question: str, read: Read[A], arguments: Mapping[str, Any]) -> Union[A, Table[A]]:
    grid = _values.varied(question, arguments)
    fixed = _values.query_of({name: value for name, value in arguments.items() if name not in grid})
    if not grid:
        document = _library.ask(question, fixed)
        return Table(_swept(question, {}, document, read)) if _is_swept(document) else read(document)
    combinations = [dict(zip(grid, values)) for values in _values.combinations(grid)]
    outcomes = _library.ask_many(question, [{**fixed, **_values.query_of(varied)} for varied in combinations])
    return Table([row for varied, outcome in zip(combinations, outcomes) for row in _rows(question, varied, outcome, read)])


def _is_swept(document: Any) -> bool:
    """Whether a number was a range, "1,8..64": each object then says what it was asked for."""
    return isinstance(document, list) and bool(document) and "arguments" in document[0]


def _swept(question: str, varied: Dict[str, Any], document: List[Any], read: Read[A]) -> List[Row[A]]:
    rows: List[Row[A]] = []
    for one in document:
        where = {**varied, **one["arguments"]}
        if set(one) == {"arguments", "error"}:
            rows.append(Row(where, None, QueryError(one["error"], "")))
        else:
            rows.append(Row(where, read([one] if question in _LISTED else one), None))
    return rows


def _rows(question: str, varied: Dict[str, Any], outcome: Mapping[str, Any], read: Read[A]) -> List[Row[A]]:
    if "error" in outcome:
        return [Row(varied, None, from_document(outcome["error"]))]
    if _is_swept(outcome["answer"]):
        return _swept(question, varied, outcome["answer"], read)
    return [Row(varied, read(outcome["answer"]), None)]


def kernel(family: Any, gpu: Any = None, **arguments: Any) -> Any:
    """One kernel on a GPU: a :class:`KernelForecast`, or a table of them.

    Dimensions and the other arguments are those of `tilecast kernel FAMILY` (``tilecast.arguments("kernel")`` lists them).

    >>> import tilecast
    >>> f = tilecast.kernel("gemm", m=4096, n=4096, k=4096, gpu="H100-SXM")
    >>> f.limited_by, f.bound_us < f.latency_us < f.interval_us.high
    ('tensor', True)
    >>> len(tilecast.kernel("gemm", m=[1, 4096], n=4096, k=4096, gpu=["H100-SXM", "B200", "MI300X"]))
    6
    """
    return _ask("kernel", _first(KernelForecast), {"family": family, "gpu": gpu, **arguments})


def predict(model: Any, gpu: Any = None, **arguments: Any) -> Any:
    """A model's prefill, decode or training step: a :class:`StepForecast`, or a table of them. Of a recorded PyTorch program
    (docs/program.md), a file like ``"step.json.gz"``: a :class:`ProgramForecast`.

    >>> import tilecast
    >>> step = tilecast.predict("Llama-3.1-8B", gpu="H100-SXM", mode="decode", batch=32, context=2048)
    >>> step.limited_by, step.fits, round(sum(step.breakdown.values()) / step.step_ms, 6)
    ('dram', True, 1.0)
    >>> table = tilecast.predict("Llama-3.1-8B", gpu=["H100-SXM", "V100-SXM"], dtype=["fp16", "fp8"], mode="prefill", seq=2048)
    >>> [row.answer is not None for row in table]
    [True, True, True, False]
    >>> print(table[3].error.field)
    dtype
    """
    return _ask("predict", _step, {"model": model, "gpu": gpu, **arguments})


def _step(document: Any) -> Answer:
    if "program" in document[0]:
        return ProgramForecast.from_document(document[0])
    return StepForecast.from_document(document[0])


def memory(model: Any, gpu: Any = None, **arguments: Any) -> Any:
    """What a step needs of memory, and the largest that fits: a :class:`MemoryForecast`, or a table of them.

    >>> import tilecast
    >>> need = tilecast.memory("Llama-3.1-70B", gpu="H200-SXM", dtype="fp8", mode="decode", batch=16, context=8192)
    >>> need.fits, need.largest_batch > 16
    (True, True)
    """
    return _ask("memory", _first(MemoryForecast), {"model": model, "gpu": gpu, **arguments})


def collective(op: Any, cluster: Any = None, **arguments: Any) -> Any:
    """A collective between GPUs: a :class:`CollectiveForecast`, or a table of them.

    >>> import tilecast
    >>> tilecast.collective("all_reduce", cluster="hgx-h100", bytes="64MB", ranks=8).ranks
    8
    """
    return _ask("collective", _first(CollectiveForecast), {"op": op, "cluster": cluster, **arguments})


def simulate(model: Any, gpu: Any = None, **arguments: Any) -> Any:
    """Requests through a serving engine: a :class:`Simulation`, or a table of them.

    >>> import tilecast
    >>> run = tilecast.simulate("Llama-3.1-8B", gpu="H100-SXM", rate=4, num_prompts=50, input=512, output=64)
    >>> run.metrics["completed"]
    50
    """
    return _ask("simulate", _whole(Simulation), {"model": model, "gpu": gpu, **arguments})


def plan_serve(model: Any, **arguments: Any) -> Any:
    """The best deployment for a load and its objectives: a :class:`ServingPlan`, or a table of them."""
    return _ask("plan serve", _whole(ServingPlan), {"model": model, **arguments})


def plan_train(model: Any, **arguments: Any) -> Any:
    """The best layouts of a training: a :class:`TrainingPlan`, or a table of them.

    >>> import tilecast
    >>> plan = tilecast.plan_train("Llama-3.1-8B", gpus="8xH100", global_batch=64, seq=2048)
    >>> plan.best["step_ms"] <= plan.ranked[-1]["step_ms"]
    True
    """
    return _ask("plan train", _whole(TrainingPlan), {"model": model, **arguments})


def diagnose(trace: Any, **arguments: Any) -> Any:
    """A profiler's trace against the forecast: a :class:`Diagnosis`, or a table of them."""
    return _ask("diagnose", _whole(Diagnosis), {"trace": trace, **arguments})


def retime(trace: Any, gpu: Any = None, **arguments: Any) -> Any:
    """A profiler's trace as it would be on another card: a :class:`Retiming`, or a table of them."""
    return _ask("retime", _whole(Retiming), {"trace": trace, "gpu": gpu, **arguments})


def tune_moe(gpu: Any = None, **arguments: Any) -> Any:
    """Triton configurations of fused experts, ranked: a :class:`MoeTuning`, or a table of them. With ``files=True`` it has the
    files that vLLM and SGLang load, and ``save(folder)`` writes them.

    >>> import tilecast
    >>> tuning = tilecast.tune_moe("H200-SXM", experts=128, hidden=2048, inter=768, topk=8, tokens=[16, 256])
    >>> sorted(tuning.picks)
    [16, 256]
    """
    return _ask("tune fused-moe", _whole(MoeTuning), {"gpu": gpu, **arguments})


def tune_gemm(gpu: Any = None, **arguments: Any) -> Any:
    """Triton configurations of a plain product, ranked: a :class:`GemmTuning`, or a table of them.

    >>> import tilecast
    >>> tuning = tilecast.tune_gemm("H200-SXM", m=512, n=4096, k=4096)
    >>> tuning.pick == tuning.best[0]["config"]
    True
    """
    return _ask("tune gemm", _whole(GemmTuning), {"gpu": gpu, **arguments})


def calibrate(gpu: Any, data: Any, **arguments: Any) -> Any:
    """A card's own measured rows, fitted: a :class:`Calibration`, which any question takes as ``gpu``."""
    return _ask("calibrate", _whole(Calibration), {"gpu": gpu, "data": data, **arguments})


def gpus() -> List[Gpu]:
    """The GPUs that are known by name.

    >>> import tilecast
    >>> "H100-SXM" in [gpu.name for gpu in tilecast.gpus()]
    True
    """
    return [Gpu.from_document(one) for one in _library.ask("gpus", {})]


def gpu(description: Any) -> Gpu:
    """A GPU by name, by the file that describes it, or by the description itself (docs/gpu-files.md).

    >>> import tilecast
    >>> faster = tilecast.gpu({"like": "H100-SXM", "name": "H100-6TB", "dram": {"gb_per_s": 6000}})
    >>> shape = dict(batch=32, kv_len=8192, heads=64, kv_heads=8)
    >>> tilecast.kernel("attention_decode", gpu=faster, **shape).latency_us < tilecast.kernel(
    ...     "attention_decode", gpu="H100-SXM", **shape).latency_us
    True
    """
    plain = _values.plain("gpu", description)
    document = _library.ask("gpu", {"gpu": plain})
    return Gpu.from_document(document, plain)


def models(model: Optional[Any] = None) -> Any:
    """The models that are known by name; or one, by name, file or configuration.

    >>> import tilecast
    >>> tilecast.models("Llama-3.1-8B").layers
    32
    """
    if model is None:
        return [Model.from_document(one) for one in _library.ask("models", {})]
    return Model.from_document(_library.ask("models", _values.query_of({"model": model})))


def clusters() -> List[Dict[str, Any]]:
    """The clusters that are known by name."""
    return list(_library.ask("clusters", {}))


def arguments(question: str, family: Optional[str] = None) -> Dict[str, str]:
    """The arguments of a question, named as its function is, with what they mean; of a kernel's family, its dimensions.

    >>> import tilecast
    >>> {"m", "n", "k"} <= set(tilecast.arguments("kernel", "gemm"))
    True
    """
    known = {one["name"]: one for one in _library.questions()}
    found = known.get(_values.question_of(question))
    if found is None:
        names = ", ".join(_function_of(name) for name in known)
        raise QueryError(f"unknown question '{question}'", f"one of {names}", "question")
    if family is None:
        return _meanings(found["arguments"])
    families = {one["name"]: one for one in found.get("families", [])}
    if family not in families:
        remedy = f"one of {', '.join(families)}" if families else "leave it out: kernels alone have families"
        raise QueryError(f"unknown family '{family}'", remedy, "family")
    return _meanings(families[family]["dims"])


def _function_of(question: str) -> str:
    return "tune_moe" if question == "tune fused-moe" else question.replace(" ", "_")


def _meanings(described: List[Dict[str, Any]]) -> Dict[str, str]:
    return {one["name"].replace("-", "_"): one["help"] for one in described}
