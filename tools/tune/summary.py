#!/usr/bin/env python3
"""Sums up a sweep: the engines' default configurations against the best of each shape.

    python3 tools/tune/summary.py data/measurements/h200_fused_moe_again.csv.gz
"""

import csv
import gzip
import math
import sys
from collections import defaultdict

import configs


def read(path):
    """{(layer, tokens, experts): {configuration: us of both passes}}"""
    opener = gzip.open if path.endswith(".gz") else open
    shapes = defaultdict(dict)
    with opener(path, "rt", newline="") as file:
        for row in csv.DictReader(file):
            shape = (row["layer"], int(row["tokens"]), int(row["experts"]))
            values = tuple(int(row[name]) for name in configs.NAMES)
            shapes[shape][values] = float(row["up_us"]) + float(row["down_us"])
    return shapes


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def main():
    shapes = read(sys.argv[1])
    print(f"{len(shapes)} shapes; time of the default over the best, geometric mean and most\n")
    groups = defaultdict(lambda: defaultdict(list))
    for (layer, tokens, experts), times in shapes.items():
        best = min(times.values())
        for name, rule in configs.DEFAULTS.items():
            gain = times[tuple(rule(tokens, experts).values())] / best
            for group in (f"{tokens} tokens", layer, "all"):
                groups[group][name].append(gain)
    print("| shapes | " + " | ".join(f"{name} | most" for name in configs.DEFAULTS) + " |")
    print("| --- |" + " --- |" * 2 * len(configs.DEFAULTS))
    by_size = lambda group: (group == "all", not group.endswith(" tokens"),
                             int(group.split()[0]) if group.endswith(" tokens") else 0)
    for group in sorted(groups, key=by_size):
        cells = [f"{geometric_mean(gains):.3f} | {max(gains):.2f}" for gains in groups[group].values()]
        print(f"| {group} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
