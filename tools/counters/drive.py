#!/usr/bin/env python3
"""The program Nsight Compute profiles: every case once warm, then once inside the profiler.

Start under `ncu --profile-from-start off --nvtx` (see run.sh). The NVTX range around the
profiled call is the case identifier, which tidy.py joins back to the case.
"""

import argparse
import os
import sys
import time
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import torch  # noqa: E402

import cases  # noqa: E402
from collect import data, work  # noqa: E402

data.ARENA_BYTES = 0  # the profiler saves all allocated memory: allocate per case only


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=300, help="start no case after this")
    seconds = parser.parse_args().seconds
    began = time.monotonic()
    torch.cuda.init()
    print(f"torch {torch.__version__} on {torch.cuda.get_device_name()}", flush=True)
    for index, (name, case) in enumerate(cases.all_cases()):
        if time.monotonic() - began > seconds:
            print(f"time is up after {index} cases")
            break
        try:
            profile(name, case)
            print(f"{time.monotonic() - began:6.1f} s {name} {case.family} {case.dtype} "
                  f"{case.dims_text}", flush=True)
        except Exception:  # one case must not end the run
            print(f"FAILED {name} {case.key}\n{traceback.format_exc(limit=2)}", flush=True)
    return 0


def profile(name, case):
    call = work.build(case, data.Data())
    call()
    torch.cuda.synchronize()
    torch.cuda.profiler.start()
    torch.cuda.nvtx.range_push(name)
    result = call()
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_pop()
    torch.cuda.profiler.stop()
    del result, call
    torch.cuda.empty_cache()


if __name__ == "__main__":
    sys.exit(main())
