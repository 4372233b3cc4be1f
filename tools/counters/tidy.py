#!/usr/bin/env python3
"""Turns Nsight Compute's raw CSV into one tidy row per kernel launch.

    python3 tidy.py h200_counters_raw.csv.gz h200_counters_drive.log.gz h200_counters.csv

The case of a launch is read from its NVTX range. Launches from PyTorch's autograd thread have
no range: they belong to the case the driver reported next in its log.
"""

import csv
import gzip
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import cases  # noqa: E402
import metrics  # noqa: E402

LEADING = ["case", "family", "dtype", "dims", "kernel_source", "kernel_index", "kernel", "grid",
           "block"]
LAUNCH = ["launch__registers_per_thread", "launch__shared_mem_per_block_static",
          "launch__shared_mem_per_block_dynamic", "launch__waves_per_multiprocessor",
          "launch__cluster_dim_x", "launch__cluster_dim_y", "launch__cluster_dim_z",
          "launch__occupancy_limit_registers", "launch__occupancy_limit_shared_mem",
          "launch__occupancy_limit_warps", "launch__occupancy_limit_blocks",
          "launch__occupancy_cluster_gpu_pct"]
RANGE = "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"


def open_text(path):
    return gzip.open(path, "rt", newline="") if path.endswith(".gz") else open(path, newline="")


def read_raw(path):
    """The launches as dictionaries; the row of units after the header is dropped."""
    with open_text(path) as file:
        lines = [line for line in file if not line.startswith("==")]
    return list(csv.DictReader(lines))[1:]


def launches_by_log(path):
    """Case of every launch in the order of the driver's log."""
    order, waiting = [], 0
    with open_text(path) as file:
        for line in file:
            if "==PROF== Profiling" in line:
                waiting += 1
            found = re.search(r"\b(tc\d{3})\b", line)
            if found:
                order += [found.group(1)] * waiting
                waiting = 0
    return order


def number(text):
    text = text.replace(",", "")
    try:
        value = float(text)
    except ValueError:
        return text
    return int(value) if value == int(value) else value


def is_counter(column):
    """A counter that was asked for; the tool adds minima and means of its own."""
    return column in metrics.WANTED or (column.startswith(metrics.TENSOR_OPS)
                                        and column.endswith(".sum"))


def tidy(raw, order):
    known = dict(cases.all_cases())
    counters = [name for name in raw[0] if is_counter(name)]
    launch = [name for name in LAUNCH if name in raw[0]]
    count, rows = {}, []
    for launch_row, by_log in zip(raw, order, strict=True):
        found = re.search(r"\btc\d{3}\b", launch_row[RANGE])
        name = found.group(0) if found else by_log
        assert name == by_log, (name, by_log)
        index = count[name] = count.get(name, -1) + 1
        case = known[name]
        rows.append([name, case.family, case.dtype, case.dims_text, case.kernel_source, index,
                     launch_row["Kernel Name"], _triple(launch_row["Grid Size"]),
                     _triple(launch_row["Block Size"])]
                    + [number(launch_row[column]) for column in launch + counters])
    return LEADING + launch + counters, sorted(rows, key=lambda row: (row[0], row[5]))


def _triple(text):
    return "x".join(re.findall(r"\d+", text))


def main():
    raw_path, log_path, out_path = sys.argv[1:]
    header, rows = tidy(read_raw(raw_path), launches_by_log(log_path))
    with open(out_path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
    print(f"{len(rows)} launches of {len({row[0] for row in rows})} cases, "
          f"{len(header)} columns")


if __name__ == "__main__":
    main()
