"""Three regimes of one kernel, from CUDA graphs on a card left as it is found.

burst: a few launches after idle time; window: launches that fill 20 ms; steady: seconds of load,
in chunks of 10 ms; duty: busy for a share of every 10 ms.
"""

import math
import statistics
import time
from collections import deque
from dataclasses import dataclass

import torch

from ..layout import Layout
from ..sensors import Sensors
from ..timing import Timer
from .device_clock import CycleClock

IDLE_SECONDS = 0.06
BURST_LAUNCHES = 10
WINDOW_US = 20e3
CHUNK_US = 10e3
GRAPH_US, GRAPH_LAUNCHES = 1500.0, 256  # of one graph, at most
SETTLE_SECONDS = 0.5
HEAD_START = 600_000  # cycles the device spins while the host queues


@dataclass
class Sample:
    mean_us: float
    min_us: float
    launches: int  # in one timed stretch
    cycle_mhz: object = ""  # by the SM's cycle counter
    readings: tuple = ("", "", "", "")  # SM MHz, memory MHz, watts (mean of a second), Celsius
    instant_watts: object = ""
    energy_watts: object = ""
    throttle: object = ""
    busy: float = 1.0


@dataclass
class Load:
    """A captured graph and how long a replay takes."""
    graph: object
    copies: int
    replay_us: float


