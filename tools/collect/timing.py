"""Times a case: several copies of its kernel in one CUDA graph, replayed; or plain launches.

The fixed time of a replay between its two events is measured once and taken off. Under sustained load the
graph is replayed back to back for seconds, and the mean of what follows the settling counts.
"""

import statistics
import time
from collections import deque
from dataclasses import dataclass

import torch

from . import layout as layouts
from .layout import Layout

CASE_SECONDS = 13e-3  # target length of all replays of a case
MIN_REPEATS, MAX_REPEATS = 5, 15
FLUSH_BYTES = 256 << 20
POOL_LIMIT_BYTES = 80e9
SETTLE_SHARE = 0.4  # of a sustained load, before its times count
CHUNK_US = 10e3  # of a sustained load, between two events


@dataclass
class Timing:
    latency_us: float
    spread: float  # interquartile range over the median
    lowest_us: float
    highest_us: float
    layout: Layout
    repeats: int
    runtime: str


class Timer:
    def __init__(self):
        torch.cuda.set_stream(torch.cuda.Stream())  # graphs cannot be captured on the default
        self.flush_buffer = torch.randn(FLUSH_BYTES // 4, device="cuda")
        self.flush_result = torch.empty((), device="cuda")
        self.starts = [_event() for _ in range(MAX_REPEATS)]
        self.ends = [_event() for _ in range(MAX_REPEATS)]
        self.replay_overhead_us = 0.0
        self._renew_pool()
        self.replay_overhead_us = self._calibrate()

    def measure(self, case, calls, while_running=lambda: None):
        layout = layouts.of(case)
        self.warm_up(calls)
        if case.runtime == "eager":
            return self._time(layout, lambda: _launch_all(calls, layout.copies), 0.0,
                              "eager", while_running)
        graph = self.capture(calls, layout)
        try:
            return self._time(layout, graph.replay, self.replay_overhead_us, "graph",
                              while_running)
        finally:
            graph.reset()
            del graph
            if torch.cuda.memory_reserved() > POOL_LIMIT_BYTES:
                self._renew_pool()

    def sustain(self, case, calls, seconds, while_running=lambda: None):
        """Like `measure`, but with replays back to back for so long."""
        layout = layouts.of(case)
        layout = Layout(layout.sets, layout.copies, False)
        self.warm_up(calls)
        graph = self.capture(calls, layout)
        try:
            return self._sustained(layout, graph, seconds, while_running)
        finally:
            graph.reset()

    def _sustained(self, layout, graph, seconds, while_running):
        graph.replay()
        single = self._events(layout, graph.replay, 1)[0]
        replays = max(1, round(CHUNK_US / single))
        queued, samples, began = deque(), [], time.monotonic()
        while (passed := time.monotonic() - began) < seconds:
            start, end = _event(), _event()
            start.record()
            for _ in range(replays):
                graph.replay()
            end.record()
            queued.append((passed, start, end))
            if len(queued) > 2:  # the next ones wait already, so that the device never does
                passed, start, end = queued.popleft()
                end.synchronize()
                if passed > SETTLE_SHARE * seconds:
                    samples.append(1e3 * start.elapsed_time(end) / replays / layout.copies)
        while_running()
        torch.cuda.synchronize()
        quartiles = statistics.quantiles(samples, n=4)
        mean = statistics.mean(samples)
        return Timing(mean, (quartiles[2] - quartiles[0]) / mean, min(samples), max(samples), layout,
                      len(samples), "graph")

    def warm_up(self, calls):
        """Compiles, loads and initialises everything before the clock or a capture starts."""
        for call in calls:
            call()
        calls[0]()
        torch.cuda.synchronize()

    def capture(self, calls, layout):
        """A graph of `copies` launches. The results of the last sets are kept while capturing,
        so that a cold case writes each time to memory that has left the cache."""
        kept = deque(maxlen=len(calls) if len(calls) > 1 else 0)
        graph = torch.cuda.CUDAGraph()
        graph.capture_begin(pool=self.pool, capture_error_mode="thread_local")
        try:
            for index in range(layout.copies):
                kept.append(calls[index % len(calls)]())
        finally:
            graph.capture_end()
        return graph

    def _time(self, layout, run, overhead_us, runtime, while_running):
        head_start = runtime == "graph"
        single = self._events(layout, run, 1, head_start)[0]
        repeats = int(CASE_SECONDS * 1e6 / max(1.0, single))
        repeats = min(MAX_REPEATS, max(MIN_REPEATS, repeats))
        lengths = self._events(layout, run, repeats, head_start, while_running)
        samples = sorted((length - overhead_us) / layout.copies for length in lengths)
        middle = statistics.median(samples)
        quartiles = statistics.quantiles(samples, n=4)
        return Timing(middle, (quartiles[2] - quartiles[0]) / middle, samples[0], samples[-1],
                      layout, repeats, runtime)

    def _events(self, layout, run, repeats, head_start=True, while_running=lambda: None):
        """Microseconds between the events around each run. With a head start the device sleeps
        first, the host queues ahead and no run waits for its launch."""
        if head_start:
            torch.cuda._sleep(600_000)
        for index in range(repeats):
            if layout.flush:
                torch.sum(self.flush_buffer, dim=0, out=self.flush_result)
            self.starts[index].record()
            run()
            self.ends[index].record()
        while_running()
        torch.cuda.synchronize()
        return [1e3 * self.starts[i].elapsed_time(self.ends[i]) for i in range(repeats)]

    def _calibrate(self):
        """Fixed microseconds of a replay: what 0 kernels would take, from 64 and from 256."""
        tiny = torch.randn(256, device="cuda")
        call = lambda: torch.neg(tiny, out=tiny)
        self.warm_up([call])
        lengths = {}
        for copies in (64, 256):
            layout = Layout(1, copies, False)
            graph = self.capture([call], layout)
            self._events(layout, graph.replay, 5)
            lengths[copies] = statistics.median(self._events(layout, graph.replay, MAX_REPEATS))
        per_kernel = (lengths[256] - lengths[64]) / 192
        return min(10.0, max(0.0, lengths[64] - 64 * per_kernel))

    def _renew_pool(self):
        """All graphs share one memory pool, kept alive by a graph of its own; when it has grown
        too large it is dropped and the memory returned."""
        self.keeper = None
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        self.pool = torch.cuda.graph_pool_handle()
        tiny = torch.randn(256, device="cuda")
        self.keeper = self.capture([lambda: tiny + 1], Layout(1, 1, False))


def _event():
    return torch.cuda.Event(enable_timing=True)


def _launch_all(calls, copies):
    kept = deque(maxlen=len(calls) if len(calls) > 1 else 0)
    for index in range(copies):
        kept.append(calls[index % len(calls)]())
