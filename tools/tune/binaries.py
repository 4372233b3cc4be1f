"""Compiles every configuration ahead in many processes, then checks each one's results.

A worker launches the kernel on no rows, which makes Triton compile it and leave it in its cache
on disk, from which the sweep takes it.
"""

import csv
import multiprocessing
import os
import time

import configs

COLUMNS = [*(name for name in configs.NAMES if name != "GROUP_SIZE_M"), "shared_bytes", "registers",
           "spills", "compile_s", "problem"]


def compile_all(wanted, processes):
    """Rows of COLUMNS, in the order of `wanted`."""
    context = multiprocessing.get_context("spawn")
    heavy_first = sorted(range(len(wanted)), key=lambda index: -_weight(wanted[index]))
    rows = [None] * len(wanted)
    with context.Pool(processes) as pool:
        jobs = ((index, wanted[index]) for index in heavy_first)
        for done, (index, row) in enumerate(pool.imap_unordered(_compile, jobs), 1):
            rows[index] = row
            if done % 50 == 0:
                print(f"compiled {done} of {len(wanted)}", flush=True)
    with open(_mark(), "w"):
        return rows


def _mark():
    """A file beside Triton's cached kernels: all configurations are among them."""
    return os.path.join(os.environ.get("TRITON_CACHE_DIR", os.path.expanduser("~/.triton/cache")),
                        "tilecast_fused_moe_compiled")


def cached():
    return os.path.exists(_mark())


def _weight(config):
    return config["BLOCK_SIZE_M"] * config["BLOCK_SIZE_N"] * config["BLOCK_SIZE_K"]


def _compile(job):
    import torch

    import fused_moe
    index, config = job
    began = time.monotonic()
    facts, problem = ("", "", ""), ""
    try:
        data = torch.zeros((16, 16), dtype=torch.bfloat16, device="cuda")
        nothing = fused_moe.Routing(torch.zeros(config["BLOCK_SIZE_M"], dtype=torch.int32, device="cuda"),
                                    torch.zeros(1, dtype=torch.int32, device="cuda"),
                                    torch.zeros(1, dtype=torch.int32, device="cuda"), 2)
        kernel = fused_moe.product(data, data.view(1, 16, 16), data, torch.zeros(16, device="cuda"), nothing, 2,
                                   config)
        torch.cuda.synchronize()
        facts = (kernel.metadata.shared, kernel.n_regs, kernel.n_spills)
    except Exception as error:  # too much shared memory shows here; the sweep goes on without
        problem = f"{type(error).__name__}: {' '.join(str(error).split())}"[:200]
    return index, [*configs.without_group(config), *facts, f"{time.monotonic() - began:.2f}", problem]


def write(path, rows):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(rows)


def read(path):
    """The rows of an earlier run, or None."""
    if not os.path.exists(path):
        return None
    with open(path, newline="") as file:
        return list(csv.reader(file))[1:]


def check_all(wanted):
    """Names of configurations whose results are wrong on a small layer with idle experts."""
    import fused_moe
    case = fused_moe.random_case(150, 576, 320, 16, 4)
    right = fused_moe.reference(*case)
    wrong = []
    for config in wanted:
        error = fused_moe.relative_error(fused_moe.fused_moe(*case, config), right)
        if error > 0.01:
            wrong.append(f"{config}: error {error:.3g}")
    return wrong


def prepare(folder, processes):
    """Compiles, unless Triton's cache holds all from an earlier run; the usable ones, checked."""
    wanted = configs.binaries()
    path = os.path.join(folder, "fused_moe_binaries.csv")
    began = time.monotonic()
    rows = read(path) if cached() else None
    if rows is None:
        rows = compile_all(wanted, processes)
        write(path, rows)
    usable = [config for config, row in zip(wanted, rows, strict=True) if not row[-1]]
    print(f"{len(usable)} of {len(wanted)} binaries usable, {time.monotonic() - began:.0f} s", flush=True)
    for row in rows:
        if row[-1]:
            print("unusable:", *row, flush=True)
    wrong = check_all(usable)
    print(f"checked after {time.monotonic() - began:.0f} s; wrong: {wrong or 'none'}", flush=True)
    if wrong:
        raise SystemExit("wrong results: nothing is timed")
    return {configs.without_group(config) for config in usable}
