"""The program, the C interface, the package, the service for assistants and the one over HTTP agree to the last digit, on random questions of all kinds."""

import json
import random
import subprocess
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from faces_testing import HttpFace, by_assistant
from package_testing import C_PROGRAM, MISSING, PROGRAM, ROOT, needs_package

if not MISSING:
    from tilecast import _library

GPUS = ["A100-SXM-80GB", "L40S", "H100-SXM", "H200-SXM", "B200", "MI300X", "L4", "V100-SXM2-32GB"]
MODELS = ["Llama-3.2-1B", "Llama-3.1-8B", "Qwen3-30B-A3B", "GPT-2", "DeepSeek-V3", "bert-large-uncased"]
SHAPES = {
    "gemm": ("m", "n", "k"), "rmsnorm": ("rows", "cols"), "softmax": ("rows", "cols"), "reduction": ("rows", "cols"),
    "attention_decode": ("batch", "kv_len", "heads"), "attention_prefill": ("batch", "q_len", "heads"), "layernorm": ("rows", "cols"),
}


def kernel(draw):
    family = draw.choice(list(SHAPES))
    query = {"family": family, "gpu": draw.choice(GPUS), "dtype": draw.choice(["bf16", "fp16", "fp32"]),
             "method": draw.choice(["tilecast", "analytic", "roofline"]), "runtime": draw.choice(["graph", "eager"])}
    query.update({dim: draw.choice([8, 16, 32]) if dim == "heads" else draw.randint(1, 4096) for dim in SHAPES[family]})
    return "kernel", query


def predict(draw):
    mode = draw.choice(["prefill", "decode", "train"])
    model = draw.choice(["GPT-2", "Llama-3.2-1B"] if mode == "train" else MODELS[:4])
    query = {"model": model, "gpu": draw.choice(GPUS), "mode": mode, "batch": draw.randint(1, 16)}
    query.update({"context": draw.randint(1, 900)} if mode == "decode" else {"seq": draw.randint(1, 900)})
    if mode != "train":
        query["engine"] = draw.choice(["vllm", "sglang", "trtllm"])
    return "predict", query


def predict_many(draw):
    return "predict", {"model": "Llama-3.1-8B", "cluster": draw.choice(["hgx-h100", "hgx-h200"]), "tp": draw.choice([2, 4, 8]),
                       "mode": "prefill", "seq": draw.randint(64, 4096), "batch": draw.randint(1, 4)}


def memory(draw):
    return "memory", {"model": draw.choice(MODELS[:3]), "gpu": draw.choice(GPUS), "mode": "decode", "batch": draw.randint(1, 64),
                      "context": draw.randint(100, 4000)}


def collective(draw):
    return "collective", {"op": draw.choice(["all_reduce", "all_gather", "reduce_scatter"]), "cluster": draw.choice(["hgx-h100", "hgx-b200"]),
                          "bytes": 2 ** draw.randint(8, 30), "ranks": draw.choice([2, 4, 8])}


def gpu(draw):
    return "gpu", {"gpu": draw.choice(GPUS)}


def models(draw):
    return "models", {"model": draw.choice(MODELS)}


def simulate(draw):
    return "simulate", {"model": "Llama-3.2-1B", "gpu": draw.choice(GPUS[:5]), "rate": draw.randint(1, 20), "num_prompts": 40,
                        "input": draw.randint(10, 600), "output": draw.randint(2, 60), "seed": draw.randint(1, 99)}


def plan_train(draw):
    return "plan train", {"model": "Llama-3.2-1B", "gpus": "8xH100", "global_batch": 2 ** draw.randint(4, 7), "seq": 1024}


def plan_serve(draw):
    return "plan serve", {"model": "Llama-3.2-1B", "slo": "ttft=2s,tpot=80ms", "rate": draw.randint(1, 4), "gpus": ["H100"],
                          "input": 128, "output": 16}


def tune_moe(draw):
    return "tune fused-moe", {"gpu": "H200-SXM", "experts": 64, "hidden": 1024, "inter": 512, "topk": 4, "tokens": [draw.randint(1, 500)]}


def tune_gemm(draw):
    return "tune gemm", {"gpu": "H100-SXM", "m": draw.randint(1, 500), "n": 1024, "k": 1024}


DATA = ROOT / "data"


def predict_program(draw):
    return "predict", {"model": str(DATA / "programs" / "bert-inference-eager-batch64_length128.json.gz"), "gpu": draw.choice(GPUS[:4])}


def diagnose(draw):
    return "diagnose", {"trace": str(DATA / "measurements" / "traces" / draw.choice(["h200_eager.json.gz", "h200_compiled.json.gz"]))}


