"""The result files: rows are appended as they are measured, finished cases are skipped."""

import csv
import gzip
import os

SOURCE, ENGINE = "tilecast-h200-2026-11", "pytorch"
COLUMNS = ["gpu", "source", "engine", "engine_version", "kernel_source", "family", "dtype",
           "dims", "runtime", "warmth", "run", "latency_us", "spread"]
PROTOCOL_COLUMNS = ["kernel_source", "family", "dtype", "dims", "runtime", "warmth", "run", "sets",
                    "copies", "flush", "repeats", "lowest_us", "highest_us", "sm_mhz", "mem_mhz",
                    "watts", "celsius", "wall_ms"]


def read_rows(path):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", newline="") as file:
        return list(csv.DictReader(file))


class Store:
    def __init__(self, path, engine_version, gpu):
        self.gpu = gpu
        self.engine_version = engine_version
        self.failed_path = path + ".failed"
        self.done = _finished(path) | _failed(self.failed_path)
        self.rows = _open_append(path, COLUMNS)
        self.protocol = _open_append(path.replace(".csv", "_protocol.csv"), PROTOCOL_COLUMNS)

    def add(self, case, timing, clocks, wall_ms):
        case = case.with_runtime(timing.runtime)
        self._write(self.rows, [self.gpu, SOURCE, ENGINE, self.engine_version, *case.key,
                                f"{timing.latency_us:.4f}", f"{timing.spread:.4f}"])
        layout = timing.layout
        self._write(self.protocol, [*case.key, layout.sets, layout.copies, int(layout.flush),
                                    timing.repeats, f"{timing.lowest_us:.4f}",
                                    f"{timing.highest_us:.4f}", *clocks, f"{wall_ms:.1f}"])

    def add_failure(self, case, reason):
        with open(self.failed_path, "a") as file:
            file.write("\t".join([*case.key, " ".join(reason.split())[:300]]) + "\n")

    @staticmethod
    def _write(file, values):
        csv.writer(file, lineterminator="\n").writerow(values)
        file.flush()


def _open_append(path, columns):
    fresh = not os.path.exists(path) or os.path.getsize(path) == 0
    file = open(path, "a", newline="")
    if fresh:
        csv.writer(file, lineterminator="\n").writerow(columns)
    return file


def _finished(path):
    if not os.path.exists(path):
        return set()
    names = ["kernel_source", "family", "dtype", "dims", "runtime", "warmth", "run"]
    return {tuple(row[name] for name in names) for row in read_rows(path)}


def _failed(path):
    if not os.path.exists(path):
        return set()
    with open(path) as file:
        return {tuple(line.split("\t")[:7]) for line in file}
