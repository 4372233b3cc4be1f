"""Puts rows of `fp8.py` into the form that Tilecast reads (src/measure/measurement.h), the regime in the column `run`.

Products: `cublas` is fast accumulation with one scale a tensor; other kernel sources name what differs. Of the casts
those that are a quantisation as Tilecast has it (compiled or in Triton), and the plain transposition. All warm.

    python3 tools/collect/windows/fp8_form.py h200_fp8_products.csv.gz h200_fp8_casts.csv.gz -o h200_fp8_rows.csv.gz
"""
import argparse
import csv
import gzip

COLUMNS = ["gpu", "source", "engine", "engine_version", "kernel_source", "family", "dtype", "dims", "runtime", "warmth",
           "run", "latency_us"]
RUNS = {"window": "burst", "steady": "sustained"}
VARIANTS = {"bf16": ("cublas", "bf16"), "tensor_fast": ("cublas", "fp8_static"),
            "tensor_slow": ("cublas_slow_accumulate", "fp8_static"), "row_fast": ("cublas_row_scales", "fp8_static"),
            "row_slow": ("cublas_row_scales_slow_accumulate", "fp8_static"),
            "block": ("cublas_blocks", "fp8_block_static")}
LAYOUTS = {"forward": "tn", "input_grad": "nn", "weight_grad": "nt"}  # of bf16; fp8 is tn always
QUANTIZE = {"amax_tensor": "scale=tensor;part=find", "known": "scale=tensor;part=apply", "current": "scale=tensor",
            "row": "scale=token", "block_1x128": "scale=block"}
SOURCES = {"compile": "inductor", "triton": "triton"}


def product(row):
    """(kernel source, family, dtype, dims, run)"""
    source, dtype = VARIANTS[row["variant"]]
    layout = LAYOUTS[row["product"]] if dtype == "bf16" else "tn"
    # Scales by blocks of both operands: a weight gradient has none of 128 x 128.
    if row["variant"] == "block" and row["product"] == "weight_grad":
        source += "_1x128"
    dims = f"m={row['m']};n={row['n']};k={row['k']}" + (f";layout={layout}" if layout != "tn" else "")
    return source, "gemm", dtype, dims, RUNS[row["regime"]]


def cast(row):
    """The same, or None where Tilecast has no such kernel."""
    sides = f"rows={row['rows']};cols={row['cols']}"
    if row["op"] == "turned_bf16":
        return "torch", "copy", "bf16", sides + ";transpose=true", "burst"
    if row["op"] in QUANTIZE and row["engine"] in SOURCES and row["kind"] == "e4m3":
        return SOURCES[row["engine"]], "quantize", "fp8", f"{sides};{QUANTIZE[row['op']]}", "burst"
    return None


def converted(path):
    with gzip.open(path, "rt", newline="") as file:
        for row in csv.DictReader(file):
            products = "variant" in row
            if products and row["pass"] != "1":
                continue
            form = product(row) if products else cast(row)
            if form:
                warmth = "warm" if products else row["warmth"]
                yield *form, warmth, row["time_us" if products else "graph_us"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("raw", nargs="+")
    parser.add_argument("-o", "--out", required=True)
    parser.add_argument("--gpu", default="H200-SXM")
    options = parser.parse_args()
    text = [",".join(COLUMNS)]
    for path in options.raw:
        for source, family, dtype, dims, run, warmth, latency in converted(path):
            text.append(",".join([options.gpu, "tilecast-h200-fp8-2026-11", "pytorch", "2.11.0", source, family, dtype,
                                  dims, "graph", warmth, run, latency]))
    with gzip.GzipFile(options.out, "wb", mtime=0) as file:
        file.write(("\n".join(text) + "\n").encode())
    print(f"{len(text) - 1} rows in {options.out}")


if __name__ == "__main__":
    main()
