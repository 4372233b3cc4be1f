#!/usr/bin/env python3
"""Joins the result folders of measure.py into the files of data/measurements.

    python3 tools/collect/programs/tidy.py RESULTS... --out data/measurements --prefix h200_programs
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import os
import sys
import zipfile
from typing import Iterator

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")

from collect.programs import profiled  # noqa: E402

HOST_SHARE = 0.9  # the host sets the pace if issuing takes so much of a step, and the kernels less than that


def host_bound(row: dict[str, str]) -> str:
    latency, issue, kernels = (float(row[name]) for name in ("latency_ms", "issue_ms", "kernel_sum_ms"))
    return "yes" if issue >= HOST_SHARE * latency and kernels < HOST_SHARE * latency else "no"


def _open(folder: str, name: str) -> io.TextIOBase:
    plain = os.path.join(folder, name)
    return open(plain, newline="") if os.path.exists(plain) else gzip.open(plain + ".gz", "rt", newline="")  # type: ignore


def rows(folders: list[str], name: str) -> Iterator[dict[str, str]]:
    for folder in folders:
        with _open(folder, name) as file:
            yield from csv.DictReader(file)


def keep_traces(pack: str, folder: str) -> None:
    with zipfile.ZipFile(pack) as file:
        for name in file.namelist():
            trace = json.loads(gzip.decompress(file.read(name)))
            profiled.number(trace)
            text = json.dumps(trace, separators=(",", ":")).encode()
            with open(os.path.join(folder, name), "wb") as out:
                out.write(gzip.compress(text, 9, mtime=0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--out", required=True)
    parser.add_argument("--prefix", required=True)
    parser.add_argument("--half", default="", help="programs of this half alone")
    args = parser.parse_args()
    programs = [row for row in rows(args.folders, "programs.csv") if args.half in ("", row["half"])]
    columns = [*programs[0]]
    columns.insert(columns.index("kernel_sum_ms") + 1, "host_bound")
    with open(os.path.join(args.out, args.prefix + ".csv"), "w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows({**row, "host_bound": host_bound(row)} for row in programs)
    known = {row["program"] for row in programs}
    kernels = [row for row in rows(args.folders, "kernels.csv") if row["program"] in known]
    text = io.StringIO()
    writer = csv.DictWriter(text, [*kernels[0]], lineterminator="\n")
    writer.writeheader()
    writer.writerows(kernels)
    with open(os.path.join(args.out, args.prefix + "_kernels.csv.gz"), "wb") as raw:
        raw.write(gzip.compress(text.getvalue().encode(), 9, mtime=0))
    traces = os.path.join(args.out, "traces", args.prefix)
    for folder in args.folders:
        path = os.path.join(folder, "traces.zip")
        if os.path.exists(path):
            os.makedirs(traces, exist_ok=True)
            keep_traces(path, traces)
    print(len(programs), "programs,", len(kernels), "kernels")


if __name__ == "__main__":
    main()
