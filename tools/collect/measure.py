#!/usr/bin/env python3
"""Measures the plan on the GPU of this machine and appends to a CSV.

    python3 tools/collect/measure.py --out sweep.csv --budget-seconds 580
    python3 tools/collect/measure.py --quick --out quick.csv     # a minute, for `tilecast calibrate`
    python3 tools/collect/measure.py --list --families gemm,rope

Bursts come first: milliseconds of a kernel, with a pause after one that met the power limit. Then a few kernels of
every kind run back to back for two seconds each (`run` = sustained); their time is kept free.

Interrupted or out of time, it is started again with the same --out and goes on where it
stopped. Exit status: 0 when the plan is done or the time is up, 3 when the GPU context broke
(start it again; the case that broke it is noted and skipped).
"""

import argparse
import gc
import os
import sys
import time
from collections import Counter

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from collect import plan, plan_sustained, table_form  # noqa: E402

BROKEN_CONTEXT = ("illegal memory access", "unspecified launch failure", "misaligned address",
                  "illegal instruction", "device-side assert")
PROGRESS_SECONDS = 10
NEAR_HIGHEST, PAUSE_SECONDS = 0.97, 0.08  # of the highest clock; after a case that ran below it


def main():
    options = parse_options()
    if options.smoke:
        cases = plan.smoke()
    elif options.quick:
        cases = plan.quick(options.families, options.seed or plan.QUICK_SEED)
    else:
        cases = plan.build(options.families, options.seed or plan.SEED)
    cases += sustained_cases(options)
    if options.list:
        return list_cases(cases)
    status = Sweep(options).run(cases)
    if options.quick and status == 0:
        table = options.out.replace(".csv", "_table.csv.gz")
        print(table_form.convert(options.out, table, options.out.replace(".csv", "_rest.csv.gz")))
        print(f"now: tilecast calibrate --gpu {options.gpu} --data {table} -o my-gpu.json")
    return status


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", default="h200_sweep.csv", help="CSV to append to")
    parser.add_argument("--families", type=lambda text: set(text.split(",")))
    parser.add_argument("--budget-seconds", type=float, help="default 600; 60 with --quick")
    parser.add_argument("--seed", type=int, help="of the random shapes")
    parser.add_argument("--gpu", default="H200-SXM", help="the card's name, as `tilecast gpus` has it")
    parser.add_argument("--quick", action="store_true",
                        help="a minute over every kind, then a table for `tilecast calibrate`")
    parser.add_argument("--list", action="store_true", help="print the plan and stop")
    parser.add_argument("--smoke", action="store_true", help="two cases of every kind")
    options = parser.parse_args()
    options.budget_seconds = options.budget_seconds or (60 if options.quick else 600)
    return options


def sustained_cases(options):
    cases = plan_sustained.quick() if options.quick or options.smoke else list(plan_sustained.plan())
    return [case for case in cases if not options.families or case.family in options.families]


def list_cases(cases):
    for case in cases:
        print(*case.key, sep="\t")
    for family, count in sorted(Counter(case.family for case in cases).items()):
        print(f"{family:20s} {count}", file=sys.stderr)
    print(f"{'all':20s} {len(cases)}", file=sys.stderr)
    return 0


class Sweep:
    """One run over the plan; everything that needs the GPU is imported here."""

    def __init__(self, options):
        import torch
        from collect import data, layout, sensors, store, timing, work
        self.torch, self.work = torch, work
        self.began, self.budget = time.monotonic(), options.budget_seconds
        self.store = store.Store(options.out, torch.__version__, options.gpu)
        self.sensors = sensors.Sensors()
        self.layout, self.data = layout, data.Data()
        self.timer = timing.Timer()
        self.failures, self.highest_mhz = 0, 0
        self.load_seconds = plan_sustained.SMOKE_SECONDS if options.smoke else (
            plan_sustained.QUICK_SECONDS if options.quick else plan_sustained.SECONDS)
        print(f"torch {torch.__version__}; {sensors.describe()}; cuBLAS/CUDA {torch.version.cuda}")
        print(f"replay overhead {self.timer.replay_overhead_us:.2f} us is taken off; "
              f"start took {self.elapsed():.1f} s", flush=True)
        gc.collect()
        gc.freeze()
        gc.disable()

    def elapsed(self):
        return time.monotonic() - self.began

    def run(self, cases):
        left = [case for case in cases if case.key not in self.store.done]
        print(f"{len(cases)} cases, {len(cases) - len(left)} finished before", flush=True)
        kept_free = sum(1.1 * self.load_seconds for case in left if case.run == "sustained")
        shown, skipped = 0.0, 0
        for index, case in enumerate(left):
            steady = case.run == "sustained"
            if self.elapsed() > self.budget - (1.1 * self.load_seconds if steady else min(kept_free, 0.6 * self.budget)):
                skipped += 1
                continue
            if self.elapsed() - shown > PROGRESS_SECONDS:
                shown = self.elapsed()
                self.show_progress(index, len(left))
            if not self.try_case(case):
                return 3
            if case.family == "optimizer" or index % 40 == 0:
                gc.collect()  # automatic collection is off: it would disturb the timing
        if skipped:
            print(f"time is up: {len(left) - skipped} of {len(left)} done in {self.elapsed():.0f} s, "
                  f"{self.failures} failures")
            return 0
        print(f"plan done in {self.elapsed():.0f} s, {self.failures} failures")
        return 0

    def show_progress(self, done, total):
        needed = (total - done) * self.elapsed() / max(1, done)
        print(f"{done}/{total} in {self.elapsed():.0f} s, {needed:.0f} s for the rest, "
              f"{self.budget - self.elapsed():.0f} s left, {self.failures} failures", flush=True)

    def try_case(self, case):
        """Measures one case; False when the GPU can no longer be used."""
        try:
            self.measure(case)
        except Exception as error:  # a failed case must not end the sweep
            self.failures += 1
            text = f"{type(error).__name__}: {error}"
            self.store.add_failure(case, text)
            print("FAILED", *case.key, text.split("\n")[0][:200], flush=True)
            if any(sign in text for sign in BROKEN_CONTEXT):
                return False
            self.clean_up()
        return True

    def measure(self, case):
        began = time.monotonic()
        self.data.reset()
        sets = self.layout.of(case).sets
        calls = [self.work.build(case, self.data) for _ in range(sets)]
        clocks = []
        look = lambda: clocks.append(self.sensors.read())
        if case.run == "sustained":
            timing = self.timer.sustain(case, calls, self.load_seconds, look)
        else:
            timing = self.timer.measure(case, calls, look)
        self.store.add(case, timing, clocks[-1], 1e3 * (time.monotonic() - began))
        if case.run == "burst":
            self.cool_down(clocks[-1][0])

    def cool_down(self, mhz):
        """A pause after a case that met the power limit, so that the next one is a burst again."""
        self.highest_mhz = max(self.highest_mhz, mhz or 0)
        if mhz and mhz < NEAR_HIGHEST * self.highest_mhz:
            time.sleep(PAUSE_SECONDS)

    def clean_up(self):
        gc.collect()
        self.torch.cuda.synchronize()
        self.torch.cuda.empty_cache()


if __name__ == "__main__":
    sys.exit(main())
