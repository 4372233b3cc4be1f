"""How configurations are timed: graphs of several launches, alone or in turns."""

import statistics
import time

import torch

from collect.layout import Layout
from collect.sensors import SM_CLOCK, Sensors
from collect.timing import Timer

GRAPH_US = 300  # target length of a graph
HOPELESS = 2.0  # times the best so far
REPLAYS = 3
ROUNDS = 5


class Clock:
    """The SM clock, asked for at most every 10 ms."""

    def __init__(self):
        self.sensors, self.last, self.mhz = Sensors(), 0.0, 0

    def read(self):
        if time.monotonic() - self.last > 0.01:
            self.mhz = self.sensors._clock(SM_CLOCK) or 0
            self.last = time.monotonic()
        return self.mhz


class Bench:
    def __init__(self):
        self.timer, self.clock = Timer(), Clock()

    def _lengths(self, run, times, head_start_cycles):
        """us between events around each run; the device sleeps first, so that no run waits for
        the host."""
        torch.cuda._sleep(head_start_cycles)
        for index in range(times):
            self.timer.starts[index].record()
            run()
            self.timer.ends[index].record()
        torch.cuda.synchronize()
        return [1e3 * self.timer.starts[i].elapsed_time(self.timer.ends[i]) for i in range(times)]

    def once(self, calls):
        return self._lengths(calls[0], 1, 300_000)[0]

    def warm_up(self, calls, seconds=0.05):
        """Clocks up, weights touched: the first configuration must not pay for it."""
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            for call in calls:
                call()
            torch.cuda.synchronize()

    def graph(self, calls, guess_us):
        rounds = max(1, round(GRAPH_US / max(1.0, guess_us) / len(calls)))
        layout = Layout(len(calls), len(calls) * min(rounds, 16), False)
        return self.timer.capture(calls, layout), layout

    def replay(self, graph, layout, times):
        overhead = self.timer.replay_overhead_us
        return [(length - overhead) / layout.copies
                for length in self._lengths(graph.replay, times, 80_000)]

    def measure(self, calls, best_us):
        """(us, samples): a single launch where that is hopeless already. It shows some us more than its share of
        a graph."""
        first = self.once(calls)
        if first > HOPELESS * best_us + 10:  # seen twice, or the host had a hiccup
            first = min(first, self.once(calls))
        if first > HOPELESS * best_us + 10:
            return first, 1
        graph, layout = self.graph(calls, first)
        samples = self.replay(graph, layout, REPLAYS)
        graph.reset()
        return statistics.median(samples), len(samples)

    def in_turns(self, calls_of, guesses_us):
        """(us, spread, MHz) of each list of calls, one replay of each per round: under a load
        that meets the power limit all run at the clock their mixture allows."""
        graphs = [self.graph(calls, guess) for calls, guess in zip(calls_of, guesses_us, strict=True)]
        samples, mhz = [[] for _ in graphs], [[] for _ in graphs]
        for _ in range(ROUNDS):
            for index, (graph, layout) in enumerate(graphs):
                samples[index] += self.replay(graph, layout, 1)
                mhz[index].append(self.clock.read())
        for graph, _ in graphs:
            graph.reset()
        return [(statistics.median(found), (max(found) - min(found)) / statistics.median(found),
                 round(statistics.mean(clocks))) for found, clocks in zip(samples, mhz, strict=True)]
