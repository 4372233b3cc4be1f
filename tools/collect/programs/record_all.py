#!/usr/bin/env python3
"""Records the catalogue's programs without a GPU.

    python3 tools/collect/programs/record_all.py --out data/programs

What is compiled is recorded as the graphs that Inductor would turn into kernels: fusing them is the reader's part.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
import traceback
from typing import Any

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
sys.path[0] = os.path.join(ROOT, "tools")
sys.path.insert(1, os.path.join(ROOT, "python"))

import torch  # noqa: E402

from collect.programs import catalogue  # noqa: E402
from collect.programs.catalogue import Program  # noqa: E402
from tilecast.torch import Recorder  # noqa: E402


def make_state(work: Any) -> None:
    """An optimizer makes its state as it first steps."""
    for parameter in work.model.parameters():
        if parameter.requires_grad:
            parameter.grad = torch.empty_like(parameter)
    work.keep[0].step()
    work.keep[0].zero_grad(set_to_none=True)


def record(program: Program) -> tuple[Recorder, float]:
    """The recording and the processor seconds of the step alone."""
    made = catalogue.build(program) if program.laid_out else None
    with Recorder(program.name) as recorder, torch.device("cuda:0"):
        work = made or catalogue.build(program)
        if made is not None:
            recorder.fake(made.model)
            made.inputs = {name: torch.empty_like(value, device="cuda:0") for name, value in made.inputs.items()}
        work.prepare()
        if work.loss is not None:
            make_state(work)
        compiled = program.engine == "compile"
        if compiled:
            recorder.compile(work.model, in_place=True)
        began = time.process_time()
        optimizers = tuple(work.keep[:1])
        with recorder.step(work.model, optimizers=optimizers, traced=compiled):
            work.run()
        return recorder, time.process_time() - began


def chosen(words: str, table: str) -> list[Program]:
    found = catalogue.everything()
    if words:
        found = [program for program in found if any(word in program.name for word in words.split(","))]
    if table:
        with open(table, newline="") as file:
            named = {row["program"] for row in csv.DictReader(file)}
        found = [program for program in found if program.name in named]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="")
    parser.add_argument("--only", default="", help="names that contain one of these words, separated by commas")
    parser.add_argument("--part", default="0/1", help="2/3: the third of three parts")
    parser.add_argument("--measured", default="", help="a table of programs: those it names alone")
    args = parser.parse_args()
    part, parts = (int(number) for number in args.part.split("/"))
    for program in chosen(args.only, args.measured)[part::parts]:
        began = time.process_time()
        try:
            recorder, seconds = record(program)
        except Exception:
            print("FAILED", program.name, traceback.format_exc()[-4000:], flush=True)
            continue
        size = 0
        if args.out:
            path = os.path.join(args.out, program.name + ".json.gz")
            recorder.save(path)
            size = os.path.getsize(path)
        made = recorder.program
        print(f"{program.name}: {len(made.calls)} calls, {len(made.operators)} distinct, {len(made.layouts.items)} layouts, "
              f"peak {made.peak_bytes() / 1e9:.2f} GB, {seconds:.1f} of {time.process_time() - began:.1f} processor seconds, {size} bytes",
              flush=True)


if __name__ == "__main__":
    main()
