#!/usr/bin/env python3
"""The package's speed: batches, a predictor's steps, and ten million kernels through dask workers that die.

  PYTHONPATH=python bench/package.py [--rows 10000000]
"""
import argparse
import os
import resource
import signal
import subprocess
import time
from pathlib import Path

import numpy
import tilecast

ROOT = Path(__file__).resolve().parent.parent


def columns(rows):
    step = numpy.arange(rows)
    return dict(m=1 + step * 37 % 8192, n=512 + step * 64 % 16384, k=512 + step * 192 % 12288)


def best_of(times, call):
    least = float("inf")
    for _ in range(times):
        begin = time.perf_counter()
        call()
        least = min(least, time.perf_counter() - begin)
    return least


def batches():
    """Beside examples/batch.cpp, which runs the same rows in C++ on one core."""
    rows = 1_000_000
    given = columns(rows)
    for threads in (1, 0):
        took = best_of(3, lambda: tilecast.batch("gemm", gpu="H100-SXM", threads=threads, **given))
        print(f"batch, {threads or 'all'} threads: {rows / took / 1e3:.0f} thousand a second")
    program = ROOT / "build" / "release" / "consumer" / "build" / "batch"
    if program.exists():
        print("in C++, one thread:", subprocess.run([program], capture_output=True, text=True).stdout.strip())


def steps():
    predictor = tilecast.StepPredictor("Llama-3.1-8B", gpu="H100-SXM", engine="vllm")
    draw = numpy.random.default_rng(7)
    begin = draw.integers(200, 2000, 256)
    walk = [begin + i for i in range(512)]
    for given in ("array", "list"):
        asked = walk if given == "array" else [list(map(int, one)) for one in walk]
        took = best_of(5, lambda: [predictor.step_time(decode=one) for one in asked]) / len(walk)
        mixed = best_of(5, lambda: [predictor.step_time([(512, 0), (512, 1024)], one) for one in asked]) / len(walk)
        print(f"a step of 256 answers ({given}): {1e6 * took:.1f} us; with two prompts {1e6 * mixed:.1f} us")


def sweep(rows, workers):
    import distributed

    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")])
    grid = {"gpu": ["H100-SXM", "B200"], "m": range(1, rows // 8 + 1), "n": [1024, 2048, 4096, 8192]}
    with distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster:
        with distributed.Client(cluster) as client:
            victims = list(client.run(os.getpid).values())

            def kill(done, of):
                if done == of // 2 and victims:
                    os.kill(victims.pop(), signal.SIGKILL)

            begin = time.perf_counter()
            found = tilecast.sweep({"question": "kernel", "family": "gemm", "k": 4096}, grid, client.get_executor(), progress=kill)
            took = time.perf_counter() - begin
            memory = max(client.run(lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss).values()) / 1024
    print(f"{len(found)} kernels over {workers} dask workers, one killed: {took:.0f} s, {len(found) / took / 1e3:.0f} thousand a second; "
          f"a worker held {memory:.0f} MiB at most, this process {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    batches()
    steps()
    sweep(options.rows, options.workers)
