"""The package: answers, tables, errors, batches, predictors; handles through pickles, forks and threads."""

import ctypes
import doctest
import math
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path
from unittest import mock

from package_testing import MISSING, PROGRAM, ROOT, needs_package

if not MISSING:
    import numpy
    import tilecast
    from tilecast import _library, pictures

SHAPE = dict(m=4096, n=4096, k=4096)


class Config:
    """As a configuration of transformers looks."""

    def __init__(self, **fields):
        self._fields = fields

    def to_dict(self):
        return dict(self._fields)


LLAMA = dict(architectures=["LlamaForCausalLM"], hidden_size=4096, intermediate_size=14336, num_hidden_layers=32, num_attention_heads=32,
             num_key_value_heads=8, vocab_size=128256, max_position_embeddings=131072, torch_dtype="bfloat16", model_type="llama",
             rms_norm_eps=1e-5, tie_word_embeddings=False)


@needs_package
class Questions(unittest.TestCase):
    def test_kernel(self):
        f = tilecast.kernel("gemm", gpu="H100-SXM", **SHAPE)
        self.assertEqual(f.dims["m"], "4096")
        self.assertLess(f.bound_us, f.latency_us)
        self.assertTrue(f.interval_us.low <= f.latency_us <= f.interval_us.high)
        self.assertAlmostEqual(sum(launch["latency_us"] for launch in f.breakdown), f.latency_us)
        self.assertEqual(f.to_dict()["latency_us"], f.latency_us)

    def test_models_come_as_name_folder_dict_and_config(self):
        question = dict(gpu="H100-SXM", mode="decode", batch=8, context=1024)
        by_name = tilecast.predict("Llama-3.1-8B", **question)
        with tempfile.TemporaryDirectory() as folder:
            import json
            (Path(folder) / "config.json").write_text(json.dumps(LLAMA))
            by_folder = tilecast.predict(Path(folder), **question)
        for other in (by_folder, tilecast.predict(LLAMA, **question), tilecast.predict(Config(**LLAMA), **question)):
            self.assertEqual(other.step_ms, by_name.step_ms)
        self.assertEqual(tilecast.models(LLAMA).parameters, tilecast.models("Llama-3.1-8B").parameters)
        served = tilecast.simulate(Config(**LLAMA, _name_or_path="mine"), gpu="H100-SXM", rate=2, num_prompts=8, input=64, output=8)
        self.assertEqual(served.model, "mine")

    def test_many_gpus(self):
        step = tilecast.predict("Llama-3.1-70B", cluster="hgx-h100", tp=8, mode="prefill", seq=2048)
        self.assertEqual(step.gpus, 8)
        self.assertAlmostEqual(sum(step.breakdown.values()), step.step_ms, places=6)
        self.assertTrue(step.fits)

    def test_recorded_programs(self):
        file = ROOT / "data" / "programs" / "bert-training-eager-batch16_length128_layers4.json.gz"
        step = tilecast.predict(file, gpu="H100-SXM")
        self.assertIsInstance(step, tilecast.ProgramForecast)
        self.assertTrue(step.interval_ms.low <= step.step_ms <= step.interval_ms.high)
        self.assertAlmostEqual(step.step_ms, max(step.gpu_ms, step.host_ms))
        self.assertAlmostEqual(sum(step.breakdown.values()), step.gpu_ms)
        self.assertEqual([phase["name"] for phase in step.phases], ["forward", "backward", "optimizer"])
        self.assertEqual(step.peak_bytes, step.to_dict()["memory_bytes"]["peak"])
        self.assertEqual(step.modules[0]["path"], "")
        self.assertTrue(step.fits and step.details() and "<svg" in step._repr_html_())
        table = tilecast.predict(str(file), gpu=["H100-SXM", "B200"], engine=["pytorch", "compile"])
        self.assertEqual(table[0].answer, step)
        self.assertEqual([row.answer.engine for row in table], ["pytorch", "compile"] * 2)

    def test_lists_make_tables_in_order(self):
        table = tilecast.kernel("gemm", gpu=["H100-SXM", "B200"], m=[1, 64], n=256, k=256)
        self.assertEqual([(row.arguments["gpu"], row.arguments["m"]) for row in table],
                         [("H100-SXM", 1), ("H100-SXM", 64), ("B200", 1), ("B200", 64)])
        self.assertEqual(table[3].answer.latency_us, tilecast.kernel("gemm", gpu="B200", m=64, n=256, k=256).latency_us)
        self.assertEqual(len(table[1:]), 3)

    def test_ranges_make_tables_too(self):
        table = tilecast.kernel("gemm", m="16,64..128:64", n=64, k=64, gpu=["H100-SXM", "B200"])
        self.assertEqual([row.arguments["m"] for row in table], [16, 64, 128] * 2)
        self.assertEqual(table[1].answer, tilecast.kernel("gemm", m=64, n=64, k=64, gpu="H100-SXM"))
        heads = tilecast.kernel("attention_decode", batch=1, kv_len=128, heads=8, kv_heads="3,4", gpu="H100-SXM")
        self.assertIn("kv-heads", str(heads[0].error))
        self.assertEqual(len(tilecast.simulate("gpt2", gpu="H100-SXM", num_prompts=2, input=64, output=8, rate="1,2")), 2)

    def test_lists_that_are_one_value(self):
        one = tilecast.tune_moe("H200-SXM", experts=8, hidden=1024, inter=512, topk=2, tokens=[1, 64])
        self.assertEqual(list(one.picks), [1, 64])

    def test_impossible_combinations_say_why(self):
        table = tilecast.predict("Llama-3.1-8B", gpu=["H100-SXM", "H100-SMX"], mode="prefill", seq=[128, -1])
        self.assertIsNotNone(table[0].answer)
        self.assertEqual([row.error.field if row.error else "" for row in table], ["", "seq", "gpu", "seq"])
        self.assertIn("H100-SXM", table[2].error.remedy)

    def test_gpus_by_dict_and_object(self):
        half = tilecast.gpu({"like": "H100-SXM", "name": "Half", "dram": {"gb_per_s": 1675}})
        self.assertEqual(half.dram_bytes_per_s, 1675e9)
        for given in (half, {"like": "H100-SXM", "name": "Half", "dram": {"gb_per_s": 1675}}):
            self.assertEqual(tilecast.kernel("gemm", gpu=given, **SHAPE).gpu, "Half")
        self.assertEqual(tilecast.kernel("gemm", gpu=[half, "H100-SXM"], **SHAPE)[1].answer.gpu, "H100-SXM")

    def test_plans(self):
        plan = tilecast.plan_serve("Llama-3.2-1B", slo="ttft=1s,tpot=50ms", rate=2, gpus=["H100"], input=128, output=16)
        self.assertIsNotNone(plan.best)
        self.assertIn("vllm", plan.launch)
        none = tilecast.plan_serve("Llama-3.2-1B", slo="tpot=1us", rate=2, gpus=["H100"], input=128, output=16)
        self.assertIsNone(none.best)

    def test_diagnose(self):
        trace = tilecast.diagnose(ROOT / "data" / "measurements" / "traces" / "h200_eager.json.gz")
        self.assertTrue(trace.work and trace.advice)

    def test_calibrate(self):
        """A card whose rows all took twice as long is forecast slower afterwards, by any question."""
        import csv
        import gzip
        with gzip.open(ROOT / "data" / "measurements" / "h200_both_quick.csv.gz", "rt") as file:
            rows = list(csv.DictReader(file))
        column = next(name for name in rows[0] if name.startswith("latency"))
        for row in rows:
            row[column] = str(2 * float(row[column]))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "slow.csv"
            with path.open("w", newline="") as file:
                writer = csv.DictWriter(file, [*rows[0]], lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows)
            mine = tilecast.calibrate("H200-SXM", path)
        self.assertGreater(mine.rows, 100)
        self.assertLess(mine.error_after, mine.error_before)
        shape = dict(m=2048, n=4096, k=4096)
        plain, slow = tilecast.kernel("gemm", gpu="H200-SXM", **shape), tilecast.kernel("gemm", gpu=mine, **shape)
        self.assertEqual(slow.seen, "calibrated")
        self.assertGreater(slow.latency_us, 1.5 * plain.latency_us)
        table = tilecast.predict("Llama-3.2-1B", gpu=["H200-SXM", mine], mode="decode", batch=8, context=512)
        self.assertGreater(table[1].answer.step_ms, 1.2 * table[0].answer.step_ms)
        again = pickle.loads(pickle.dumps(mine))
        self.assertEqual(tilecast.kernel("gemm", gpu=again, **shape).latency_us, slow.latency_us)
        with self.assertRaises(tilecast.QueryError) as refused:
            tilecast.calibrate("H200-SXM", "/nowhere.csv")
        self.assertIn("nowhere", str(refused.exception))

    def test_tuned_files_are_those_of_the_program(self):
        asked = dict(experts=8, hidden=1024, inter=512, topk=2, tokens=[1, 64])
        self.assertEqual(tilecast.tune_moe("H200-SXM", **asked).files, {})
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([PROGRAM, "tune", "fused-moe", "--gpu", "H200-SXM", "--experts", "8", "--hidden", "1024", "--inter", "512",
                            "--topk", "2", "--tokens", "1,64", "-o", folder + "/theirs"], check=True, capture_output=True)
            written = tilecast.tune_moe("H200-SXM", files=True, **asked).save(folder + "/ours")
            self.assertTrue(written)
            for path in written:
                self.assertEqual(path.read_text(), (Path(folder) / "theirs" / path.relative_to(folder + "/ours")).read_text())

    def test_tune_gemm(self):
        tuning = tilecast.tune_gemm("H100-SXM", m=512, n=4096, k=4096)
        self.assertEqual((tuning.m, tuning.n, tuning.k), (512, 4096, 4096))
        times = [one["forecast_us"] for one in tuning.best]
        self.assertEqual(times, sorted(times))
        self.assertEqual(len(tilecast.tune_gemm("H100-SXM", m=[16, 512], n=4096, k=4096)), 2)
        with self.assertRaises(tilecast.QueryError) as refused:
            tilecast.tune_gemm("H100-SXM", m=0, n=4096, k=4096)
        self.assertEqual(refused.exception.field, "m")

    def test_arguments_of_the_package(self):
        self.assertIn("context", tilecast.arguments("predict"))
        self.assertIn("kv_len", tilecast.arguments("kernel", "attention_decode"))
        for name in ("tune_moe", "tune_fused_moe", "tune fused-moe"):
            self.assertIn("experts", tilecast.arguments(name))
        for name in ("memory", "collective", "simulate", "plan_serve", "plan_train", "diagnose", "retime", "calibrate"):
            self.assertTrue(tilecast.arguments(name))
        for given, field, remedy in ((("tune",), "question", "tune_moe"), (("kernel", "gem"), "family", "gemm"),
                                     (("predict", "gemm"), "family", "kernels")):
            with self.assertRaises(tilecast.QueryError) as caught:
                tilecast.arguments(*given)
            self.assertEqual(caught.exception.field, field)
            self.assertIn(remedy, caught.exception.remedy)


