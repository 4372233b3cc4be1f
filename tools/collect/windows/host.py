#!/usr/bin/env python3
"""What the host takes to issue PyTorch's operators, by kind, and whole steps beside it.

    python3 tools/collect/windows/host.py --out results --budget-seconds 150

Every operator runs on tensors so small that the card waits for the host. A row is the median of rounds, in between which
the host's pace is read (a plain `add` on one number): hosts differ and wander, so the quotient is what carries over.
"""

import argparse
import os
import statistics
import sys
import time

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")

from collect.windows.rows import Deadline, Rows, card_name, short  # noqa: E402

COLUMNS = ["card", "part", "what", "mode", "us", "least_us", "add_us", "over_add", "loop_ns"]
STEP_COLUMNS = ["card", "model", "mode", "batch", "length", "issue_ms", "least_ms", "wall_ms", "add_us", "loop_ns"]
ROUNDS, CALLS = 9, 120


def operators(torch):
    """name -> (call, parameters that need a gradient)"""
    import torch.nn.functional as F
    bf16 = dict(dtype=torch.bfloat16, device="cuda")
    x = torch.randn(1, 16, 256, **bf16)
    y = torch.randn(1, 16, 256, **bf16)
    wide = torch.randn(1, 16, 256, device="cuda")
    weight, bias = torch.randn(256, 256, **bf16), torch.randn(256, **bf16)
    vector = torch.randn(256, **bf16)
    heads = torch.randn(1, 4, 16, 64, **bf16)
    image = torch.randn(1, 16, 8, 8, **bf16)
    kernel = torch.randn(16, 16, 3, 3, **bf16)
    table, ids = torch.randn(1000, 256, **bf16), torch.randint(0, 1000, (1, 16), device="cuda")
    cache, places = torch.randn(1, 64, 256, **bf16), torch.arange(16, device="cuda")
    logits, targets = torch.randn(16, 1000, device="cuda"), torch.randint(0, 1000, (16,), device="cuda")
    stats = [torch.zeros(16, **bf16), torch.ones(16, **bf16)]
    linear, norm = torch.nn.Linear(256, 256, **bf16), torch.nn.LayerNorm(256, **bf16)
    identity, gelu = torch.nn.Identity(), torch.nn.GELU()
    return {
        "add": lambda: x + y,
        "mul_number": lambda: x * 0.5,
        "mul_broadcast": lambda: x * vector,
        "pow": lambda: wide.pow(2),
        "rsqrt": lambda: torch.rsqrt(wide),
        "mean": lambda: wide.mean(-1, keepdim=True),
        "sum": lambda: x.sum(-1),
        "float": lambda: x.float(),
        "to_bf16": lambda: wide.to(torch.bfloat16),
        "silu": lambda: F.silu(x),
        "gelu": lambda: F.gelu(x),
        "tanh": lambda: torch.tanh(x),
        "softmax": lambda: F.softmax(x, -1),
        "softmax_fp32": lambda: F.softmax(x, -1, dtype=torch.float32),
        "layer_norm": lambda: F.layer_norm(x, (256,), vector, vector, 1e-5),
        "rms_norm": lambda: F.rms_norm(x, (256,), vector, 1e-5),
        "linear": lambda: F.linear(x, weight),
        "linear_bias": lambda: F.linear(x, weight, bias),
        "addmm": lambda: torch.addmm(bias, x[0], weight),
        "matmul": lambda: torch.matmul(heads, heads.transpose(2, 3)),
        "bmm": lambda: torch.bmm(heads[0], heads[0].transpose(1, 2)),
        "conv2d": lambda: F.conv2d(image, kernel, None, 1, 1),
        "batch_norm": lambda: F.batch_norm(image, *stats, *stats, False, 0.1, 1e-5),
        "relu": lambda: F.relu(image),
        "sdpa": lambda: F.scaled_dot_product_attention(heads, heads, heads),
        "sdpa_causal": lambda: F.scaled_dot_product_attention(heads, heads, heads, is_causal=True),
        "embedding": lambda: F.embedding(ids, table),
        "cat": lambda: torch.cat((x, y), -1),
        "copy": lambda: cache[:, :16].copy_(x),
        "index_copy": lambda: cache.index_copy_(1, places, x),
        "contiguous": lambda: heads.transpose(1, 2).contiguous(),
        "reshape_copy": lambda: heads.transpose(1, 2).reshape(1, 16, 256),
        "roll": lambda: torch.roll(image, (2, 2), (2, 3)),
        "argmax": lambda: torch.argmax(logits, -1),
        "cross_entropy": lambda: F.cross_entropy(logits, targets),
        "neg": lambda: -x,
        "where": lambda: torch.where(x > 0, x, y),
        "masked_fill": lambda: x.masked_fill(x > 0, 0.0),
        # Without a kernel.
        "view": lambda: x.view(16, 256),
        "transpose": lambda: heads.transpose(1, 2),
        "slice": lambda: x[:, 2:8],
        "split": lambda: x.split(64, -1),
        "chunk_heads": lambda: x.view(1, 16, -1, 64).transpose(1, 2),
        "empty": lambda: torch.empty_like(x),
        # Modules around it.
        "module_identity": lambda: identity(x),
        "module_linear": lambda: linear(x),
        "module_layer_norm": lambda: norm(x),
        "module_gelu": lambda: gelu(x),
    }


