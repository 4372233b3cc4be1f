#!/usr/bin/python3
"""Fits data/plans/cublas_fp32.txt: the SIMT kernel and split-K cuBLAS takes for an fp32 product.

cuBLAS does not publish its choice; NeuSight's rows name the kernel (hence tile) and grid (hence split-K) it made under
PyTorch 2.1 on five GPUs, and our own those it makes under PyTorch 2.11 on an H200 (tools/plans/collect_cublas_fp32.py).
Layers with a bias, which go another way through the library, are left out of ours; both layouts of a batch's second
operand are in. For every operation (linear, bmm) and GPU, each kernel seen gets a tiny network that scores its splits
from how the launch would fill the GPU; all of them are fitted together by cross-entropy of the kernel and split taken.

    score(kernel, split) = w2 . relu(W1' f + b1) + U[split] . r        f: candidate_features, r: problem_features

src/kernel/cublas_simt.cpp evaluates them. Usage:

    tools/plans/fit_cublas_fp32.py                                  all nets, 5 minutes on one core
    tools/plans/fit_cublas_fp32.py linear:hopper                    some; the others stay as they are
    tools/plans/fit_cublas_fp32.py linear:pascal_gp104 --dry-run    writes nothing

Needs numpy (Debian: python3-numpy) and, but for Hopper's, ../shared/data/neusight. Seeds are fixed: a second run gives the same file;
another numpy or BLAS rounds differently, which moves accuracies by up to a point.

Hold-out: a shape is held out on all GPUs at once when crc32("OP_B_M_N_K") % 10 == 0 (columns as in the rows: N is the
reduction). Those rows of kernels_train, and all of kernels_test, take no part in the fit; network sizes were tried on a
ninth of the other rows.

Accuracy of the committed file in per cent, tile / tile and split, as src/kernel/cublas_simt.cpp computes it from the
rounded weights (the report of this script, before rounding, differs by up to 0.3):

                     linear held-out   linear kernels_test   bmm held-out   bmm kernels_test
    volta (V100)         82.2 / 65.5           60.7 / 39.6           92.1               65.3
    ampere (A100)        82.0 / 76.9           79.8 / 79.8           99.4              100.0
    turing (T4)          83.2 / 62.2           82.2 / 65.7           99.1               99.8
    pascal_gp100 (P100)  95.8 / 89.5           95.8 / 94.8           99.5              100.0
    pascal_gp104 (P4)    88.6 / 84.2            0.0 /  0.0           99.5               87.5
    hopper (H200)        83.7 / 69.3                     –           84.1                  –

Two further seeds gave V100 83.7 / 65.6 and 81.0 / 62.7 on held-out linear rows; seed 0 was kept as the first one tried.
Shapes of kernels_test are larger (m up to 65,536, against 8,192) and rounder; P4's linear rows there ran 128x128 and
128x64 only, kernels that none of its training rows ran.
"""
import argparse
import csv
import gzip
import os
import re
import zlib
from collections import Counter

os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
DATA = os.path.join(ROOT, "..", "shared", "data", "neusight")
OUT = os.path.join(ROOT, "data", "plans", "cublas_fp32.txt")

OWN = os.path.join(ROOT, "data", "measurements", "h200_cublas_fp32.csv.gz")

# Name in the file, device in the rows, SMs. Without a device: the rows of OWN.
GPUS = {
    "volta": ("Tesla V100-PCIE-32GB", 80),
    "turing": ("Tesla T4", 40),
    "ampere": ("NVIDIA A100-PCIE-40GB", 108),
    "pascal_gp100": ("Tesla P100-PCIE-16GB", 56),
    "pascal_gp104": ("Tesla P4", 20),
    "hopper": (None, 132),
}
# Hidden units of each kernel's network, and epochs; cuBLAS takes one tile for nearly
# every bmm of A100, P100 and P4, so theirs are trivial.
SIZES = {
    "linear": {"volta": (16, 220), "turing": (16, 220), "ampere": (16, 220), "pascal_gp100": (6, 120),
               "pascal_gp104": (8, 120), "hopper": (16, 60)},
    "bmm": {"volta": (8, 100), "turing": (8, 100), "ampere": (2, 20), "pascal_gp100": (2, 20), "pascal_gp104": (2, 20),
            "hopper": (12, 80)},
}
SAMPLE = 4000  # enough rows where one tile nearly always wins
LEAST_ROWS = {"linear": 12, "bmm": 25}  # ... for a kernel to be offered as a choice
LEAST_SPLIT_ROWS, MOST_SPLITS = 4, 14
SPLITS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)  # of our own rows, which have any number up to 130
RATE, DECAY, BATCH, SEED = 1e-2, 1e-2, 128, 0
WORKSPACE_FLOATS = 262144  # 1 MiB: more partial sums than this are joined in place, without a reduction kernel