@needs_package
class MemoryAlone(unittest.TestCase):
    def test_memory_says_nothing_of_times(self):
        one = tilecast.memory("Llama-3.2-1B", gpu="H100-SXM", mode="decode", batch=4, context=64)
        many = tilecast.memory("Llama-3.2-1B", cluster="hgx-h100", tp=2, mode="decode", batch=4, context=64)
        step = tilecast.predict("Llama-3.2-1B", gpu="H100-SXM", mode="decode", batch=4, context=64)
        self.assertEqual(one.memory, step.memory)
        self.assertGreater(one.largest_batch, 4)
        self.assertEqual((many.gpus, many.fits), (2, True))
        self.assertLess(many.memory.weights, one.memory.weights)
        for answer in (one, many):
            self.assertFalse([name for name in answer.document if name.endswith("_ms")])


@needs_package
class Pictures(unittest.TestCase):
    def test_answers_draw_themselves(self):
        from xml.etree import ElementTree

        answers = [tilecast.kernel("gemm", gpu="H100-SXM", **SHAPE), tilecast.gpu("H100-SXM"),
                   tilecast.predict("Llama-3.2-1B", gpu="H100-SXM", mode="decode", batch=4, context=64),
                   tilecast.memory("Llama-3.2-1B", gpu="H100-SXM", mode="decode", batch=4, context=64),
                   tilecast.kernel("gemm", gpu=["H100-SXM", "<b>"], **SHAPE)]
        for answer in answers:
            ElementTree.fromstring(pictures.svg(answer.picture()))
            self.assertIn("<svg", answer._repr_html_())
        self.assertNotIn("<b>", answers[-1]._repr_html_())

    def test_frames_and_plots_where_they_can_be_made(self):
        table = tilecast.kernel("gemm", gpu=["H100-SXM", "nothing"], **SHAPE)
        self.assertEqual(table.figures()[1]["latency_us"], None)
        try:
            import pandas  # noqa: F401
        except ImportError:
            self.skipTest("pandas is not installed")
        frame = table.to_pandas()
        self.assertEqual(len(frame), 2)
        self.assertTrue(math.isnan(frame["latency_us"][1]))
        try:
            import matplotlib
        except ImportError:
            self.skipTest("matplotlib is not installed")
        matplotlib.use("Agg")
        self.assertTrue(tilecast.gpu("H100-SXM").plot().get_title())


