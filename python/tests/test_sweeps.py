"""Sweeps over executors that lose workers, and files that were left half written."""

import concurrent.futures
import os
import signal
import tempfile
import threading
import time
import unittest
from pathlib import Path

from package_testing import MISSING, ROOT, needs_package

if not MISSING:
    import numpy
    import tilecast
    from tilecast import sweeps

QUERY = {"question": "kernel", "family": "gemm", "k": 512}
GRID = {"gpu": ["H100-SXM", "A100-SXM-80GB"], "dtype": ["bf16", "fp8"], "m": [1, 0, 64, 4096], "n": [64, 128]}


@needs_package
class Sweeps(unittest.TestCase):
    def test_a_grid_is_its_kernels(self):
        found = tilecast.sweep(QUERY, GRID, chunk=5)
        self.assertEqual(found["latency_us"].shape, (2, 2, 4, 2))
        for i, row in enumerate(found):
            if row["error"]:
                self.assertTrue(row["m"] == 0 or (row["gpu"], row["dtype"]) == ("A100-SXM-80GB", "fp8"), row)
                self.assertTrue(numpy.isnan(row["latency_us"]))
                continue
            point = {name: row[name] for name in GRID}
            self.assertEqual(row["latency_us"], tilecast.kernel("gemm", k=512, **point).latency_us)
        self.assertTrue(found.errors)

    def test_any_question(self):
        found = tilecast.sweep({"question": "predict", "model": "Llama-3.2-1B", "mode": "decode"},
                               {"gpu": ["H100-SXM", "L4"], "batch": [1, 8], "context": [100]}, figures=["step_ms", "memory_bytes.total"])
        self.assertEqual(found["step_ms"][1, 1, 0],
                         tilecast.predict("Llama-3.2-1B", mode="decode", gpu="L4", batch=8, context=100).step_ms)
        with self.assertRaises(tilecast.QueryError):
            tilecast.sweep({"question": "predict", "model": "GPT-2", "mode": "prefill", "gpu": "L4"}, {"seq": [5]}, figures=["speed"])

    def test_processes_answer_the_same_in_the_same_order(self):
        alone = tilecast.sweep(QUERY, GRID)
        with concurrent.futures.ProcessPoolExecutor(2) as pool:
            spread = tilecast.sweep(QUERY, GRID, pool, chunk=3)
        numpy.testing.assert_array_equal(alone["latency_us"], spread["latency_us"])
        self.assertEqual(alone.errors, spread.errors)

    def test_goes_on_from_its_file(self):
        with tempfile.TemporaryDirectory() as folder:
            file, seen = Path(folder) / "sweep.jsonl", []
            whole = tilecast.sweep(QUERY, GRID, chunk=4, file=file)
            text = file.read_bytes()
            lines = text.splitlines(keepends=True)
            file.write_bytes(b"".join(lines[:4]) + lines[4][:20])  # three chunks, and a line that was cut off
            again = tilecast.sweep(QUERY, GRID, chunk=4, file=file, progress=lambda done, of: seen.append(done))
            self.assertEqual(seen[0], 3)
            self.assertEqual(seen[-1], 8)
            numpy.testing.assert_array_equal(whole["latency_us"], again["latency_us"])
            self.assertEqual(file.read_bytes(), text)
            with self.assertRaises(tilecast.QueryError):
                tilecast.sweep(QUERY, {**GRID, "n": [64]}, file=file)

    def test_foreign_files_stay_as_they_are(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "sweep.jsonl"
            tilecast.sweep(QUERY, GRID, chunk=4, file=file)
            header, *parts = file.read_bytes().splitlines(keepends=True)
            for text in (b"notes without a newline", b"[]\n", b"5", b"\xff\xfe", header[:-1] + b" ", header + b"7\n",
                         header + b"[1]\n", header + b'"part"\n', header + b'{"part":0}\n', header + b'{"part":[0],"outcome":{}}\n',
                         header + b'{"part":99,"outcome":{}}\n', header + b"not JSON\n" + parts[0]):
                with self.subTest(text):
                    file.write_bytes(text)
                    with self.assertRaises(tilecast.QueryError) as caught:
                        tilecast.sweep(QUERY, GRID, chunk=4, file=file)
                    self.assertEqual((caught.exception.field, caught.exception.place), ("file", str(file)))
                    self.assertEqual(file.read_bytes(), text)
            for text in (b"", header[:1], header[:-1], header):
                with self.subTest(text):
                    file.write_bytes(text)
                    tilecast.sweep(QUERY, GRID, chunk=4, file=file)
                    self.assertEqual(file.read_bytes(), header + b"".join(parts))

    def test_usual_figures_are_those_that_documents_have(self):
        query = {"question": "predict", "model": "Llama-3.1-8B", "cluster": "hgx-h100", "mode": "decode", "context": 512}
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "sweep.jsonl"
            for _ in range(2):  # asked, then read from the file
                found = tilecast.sweep(query, {"tp": [2, 3, 8], "batch": [1, 8]}, chunk=2, file=file)
                self.assertEqual(list(found.columns), ["step_ms", "tokens_per_second", "mfu"])
                self.assertEqual(sorted(found.errors), [2, 3])
        self.assertEqual(found["step_ms"][2, 1],
                         tilecast.predict("Llama-3.1-8B", cluster="hgx-h100", mode="decode", context=512, tp=8, batch=8).step_ms)
        with self.assertRaises(tilecast.QueryError) as caught:
            tilecast.sweep(query, {"tp": [2]}, figures=["memory_bytes.total"])
        self.assertEqual(caught.exception.field, "figures")
        nothing = tilecast.sweep(query, {"tp": [3]})
        self.assertIn("step_ms", nothing.columns)
        self.assertEqual(len(nothing.errors), 1)

    def test_figures_are_numbers(self):
        query = {"question": "predict", "model": "Llama-3.2-1B", "gpu": "L4", "mode": "prefill"}
        for figure in ("engine", "kernels", "memory_bytes", "engine.0", "step_ms.total"):
            with self.subTest(figure), self.assertRaises(tilecast.QueryError) as caught:
                tilecast.sweep(query, {"seq": [5]}, figures=[figure])
            self.assertEqual(caught.exception.field, "figures")
        self.assertEqual(tilecast.sweep(query, {"seq": [5]}, figures=["memory_bytes.fits"])["memory_bytes.fits"][0], 1)

    def test_a_killed_process_leaves_a_file_to_go_on_from(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "sweep.jsonl"
            grid = {"gpu": ["H100-SXM"], "m": range(1, 60001)}
            with self.assertRaises(concurrent.futures.BrokenExecutor):
                with concurrent.futures.ProcessPoolExecutor(2) as pool:
                    victim = pool.submit(os.getpid).result()

                    def kill(done, of):
                        if done == 3:
                            os.kill(victim, signal.SIGKILL)

                    tilecast.sweep({**QUERY, "n": 64}, grid, pool, chunk=500, file=file, progress=kill)
            begun = []
            with concurrent.futures.ProcessPoolExecutor(2) as pool:
                found = tilecast.sweep({**QUERY, "n": 64}, grid, pool, chunk=500, file=file, progress=lambda done, of: begun.append(done))
            self.assertGreaterEqual(begun[0], 3)
            numpy.testing.assert_array_equal(found["latency_us"][0],
                                             1e6 * tilecast.batch("gemm", m=numpy.arange(1, 60001), n=64, k=512, gpu="H100-SXM"))

    def test_dask_workers_may_die(self):
        try:
            import distributed
        except ImportError:
            self.skipTest("dask.distributed is not installed")
        os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")])
        grid = {"gpu": ["H100-SXM", "B200"], "m": range(1, 40001)}
        with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50) as cluster:
            with distributed.Client(cluster) as client:
                processes = list(client.run(os.getpid).values())

                def kill(done, of):
                    if done == 2:
                        os.kill(processes[0], signal.SIGKILL)

                found = tilecast.sweep({**QUERY, "n": 64}, grid, client.get_executor(), chunk=1000, in_flight=6, progress=kill)
        for gpu, times in zip(grid["gpu"], found["latency_us"]):
            numpy.testing.assert_array_equal(times, 1e6 * tilecast.batch("gemm", m=numpy.arange(1, 40001), n=64, k=512, gpu=gpu))


def has_torch():
    try:
        import torch  # noqa: F401
    except ImportError:
        return False
    return True


@needs_package
class Tutorials(unittest.TestCase):
    def test_they_run_and_their_pages_are_theirs(self):
        import subprocess
        import sys

        for path in sorted((ROOT / "python" / "tutorials").glob("*.py")):
            if "import torch" in path.read_text() and not has_torch():
                continue  # make test-torch runs it
            with self.subTest(path.name), tempfile.TemporaryDirectory() as folder:
                told = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, cwd=folder,
                                      env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
                self.assertEqual(told.returncode, 0, told.stderr)
        told = subprocess.run([sys.executable, str(ROOT / "tools" / "tutorial_pages"), "--check"], capture_output=True, text=True)
        self.assertEqual(told.returncode, 0, told.stdout)


if __name__ == "__main__":
    unittest.main()
