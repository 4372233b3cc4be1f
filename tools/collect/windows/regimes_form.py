"""Puts rows of `regimes.py` into the form that Tilecast reads (src/measure/measurement.h), the regime in the column `run`.

Windows of 20 ms after a pause are as fast as bursts and free of a first replay's cost: they stand for bursts, two seconds
of load for sustained. Normal data alone; loops of one pipe are no kernel of Tilecast's.

    python3 tools/collect/windows/regimes_form.py h200_regimes.csv.gz -o h200_regimes_rows.csv.gz
"""
import argparse
import csv
import gzip

COLUMNS = ["gpu", "source", "engine", "engine_version", "kernel_source", "family", "dtype", "dims", "runtime", "warmth",
           "run", "latency_us"]
RUNS = {"window": "burst", "steady": "sustained"}
BYTES = {"bf16": 2, "fp16": 2, "fp8": 1, "tf32": 4, "fp32": 4}


def converted(row):
    """(kernel source, family, dtype, dims, warmth), or None where Tilecast has no such kernel."""
    what, dtype, shape = row["what"], row["dtype"], row["shape"]
    if what == "gemm" and dtype in BYTES:
        m, n, k = (int(side) for side in shape.split("x"))
        sets = max(1, min(8, int(3e8 / (n * k * BYTES[dtype])))) if m < n // 4 else 1  # as regimes.py takes turns
        warmth = f"warm;weight-copies={sets}" if sets > 1 else "warm"
        return "cublas", "gemm", "fp8_static" if dtype == "fp8" else dtype, f"m={m};n={n};k={k}", warmth
    if what in ("attention_cudnn", "attention_flash"):
        batch, length, heads, dim = shape.split("x")
        flash = what == "attention_flash"
        dims = f"batch={batch};q-len={length};heads={heads};kv-heads={heads};head-dim={dim};mask=causal"
        return ("flash_attention_2" if flash else "cudnn", "attention_prefill", dtype,
                dims + (";algorithm=fa2" if flash else ""), "warm")
    if what in ("add", "gelu"):
        return "torch", "elementwise", dtype, f"elements={shape};inputs={2 if what == 'add' else 1};op={what}", "warm"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("raw")
    parser.add_argument("-o", "--out", required=True)
    parser.add_argument("--gpu", default="H200-SXM")
    options = parser.parse_args()
    with gzip.open(options.raw, "rt", newline="") as raw:
        rows = [row for row in csv.DictReader(raw) if row["data"] == "normal" and row["regime"] in RUNS]
    text = [",".join(COLUMNS)]
    for row in rows:
        form = converted(row)
        if form:
            source, family, dtype, dims, warmth = form
            text.append(",".join([options.gpu, "tilecast-h200-2026-11", "pytorch", "2.11.0", source, family, dtype, dims,
                                  "graph", warmth, RUNS[row["regime"]], row["time_us"]]))
    with gzip.GzipFile(options.out, "wb", mtime=0) as file:
        file.write(("\n".join(text) + "\n").encode())
    print(f"{len(text) - 1} rows in {options.out}")


if __name__ == "__main__":
    main()
