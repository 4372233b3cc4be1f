#!/usr/bin/env python3
"""Lists the kernels each planned case launches: name, grid, block, registers, shared memory.

    python3 tools/collect/names.py --out h200_kernels.csv --budget-seconds 60

The library's choice (tile shape, split of k, persistent grid) is what an analytic forecast has
to guess; timings alone do not show it. Runs every case once under PyTorch's profiler; a spin
kernel between two cases marks where one ends.
"""

import argparse
import csv
import gc
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from collect import plan  # noqa: E402

BATCH = 200
MARKER = "spin_kernel"
COLUMNS = ["kernel_source", "family", "dtype", "dims", "kernel_index", "kernel", "grid", "block",
           "registers", "shared_bytes", "single_run_us"]
SKIPPED = {"optimizer"}  # hundreds of launches that follow from the parameter count


def cases_once(seeds):
    """Every planned shape once, whatever its warmth and runtime."""
    found = {}
    for seed in seeds:
        for case in plan.build(seed=seed):
            if case.family not in SKIPPED:
                found.setdefault(case.key[:4], case)
    return list(found.values())


def split_by_marker(events):
    """Kernel events in order of time, cut at the markers: one list per case."""
    groups = [[]]
    for event in sorted(events, key=lambda event: event["ts"]):
        if MARKER in event["name"]:
            groups.append([])
        else:
            groups[-1].append(event)
    return groups[:-1]


def device_events(path):
    with open(path) as file:
        events = json.load(file)["traceEvents"]
    kinds = ("kernel", "gpu_memcpy", "gpu_memset")
    return [event for event in events if event.get("cat") in kinds and "ts" in event]


def row_of(case, index, event):
    details = event.get("args", {})
    return [*case.key[:4], index, event["name"], _triple(details.get("grid")),
            _triple(details.get("block")), details.get("registers per thread", ""),
            details.get("shared memory", ""), event.get("dur", "")]


def _triple(values):
    return "x".join(str(value) for value in values) if values else ""


class Lister:
    def __init__(self):
        import torch
        from collect import data, work
        self.torch, self.work, self.data = torch, work, data.Data()
        self.trace = f"/tmp/names_{os.getpid()}.json"

    def rows(self, cases):
        """Rows of the kernels of a batch of cases."""
        from torch.profiler import ProfilerActivity, profile
        with profile(activities=[ProfilerActivity.CUDA]) as profiler:
            launched = [case for case in cases if self.launch(case)]
            self.torch.cuda.synchronize()
        profiler.export_chrome_trace(self.trace)
        calls = split_by_marker(device_events(self.trace))[1::2]
        if len(calls) != len(launched):
            print(f"{len(calls)} groups of kernels for {len(launched)} cases: batch dropped")
            return []
        return [row_of(case, index, event) for case, events in zip(launched, calls)
                for index, event in enumerate(events)]

    def launch(self, case):
        """Prepares the case, then runs it between two markers; False when it cannot be built."""
        self.data.reset()
        try:
            call = self.work.build(case, self.data)
        except Exception as error:
            print("FAILED", *case.key, str(error)[:100])
            return False
        self.torch.cuda._sleep(10)
        try:
            call()
        except Exception as error:
            print("FAILED", *case.key, str(error)[:100])
        self.torch.cuda._sleep(10)
        return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", default="h200_kernels.csv")
    parser.add_argument("--budget-seconds", type=float, default=60)
    parser.add_argument("--seeds", default=str(plan.SEED), help="comma-separated")
    options = parser.parse_args()
    began = time.monotonic()
    cases = cases_once([int(seed) for seed in options.seeds.split(",")])
    lister = Lister()
    with open(options.out, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for start in range(0, len(cases), BATCH):
            if time.monotonic() - began > options.budget_seconds:
                print("time is up")
                break
            writer.writerows(lister.rows(cases[start:start + BATCH]))
            file.flush()
            gc.collect()
            print(f"{start + BATCH}/{len(cases)} in {time.monotonic() - began:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
