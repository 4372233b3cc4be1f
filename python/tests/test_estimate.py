"""Forecasts around PyTorch code, without a card. Skipped where PyTorch or the program `tilecast` is absent."""

import os
import sys
import unittest
from unittest import mock

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

try:
    import torch
    from torch import nn
    from tilecast import errors, torch as tt
    from tilecast.torch import ask, older, program
except ImportError:
    torch = None

WHY = "PyTorch is not installed"
if torch is not None:
    try:
        ask.ask(program.Program("nothing"), ["B200"])
        WHY = ""
    except errors.LibraryError as problem:
        WHY = str(problem)
    except errors.TilecastError:
        WHY = ""


@unittest.skipIf(bool(WHY), WHY)
class Estimates(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 10))
        self.x, self.y = torch.randn(64, 256), torch.randint(0, 10, (64,))

    def test_training_step_of_real_tensors(self):
        optimizer = torch.optim.AdamW(self.model.parameters())
        weight = self.model[0].weight
        with tt.Estimate(gpu=["H100-SXM", "B200"]) as estimate:
            loss = nn.functional.cross_entropy(self.model(self.x), self.y)
            loss.backward()
            optimizer.step()
        self.assertEqual([result.gpu for result in estimate.results], ["H100-SXM", "B200"])
        first = estimate.result
        self.assertLess(first.interval_ms[0], first.step_ms)
        self.assertGreater(first.interval_ms[1], first.step_ms)
        self.assertEqual(first.recognised, 1)
        self.assertEqual(first.unknown, {})
        self.assertIn("0", first.modules)
        self.assertGreater(first.modules["0"]["backward_ms"], 0)
        self.assertEqual([phase["name"] for phase in first.raw["phases"]], ["forward", "backward", "optimizer"])
        # the model, its gradients and the optimizer's two states in fp32, at least
        parameters = sum(p.numel() for p in self.model.parameters())
        self.assertGreater(first.peak_bytes, 4 * 4 * parameters)
        # and everything is as it was
        self.assertIs(self.model[0].weight, weight)
        self.assertIs(optimizer.param_groups[0]["params"][0], weight)
        self.assertEqual(len(optimizer.state), 0)
        self.assertIsNone(weight.grad)
        self.model(self.x).sum().backward()
        optimizer.step()

    def test_forecast_of_models_graphs_and_exported_programs(self):
        (plain,) = tt.forecast(self.model, (self.x,), gpu="B200")
        (graph,) = tt.forecast(torch.fx.symbolic_trace(self.model), (self.x,), gpu="B200")
        (exported,) = tt.forecast(torch.export.export(self.model, (self.x,)), gpu="B200")
        self.assertAlmostEqual(plain.kernels_ms, graph.kernels_ms, places=9)
        self.assertAlmostEqual(plain.kernels_ms, exported.kernels_ms, places=9)
        (training,) = tt.forecast(self.model, (self.x,), gpu="B200", training=True)
        self.assertGreater(training.kernels_ms, 2 * plain.kernels_ms)

    def test_forecast_of_a_compiled_model(self):
        try:
            older.check_compiles()
        except errors.QueryError as problem:
            with self.assertRaisesRegex(tt.TilecastError, "2.8 or later"):
                tt.forecast(self.model, (self.x,), gpu="B200", compile=True)
            self.skipTest(str(problem))
        (plain,) = tt.forecast(self.model, (self.x,), gpu="B200")
        (compiled,) = tt.forecast(self.model, (self.x,), gpu="B200", compile=True)
        self.assertLess(compiled.launches, plain.launches + 1)
        self.assertIn("fused pointwise", {operator["name"] for operator in compiled.operators})

    def test_forecasts_draw_themselves(self):
        (found,) = tt.forecast(self.model, (self.x,), gpu="B200", training=True)
        self.assertEqual(found.to_dict()["step_ms"], found.step_ms)
        self.assertIn(found.seen, ("yes", "sibling", "no", "calibrated"))
        self.assertAlmostEqual(sum(found.breakdown.values()), found.answer.gpu_ms, delta=0.2 * found.answer.gpu_ms)
        self.assertEqual(found._repr_html_().count("<svg"), 2, "time, and memory over the step")
        calls, held = zip(*found.memory_picture().series[""])
        self.assertEqual(list(calls), sorted(calls))
        self.assertAlmostEqual(max(held) * 2**30, found.peak_bytes, delta=0.01 * found.peak_bytes)
        try:
            import pandas  # noqa: F401
        except ImportError:
            return
        self.assertEqual(len(found.to_pandas()), len(found.operators))

    def test_a_formula_of_ones_own(self):
        @torch.library.custom_op("tilecast_test::twice", mutates_args=())
        def twice(x: torch.Tensor) -> torch.Tensor:
            return x * 2

        @twice.register_fake
        def _(x):
            return torch.empty_like(x)

        class Twice(nn.Module):
            def forward(self, x):
                return twice(x)

        (unknown,) = tt.forecast(Twice(), (self.x,), gpu="B200")
        self.assertEqual(list(unknown.unknown), ["tilecast_test.twice"])
        with mock.patch.dict(program.FORMULAS):
            tt.formula("tilecast_test::twice", read=1, written=1, flops=1)
            (told,) = tt.forecast(Twice(), (self.x,), gpu="B200")
        self.assertEqual(told.unknown, {})

    def test_wrong_questions(self):
        with self.assertRaisesRegex(tt.TilecastError, "gpu"):
            tt.forecast(self.model, (self.x,), gpu="no-such-card")
        with self.assertRaisesRegex(tt.TilecastError, "gpu"):
            tt.forecast(self.model, (self.x,), gpu=[])
        with self.assertRaisesRegex(tt.TilecastError, "mode"):
            tt.Estimate(gpu="B200", mode="fast")
        with self.assertRaisesRegex(tt.TilecastError, "model"):
            tt.forecast(lambda x: x, (self.x,), gpu="B200")
        for values in ({"read": -1}, {"flops": float("nan")}):
            with self.assertRaises(ValueError):
                tt.formula("a.b", **values)
        with self.assertRaises(ValueError):
            tt.formula("no_library")

    def test_an_error_inside_leaves_the_model_as_it_was(self):
        weight = self.model[0].weight
        with self.assertRaises(RuntimeError):
            with tt.Estimate(gpu="B200"):
                self.model(torch.randn(4, 3))
        self.assertIs(self.model[0].weight, weight)
        self.model(self.x)


if __name__ == "__main__":
    unittest.main()
