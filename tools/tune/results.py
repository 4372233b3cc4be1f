"""The result files of a sweep: appended shape by shape, so that a sweep can resume where it stopped."""

import csv
import os


def finished(path, names):
    """The shapes that a file holds, as tuples of the named columns."""
    if not os.path.exists(path):
        return set()
    with open(path, newline="") as file:
        return {tuple(row[name] for name in names) for row in csv.DictReader(file)}


def append(path, columns, rows):
    fresh = not os.path.exists(path)
    with open(path, "a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if fresh:
            writer.writerow(columns)
        writer.writerows(rows)