class Bench:
    def __init__(self):
        self.timer = Timer()
        self.card = Sensors()
        self.cycles = CycleClock()
        self.gap_us = self._replay_gap()

    def load(self, calls, launches=None):
        """A graph of the calls in turn: about 1.5 ms, or the given number of launches."""
        self.timer.warm_up(calls)
        if launches is None:
            each = self._eager_us(calls)
            launches = int(min(GRAPH_LAUNCHES, max(1, GRAPH_US / each)))
            launches = max(launches, len(calls))
        graph = self.timer.capture(calls, Layout(len(calls), launches, False))
        graph.replay()
        torch.cuda.synchronize()
        return Load(graph, launches, self._timed(graph, 1))

    def drop(self, load):
        load.graph.reset()
        if torch.cuda.memory_reserved() > 60e9:
            self.timer._renew_pool()

    def burst(self, load, repeats=5, idle=IDLE_SECONDS):
        """Replays after idle time; the graph should hold about ten launches."""
        times, clocks = [], []
        for _ in range(repeats):
            torch.cuda.synchronize()
            time.sleep(idle)
            times.append((self._timed(load.graph, 1) - self.timer.replay_overhead_us) / load.copies)
            clocks.append(self.cycles.megahertz())
        known = [clock for clock in clocks if clock != ""]
        return Sample(statistics.mean(times), min(times), load.copies,
                      statistics.mean(known) if known else "")

    def window(self, load, repeats=3, idle=IDLE_SECONDS, warm_us=0.0):
        """Stretches of 20 ms, each after idle time or after a warm-up."""
        replays = max(1, math.ceil(WINDOW_US / load.replay_us))
        times, clocks, readings, instant, throttle = [], [], None, "", ""
        for _ in range(repeats):
            torch.cuda.synchronize()
            if idle:
                time.sleep(idle)
            for _ in range(int(warm_us / load.replay_us)):
                load.graph.replay()
            total, readings, instant, throttle = self._watched(load.graph, replays)
            times.append((total / replays - self.gap_us) / load.copies)
            clocks.append(self.cycles.megahertz())
        known = [clock for clock in clocks if clock != ""]
        return Sample(statistics.mean(times), min(times), replays * load.copies,
                      statistics.mean(known) if known else "", readings, instant, "", throttle)

    def steady(self, load, seconds):
        """(sample of the time after the first half second, trace of all chunks)"""
        replays = max(1, round(CHUNK_US / load.replay_us))
        pending, trace, energy, issued = deque(), [], [], 0
        began = time.perf_counter()
        while time.perf_counter() - began < seconds:
            start, end = _event(), _event()
            self.cycles.stamp(issued)
            issued += 1
            start.record()
            for _ in range(replays):
                load.graph.replay()
            end.record()
            pending.append((start, end))
            if len(pending) > 2:
                first = pending.popleft()
                now = time.perf_counter() - began
                energy.append((now, self.card.energy_joules()))
                seen = (*self.card.read(), self.card.instant_watts(), self.card.throttle_reasons())
                first[1].synchronize()
                us = (1e3 * first[0].elapsed_time(first[1]) / replays - self.gap_us) / load.copies
                trace.append((1e3 * now, us, *seen))
        torch.cuda.synchronize()
        clocks = self.cycles.series((index, index + 1) for index in range(len(trace)))
        trace = [(*row, clock) for row, clock in zip(trace, clocks)]
        return _steady_sample(trace, energy, replays * load.copies), trace

    def duty(self, load, share, seconds, period=0.010):
        """Busy for a share of every period; the times are those of the busy stretches."""
        replays = max(1, round(share * period * 1e6 / load.replay_us))
        times, trace, energy = [], [], []
        began = due = time.perf_counter()
        while time.perf_counter() - began < seconds:
            start, end = _event(), _event()
            self.cycles.stamp(2 * len(times))
            start.record()
            for _ in range(replays):
                load.graph.replay()
            end.record()
            self.cycles.stamp(2 * len(times) + 1)
            now = time.perf_counter() - began
            energy.append((now, self.card.energy_joules()))
            seen = (*self.card.read(), self.card.instant_watts(), self.card.throttle_reasons())
            end.synchronize()
            times.append(1e3 * start.elapsed_time(end))
            trace.append((1e3 * now, (times[-1] / replays - self.gap_us) / load.copies, *seen))
            due += period
            time.sleep(max(0.0, due - time.perf_counter()))
        passed = time.perf_counter() - began
        clocks = self.cycles.series((2 * index, 2 * index + 1) for index in range(len(trace)))
        trace = [(*row, clock) for row, clock in zip(trace, clocks)]
        sample = _steady_sample(trace, energy, replays * load.copies)
        sample.busy = sum(times) / 1e6 / passed
        return sample

    def _queued(self, graph, replays):
        """The events around the replays, the host queueing ahead of the device."""
        start, end = _event(), _event()
        torch.cuda._sleep(HEAD_START)
        self.cycles.stamp(0)
        start.record()
        for _ in range(replays):
            graph.replay()
        end.record()
        self.cycles.stamp(1)
        return start, end

    def _timed(self, graph, replays):
        """Microseconds between the events."""
        start, end = self._queued(graph, replays)
        torch.cuda.synchronize()
        return 1e3 * start.elapsed_time(end)

    def _watched(self, graph, replays):
        """The same, and what the card says of itself while it works."""
        start, end = self._queued(graph, replays)
        time.sleep(0.012)
        seen = self.card.read(), self.card.instant_watts(), self.card.throttle_reasons()
        torch.cuda.synchronize()
        return (1e3 * start.elapsed_time(end), *seen)

    def _eager_us(self, calls):
        """A rough time of one call, launches included."""
        start, end = _event(), _event()
        count = min(3, max(1, len(calls)))
        torch.cuda._sleep(HEAD_START)
        start.record()
        for index in range(count):
            calls[index % len(calls)]()
        end.record()
        torch.cuda.synchronize()
        return max(1.0, 1e3 * start.elapsed_time(end) / count)

    def _replay_gap(self):
        """What a replay among others takes beyond its kernels: from graphs of 64 and of 256."""
        tiny = torch.randn(256, device="cuda")
        call = lambda: torch.neg(tiny, out=tiny)
        found = {}
        for copies in (64, 256):
            load = self.load([call], copies)
            found[copies] = min(self._timed(load.graph, 30) / 30 for _ in range(3))
            self.drop(load)
        each = (found[256] - found[64]) / 192
        self.tiny_us = each
        return min(5.0, max(0.0, found[64] - 64 * each))


def _steady_sample(trace, energy, launches):
    late = [row for row in trace if row[0] > 1e3 * SETTLE_SECONDS] or trace[-1:]
    middle = lambda index: _median([row[index] for row in late])
    mean = statistics.mean(row[1] for row in late)
    return Sample(mean, min(row[1] for row in late), launches, middle(8),
                  tuple(middle(index) for index in (2, 3, 4, 5)), middle(6),
                  _energy_watts(energy), late[-1][7])


def _median(values):
    known = [value for value in values if value != ""]
    return statistics.median(known) if known else ""


def _energy_watts(energy):
    """Mean power between the counter's first and last change after the settling time."""
    changes = [later for earlier, later in zip(energy, energy[1:])
               if later[0] > SETTLE_SECONDS and later[1] != earlier[1]]
    if len(changes) < 2 or changes[0][1] == "":
        return ""
    return (changes[-1][1] - changes[0][1]) / (changes[-1][0] - changes[0][0])


def _event():
    return torch.cuda.Event(enable_timing=True)
