#!/usr/bin/env python3
"""Measures the catalogue's programs on a CUDA card: times, kernels, memory, traces.

    python3 tools/collect/programs/measure.py --out results --budget-seconds 560
    python3 tools/collect/programs/measure.py --list

Programs are built and warmed side by side, each in a process of its own, and then measured one at a time while all the
others are stopped. Results are written as they come, so that a run cut short keeps what it has.
"""

from __future__ import annotations

import argparse
import csv
import glob
import json
import os
import shutil
import signal
import sys
import tempfile
import time
import zipfile
from typing import Any

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")

from collect.programs import catalogue  # noqa: E402
from collect.programs.catalogue import Program  # noqa: E402
from collect.programs.worker import Place, run_worker  # noqa: E402

COLUMNS = ["program", "kind", "half", "mode", "engine", "sizes", "card", "latency_ms", "least_ms", "p90_ms", "wall_ms",
           "steps", "issue_ms", "idle_wall_ms", "kernel_sum_ms", "launches", "peak_bytes", "peak_requested_bytes",
           "resting_bytes", "reserved_bytes", "reserved_again_bytes", "parameters", "add_us", "sm_mhz", "watts",
           "celsius", "build_s", "first_steps_s"]
KERNEL_COLUMNS = ["program", "phase", "operator", "sizes", "kernel", "grid", "block", "calls", "total_us"]
WAVE = 16
WAVE_PATIENCE, COMPILE_PATIENCE, SLOT_PATIENCE = 25.0, 60.0, 20.0  # seconds


class Process:
    def __init__(self, program: Program, folder: str, number: int, device: str) -> None:
        self.program, self.place, self.over = program, Place(folder, program.name), False
        self.pid = os.fork()
        if self.pid == 0:
            _child(program, folder, number, device)

    def ended(self) -> bool:
        if not self.over:
            pid, _ = os.waitpid(self.pid, os.WNOHANG)
            self.over = pid != 0
        return self.over

    def signal(self, number: int) -> None:
        if not self.ended():
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        if not self.over:
            os.waitpid(self.pid, 0)
            self.over = True

    def ready(self) -> bool:
        return self.place.said("ready")


def _child(program: Program, folder: str, number: int, device: str) -> None:
    if program.engine == "compile":
        os.nice(5)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(folder, "inductor", str(number))
    import torch
    if device == "cuda" and torch.cuda._is_in_bad_fork():
        os.execv(sys.executable, [sys.executable, os.path.abspath(__file__), "--one", program.name, "--folder", folder,
                                  "--number", str(number), "--device", device])
    run_worker(program, folder, number, device)
    sys.stdout.flush()
    os._exit(0)


