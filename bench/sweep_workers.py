#!/usr/bin/env python3
"""Ten million kernels through dask's workers, one of which is killed on the way: time, memory, and whether the answer is the same.

    PYTHONPATH=python python3 bench/sweep_workers.py                  # Debian's python3-distributed, or pip's distributed
    PYTHONPATH=python python3 bench/sweep_workers.py --kernels 1000000 --workers 2

Prints one line of JSON. Peaks are of resident memory: of this process, which holds the answer, and of the largest worker. The answer is
compared with that of the batch interface in this process, on a sample of chunks.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))
os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")])

ROWS, COLUMNS = 1000, 40  # of m and n; k has as many as are asked for


def resident(pid: int) -> int:
    """Bytes; 0 of a process that is gone."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


class Watch:
    """Peaks of memory, looked at ten times a second."""

    def __init__(self, client: Any) -> None:
        self.client, self.own, self.worker, self.over = client, 0, 0, threading.Event()
        self.pids = set(client.run(os.getpid).values())
        self.thread = threading.Thread(target=self._look, daemon=True)
        self.thread.start()

    def _look(self) -> None:
        while not self.over.wait(0.1):
            self.own = max(self.own, resident(os.getpid()))
            self.worker = max([self.worker, *(resident(pid) for pid in self.pids)])

    def again(self) -> None:
        """Looks for workers that took the place of others."""
        self.pids |= set(self.client.run(os.getpid).values())

    def stop(self) -> None:
        self.over.set()
        self.thread.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", type=int, default=10_000_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--gpu", default="H100-SXM")
    args = parser.parse_args()
    import distributed
    import numpy

    import tilecast
    depth = max(1, args.kernels // (ROWS * COLUMNS))
    grid = {"m": range(1, ROWS + 1), "n": range(128, 128 * COLUMNS + 1, 128), "k": range(64, 64 * depth + 1, 64)}
    query = {"question": "kernel", "family": "gemm", "gpu": args.gpu}
    killed: list[int] = []
    with tempfile.TemporaryDirectory() as folder, \
            distributed.LocalCluster(n_workers=args.workers, threads_per_worker=1, processes=True, dashboard_address=None,
                                     silence_logs=50) as cluster, distributed.Client(cluster) as client:
        watch = Watch(client)
        before = resident(os.getpid())

        def progress(done: int, of: int) -> None:
            if done == of // 2 and not killed:
                killed.append(next(iter(watch.pids)))
                os.kill(killed[0], signal.SIGKILL)
            elif killed and done == of // 2 + max(1, of // 10):
                watch.again()

        began = time.perf_counter()
        found = tilecast.sweep(query, grid, client.get_executor(), file=Path(folder) / "sweep.jsonl", in_flight=4 * args.workers,
                               progress=progress)
        seconds = time.perf_counter() - began
        written = (Path(folder) / "sweep.jsonl").stat().st_size
        watch.stop()
    times = found["latency_us"]
    k = numpy.arange(64, 64 * depth + 1, 64)
    same = all(numpy.array_equal(times[m, n], 1e6 * tilecast.batch("gemm", m=m + 1, n=128 * (n + 1), k=k, gpu=args.gpu))
               for m in range(0, ROWS, 97) for n in (0, COLUMNS // 2, COLUMNS - 1))
    print(json.dumps({"kernels": len(found), "seconds": round(seconds, 1), "kernels_per_second": round(len(found) / seconds),
                      "workers": args.workers, "killed": len(killed), "errors": len(found.errors), "same": bool(same),
                      "answer_bytes": int(times.nbytes), "file_bytes": written, "client_before_bytes": before,
                      "client_peak_bytes": watch.own, "worker_peak_bytes": watch.worker}))
    if not same or found.errors or not killed:
        sys.exit(1)


if __name__ == "__main__":
    main()
