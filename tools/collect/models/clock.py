"""Times a step: graph replays, plain launches and the host's share, with the card's clocks."""

import gc
import time

import torch

WARM_SECONDS = 0.25  # load before the first sample, so that clocks have risen
AIM_SECONDS = 0.6
MIN_REPEATS, MAX_REPEATS = 11, 31
POLL_SECONDS = 0.01
BURSTS, PAUSE_SECONDS = 6, 0.25


def capture(run):
    """A CUDA graph of the step, after it has run twice."""
    for _ in range(2):
        run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        graph.result = run()
    torch.cuda.synchronize()
    return graph


def warm_up(run):
    """Seconds per step, after enough of them."""
    run()
    torch.cuda.synchronize()
    count, began = 0, time.perf_counter()
    while count < 2 or time.perf_counter() - began < WARM_SECONDS:
        run()
        torch.cuda.synchronize()
        count += 1
    return (time.perf_counter() - began) / count


def repeats_for(seconds):
    return min(MAX_REPEATS, max(MIN_REPEATS, int(AIM_SECONDS / seconds)))


def back_to_back(run, repeats, sensors, head_start):
    """Milliseconds between events around each of several steps queued one after the other, and
    what the sensors said. With a head start the device sleeps while the host queues ahead."""
    marks = [(event(), event()) for _ in range(repeats)]
    gc.collect()
    gc.disable()
    try:
        if head_start:
            torch.cuda._sleep(4_000_000)
        for start, end in marks:
            start.record()
            run()
            end.record()
        readings = watch(marks[-1][1], sensors)
    finally:
        gc.enable()
    torch.cuda.synchronize()
    return [start.elapsed_time(end) for start, end in marks], readings


def after_pauses(run, sensors):
    """Milliseconds of steps run in pairs after pauses, in which the card cools below its power
    limit: what a kernel sweep of short bursts sees."""
    marks, readings = [], []
    for _ in range(BURSTS):
        time.sleep(PAUSE_SECONDS)
        torch.cuda._sleep(4_000_000)
        for _ in range(2):
            marks.append((event(), event()))
            marks[-1][0].record()
            run()
            marks[-1][1].record()
        readings += watch(marks[-1][1], sensors)
    torch.cuda.synchronize()
    return [start.elapsed_time(end) for start, end in marks], readings


def host_times(run, repeats):
    """Milliseconds the host takes to issue a step to an idle device, and until it has ended."""
    issue, whole = [], []
    gc.collect()
    gc.disable()
    try:
        for _ in range(repeats):
            torch.cuda.synchronize()
            began = time.perf_counter()
            run()
            issued = time.perf_counter()
            torch.cuda.synchronize()
            issue.append(1e3 * (issued - began))
            whole.append(1e3 * (time.perf_counter() - began))
    finally:
        gc.enable()
    return issue, whole


def watch(last, sensors):
    """Sensor readings until the event has passed; at least one."""
    readings = [sensors.read()]
    while not last.query():
        time.sleep(POLL_SECONDS)
        readings.append(sensors.read())
    return readings


def event():
    return torch.cuda.Event(enable_timing=True)
