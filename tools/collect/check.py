#!/usr/bin/env python3
"""Compares measured rows with what the chip can do at best.

    python3 tools/collect/check.py h200_sweep.csv.gz

Prints, for each family, how measured times compare with the floor of cost.py, and every row
that is faster than possible (cold rows against memory and arithmetic, warm rows against
arithmetic only). Exit status 1 when such a row exists.
"""

import os
import statistics
import sys
from collections import defaultdict

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from collect import cost, store  # noqa: E402
from collect.case import Case  # noqa: E402


def case_of(row):
    dims = tuple(_pair(text) for text in row["dims"].split(";"))
    return Case(row["family"], row["dtype"], dims, row["kernel_source"], row["runtime"],
                row["warmth"])


def _pair(text):
    name, value = text.split("=")
    return name, int(value) if value.isdigit() else value


def floor_us(case):
    if case.warmth == "warm":
        return 1e6 * cost.of(case).flops / cost.TENSOR_FLOPS_PER_SECOND[case.dtype]
    return 1e6 * cost.floor_seconds(case)


def group_of(case):
    return (case.family, case.dtype, case.kernel_source, case.runtime, case.warmth,
            "backward" if case.backward else "forward")


def main():
    groups, impossible = defaultdict(list), []
    for row in store.read_rows(sys.argv[1]):
        case, latency = case_of(row), float(row["latency_us"])
        floor = floor_us(case)
        groups[group_of(case)].append((latency, latency / max(floor, 1e-3),
                                       float(row["spread"])))
        if latency < floor:
            impossible.append((latency / floor, latency, case.key))
    print_groups(groups)
    print(f"{len(impossible)} rows faster than possible")
    for ratio, latency, key in sorted(impossible)[:40]:
        print(f"  {ratio:.3f} {latency:.2f} us", *key)
    return 1 if impossible else 0


def print_groups(groups):
    print("group: rows, lowest us, lowest/median ratio to the floor, median/largest spread")
    for group, values in sorted(groups.items()):
        latencies, ratios, spreads = zip(*values)
        print(" ".join(group), f": {len(values)}, {min(latencies):.2f} us, {min(ratios):.2f} / "
              f"{statistics.median(ratios):.2f}, {statistics.median(spreads):.3f} / "
              f"{max(spreads):.3f}")


if __name__ == "__main__":
    sys.exit(main())
