#!/usr/bin/env python3
"""Joins two runs of sweep.py: a lone slow launch gives way to a full measurement of the other run.

    python3 tools/tune/tidy.py fused_moe.csv first_run.csv -o h200_fused_moe.csv.gz

A configuration that looked hopeless was timed by one launch, and some of these launches met a
hiccup of the host. Where the other run timed the same configuration in full and faster, its time
is taken. Nothing else is changed.
"""

import argparse
import csv
import gzip

KEYS = 12  # columns of shape and configuration


def read(path):
    with open(path, newline="") as file:
        rows = list(csv.reader(file))
    return rows[0], rows[1:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table")
    parser.add_argument("other")
    parser.add_argument("-o", "--out", required=True)
    options = parser.parse_args()
    columns, rows = read(options.table)
    other = {tuple(row[:KEYS]): row for row in read(options.other)[1]}
    taken = 0
    for row in rows:
        twin = other.get(tuple(row[:KEYS]))
        for which in ("up", "down"):
            us, samples = columns.index(f"{which}_us"), columns.index(f"{which}_samples")
            if twin and row[samples] == "1" and twin[samples] != "1" and float(twin[us]) < float(row[us]):
                row[us], row[samples] = twin[us], twin[samples]
                taken += 1
    with gzip.GzipFile(options.out, "wb", mtime=0) as file:
        file.write("".join(",".join(row) + "\n" for row in [columns, *rows]).encode())
    print(f"{len(rows)} rows, {taken} times from {options.other}")


if __name__ == "__main__":
    main()