class Run:
    def __init__(self, out: str, seconds: float, device: str, code: bool = False) -> None:
        self.out, self.device, self.number, self.code = out, device, 0, code
        self.names: dict[int, str] = {}
        self.began, self.seconds = time.monotonic(), seconds
        self.folder = tempfile.mkdtemp(prefix="programs")
        self.alive: list[Process] = []
        self.waiting: list[Process] = []  # measured, results not yet collected
        self.card = card()
        os.makedirs(out, exist_ok=True)
        self.rows = self._table("programs.csv", COLUMNS)
        self.kernels = self._table("kernels.csv", KERNEL_COLUMNS)

    def _table(self, name: str, columns: list[str]) -> Any:
        file = open(os.path.join(self.out, name), "w", newline="")
        writer = csv.DictWriter(file, columns, lineterminator="\n", extrasaction="ignore")
        writer.writeheader()
        return file, writer

    def left(self) -> float:
        return self.seconds - (time.monotonic() - self.began)

    def say(self, *words: Any) -> None:
        print(f"{time.monotonic() - self.began:6.1f}", *words, flush=True)

    def start(self, programs: list[Program]) -> list[Process]:
        started = []
        for program in programs:
            self.number += 1
            self.names[self.number] = program.name
            started.append(Process(program, self.folder, self.number, self.device))
        self.alive += started
        return started

    def await_ready(self, processes: list[Process], patience: float) -> None:
        end = time.monotonic() + min(patience, self.left())
        while time.monotonic() < end and not all(p.ready() or p.ended() for p in processes):
            time.sleep(0.01)
            self.collect()

    def measure(self, processes: list[Process]) -> None:
        for process in processes:
            if self.left() < 3:
                return
            if process.ended() or process.place.said("measured"):
                self._finish(process)
            elif process.ready():
                self._alone(process)

    def _alone(self, process: Process) -> None:
        others = [p for p in self.alive if p is not process]
        for other in others:
            other.signal(signal.SIGSTOP)
        time.sleep(0.01)
        process.place.say("go")
        end = time.monotonic() + min(SLOT_PATIENCE, self.left())
        while not process.place.said("measured") and not process.ended() and time.monotonic() < end:
            time.sleep(0.003)
        if not process.place.said("measured"):
            process.kill()
        for other in others:
            other.signal(signal.SIGCONT)
        self._finish(process)

    def _finish(self, process: Process) -> None:
        if process in self.alive:
            self.alive.remove(process)
            self.waiting.append(process)
        self.collect()

    def collect(self) -> None:
        for process in list(self.waiting):
            path = process.place.base + ".json"
            if os.path.exists(path):
                with open(path) as file:
                    self._keep(process.program, json.load(file))
            elif process.ended():
                self.say("FAILED", process.program.name, "ended without a result")
            else:
                continue
            self.waiting.remove(process)

    def _keep(self, program: Program, result: dict[str, Any]) -> None:
        if result["status"] != "ok":
            self.say("FAILED", program.name, result.get("error"), result.get("where", "")[-600:])
            return
        sizes = " ".join(f"{key}={value}" for key, value in program.sizes.items())
        row = {key: round(value, 5) if isinstance(value, float) else value for key, value in result.items()}
        row.update(program=program.name, kind=program.kind, half=program.half, mode=program.mode,
                   engine=program.engine, sizes=sizes, card=self.card)
        self.rows[1].writerow(row)
        self.kernels[1].writerows({**kernel, "program": program.name} for kernel in result["kernels"])
        self.rows[0].flush()
        self.kernels[0].flush()
        if program.trace:
            with zipfile.ZipFile(os.path.join(self.out, "traces.zip"), "a") as pack:
                pack.write(os.path.join(self.folder, program.name + ".trace.gz"), program.name + ".json.gz")
        self.say(program.name, f"{result['latency_ms']:.2f} ms, kernels {result['kernel_sum_ms']:.2f},",
                 f"built in {result['build_s']:.1f} + {result['first_steps_s']:.1f} s")

    def wave(self, programs: list[Program]) -> None:
        for first in range(0, len(programs), WAVE):
            if self.left() < 8:
                return
            started = self.start(programs[first:first + WAVE])
            self.await_ready(started, WAVE_PATIENCE)
            self.say("ready:", sum(p.ready() for p in started), "of", len(started))
            self.measure(started)
            late = [p for p in started if p in self.alive]
            self.await_ready(late, 8.0)
            self.measure(late)
            for process in [p for p in late if p in self.alive]:
                self.say("LATE", process.program.name)
                process.kill()
                self.alive.remove(process)

    def _keep_code(self) -> None:
        """What Inductor wrote around its kernels: calls, buffers and where they are freed."""
        with zipfile.ZipFile(os.path.join(self.out, "code.zip"), "w", zipfile.ZIP_DEFLATED) as pack:
            for number, name in self.names.items():
                for path in glob.glob(os.path.join(self.folder, "inductor", str(number), "*", "*.py")):
                    with open(path, errors="replace") as file:
                        text = file.read()
                    if "def call(" in text:
                        pack.writestr(f"{name}/{os.path.basename(path)}", text)

    def end(self) -> None:
        finish = time.monotonic() + 5
        while self.waiting and time.monotonic() < finish:
            self.collect()
            time.sleep(0.01)
        for process in self.alive + self.waiting:
            process.kill()
        if self.code:
            self._keep_code()
        shutil.rmtree(self.folder, ignore_errors=True)


def card() -> str:
    from collect.windows.rows import card_name
    return card_name()


