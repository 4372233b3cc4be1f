#!/usr/bin/env python3
"""Attention rows of attention.py in the form that Tilecast reads (src/measure/measurement.h).

    python3 tools/collect/windows/attention_form.py h200_attention.csv.gz -o h200_attention_rows.csv.gz

Windows alone: a burst holds some 43 us of its first replay as well, and a window after a pause is otherwise as fast.
What `default` ran is its kernels' table to say: cuDNN, on an H200.
"""
import argparse
import csv
import gzip

SOURCES = {"cudnn": "cudnn", "default": "cudnn", "flash": "flash_attention_2",
           "flash_window": "flash_attention_2", "efficient": "efficient_attention",
           "flex": "flex_attention"}
COLUMNS = ["gpu", "source", "engine", "engine_version", "kernel_source", "family", "dtype", "dims",
           "runtime", "warmth", "latency_us"]


def shape_of(row):
    """(family, dims) in Tilecast's words."""
    dims = {"batch": row["batch"]}
    decode = row["direction"] == "forward" and row["q_len"] == "1"
    if not decode:
        dims["q-len"] = row["q_len"]
    dims |= {"kv-len": row["kv_len"], "heads": row["heads"], "kv-heads": row["kv_heads"],
             "head-dim": row["head_dim"]}
    if decode:
        return "attention_decode", dims | {"page-size": "0"}
    dims["mask"] = row["mask"]
    if row["window"] != "0":
        dims["window"] = row["window"]
    return ("attention_prefill" if row["direction"] == "forward" else "attention_backward"), dims


def converted(row, gpu, version):
    """One line of the table, or None."""
    source = SOURCES.get(row["backend"])
    if source is None or row["regime"] != "window":
        return None
    family, dims = shape_of(row)
    return [gpu, "tilecast-h200-windows", "pytorch", version, source, family, "bf16",
            ";".join(f"{name}={value}" for name, value in dims.items()), "graph",
            "warm", row["time_us"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("raw")
    parser.add_argument("-o", "--out", required=True)
    parser.add_argument("--gpu", default="H200-SXM")
    parser.add_argument("--version", default="2.11.0+cu130", help="of PyTorch")
    options = parser.parse_args()
    opener = gzip.open if options.raw.endswith(".gz") else open
    with opener(options.raw, "rt", newline="") as raw:
        rows = [converted(row, options.gpu, options.version) for row in csv.DictReader(raw)]
    kept = {tuple(row[:-1]): row for row in rows if row is not None}  # `default` repeats some of cuDNN's
    text = "\n".join(",".join(row) for row in [COLUMNS, *kept.values()]) + "\n"
    with gzip.GzipFile(options.out, "wb", mtime=0) as file:
        file.write(text.encode())
    print(f"{len(kept)} rows in {options.out}")


if __name__ == "__main__":
    main()