# Threads of a CTA (block sizes in the rows) and elements of k in a step of the main loop (sgemm_32x32x32 says so
# itself; for sliced1x4 four slices of eight are assumed).
KERNELS = {
    "128x128": (256, 8), "128x64": (128, 8), "64x64": (64, 8), "128x32": (256, 8), "32x128": (256, 8),
    "32x32": (128, 32), "128x32_sliced1x4": (256, 32), "64x32_sliced1x4": (256, 32), "32x32_sliced1x4": (128, 32),
}
# Those of Hopper, columns by rows. Two variants of a tile (xmma, CUTLASS) count as one; both step through k by eight.
HOPPER_KERNELS = {
    "32x32": (64, 8), "64x32": (64, 8), "32x64": (64, 8), "128x32": (64, 8), "64x64": (128, 8), "32x128": (128, 8),
    "64x128": (128, 8), "128x64": (128, 8), "128x128": (128, 8), "256x64": (128, 8), "64x256": (128, 8),
    "256x128": (256, 8), "128x256": (256, 8),
}


# --- rows -----------------------------------------------------------------------------------------------------------

class Rows:
    """Columns of one operation on one GPU: b, m, n (reduction), k (columns), kernel, tile, split, held (bool)."""

    def __init__(self, op, rows):
        column = lambda name: np.array([int(float(row[name])) for row in rows])
        self.b, self.m, self.n, self.k = (column(name) for name in "BMNK")
        self.tile = list(zip(column("tile1"), column("tile2")))
        sizes = zip(self.b, self.m, self.k, self.tile)
        tiles = np.array([b * -(-m // lines) * -(-k // columns) for b, m, k, (columns, lines) in sizes])
        grid = column("grid_x") * column("grid_y") * column("grid_z")
        self.split = np.rint(grid / tiles).astype(int)
        found = [re.search(r"\d+x\d+(?:_sliced1x4)?", row["kernel"]) for row in rows]
        self.kernel = np.array([name.group(0) if name else "" for name in found])
        keys = [f"{op}_{b}_{m}_{n}_{k}" for b, m, n, k in zip(self.b, self.m, self.n, self.k)]
        self.held = np.array([zlib.crc32(key.encode()) % 10 == 0 for key in keys])

    def take(self, index):
        part = object.__new__(Rows)
        index = np.asarray(index)
        index = np.flatnonzero(index) if index.dtype == bool else index
        for name, values in vars(self).items():
            setattr(part, name, [values[i] for i in index] if isinstance(values, list) else values[index])
        return part

    def __len__(self):
        return len(self.m)


class OwnRows(Rows):
    """The same of our own table. Kernels for a few rows or columns, which have no tile, are left out, and those that
    split k within their grid's tiles, which does not say how often. Splits are rounded to the nearest of SPLITS."""

    def __init__(self, op, rows):
        named = [(row, tile_named(row["kernel"])) for row in rows if row["op"] == op and row["bias"] == "0"
                 and not ("split_k" in row["kernel"] and row["grid_z"] == "1")]
        super().__init__(op, [{**row, "kernel": "{}x{}".format(*tile), "tile1": tile[0], "tile2": tile[1]}
                              for row, tile in named if tile])
        # CUTLASS rounds its grid up to whole blocks of tiles, and keeps the parts of a split apart in z.
        for i, row in enumerate(row for row, tile in named if tile):
            if row["kernel"].startswith("cutlass"):
                self.split[i] = int(row["grid_z"]) if op == "linear" else 1
        away = np.abs(np.log(self.split[:, None] / np.array(SPLITS)))
        self.split = np.array(SPLITS)[away.argmin(1)]


def tile_named(kernel):
    """Columns and rows of the tile in a kernel's name, or nothing: xmma names rows first, CUTLASS columns."""
    if found := re.search(r"tilesize(\d+)x(\d+)x", kernel):
        return int(found.group(2)), int(found.group(1))
    found = re.match(r"cutlass_80_simt_sgemm_(\d+)x(\d+)", kernel)
    return found and (int(found.group(1)), int(found.group(2)))


def read_rows(part, op, device):
    if device is None:
        with gzip.open(OWN, "rt") as file:
            return OwnRows(op, list(csv.DictReader(file)) if part == "train" else [])
    with gzip.open(f"{DATA}/kernels_{part}/{op}.csv.gz", "rt") as file:
        return Rows(op, [row for row in csv.DictReader(file) if row["device"] == device])


# --- features (mirrored in src/kernel/cublas_simt.cpp) ----------------------------------------------------------------

def tile_of(kernel):
    return tuple(int(side) for side in kernel.split("_")[0].split("x"))  # along columns, along rows


def fill(waves):
    """Share of the last wave's slots in use, from -2 (empty) to 1 (full)."""
    return 3 * (waves / np.ceil(waves)) - 2


def logs(rows, sms):
    half = 0.5 * np.log2(sms)
    m = (np.clip(np.log2(rows.m), 3, 13) - half) / 2 - 2
    n = np.clip(np.log2(rows.n), 2, 16)
    k = (np.clip(np.log2(rows.k), 3, 16) - half) / 2 - 2.5
    return m, n, k


def problem_features(rows, sms):
    m, n, k = logs(rows, sms)
    n = n / 2 - 5
    one, batch = np.ones(len(rows)), np.log2(rows.b) / 3 - 2
    return np.column_stack([one, m, n, k, m * m, n * n, k * k, m * n, m * k, n * k, batch]).astype(np.float32)


def candidate_features(rows, sms, kernel, splits):
    """rows x splits x 17."""
    columns, lines = tile_of(kernel)
    m, n, k = logs(rows, sms)
    tiles = rows.b * np.ceil(rows.m / lines) * np.ceil(rows.k / columns)
    waves = tiles / sms
    results = rows.m.astype(float) * rows.k
    padding = 2 * np.log2(tiles * columns * lines / (results * rows.b))
    one = np.ones(len(rows))
    table = []
    for split in splits:
        s = np.log2(split)
        table.append(np.column_stack(
            [one * s / 2 - 1, np.clip(np.log2(waves), -6, 8) / 2, np.clip(np.log2(waves) + s, -6, 9) / 2 - 1,
             (n - s) / 2 - 4, n / 2 - 5, m, k, np.clip(np.log2(results) + s - 18, -4, 4) / 2,
             (results * split <= WORKSPACE_FLOATS) - 0.5]
            + [fill(tiles * split / sms / ctas) for ctas in (1, 2, 3, 4)]  # exact where waves are whole
            + [padding] + [fill(waves / ctas) for ctas in (1, 2, 4)]))
    return np.stack(table, 1).astype(np.float32)


# --- the nets of one operation on one GPU -----------------------------------------------------------------------------

class Nets:
    def __init__(self, rows, sms, launched, hidden, least_rows, splits_offered):
        self.sms, self.hidden = sms, hidden
        seen = Counter(rows.kernel).most_common()
        self.launched = launched
        self.kernels = [name for name, count in seen if count >= least_rows and name in self.launched]
        self.splits = {}
        for name in self.kernels:
            seen = Counter(rows.split[rows.kernel == name]).most_common(MOST_SPLITS)
            taken = {int(s) for s, count in seen if count >= LEAST_SPLIT_ROWS and splits_offered}
            self.splits[name] = sorted({1} | taken)
        self.candidates = [(name, split) for name in self.kernels for split in self.splits[name]]
        ends = np.cumsum([0] + [len(self.splits[name]) for name in self.kernels])
        self.ranges = list(zip(ends[:-1], ends[1:]))

    def features(self, rows):
        return ([candidate_features(rows, self.sms, name, self.splits[name]) for name in self.kernels],
                problem_features(rows, self.sms))

    def allocate(self, inputs, linear):
        """All parameters in one flat array, and views (w1, b1, w2) a kernel and u."""
        h, kernels = self.hidden, len(self.kernels)
        flat = np.zeros(kernels * (inputs * h + 2 * h) + len(self.candidates) * linear, np.float32)
        return flat, self.views(flat, inputs, linear)

    def views(self, flat, inputs, linear):
        h, at, nets = self.hidden, 0, []
        for _ in self.kernels:
            w1, b1, w2 = np.split(flat[at:at + inputs * h + 2 * h], [inputs * h, inputs * h + h])
            nets.append((w1.reshape(inputs, h), b1, w2))
            at += inputs * h + 2 * h
        return nets, flat[at:].reshape(-1, linear)

    def scores(self, features, problem):
        scores = problem @ self.u.T
        for (w1, b1, w2), f, (begin, end) in zip(self.nets, features, self.ranges):
            scores[:, begin:end] += np.maximum(f @ w1 + b1, 0) @ w2
        return scores

    def fit(self, rows, epochs, seed=SEED):
        index = {candidate: i for i, candidate in enumerate(self.candidates)}
        answers = np.array([index.get(pair, -1) for pair in zip(rows.kernel, rows.split)])
        rows, answers = rows.take(answers >= 0), answers[answers >= 0]
        features, problem = self.features(rows)
        inputs, linear = features[0].shape[2], problem.shape[1]
        random = np.random.RandomState(seed)
        flat, (self.nets, self.u) = self.allocate(inputs, linear)
        for w1, _, w2 in self.nets:
            w1[:] = random.randn(*w1.shape) * np.sqrt(2 / inputs)
            w2[:] = random.randn(*w2.shape) * 0.1
        gradient, (gradients, gradient_u) = self.allocate(inputs, linear)
        adam = Adam(flat)
        steps = epochs * -(-len(rows) // BATCH)
        for _ in range(epochs):
            order = random.permutation(len(rows))
            for begin in range(0, len(rows), BATCH):
                batch = order[begin:begin + BATCH]
                self.backward([f[batch] for f in features], problem[batch], answers[batch], gradients, gradient_u)
                adam.step(gradient, RATE * (1 - adam.steps / steps) + 1e-5)
        return self

    def backward(self, features, problem, answers, gradients, gradient_u):
        """Gradients of the mean cross-entropy of a batch."""
        scores, layers = problem @ self.u.T, []
        for (w1, b1, w2), f, (begin, end) in zip(self.nets, features, self.ranges):
            f = f.reshape(-1, f.shape[2])
            active = np.maximum(f @ w1 + b1, 0)
            layers.append((f, active))
            scores[:, begin:end] += (active @ w2).reshape(len(answers), -1)
        share = np.exp(scores - scores.max(1, keepdims=True))
        share /= share.sum(1, keepdims=True)
        share[np.arange(len(answers)), answers] -= 1
        share /= len(answers)
        for (_, _, w2), (g1, gb, g2), (f, active), (begin, end) in zip(self.nets, gradients, layers, self.ranges):
            out = share[:, begin:end].reshape(-1)
            hidden = (out[:, None] * w2) * (active > 0)
            g1[:], gb[:], g2[:] = f.T @ hidden, hidden.sum(0), active.T @ out
        gradient_u[:] = share.T @ problem

    def choose(self, rows):
        """Most likely tile first (over its kernels and splits), then the best kernel and split of that tile."""
        scores = self.scores(*self.features(rows))
        shares = np.exp(scores - scores.max(1, keepdims=True))
        tiles = [tile_of(name) for name, _ in self.candidates]
        offered = sorted(set(tiles))
        of_tile = np.array([[tile == other for other in offered] for tile in tiles])
        best = (shares @ of_tile).argmax(1)
        shares[~of_tile.T[best]] = -1
        return [self.candidates[i] for i in shares.argmax(1)]

    def accuracy(self, rows):
        chosen = self.choose(rows)
        tile = np.array([tile_of(name) == seen for (name, _), seen in zip(chosen, rows.tile)])
        split = np.array([split for _, split in chosen]) == rows.split
        return tile.mean(), (tile & split).mean()

    def text(self):
        """As data/plans/cublas_fp32.txt keeps it: whole thousandths."""
        line = lambda values: " ".join(str(int(v)) for v in np.rint(np.asarray(values, float) * 1000))
        out = []
        for name, (w1, b1, w2), (begin, end) in zip(self.kernels, self.nets, self.ranges):
            columns, lines = tile_of(name)
            threads, depth = self.launched[name]
            splits = self.splits[name]
            out.append(f"kernel {name} {lines} {columns} {depth} {threads} {self.hidden} {len(splits)}")
            out.append(" ".join(map(str, splits)))
            out += [line(row) for row in w1] + [line(b1), line(w2)] + [line(row) for row in self.u[begin:end]]
        return out


class Adam:
    def __init__(self, parameters):
        self.parameters, self.steps = parameters, 0
        self.mean, self.square = np.zeros_like(parameters), np.zeros_like(parameters)

    def step(self, gradient, rate):
        self.steps += 1
        self.mean = 0.9 * self.mean + 0.1 * gradient
        self.square = 0.999 * self.square + 0.001 * gradient * gradient
        mean, square = self.mean / (1 - 0.9 ** self.steps), self.square / (1 - 0.999 ** self.steps)
        self.parameters -= np.float32(rate) * (mean / (np.sqrt(square) + 1e-8) + DECAY * self.parameters)


HEADER = """\
# The fp32 (SIMT) kernel cuBLAS takes, fitted by tools/plans/fit_cublas_fp32.py on NeuSight's rows (MIT) and our own;
# read by src/kernel/cublas_nets.cpp. Tokens are separated by white space; lines that start with # are comments.
#   net OPERATION GPU KERNELS
#   kernel NAME ROWS COLUMNS DEPTH THREADS HIDDEN SPLITS, then the splits and, in thousandths,
#   W1 (17 x HIDDEN), b1 (HIDDEN), w2 (HIDDEN), U (SPLITS x 11)
"""


def fit(op, gpu):
    device, sms = GPUS[gpu]
    hidden, epochs = SIZES[op][gpu]
    rows = read_rows("train", op, device)
    seen, held = rows.take(~rows.held), rows.take(rows.held)
    if len(seen) > 2 * SAMPLE and hidden == 2:
        seen = seen.take(np.random.RandomState(SEED).choice(len(seen), SAMPLE, replace=False))
    launched = HOPPER_KERNELS if gpu == "hopper" else KERNELS
    nets = Nets(seen, sms, launched, hidden, LEAST_ROWS[op], op == "linear").fit(seen, epochs)
    test = read_rows("test", op, device)
    parts = [("fitted", seen), ("held-out", held), ("kernels_test", test)]
    shown = ["{} {:.1f} / {:.1f} ({} rows)".format(name, *(100 * a for a in nets.accuracy(part)), len(part))
             for name, part in parts if len(part)]
    print(f"{op}:{gpu}  " + "  ".join(shown), flush=True)
    return [f"net {op} {gpu} {len(nets.kernels)}"] + nets.text()


def nets_of_file():
    """Lines of every net that stands in the file, by OPERATION:GPU."""
    nets = {}
    with open(OUT) as file:
        for line in file.read().splitlines():
            if line.startswith("net "):
                lines = nets.setdefault(":".join(line.split()[1:3]), [])
            if not line.startswith("#"):
                lines.append(line)
    return nets


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("nets", nargs="*", help="OPERATION:GPU, default all")
    parser.add_argument("--dry-run", action="store_true", help="fit and report, write nothing")
    options = parser.parse_args()
    wanted = options.nets or [f"{op}:{gpu}" for op in SIZES for gpu in GPUS]
    fitted = {name: fit(*name.split(":")) for name in wanted}
    if options.dry_run:
        return
    nets = {**(nets_of_file() if options.nets else {}), **fitted}
    os.makedirs(os.path.dirname(OUT), exist_ok=True)
    with open(OUT, "w") as file:
        file.write(HEADER + "\n".join(line for net in nets.values() for line in net) + "\n")


if __name__ == "__main__":
    main()
