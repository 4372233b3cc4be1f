#!/usr/bin/env python3
"""More random kernels of PyTorch where forecasts of the first draws erred most, in windows of 20 ms, with the kernels launched.

    python3 tools/collect/windows/draw_products.py --out h200_products.csv --names h200_products_kernels.csv --seed 31 --budget-seconds 400

Batched products of 16 bits and tf32, whose second operand lies either way; linear layers in tf32, fp16 and, where rows do not begin at
multiples of 16 bytes, bf16; the products of a layer's gradients; look-ups of embeddings over vocabularies, widths and tokens, drawn evenly or
as words are, and their gradients. The form of both tables is that of draw.py and h200_kernels.csv.
"""

import argparse
import csv
import os
import random
import sys

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")

from collect.windows import draw, small_rows  # noqa: E402
from collect.windows.draw import Case, even, side  # noqa: E402
from collect.windows.rows import Deadline, short  # noqa: E402

NAME_COLUMNS = ["kernel_source", "family", "dtype", "dims", "kernel_index", "kernel", "grid", "block", "single_run_us"]
BATCHED = {"bf16": 260, "fp16": 120, "tf32": 200, "fp32": 40}
LINEAR = {"tf32": 220, "fp16": 120, "bf16": 60}
UNALIGNED = {"bf16": 140, "fp16": 70, "tf32": 40}
GRADIENTS = {"bf16": 60, "fp16": 20, "tf32": 40}
EMBEDDINGS, EMBEDDING_GRADIENTS = 260, 50
PROFILED_TOGETHER = 15
VOCABULARIES = (50257, 30522, 32001, 51865, 50265, 32003, 151669, 1001)


def tensor(dtype, *shape):
    import torch
    kind = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(dtype, torch.float32)
    return torch.randn(shape, device="cuda").to(kind)


def multiplied(dtype, call):
    """The call, with or without tf32."""
    import torch

    def run():
        torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
        return call()
    return run


def batched(chance, dtype):
    """As draw.py draws them, half of them with the second operand transposed."""
    while True:
        b = chance.choice((even(chance, 2, 800), chance.choice((8, 12, 16, 32, 64, 128))))
        head = chance.choice((64, 64, 80, 96, 128, even(chance, 8, 256)))
        length = chance.choice((even(chance, 1, 4096), side(chance, 32, 4096)))
        other = length if chance.random() < 0.6 else side(chance, 16, 4096)
        m, n, k = chance.choice(((length, other, head), (length, head, other), (length, other, side(chance, 16, 1024))))
        if b * max(m * n, n * k, m * k) < draw.MOST_NUMBERS and 2 * b * m * n * k < draw.MOST_OPERATIONS[dtype] / 2:
            break
    turned = chance.random() < 0.5

    def calls():
        import torch
        first = tensor(dtype, b, m, k)
        second = tensor(dtype, b, n, k).transpose(1, 2) if turned else tensor(dtype, b, k, n)
        return [multiplied(dtype, lambda: torch.bmm(first, second))]
    layout = "tn" if turned else "nn"
    return Case(f"bmm {dtype} {b}x{m}x{n}x{k} {layout}",
                ("cublas", "bmm", dtype, f"batch={b};m={m};n={n};k={k};layout={layout}", "warm"), calls)


def unaligned(chance, dtype):
    """A linear layer one of whose sides is no multiple of 16 bytes."""
    odd = lambda: chance.choice((chance.choice(VOCABULARIES), even(chance, 33, 20000), 2 * even(chance, 20, 10000) + 2))
    while True:
        m = chance.choice((even(chance, 1, 20000), side(chance, 16, 16384)))
        n, k = chance.choice(((odd(), side(chance, 64, 8192)), (side(chance, 64, 8192), odd()), (odd(), odd())))
        step = 4 if dtype == "tf32" else 8
        if (n % step or k % step) and 2 * m * n * k < draw.MOST_OPERATIONS[dtype] / 4 and max(m * n, n * k, m * k) < draw.MOST_NUMBERS:
            break
    return product(dtype, m, n, k)


def product(dtype, m, n, k):
    from collect.windows import regimes
    case = regimes.Case("gemm", (m, n, k), dtype)
    sets = max(1, min(8, int(3e8 / (n * k * regimes.ITEM[dtype])))) if m < n // 4 else 1
    return Case(f"linear {dtype} {m}x{n}x{k}", ("cublas", "gemm", dtype, f"m={m};n={n};k={k}", f"warm;weight-copies={sets}" if sets > 1 else "warm"),
                lambda: regimes.build(case))


def gradient(chance, dtype):
    """dx = dy w, or dw = dy^T x, of a linear layer."""
    from collect.windows import regimes
    while True:
        tokens, (outputs, inputs) = even(chance, 64, 16384), chance.choice(regimes.LAYERS)
        if 2 * tokens * outputs * inputs < draw.MOST_OPERATIONS[dtype] and tokens * outputs < draw.MOST_NUMBERS:
            break
    of_data = chance.random() < 0.5

    def calls():
        import torch
        dy = tensor(dtype, tokens, outputs)
        if of_data:
            w = tensor(dtype, outputs, inputs)
            return [multiplied(dtype, lambda: torch.mm(dy, w))]
        x = tensor(dtype, tokens, inputs)
        return [multiplied(dtype, lambda: torch.mm(dy.t(), x))]
    dims = f"m={tokens};n={inputs};k={outputs};layout=nn" if of_data else f"m={outputs};n={inputs};k={tokens};layout=nt"
    return Case(f"gradient {dtype} {dims}", ("cublas", "gemm", dtype, dims, "warm"), calls)


