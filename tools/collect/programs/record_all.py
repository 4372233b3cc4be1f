#!/usr/bin/env python3
"""Records the catalogue's programs without a GPU.

    python3 tools/collect/programs/record_all.py --out data/programs

What is compiled is recorded as its eager program: fusing it is the reader's part.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import traceback

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
sys.path[0] = os.path.join(ROOT, "tools")
sys.path.insert(1, os.path.join(ROOT, "python"))

import torch  # noqa: E402

from collect.programs import catalogue  # noqa: E402
from collect.programs.catalogue import Program  # noqa: E402
from tilecast.torch import Recorder  # noqa: E402


def record(program: Program) -> tuple[Recorder, float]:
    """The recording and the seconds of the step alone."""
    with Recorder(program.name) as recorder, torch.device("cuda:0"):
        work = catalogue.build(program).prepare()
        if work.loss is not None:
            work.run()  # the first step makes the optimizer's state
        began = time.perf_counter()
        optimizers = tuple(work.keep[:1])
        with recorder.step(work.model, optimizers=optimizers):
            work.run()
        return recorder, time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="")
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    for program in catalogue.eager() + catalogue.compiled() + catalogue.retimed():
        if args.only and not any(word in program.name for word in args.only.split(",")):
            continue
        began = time.perf_counter()
        try:
            recorder, seconds = record(program)
        except Exception:
            print("FAILED", program.name, traceback.format_exc()[-1800:], flush=True)
            continue
        size = 0
        if args.out:
            path = os.path.join(args.out, program.name + ".json.gz")
            recorder.save(path)
            size = os.path.getsize(path)
        made = recorder.program
        print(f"{program.name}: {len(made.calls)} calls, {len(made.operators)} distinct, {len(made.layouts.items)} layouts, "
              f"peak {made.peak_bytes() / 1e9:.2f} GB, {seconds:.1f} of {time.perf_counter() - began:.1f} s, {size} bytes",
              flush=True)


if __name__ == "__main__":
    main()
