"""Which kernels calls launch, and their times by the profiler: one list per call."""

import os

from ..names import device_events, split_by_marker

BATCH = 60


def launched(calls, repeats=1):
    """For each call the (name, grid, block, us) of its kernels; the last of the repeats counts."""
    import torch
    from torch.profiler import ProfilerActivity, profile
    path = f"/tmp/windows_{os.getpid()}.json"
    for call in calls:
        call()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        for call in calls:
            for _ in range(repeats):
                torch.cuda._sleep(10)
                call()
        torch.cuda._sleep(10)
        torch.cuda.synchronize()
    profiler.export_chrome_trace(path)
    groups = split_by_marker(device_events(path))[1:]
    os.remove(path)
    groups = groups[:len(calls) * repeats]
    if len(groups) != len(calls) * repeats:
        raise RuntimeError(f"{len(groups)} groups of kernels for {len(calls)} calls")
    return [[_kernel(event) for event in groups[(index + 1) * repeats - 1]]
            for index in range(len(calls))]


def _kernel(event):
    details = event.get("args", {})
    triple = lambda values: "x".join(str(value) for value in values) if values else ""
    return (event["name"], triple(details.get("grid")), triple(details.get("block")),
            event.get("dur", 0.0))


def brief(name, limit=160):
    """A kernel's name without return type and with less of its templates."""
    for noise in ("void ", "at::native::", "(anonymous namespace)::", "cutlass::",
                  "at_cuda_detail::", "pytorch_flash::", "std::"):
        name = name.replace(noise, "")
    return name[:limit]