def retime(draw):
    return "retime", {"trace": str(DATA / "measurements" / "traces" / "h200_compiled.json.gz"), "gpu": draw.choice(["B200", "L40S"])}


def listed(question):
    return lambda draw: (question, {})


KINDS = [(kernel, 130), (predict, 70), (predict_many, 14), (memory, 20), (collective, 30), (gpu, 8), (models, 8), (simulate, 7),
         (plan_train, 2), (plan_serve, 1), (tune_moe, 2), (tune_gemm, 2), (predict_program, 1), (diagnose, 1), (retime, 1),
         (listed("gpus"), 1), (listed("clusters"), 1), (listed("models"), 1)]


def command(question, query):
    """The same on the command line."""
    words, query = [PROGRAM, *question.split()], dict(query)
    if question == "kernel":
        words.append(query.pop("family"))
    if question == "gpu":
        words.append("show")
    for positional in ("model", "op", "trace") + (("gpu",) if question == "gpu" else ()):
        if positional in query:
            words.append(str(query.pop(positional)))
    for name, value in query.items():
        words += ["--" + name.replace("_", "-"), ",".join(map(str, value)) if isinstance(value, list) else str(value)]
    return words + ["--json"]


def by_program(question, query):
    told = subprocess.run(command(question, query), capture_output=True, text=True)
    return json.loads(told.stdout) if told.returncode == 0 else None


@needs_package
@unittest.skipUnless(Path(PROGRAM).exists(), f"{PROGRAM} was not built")
class Agreement(unittest.TestCase):
    def test_three_hundred_questions(self):
        draw = random.Random(18)
        questions = [make(draw) for make, count in KINDS for _ in range(count)]
        self.assertEqual(len(questions), 300)
        # `calibrate` writes a file: below.
        self.assertEqual({question for question, _ in questions} | {"calibrate"}, {one["name"] for one in _library.questions()}, "every question is asked")
        with ThreadPoolExecutor(2) as pool:
            programs = list(pool.map(lambda one: by_program(*one), questions))
        refused = 0
        for (question, query), told in zip(questions, programs):
            outcome = _library.ask_many(question, [query])[0]
            self.assertEqual(outcome.get("answer"), told, (question, query, outcome.get("error")))
            refused += told is None
        self.assertLess(refused, 60)
        self.check_others(questions, programs)
        self.check_c(questions, programs)

    def test_a_calibration(self):
        """... whose answer names the file that was written, and which over HTTP holds it."""
        query = {"gpu": "H200-SXM", "data": str(DATA / "measurements" / "h200_quick.csv.gz")}
        with tempfile.TemporaryDirectory() as folder:
            paths = [str(Path(folder) / name) for name in ("program.json", "library.json")]
            told = by_program("calibrate", {**query, "out": paths[0]})
            answer = _library.ask_many("calibrate", [{**query, "out": paths[1]}])[0]["answer"]
            cards = [Path(path).read_text() for path in paths]
        with HttpFace() as http:
            served = http.ask("calibrate", {**query, "files": True})
        # Each says where its rows are from; what is sent has a name alone.
        cards = [card.replace(query["data"], Path(query["data"]).name) for card in cards] + [served.pop("files")[0]["text"]]
        for one in (told, answer, served):
            del one["written"], one["seconds"]  # where, and how long it took
        self.assertEqual(answer, told)
        self.assertEqual(served, told)
        self.assertEqual(cards, [cards[0]] * 3)

    def check_others(self, questions, programs):
        """... of an assistant and over HTTP; a file is called as it was sent there."""
        def named(answer):
            return {**answer, "trace": Path(answer["trace"]).name} if isinstance(answer, dict) and "trace" in answer else answer

        asked = 0
        for (question, query), told, answer in zip(questions, programs, by_assistant(questions)):
            if answer != "no tool":
                self.assertEqual(named(answer), named(told), ("mcp", question, query))
                asked += 1
        self.assertGreater(asked, 250)
        with HttpFace() as http:
            for (question, query), told in zip(questions, programs):
                self.assertEqual(named(http.ask(question, query)), named(told), ("http", question, query))

    def check_c(self, questions, programs):
        """... of C: one program that asks what it is told line by line (examples/ask.c)."""
        if not C_PROGRAM:
            self.skipTest("examples/ask.c was not built")
        lines = "".join(f"{question}\t{json.dumps(query)}\n" for question, query in questions)
        told = subprocess.run([C_PROGRAM], input=lines, capture_output=True, text=True, check=True).stdout
        answers = [json.loads(part) if part.strip() else None for part in told.split("\f")[:-1]]
        self.assertEqual(answers, programs)


if __name__ == "__main__":
    unittest.main()
