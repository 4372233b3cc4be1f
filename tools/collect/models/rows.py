"""The result files of the models: rows are appended as they are measured."""

import csv
import os
import statistics

from ..store import SOURCE, read_rows
from .plan import CASE_COLUMNS

COLUMNS = ["gpu", "source", *CASE_COLUMNS, "metric", "value", "p10", "p90", "repeats", "card",
           "notes"]
PROTOCOL_COLUMNS = [*CASE_COLUMNS, "metric", "sm_mhz_lowest", "sm_mhz", "mem_mhz", "watts",
                    "watts_highest", "celsius", "card", "software", "samples"]
KERNEL_COLUMNS = ["gpu", "source", *CASE_COLUMNS, "phase", "operator", "torch_op", "kernel",
                  "grid", "block", "count", "mean_us", "total_us"]
BASE = "h200_models"


class Rows:
    def __init__(self, folder, gpu, card, software, skip=()):
        os.makedirs(folder, exist_ok=True)
        self.gpu, self.card, self.software = gpu, card, software
        path = lambda end: os.path.join(folder, f"{BASE}{end}.csv")
        self.done = set()
        for known in [*skip, path(""), path("_kernels")]:
            if os.path.exists(known):
                self.done |= _finished(known)
        self.rows = _append(path(""), COLUMNS)
        self.protocol = _append(path("_protocol"), PROTOCOL_COLUMNS)
        self.kernels = _append(path("_kernels"), KERNEL_COLUMNS)
        self.failures = os.path.join(folder, f"{BASE}_failed.txt")

    def samples(self, case, metric, values, readings=(), notes=""):
        """A row from several samples: median, tenth and ninetieth percentile."""
        tenths = statistics.quantiles(values, n=10, method="inclusive")
        self._row(case, metric, statistics.median(values), tenths[0], tenths[-1], len(values),
                  notes)
        _write(self.protocol, [*case.key, metric, *_clocks(readings), self.card, self.software,
                               " ".join(f"{value:.5g}" for value in values)])

    def value(self, case, metric, value, notes=""):
        self._row(case, metric, value, "", "", 1, notes)

    def kernel_list(self, case, groups):
        for group in groups:
            _write(self.kernels, [self.gpu, SOURCE, *case.key, *group])

    def failed(self, case, stage, reason):
        with open(self.failures, "a") as file:
            file.write("\t".join([stage, *case.key, " ".join(reason.split())[:1500]]) + "\n")

    def _row(self, case, metric, value, low, high, repeats, notes):
        text = lambda number: f"{number:.6g}" if isinstance(number, float) else str(number)
        _write(self.rows, [self.gpu, SOURCE, *case.key, metric, text(value), text(low), text(high),
                           repeats, self.card, notes])


def _clocks(readings):
    """Lowest and median SM clock, memory clock, median and highest power, temperature."""
    known = [reading for reading in readings if "" not in reading]
    if not known:
        return [""] * 6
    column = lambda index: [reading[index] for reading in known]
    middle = lambda index: statistics.median(column(index))
    return [min(column(0)), middle(0), middle(1), middle(2), max(column(2)), max(column(3))]


def _finished(path):
    """(case key, pass) of the cases a file holds."""
    passes = {"latency_ms": "time", "burst_ms": "burst", None: "profile"}
    return {(tuple(row[name] for name in CASE_COLUMNS), passes[row.get("metric")])
            for row in read_rows(path) if row.get("metric") in passes}


def _append(path, columns):
    fresh = not os.path.exists(path) or os.path.getsize(path) == 0
    file = open(path, "a", newline="")
    if fresh:
        _write(file, columns)
    return file


def _write(file, values):
    csv.writer(file, lineterminator="\n").writerow(values)
    file.flush()
