"""The kernels of a profiled step: by the operator that launched them, and the trace cut to what retiming needs."""

from __future__ import annotations

import gzip
import json
import os
from typing import Any, Callable

DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
LAUNCH = ("cuda_runtime", "cuda_driver")
KEPT = (*DEVICE, *LAUNCH, "cpu_op", "user_annotation")
Event = dict[str, Any]


def profile(step: Callable[[Callable[[str], None]], Any], steps: int, path: str) -> Event:
    """Runs the step under PyTorch's profiler, with its phases marked; the trace."""
    import torch
    from torch.profiler import ProfilerActivity, record_function
    open_marks: list[Any] = []

    def close() -> None:
        while open_marks:
            open_marks.pop().__exit__(None, None, None)

    def mark(name: str) -> None:
        close()
        open_marks.append(record_function("phase:" + name))
        open_marks[-1].__enter__()

    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if torch.cuda.is_available() else [])
    with torch.profiler.profile(activities=activities, record_shapes=True) as profiler:
        for _ in range(steps):
            step(mark)
            close()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
    profiler.export_chrome_trace(path)
    with open(path) as file:
        trace = json.load(file)
    return trace


def timed_events(trace: Event) -> list[Event]:
    return [event for event in trace["traceEvents"] if event.get("ph") == "X" and "ts" in event]


def save_short(trace: Event, path: str) -> None:
    """The trace without what no reader of kernels needs."""
    short = {key: trace[key] for key in ("schemaVersion", "deviceProperties", "cuda_runtime_version",
                                         "cuda_driver_version", "trace_id", "displayTimeUnit") if key in trace}
    kept = []
    for event in trace["traceEvents"]:
        if event.get("ph") == "X" and event.get("cat") in KEPT and not _idle(event):
            kept.append(_short_event(event))
    short["traceEvents"] = kept
    with gzip.open(path, "wt", compresslevel=9) as file:
        json.dump(short, file, separators=(",", ":"))


def _idle(event: Event) -> bool:
    """Runtime calls that launch nothing."""
    return event.get("cat") in LAUNCH and not any(word in event["name"] for word in ("Launch", "Memcpy", "Memset"))


def _short_event(event: Event) -> Event:
    dropped = ("Ev Idx", "Record function id", "Fwd thread id", "queued", "warps per SM", "est. achieved occupancy %",
               "Input Strides", "cbid", "context", "Collective name")
    out = {key: value for key, value in event.items() if key != "args"}
    out["args"] = {key: value for key, value in event.get("args", {}).items() if key not in dropped}
    return out


def grouped(events: list[Event], steps: int) -> list[dict[str, Any]]:
    """Kernels by phase, operator, its inputs' sizes, name and launch shape: calls and microseconds a step."""
    launches, phases = _launches(events)
    groups: dict[tuple[str, ...], list[float]] = {}
    for event in events:
        if event.get("cat") not in DEVICE:
            continue
        details = event.get("args", {})
        time, operator = launches.get(details.get("correlation"), (None, None))
        phase = "" if time is None else next((name for start, end, name in phases if start <= time <= end), "")
        key = (phase, operator["name"] if operator else "", _sizes(operator), event["name"],
               _triple(details.get("grid")), _triple(details.get("block")))
        groups.setdefault(key, []).append(event.get("dur", 0.0))
    return [dict(zip(("phase", "operator", "sizes", "kernel", "grid", "block"), key),
                 calls=len(times) / steps, total_us=round(sum(times) / steps, 3)) for key, times in groups.items()]


def _sizes(operator: Event | None) -> str:
    if operator is None:
        return ""
    sizes = operator.get("args", {}).get("Input Dims", [])
    return json.dumps(sizes, separators=(",", ":"))[:160]


def _triple(values: Any) -> str:
    return "x".join(str(value) for value in values) if values else ""


def _launches(events: list[Event]) -> tuple[dict[Any, tuple[float, Event | None]], list[tuple[float, float, str]]]:
    """What each launch lies in: correlation -> (time, innermost operator); and the phases."""
    threads: dict[Any, list[Event]] = {}
    phases = []
    for event in events:
        if event.get("cat") in LAUNCH or event.get("cat") == "cpu_op":
            threads.setdefault(event.get("tid"), []).append(event)
        elif event.get("cat") == "user_annotation" and event["name"].startswith("phase:"):
            phases.append((event["ts"], event["ts"] + event["dur"], event["name"][6:]))
    found: dict[Any, tuple[float, Event | None]] = {}
    for thread in threads.values():
        stack: list[Event] = []
        for event in sorted(thread, key=lambda e: (e["ts"], -e.get("dur", 0))):
            while stack and stack[-1]["ts"] + stack[-1].get("dur", 0) < event["ts"]:
                stack.pop()
            if event.get("cat") == "cpu_op":
                stack.append(event)
            else:
                found[event.get("args", {}).get("correlation")] = (event["ts"], stack[-1] if stack else None)
    return found, phases


def number(trace: Event) -> None:
    """Gives operators numbers, and their launches and kernels the same, in a trace that lost them ("External id")."""
    events = timed_events(trace)
    if any("External id" in event.get("args", {}) for event in events):
        return
    for place, event in enumerate(event for event in events if event.get("cat") == "cpu_op"):
        event["args"]["External id"] = place + 1
    launches, _ = _launches(events)
    for event in events:
        _, operator = launches.get(event.get("args", {}).get("correlation"), (None, None))
        if event.get("cat") != "cpu_op" and operator is not None:
            event["args"]["External id"] = operator["args"]["External id"]
        if event.get("cat") in DEVICE:
            event["args"].setdefault("device", 0)


def remove(path: str) -> None:
    if os.path.exists(path):
        os.remove(path)
