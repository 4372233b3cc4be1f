"""A result file: one header, rows flushed as they are measured."""

import csv
import os
import subprocess
import time
from dataclasses import astuple


class Rows:
    def __init__(self, folder, name, columns):
        os.makedirs(folder, exist_ok=True)
        self.name, self.columns, self.count = name, columns, 0
        self.file = open(os.path.join(folder, name + ".csv"), "w", newline="")
        self.writer = csv.writer(self.file, lineterminator="\n")
        self.writer.writerow(columns)

    def add(self, **values):
        unknown = set(values) - set(self.columns)
        assert not unknown, f"{self.name} has no columns {unknown}"
        self.writer.writerow([_text(values.get(name, "")) for name in self.columns])
        self.file.flush()
        self.count += 1


def _text(value):
    return f"{value:.6g}" if isinstance(value, float) else str(value)


class Deadline:
    def __init__(self, seconds):
        self.began, self.seconds = time.monotonic(), seconds

    def passed(self, share=1.0):
        return time.monotonic() - self.began > share * self.seconds

    def elapsed(self):
        return time.monotonic() - self.began


def card_name():
    """The first eight digits of the card's UUID."""
    try:
        out = subprocess.run(["nvidia-smi", "--query-gpu=uuid", "--format=csv,noheader"],
                             capture_output=True, text=True, timeout=20).stdout.strip()
        return out.replace("GPU-", "")[:8]
    except (OSError, subprocess.SubprocessError):
        return ""


def short(error):
    return " ".join(f"{type(error).__name__}: {error}".split())[:220]


def attempt(work, case):
    """Whether it worked; a failure is printed."""
    import torch
    try:
        work(case)
        return True
    except Exception as error:
        print("FAILED", *astuple(case), short(error), flush=True)
    try:
        torch.cuda.synchronize()
    except Exception as error:
        print("the card answers no more:", short(error), flush=True)
        raise SystemExit(1) from error
    return False
