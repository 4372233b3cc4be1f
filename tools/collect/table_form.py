"""Puts a sweep's rows into the form that Tilecast reads (src/measure/measurement.h): its families, its dtypes, its dims.

The sweep names cases as PyTorch does; this is the one place that knows both vocabularies. Rows that Tilecast has no family
for (column sums, casts) go to a second file, so that nothing measured is lost.

    python3 tools/collect/table_form.py raw.csv.gz -o h200_sweep.csv.gz --rest h200_sweep_rest.csv.gz
"""
import argparse
import csv
import gzip

OPTIMIZER_FORMS = {"single": "plain", "foreach": "foreach", "fused": "fused"}


def converted(family, dtype, source, dims):
    """(family, dtype, dims) in Tilecast's words, or None where it has none."""
    if family == "transpose":
        return "copy", dtype, dims | {"transpose": "1"}
    if family == "copy" and "op" in dims or family == "reduction" and dims.get("axis") == "0":
        return None
    if family == "reduction":
        return family, dtype, {k: v for k, v in dims.items() if k != "op"}  # max costs what a sum costs
    if family == "gemm" and dtype == "fp8":
        return family, "fp8_static", dims  # torch._scaled_mm of operands that are fp8 already
    if family == "rope":  # one tensor of so many heads: the same bytes as one query head fewer and a key head
        return family, dtype, dims | {"heads": str(int(dims["heads"]) - 1), "kv-heads": "1"}
    if family == "optimizer":
        kind, form = dims["kind"].rsplit("_", 1)
        kind, _, momentum = kind.partition("_")
        new = {"params": dims["params"], "kind": kind, "form": OPTIMIZER_FORMS[form]}
        return family, dtype, new | ({"momentum": "1"} if momentum else {})
    if family.startswith("attention"):
        dims = dict(dims)
        mask = "causal" if dims.pop("causal") == "1" else "full"
        if family == "attention_decode":
            return family, dtype, dims
        backward = dims.pop("backward", "0") == "1"
        if backward:
            return "attention_backward", dtype, dims | {"mask": mask}
        algorithm = {"algorithm": "fa2"} if source == "flash_attention_2" else {}
        return family, dtype, dims | {"mask": mask} | algorithm
    return family, dtype, dims


def convert(raw_path, out, rest_path):
    opener = gzip.open if raw_path.endswith(".gz") else open
    with opener(raw_path, "rt", newline="") as raw:
        reader = csv.DictReader(raw)
        rows, columns = list(reader), reader.fieldnames
    kept, rest = [], []
    for row in rows:
        dims = dict(part.split("=") for part in row["dims"].split(";"))
        form = converted(row["family"], row["dtype"], row["kernel_source"], dims)
        if form is None:
            rest.append(row)
            continue
        family, dtype, dims = form
        kept.append(row | {"family": family, "dtype": dtype, "dims": ";".join(f"{k}={v}" for k, v in dims.items())})
    for path, table in ((out, kept), (rest_path, rest)):
        with gzip.GzipFile(path, "wb", mtime=0) as file:
            text = [",".join(columns)] + [",".join(row[c] for c in columns) for row in table]
            file.write(("\n".join(text) + "\n").encode())
    return f"{len(kept)} rows in {out}, {len(rest)} in {rest_path}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("raw")
    parser.add_argument("-o", "--out", required=True)
    parser.add_argument("--rest", required=True)
    options = parser.parse_args()
    print(convert(options.raw, options.out, options.rest))


if __name__ == "__main__":
    main()