def pace(torch, calls=100):
    one = torch.zeros(1, device="cuda")
    for _ in range(3):
        one + one
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(calls):
        one + one
    return (time.perf_counter() - began) / calls * 1e6


def loop_ns():
    began = time.perf_counter()
    for _ in range(100_000):
        pass
    return (time.perf_counter() - began) * 1e4


def issue_us(torch, call, calls):
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - began) / calls * 1e6


class Sweep:
    def __init__(self, folder):
        import torch
        self.torch, self.card = torch, card_name()
        self.rows = Rows(folder, "h200_host", COLUMNS)
        self.steps = Rows(folder, "h200_host_steps", STEP_COLUMNS)

    def note(self, part, what, mode, call, calls=CALLS):
        torch = self.torch
        for _ in range(10):
            call()
        times, paces = [], []
        for _ in range(ROUNDS):
            paces.append(pace(torch))
            times.append(issue_us(torch, call, calls))
        ratio = statistics.median(t / p for t, p in zip(times, paces))
        self.rows.add(card=self.card, part=part, what=what, mode=mode, us=statistics.median(times),
                      least_us=sorted(times)[0], add_us=statistics.median(paces), over_add=ratio, loop_ns=loop_ns())

    def inference(self):
        torch = self.torch
        with torch.no_grad():
            for name, call in operators(torch).items():
                self.attempt(self.note, "operator", name, "no_grad", call)

    def training(self):
        """Forward with a graph being recorded, then forward and backward together."""
        torch = self.torch
        import torch.nn.functional as F
        bf16 = dict(dtype=torch.bfloat16, device="cuda", requires_grad=True)
        x, y = torch.randn(1, 16, 256, **bf16), torch.randn(1, 16, 256, **bf16)
        weight, bias = torch.randn(256, 256, **bf16), torch.randn(256, **bf16)
        heads = torch.randn(1, 4, 16, 64, **bf16)
        image, kernel = torch.randn(1, 16, 8, 8, **bf16), torch.randn(16, 16, 3, 3, **bf16)
        logits, targets = torch.randn(16, 1000, device="cuda", requires_grad=True), torch.randint(0, 1000, (16,), device="cuda")
        table, ids = torch.randn(1000, 256, **bf16), torch.randint(0, 1000, (1, 16), device="cuda")
        calls = {
            "add": (lambda a: a + y, x), "mul": (lambda a: a * y, x), "float": (lambda a: a.float(), x),
            "silu": (F.silu, x), "gelu": (F.gelu, x), "softmax": (lambda a: F.softmax(a, -1), x),
            "layer_norm": (lambda a: F.layer_norm(a, (256,), bias, bias, 1e-5), x),
            "rms_norm": (lambda a: F.rms_norm(a, (256,), bias, 1e-5), x),
            "linear": (lambda a: F.linear(a, weight), x), "linear_bias": (lambda a: F.linear(a, weight, bias), x),
            "matmul": (lambda a: torch.matmul(a, a.transpose(2, 3)), heads),
            "sdpa_causal": (lambda a: F.scaled_dot_product_attention(a, a, a, is_causal=True), heads),
            "conv2d": (lambda a: F.conv2d(a, kernel, None, 1, 1), image),
            "embedding": (lambda a: F.embedding(ids, a), table),
            "cross_entropy": (lambda a: F.cross_entropy(a, targets), logits),
            "transpose": (lambda a: a.transpose(1, 2), heads), "contiguous": (lambda a: a.transpose(1, 2).contiguous(), heads),
            "cat": (lambda a: torch.cat((a, y), -1), x), "slice": (lambda a: a[:, 2:8], x),
            "pow": (lambda a: a.pow(2), x), "mean": (lambda a: a.mean(-1, keepdim=True), x),
        }
        for name, (call, given) in calls.items():
            self.attempt(self.note, "autograd", name, "forward", lambda: call(given))
            self.attempt(self.backward_of, name, call, given)

    def backward_of(self, name, call, given, length=20):
        """A chain of the operator where it keeps the shape, else many beside each other: backward alone."""
        torch = self.torch
        grads = torch.ones_like(call(given))

        def once():
            outs = [call(given) for _ in range(length)]
            torch.cuda.synchronize()
            began = time.perf_counter()
            torch.autograd.backward(outs, [grads] * length)
            self.spent += time.perf_counter() - began
            given.grad = None
        once_times, paces = [], []
        for _ in range(ROUNDS):
            paces.append(pace(torch))
            self.spent = 0.0
            for _ in range(4):
                once()
            once_times.append(self.spent / 4 / length * 1e6)
        ratio = statistics.median(t / p for t, p in zip(once_times, paces))
        self.rows.add(card=self.card, part="autograd", what=name, mode="backward", us=statistics.median(once_times),
                      least_us=min(once_times), add_us=statistics.median(paces), over_add=ratio, loop_ns=loop_ns())

    def optimizers(self):
        torch = self.torch
        for tensors in (50, 200):
            for form in ("fused", "foreach"):
                given = [torch.randn(64, 64, device="cuda", requires_grad=True) for _ in range(tensors)]
                for p in given:
                    p.grad = torch.randn_like(p)
                step = torch.optim.AdamW(given, lr=1e-4, **{form: True}).step
                self.attempt(self.note, "optimizer", f"adamw_{form}_{tensors}", "step", step, 10)

    def whole_steps(self, deadline):
        """Steps of transformers' models, the host's time alone, with its pace before and after each."""
        from collect.windows import hf_models
        torch = self.torch
        for name in ("vit-base", "bert-base", "whisper-small-encoder", "t5-base", "gpt2-medium", "llama-3.2-1b", "resnet-50",
                     "convnext-base", "swin-base", "qwen2.5-0.5b", "vit-large", "bert-large", "siglip-so400m",
                     "whisper-large-encoder", "bart-large"):
            if deadline.passed():
                return
            self.attempt(self.model_steps, hf_models, name)
            torch.cuda.empty_cache()

    def plain_steps(self):
        """Decoders of operators alone, without modules, and a training step of modules of our own; four layers."""
        from collect.windows import steps
        prepared = steps.Prepared()
        for mode in ("prefill", "decode"):
            for style in ("merged", "separate", "hf"):
                case = steps.Case("decoder", "llama-1b-4l", style, mode, "eager", "bf16", 1, 128)
                self.attempt(lambda: self.note_step("llama-1b-4l " + style, mode, 128, prepared.step(case)))
        case = steps.Case("train", "llama-1b-4l", "plain", "train", "eager", "bf16", 1, 128)
        self.attempt(lambda: self.note_step("llama-1b-4l plain", "train", 128, prepared.step(case)))

    def model_steps(self, hf_models, name):
        torch = self.torch
        _, length, _, labels = hf_models.MODELS[name]
        model, inputs = hf_models.build(name, "bf16")
        given = inputs(1)

        def forward():
            with torch.no_grad():
                model(**given)
        self.note_step(name, "forward", length, forward)
        if labels is None:
            return
        given = labels(inputs(1))
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6, fused=True)

        def train():
            model(**given).loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        self.note_step(name, "train", length, train)

    def note_step(self, name, mode, length, step):
        torch = self.torch
        for _ in range(3):
            step()
        issue, wall, paces = [], [], []
        for _ in range(9):
            paces.append(pace(torch))
            torch.cuda.synchronize()
            began = time.perf_counter()
            step()
            issue.append((time.perf_counter() - began) * 1e3)
            torch.cuda.synchronize()
            wall.append((time.perf_counter() - began) * 1e3)
        self.steps.add(card=self.card, model=name, mode=mode, batch=1, length=length,
                       issue_ms=statistics.median(issue), least_ms=min(issue), wall_ms=statistics.median(wall),
                       add_us=statistics.median(paces), loop_ns=loop_ns())

    @staticmethod
    def attempt(work, *given):
        try:
            work(*given)
        except Exception as error:
            print("FAILED", *[part for part in given if isinstance(part, str)], short(error), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", default="results")
    parser.add_argument("--budget-seconds", type=float, default=150)
    options = parser.parse_args()
    import gc
    deadline, sweep = Deadline(options.budget_seconds), Sweep(options.out)
    gc.collect()
    gc.disable()
    sweep.inference()
    sweep.training()
    sweep.optimizers()
    print(f"host: {sweep.rows.count} operators after {deadline.elapsed():.0f} s", flush=True)
    sweep.plain_steps()
    sweep.whole_steps(deadline)
    print(f"host: {sweep.steps.count} steps, {deadline.elapsed():.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