def embedding(chance, backward):
    dtype = chance.choice(("bf16", "bf16", "bf16", "fp32", "fp16"))
    vocab = chance.choice((even(chance, 500, 260000), 32000, 50257, 128256, 151936))
    cols = chance.choice((128 * even(chance, 1, 96), 64 * even(chance, 1, 32), even(chance, 4, 4000)))
    tokens = even(chance, 64, 32768) if backward else chance.choice((even(chance, 1, 65536), even(chance, 1, 64)))
    if vocab * cols > 8e8 or tokens * cols > 4e8:
        return embedding(chance, backward)
    words, seed = chance.random() < 0.4, chance.randrange(1 << 30)

    import torch
    maker = torch.Generator().manual_seed(seed)
    if words:  # Zipf's law
        ids = torch.multinomial(1.0 / torch.arange(1, vocab + 1), tokens, replacement=True, generator=maker)
        ids = torch.randperm(vocab, generator=maker)[ids]
    else:
        ids = torch.randint(0, vocab, (tokens,), generator=maker)
    distinct = int(torch.unique(ids).numel())

    def calls():
        on_card = ids.cuda()
        if backward:
            dy = tensor(dtype, tokens, cols)
            return [lambda: torch.ops.aten.embedding_dense_backward(dy, on_card, vocab, -1, False)]
        table = tensor(dtype, vocab, cols)
        return [lambda: torch.nn.functional.embedding(on_card, table)]
    dims = f"tokens={tokens};vocab={vocab};cols={cols};distinct={distinct}" + (";backward=true" if backward else "")
    return Case(f"embedding {dtype} {dims}", ("torch", "embedding", dtype, dims, "warm"), calls)


def plan(seed):
    """Cases in a random order, built when they are reached."""
    chance = random.Random(seed)
    kinds = [(batched, dtype) for dtype, number in BATCHED.items() for _ in range(number)]
    kinds += [(draw.linear, dtype) for dtype, number in LINEAR.items() for _ in range(number)]
    kinds += [(unaligned, dtype) for dtype, number in UNALIGNED.items() for _ in range(number)]
    kinds += [(gradient, dtype) for dtype, number in GRADIENTS.items() for _ in range(number)]
    kinds += [(embedding, False)] * EMBEDDINGS + [(embedding, True)] * EMBEDDING_GRADIENTS
    cases = [(kind, word, chance.random()) for kind, word in kinds]
    chance.shuffle(cases)
    return [lambda k=kind, w=word, s=start: k(random.Random(s), w) for kind, word, start in cases]


def timed(bench, case, out, options, version):
    us = draw.measured(bench, case)
    if us < small_rows.SHORTEST_US:
        return 0
    source, family, dtype, dims, warmth = case.form
    out.writerow([options.gpu, options.source, "pytorch", version, source, family, dtype, dims, "graph", warmth, f"{us:.4f}"])
    return 1


def named(cases, out):
    from collect.windows import kernel_names
    found = kernel_names.launched([multiplied(case.form[2], case.calls()[0]) for case in cases], 2)
    for case, kernels in zip(cases, found):
        for index, (name, grid, block, us) in enumerate(kernels):
            source, family, dtype, dims, _ = case.form
            out.writerow([source, family, dtype, dims, index, kernel_names.brief(name), grid, block, f"{us:.4f}"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", default="h200_products.csv")
    parser.add_argument("--names", default="", help="a table of the kernels launched; profiled when all are timed")
    parser.add_argument("--seed", type=int, default=31)
    parser.add_argument("--gpu", default="H200-SXM")
    parser.add_argument("--source", default="tilecast-h200-products", help="name of the table; of one that is to judge, another")
    parser.add_argument("--budget-seconds", type=float, default=300)
    parser.add_argument("--names-seconds", type=float, default=120)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    cases = plan(options.seed)
    if options.list:
        for case in cases:
            print(case().text)
        return 0
    import torch
    from collect.windows.bench import Bench
    deadline, bench, count, done = Deadline(options.budget_seconds), Bench(), 0, []
    with open(options.out, "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(draw.COLUMNS)
        for make in cases:
            if deadline.passed():
                break
            case = make()
            try:
                count += timed(bench, case, out, options, torch.__version__)
                done.append(case)
            except Exception as error:
                print("FAILED", case.text, short(error), flush=True)
                torch.cuda.synchronize()
            file.flush()
            if torch.cuda.memory_reserved() > 60e9:
                torch.cuda.empty_cache()
    print(f"products: {count} rows of {len(cases)} cases in {deadline.elapsed():.0f} s", flush=True)
    if not options.names:
        return 0
    deadline = Deadline(options.names_seconds)
    with open(options.names, "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(NAME_COLUMNS)
        for start in range(0, len(done), PROFILED_TOGETHER):
            if deadline.passed():
                break
            try:
                named(done[start:start + PROFILED_TOGETHER], out)
            except Exception as error:
                print("FAILED names", done[start].text, short(error), flush=True)
                torch.cuda.synchronize()
            file.flush()
            torch.cuda.empty_cache()
    print(f"products: names in {deadline.elapsed():.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