@needs_package
class BadInput(unittest.TestCase):
    def refused(self, field, call):
        with self.assertRaises(tilecast.QueryError) as caught:
            call()
        self.assertEqual(caught.exception.field, field, str(caught.exception))
        self.assertTrue(caught.exception.remedy)
        return caught.exception

    def test_errors_name_field_and_remedy(self):
        self.refused("m", lambda: tilecast.kernel("gemm", gpu="H100-SXM", m=math.nan, n=1, k=1))
        self.refused("m", lambda: tilecast.kernel("gemm", gpu="H100-SXM", m=object(), n=1, k=1))
        self.refused("m", lambda: tilecast.kernel("gemm", gpu="H100-SXM", m=2**80, n=1, k=1))
        self.refused("m", lambda: tilecast.kernel("gemm", gpu="H100-SXM", m=2**62, n=2**62, k=1))
        self.refused("m", lambda: tilecast.kernel("gemm", gpu="H100-SXM", m=[], n=1, k=1))
        self.refused("gpu", lambda: tilecast.kernel("gemm", m=1, n=1, k=1))
        self.refused("batsh", lambda: tilecast.predict("Llama-3.1-8B", gpu="H100-SXM", mode="decode", batsh=1, context=5))
        self.refused("model", lambda: tilecast.predict("Llama-9", gpu="H100-SXM", mode="decode", context=5))
        self.assertIsInstance(self.refused("mode", lambda: tilecast.predict("GPT-2", gpu="H100-SXM", mode="dance")), ValueError)

    def test_columns(self):
        common = dict(gpu="H100-SXM", n=64, k=64)
        self.refused("m", lambda: tilecast.batch("gemm", m=numpy.array([1.5]), **common))
        self.refused("m", lambda: tilecast.batch("gemm", m=numpy.array(["a"]), **common))
        self.refused("m", lambda: tilecast.batch("gemm", m=numpy.array([[1]]), **common))
        self.refused("m", lambda: tilecast.batch("gemm", m=numpy.array([1, 2]), n=numpy.array([1]), k=1, gpu="H100-SXM"))
        self.refused("m", lambda: tilecast.batch("gemm", m=numpy.array([2**64 - 1], dtype=numpy.uint64), **common))
        self.refused("m", lambda: tilecast.batch("gemm", m=numpy.array([math.nan]), **common))
        with self.assertRaises(tilecast.QueryError) as caught:
            tilecast.batch("gemm", m=numpy.array([1, 0]), **common)
        self.assertEqual(caught.exception.place, "row 1")

    def test_steps(self):
        steps = tilecast.StepPredictor("Llama-3.2-1B", gpu="H100-SXM")
        self.refused("decode", lambda: steps.step_time())
        self.refused("decode", lambda: steps.step_time(decode=[-1]))
        self.refused("prefill", lambda: steps.step_time(prefill=[(0, 0)]))
        for wrong in ([2**70], [1.5], ["5"], "5", bytes(8), 5, None, numpy.array([1.5]), numpy.array([[1, 2]])):
            self.refused("decode", lambda: steps.step_time(decode=wrong))
        for wrong in ([5], [(1, 2, 3)], [(1.5, 0)], [(2**70, 0)], [(1, "0")], 5, None):
            self.refused("prefill", lambda: steps.step_time(prefill=wrong))
        self.refused("mode", lambda: tilecast.StepPredictor("Llama-3.2-1B", gpu="H100-SXM", mode="decode"))

    def test_steps_of_iterators(self):
        steps = tilecast.StepPredictor("Llama-3.2-1B", gpu="H100-SXM")
        expected = steps.step_time(prefill=[(64, 0), (128, 32)], decode=[100, 200])
        self.assertEqual(steps.step_time(prefill=zip([64, 128], [0, 32]), decode=iter([100, 200])), expected)
        narrow = numpy.array([100, 200], dtype=numpy.int32)
        self.assertEqual(steps.step_time(prefill=numpy.array([[64, 0], [128, 32]]), decode=narrow), expected)

    def test_foreign_libraries(self):
        run = "import tilecast; tilecast.gpus()"
        with tempfile.TemporaryDirectory() as folder:
            other = Path(folder) / "libother.so"
            other.write_bytes(b"not a library")
            for place in (str(other), str(Path(folder) / "absent.so"), "/lib/x86_64-linux-gnu/libm.so.6"):
                told = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True,
                                      env={**os.environ, "TILECAST_LIBRARY": place, "PYTHONPATH": str(ROOT / "python")})
                self.assertIn("LibraryError", told.stderr)
                self.assertEqual(told.stderr.count("Traceback"), 1, told.stderr)
        with mock.patch.object(_library, "VERSION", "9.9.9"), self.assertRaises(tilecast.LibraryError):
            _library._load()
        with mock.patch.object(_library, "ABI", 99), self.assertRaises(tilecast.LibraryError):
            _library._load()

    def test_version_is_the_projects(self):
        self.assertIn(f"project(tilecast VERSION {tilecast.__version__} ", (ROOT / "CMakeLists.txt").read_text())

    def test_the_error_struct_is_the_headers(self):
        text = (ROOT / "include" / "tilecast" / "abi.h").read_text()
        self.assertIn(f"#define TILECAST_ABI {_library.ABI}\n", text)
        for name, kind in _library._Error._fields_:
            self.assertIn(f"char {name}[{ctypes.sizeof(kind)}];", text)


