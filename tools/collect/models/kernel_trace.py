"""Reads a profiler's trace: the kernels of a step in order, each with the operator it serves.

A launch on the forward thread lies inside the operator's mark. In backward the autograd node
carries the sequence number of the forward call that made it. Nothing here needs PyTorch.
"""

import json
from dataclasses import dataclass, field

DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
HOST = ("cpu_op", "user_annotation")
LAUNCH = ("cuda_runtime", "cuda_driver")


@dataclass
class Kernel:
    name: str
    grid: str
    block: str
    start_us: float
    length_us: float
    phase: str = ""
    operator: str = ""
    torch_op: str = ""

    @property
    def shape(self):
        return self.name, self.grid, self.block


@dataclass
class Host:
    """What the host did: where each launch was made and which forward call owns a number."""
    around: dict = field(default_factory=dict)  # correlation -> (time, enclosing events)
    owner: dict = field(default_factory=dict)  # sequence number -> operator of the forward call
    phases: list = field(default_factory=list)  # (start, end, name)


def kernels(path):
    with open(path) as file:
        events = [event for event in json.load(file)["traceEvents"]
                  if event.get("ph") == "X" and "ts" in event]
    host = _read_host(events)
    device = sorted((event for event in events if event.get("cat") in DEVICE),
                    key=lambda event: event["ts"])
    return [_kernel(event, host) for event in device]


def _kernel(event, host):
    details = event.get("args", {})
    found = Kernel(event["name"], _triple(details.get("grid")), _triple(details.get("block")),
                   event["ts"], event.get("dur", 0.0))
    place = host.around.get(details.get("correlation"))
    if place is None:
        return found
    time, stack = place
    found.phase = next((name for start, end, name in host.phases if start <= time <= end), "")
    calls = [event for event in stack if event.get("cat") == "cpu_op"]
    found.torch_op = next((event["name"] for event in reversed(calls)
                           if event["name"].startswith("aten::")),
                          calls[-1]["name"] if calls else "")
    found.operator = _mark(stack)
    if found.operator and found.phase == "backward":
        found.operator += ":recompute"
    elif not found.operator and found.phase == "backward":
        found.operator = _backward_of(calls, host)
    return found


def _backward_of(calls, host):
    if not calls:
        return ""
    owner = host.owner.get(calls[0].get("args", {}).get("Sequence number"))
    if owner:
        return owner + ":backward"
    return calls[0]["name"].replace("autograd::engine::evaluate_function: ", "")


def _mark(stack):
    """The innermost operator mark."""
    return next((event["name"][3:] for event in reversed(stack)
                 if event["name"].startswith("op:")), "")


def _read_host(events):
    host, threads = Host(), {}
    for event in events:
        if event.get("cat") in HOST or event.get("cat") in LAUNCH:
            threads.setdefault(event.get("tid"), []).append(event)
    main = None
    for thread, found in threads.items():
        for event in found:
            if event["name"].startswith("phase:"):
                main = thread
                host.phases.append((event["ts"], event["ts"] + event["dur"], event["name"][6:]))
    for thread, found in threads.items():
        _walk(found, host, owns=main is None or thread == main)
    return host


def _walk(events, host, owns):
    """Goes through a thread's events in time with a stack of what is open."""
    stack = []
    for event in sorted(events, key=lambda event: (event["ts"], -event.get("dur", 0))):
        while stack and stack[-1]["ts"] + stack[-1].get("dur", 0) < event["ts"]:
            stack.pop()
        if event.get("cat") in LAUNCH:
            correlation = event.get("args", {}).get("correlation")
            host.around[correlation] = (event["ts"], list(stack))
            continue
        stack.append(event)
        number = event.get("args", {}).get("Sequence number")
        if owns and number is not None and number >= 0 and _mark(stack):
            host.owner[number] = _mark(stack)


def _triple(values):
    return "x".join(str(value) for value in values) if values else ""


def label(kernels_of_replays, labelled):
    """Gives replayed kernels the labels of the same step run eagerly; False if they differ."""
    step = len(labelled)
    if step == 0 or len(kernels_of_replays) % step:
        return False
    for index, kernel in enumerate(kernels_of_replays):
        known = labelled[index % step]
        if kernel.name != known.name:
            return False
        kernel.phase, kernel.operator, kernel.torch_op = (known.phase, known.operator,
                                                          known.torch_op)
    return True


def grouped(found, steps):
    """(phase, operator, torch op, kernel, grid, block, count per step, mean us, us per step)"""
    groups = {}
    for kernel in found:
        key = (kernel.phase, kernel.operator, kernel.torch_op, *kernel.shape)
        groups.setdefault(key, []).append(kernel.length_us)
    return [(*key, f"{len(times) / steps:g}", f"{sum(times) / len(times):.3f}",
             f"{sum(times) / steps:.3f}") for key, times in groups.items()]


def summary(found, steps):
    """Kernels, summed kernel time and time from first start to last end, per step (ms)."""
    count = len(found) // steps
    spans = []
    for index in range(steps):
        part = found[index * count:(index + 1) * count]
        spans.append(max(kernel.start_us + kernel.length_us for kernel in part)
                     - part[0].start_us)
    return {"kernels": count,
            "kernel_sum_ms": sum(kernel.length_us for kernel in found) / steps / 1e3,
            "kernel_span_ms": sorted(spans)[len(spans) // 2] / 1e3}