def preload() -> dict[str, str]:
    """Imports what the programs need, once, before anything is forked; nothing here may touch the card."""
    import torch
    import torch._dynamo
    import torch._inductor.compile_fx  # noqa: F401
    import torchvision
    import transformers as hf
    for name in ("BertForMaskedLM", "T5ForConditionalGeneration", "GPT2LMHeadModel", "LlamaForCausalLM",
                 "Qwen3MoeForCausalLM", "Mamba2ForCausalLM", "WhisperForConditionalGeneration", "Wav2Vec2Model",
                 "ViTForImageClassification", "SegformerForSemanticSegmentation", "CLIPModel",
                 "Dinov2WithRegistersModel", "ModernBertForMaskedLM", "DebertaV2ForMaskedLM", "AlbertForMaskedLM",
                 "DistilBertModel", "MixtralForCausalLM", "DeiTForImageClassification",
                 "BartForConditionalGeneration", "ElectraForPreTraining", "GPTNeoXForCausalLM", "BloomForCausalLM",
                 "SamVisionModel", "DPTForDepthEstimation", "VisionEncoderDecoderModel", "MPNetModel", "SiglipVisionModel",
                 "Qwen3ForCausalLM"):
        getattr(hf, name)
    return {"torch": torch.__version__, "torchvision": torchvision.__version__, "transformers": hf.__version__,
            "cuda": str(torch.version.cuda)}


def everything(run: Run, patience: float, eager: list[Program], compiled: list[Program],
               retimed: list[Program]) -> None:
    """Half of the eager ones while the compiler works, then the compiled ones, then the rest."""
    compilers = run.start(compiled)
    run.wave(eager[:2 * WAVE - 2])
    run.await_ready(compilers, patience)
    run.say("compiled:", sum(p.ready() for p in compilers), "of", len(compilers))
    run.measure(compilers)
    run.wave(retimed)
    run.measure([p for p in compilers if p in run.alive])
    run.wave(eager[2 * WAVE - 2:])
    run.measure([p for p in compilers if p in run.alive])


def chosen(only: str, unseen: str, also: str) -> list[list[Program]]:
    """Programs by how they are run: eager, compiled, for their traces."""
    if unseen:
        kinds = {"blind": catalogue.blind, "fresh": catalogue.fresh, "untouched": catalogue.untouched,
                 "sealed": catalogue.sealed}[unseen]()
        programs = kinds + [p for p in catalogue.everything() if p.name in also.split(",")]
        return [[p for p in programs if p.engine == engine] for engine in ("eager", "compile")] + [[]]
    words = [word for word in only.split(",") if word]
    if not words:
        return [catalogue.eager(), catalogue.compiled(), catalogue.retimed()]
    named = [p for p in catalogue.everything() if any(word in p.name for word in words)]
    return [[p for p in named if p.engine == engine and not p.trace] for engine in ("eager", "compile")] + [[p for p in named if p.trace]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="results")
    parser.add_argument("--budget-seconds", type=float, default=560.0)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--only", default="", help="names that contain one of these words, separated by commas")
    parser.add_argument("--unseen", choices=("blind", "fresh", "untouched", "sealed"), default="",
                        help="the kinds of one of the later sets, and those of --also")
    parser.add_argument("--also", default="", help="with --unseen: full names of other programs, separated by commas")
    parser.add_argument("--patience", type=float, default=COMPILE_PATIENCE, help="seconds the compiler may take")
    parser.add_argument("--code", action="store_true", help="keep what the compiler wrote, in code.zip")
    parser.add_argument("--list", action="store_true")
    for hidden in ("--one", "--folder", "--number"):
        parser.add_argument(hidden, default="", help=argparse.SUPPRESS)
    args = parser.parse_args()
    lists = chosen(args.only, args.unseen, args.also)
    if args.list:
        for program in [p for part in lists for p in part]:
            print(program.half, program.name)
        return
    if args.one:
        program = next(p for p in catalogue.everything() if p.name == args.one)
        run_worker(program, args.folder, int(args.number), args.device)
        return
    os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    run = Run(args.out, args.budget_seconds, args.device, args.code)
    run.say("versions", json.dumps(preload()))
    try:
        everything(run, args.patience, *lists)
    finally:
        run.end()


if __name__ == "__main__":
    main()
