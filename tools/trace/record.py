#!/usr/bin/env python3
"""Records profiler traces of small transformers with random weights, as people have them.

    python3 tools/trace/record.py --out traces            # PyTorch profiler, one trace a scene
    ncu ... python3 tools/trace/record.py --counters      # the same launches for Nsight Compute

Two layers of Llama 3.1 8B in bf16. Scenes: `eager` (plain PyTorch: a prefill, a decode step and a
training step), `serving` (fused Triton kernels and a fused mixture of experts: a prefill, a decode
step, and the decode step again as a CUDA graph) and `compiled` (torch.compile). Every step runs
before it is recorded.
"""

import argparse
import contextlib
import gzip
import os
import shutil
import sys
from dataclasses import replace

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tune"))

import torch  # noqa: E402
from torch.profiler import ProfilerActivity, profile, record_function  # noqa: E402

import configs  # noqa: E402
from collect.models.plan import Case  # noqa: E402
from collect.models.shapes import SHAPES  # noqa: E402
from collect.models.steps import Server, Trainer  # noqa: E402
from moe_model import moe_op  # noqa: E402

MODEL = "llama-3.1-8b"
PREFILL = Case(MODEL, "prefill", "eager", "plain", "flash", "bf16", 0, 1, 2048)
DECODE = replace(PREFILL, mode="decode", batch=8)
TRAIN = replace(PREFILL, mode="train", batch=2, length=1024)


class Mixture:
    """A layer of Qwen3-30B-A3B: router, both expert products."""

    def __init__(self):
        weights = lambda *size: torch.empty(size, dtype=torch.bfloat16, device="cuda").normal_(0, 0.02)
        self.router = weights(128, 2048)
        self.w13, self.w2 = weights(128, 2 * 768, 2048), weights(128, 2048, 768)

    def step(self, tokens):
        x = torch.randn((tokens, 2048), dtype=torch.bfloat16, device="cuda")

        def run():
            scores = torch.softmax(torch.nn.functional.linear(x, self.router).float(), -1)
            weight, experts_of = scores.topk(8, dim=1)
            config = configs.default_by_tokens(tokens, 128)
            return moe_op(x, self.w13, self.w2, experts_of, weight / weight.sum(1, keepdim=True),
                          list(config.values()))
        return run


def as_graph(run):
    """The step as one CUDA graph."""
    run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()

    def replay(_keep=run):  # its tensors must live as long as the graph
        graph.replay()
    return replay


def scenes(which):
    """Steps by scene, made when asked for: {scene: {name: call}}."""
    shape = replace(SHAPES[MODEL], layers=2)
    server = Server(shape, [PREFILL, DECODE])
    with torch.no_grad():
        if "eager" in which:
            trainer = Trainer(shape, TRAIN)
            yield "eager", {"prefill": server.step(PREFILL), "decode": server.step(DECODE),
                            "train": trainer.step}
            del trainer
        if "serving" in which:
            decode, mixture = replace(DECODE, ops="fused"), Mixture()
            yield "serving", {"prefill": server.step(replace(PREFILL, ops="fused")),
                              "decode": server.step(decode), "decode_graph": as_graph(server.step(decode)),
                              "moe_decode": mixture.step(64), "moe_prefill": mixture.step(4096)}
        if "compiled" in which:
            yield "compiled", {"prefill": server.step(replace(PREFILL, engine="compile")),
                               "decode": server.step(replace(DECODE, engine="compile"))}


def run_steps(steps):
    for name, step in steps.items():
        with record_function(f"step:{name}"), grads(name):
            step()
        torch.cuda.synchronize()


def grads(name):
    return torch.enable_grad() if name == "train" else contextlib.nullcontext()


def record(scene, steps, folder):
    for _ in range(2):
        run_steps(steps)
    card = torch.cuda.get_device_name().split()[-1].lower()
    path = os.path.join(folder, f"{card}_{scene}.json")
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True) as profiler:
        run_steps(steps)
    profiler.export_chrome_trace(path)
    with open(path, "rb") as raw, gzip.GzipFile(path + ".gz", "wb", mtime=0) as packed:
        shutil.copyfileobj(raw, packed)
    print(f"{scene}: {os.path.getsize(path)} bytes, {os.path.getsize(path + '.gz')} compressed", flush=True)
    os.remove(path)


def count(scene, steps):
    """Runs the steps where Nsight Compute watches (--profile-from-start off)."""
    run_steps(steps)
    torch.cuda.profiler.start()
    run_steps(steps)
    torch.cuda.profiler.stop()
    print(f"{scene}: counted", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=".")
    parser.add_argument("--counters", action="store_true")
    parser.add_argument("--scenes", nargs="*", default=["eager", "serving", "compiled"])
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    torch.manual_seed(20261115)
    for scene, steps in scenes(options.scenes):
        if options.counters:
            count(scene, {name: step for name, step in steps.items() if name != "decode_graph"})
        else:
            record(scene, steps, options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