@needs_package
class Batches(unittest.TestCase):
    def test_columns_are_kernels(self):
        m = numpy.array([1, 100, 4096, 7])
        times = tilecast.batch("gemm", m=m, n=[64, 128, 256, 512], k=512, gpu="B200")
        for row, n in zip(range(4), (64, 128, 256, 512)):
            one = tilecast.kernel("gemm", m=int(m[row]), n=n, k=512, gpu="B200")
            self.assertEqual(times[row] * 1e6, one.latency_us)

    def test_inputs_are_read_where_they_lie(self):
        m = numpy.arange(1, 1001)
        self.assertIs(tilecast.batches._column("m", m), m)

    def test_the_gil_is_free_meanwhile(self):
        turns, done = [0], threading.Event()

        def count():
            while not done.is_set():
                turns[0] += 1

        other = threading.Thread(target=count)
        other.start()
        tilecast.batch("gemm", m=numpy.arange(1, 20001), n=4096, k=4096, gpu="H100-SXM", threads=1)
        done.set()
        other.join()
        self.assertGreater(turns[0], 1000)


@needs_package
class Handles(unittest.TestCase):
    def test_memory_does_not_grow_with_questions(self):
        """What is kept between questions lies on grids: thousands of new ones add little."""
        steps = tilecast.StepPredictor("Llama-3.2-1B", gpu="H100-SXM")
        resident = lambda: int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        def ask(first, count):
            for i in range(first, first + count):
                steps.step_time(prefill=[(1 + i % 4001, i % 7919)], decode=[(37 * i + j * j) % 30000 for j in range(1 + i % 64)])
                tilecast.kernel("gemm", m=1 + i, n=64, k=64, gpu="H100-SXM")

        ask(0, 400)
        before = resident()
        ask(400, 1200)
        self.assertLess(resident() - before, 24e6)

    def test_pickles(self):
        for thing in (tilecast.kernel("gemm", gpu="H100-SXM", **SHAPE), tilecast.kernel("gemm", gpu=["H100-SXM", "x"], **SHAPE),
                      tilecast.gpu({"like": "L4", "name": "Mine"})):
            again = pickle.loads(pickle.dumps(thing))
            self.assertEqual(again.to_dict(), thing.to_dict())
        steps = tilecast.StepPredictor("Llama-3.2-1B", gpu="H100-SXM")
        again = pickle.loads(pickle.dumps(steps))
        self.assertEqual(again.step_time(decode=[5, 6]), steps.step_time(decode=[5, 6]))
        problem = pickle.loads(pickle.dumps(tilecast.QueryError("wrong", "right", "m", "row 1")))
        self.assertEqual((problem.field, str(problem)), ("m", "row 1: m: wrong (right)"))

    def test_forks(self):
        steps = tilecast.StepPredictor("Llama-3.2-1B", gpu="H100-SXM")
        expected = steps.step_time(decode=[100, 200]), tilecast.batch("gemm", m=numpy.arange(1, 40000), n=64, k=64, gpu="L4").sum()
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                got = steps.step_time(decode=[100, 200]), tilecast.batch("gemm", m=numpy.arange(1, 40000), n=64, k=64, gpu="L4").sum()
                os.write(write, pickle.dumps(tuple(map(float, got))))
                code = 0
            finally:
                os._exit(code)
        os.close(write)
        with os.fdopen(read, "rb") as answer:
            self.assertEqual(pickle.loads(answer.read()), tuple(map(float, expected)))
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_threads_share_everything(self):
        steps, results = tilecast.StepPredictor("Llama-3.2-1B", gpu="H100-SXM"), []

        def work():
            results.append((steps.step_time(prefill=[(64, 0)], decode=[300]), tilecast.kernel("gemm", gpu="H100-SXM", **SHAPE).latency_us))

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(set(results)), 1)


@needs_package
class Types(unittest.TestCase):
    def test_mypy(self):
        try:
            from mypy import api
        except ImportError:
            self.skipTest("mypy is not installed")
        files = [str(path) for path in sorted((ROOT / "python" / "tilecast").rglob("*.py"))]
        with tempfile.TemporaryDirectory() as folder:
            config = Path(folder) / "mypy.ini"  # PyTorch may be absent, and its annotations change from release to release
            config.write_text("[mypy]\n[mypy-torch.*]\nfollow_imports = skip\n")
            told, problems, code = api.run(["--strict", "--follow-imports=silent", "--ignore-missing-imports", "--allow-subclassing-any",
                                            "--config-file", str(config), "--cache-dir", folder, *files])
        self.assertEqual(code, 0, told + problems)


def load_tests(loader, tests, pattern):
    if not MISSING:
        for module in ("errors", "questions", "batches", "predictor", "sweeps"):
            tests.addTests(doctest.DocTestSuite(f"tilecast.{module}"))
        tests.addTests(doctest.DocTestSuite("tilecast"))
    return tests


if __name__ == "__main__":
    unittest.main()
