"""Recording PyTorch programs without a card. Skipped where PyTorch is absent."""

import gzip
import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

try:
    import torch
    from torch import nn
    from torch.utils.checkpoint import checkpoint
    from tilecast.torch import Recorder
    from tilecast import errors
    from tilecast.torch.attention import CUDNN, backend
    from tilecast.torch.backward import Backward
    from tilecast.torch.older import RELEASE, check_compiles, results_seen
except ImportError:
    torch, RELEASE = None, ()

NO_COMPILER = "PyTorch is not installed"
if torch is not None:
    try:
        check_compiles()
        NO_COMPILER = ""
    except errors.QueryError as problem:
        NO_COMPILER = str(problem)

KB = 1024
CARD = "cuda:0"


def names(program, phase=None, views=False):
    wanted = None if phase is None else program.phases.places.get(phase, -1)
    found = []
    for call in program.calls:
        operator = program.operators[call.operator]
        if (wanted is None or call.phase == wanted) and (views or not operator.view):
            found.append(operator.name)
    return found


@unittest.skipIf(torch is None, "PyTorch is not installed")
class Recording(unittest.TestCase):
    def linear(self, steps=1, **options):
        """A step of a layer of 256 x 512 on 32 rows in fp32."""
        with Recorder("linear") as recorder:
            model = nn.Linear(256, 512, device=CARD)
            x = torch.randn(32, 256, device=CARD)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            with recorder.step(model):
                loss = model(x).sum()
                loss.backward()
                optimizer.step()
        return recorder.program

    def test_forward(self):
        with Recorder("layer") as recorder:
            model, x = nn.Linear(256, 512, device=CARD), torch.randn(32, 256, device=CARD)
            with recorder.step(model), torch.no_grad():
                y = model(x)
        program = recorder.program
        self.assertEqual(names(program), ["aten.addmm"])
        self.assertEqual(program.layouts.items[program.operators[-1].results[0]],
                         ("fp32", "cuda", (32, 512), (512, 1)))
        # weight 512 KiB, bias 2 KiB, x 32 KiB, y 64 KiB
        self.assertEqual(program.peak_bytes(), (512 + 2 + 32 + 64) * KB)
        self.assertEqual(tuple(y.shape), (32, 512))

    def test_phases_and_roles(self):
        program = self.linear()
        self.assertEqual(program.phases.items, ["forward", "backward", "optimizer"])
        self.assertIn("aten.mm", names(program, "backward"))
        self.assertTrue(all("_foreach" in name for name in names(program, "optimizer")), names(program, "optimizer"))
        gradients = [storage.bytes for storage in program.storages if storage.role == 3]
        self.assertEqual(sorted(gradients), [2 * KB, 512 * KB])

    def test_memory_returns(self):
        """What a step makes and nobody keeps is let go: at the end there are parameters, gradients and the input."""
        program = self.linear()
        left = sum(s.bytes for s in program.storages if s.dies == -1 and s.device == "cuda" and s.bytes > 64)
        self.assertEqual(left, (2 * (512 + 2) + 32) * KB)

    def test_modules(self):
        with Recorder("two") as recorder:
            model = nn.Sequential(nn.Linear(8, 8), nn.Sequential(nn.ReLU(), nn.Linear(8, 4))).to(CARD)
            with recorder.step(model):
                model(torch.randn(2, 8, device=CARD)).sum().backward()
        program = recorder.program
        path = {}
        for call in program.calls:
            name = program.operators[call.operator].name
            path.setdefault((name, program.phases.items[call.phase]), set()).add(program.modules.items[call.module])
        self.assertEqual(path["aten.addmm", "forward"], {"0", "1.1"})
        self.assertEqual(path["aten.threshold_backward", "backward"], {"1.0"})
        self.assertEqual(path["aten.mm", "backward"], {"0", "1.1"})

    def test_autocast_casts(self):
        with Recorder("cast") as recorder:
            model, x = nn.Linear(64, 64, device=CARD), torch.randn(8, 64, device=CARD)
            with recorder.step(model), torch.autocast("cuda", torch.bfloat16):
                y = model(x)
        self.assertEqual(y.dtype, torch.bfloat16)
        self.assertEqual(names(recorder.program), ["aten._to_copy"] * 3 + ["aten.addmm"])

    def test_recomputation(self):
        with Recorder("again") as recorder:
            model, x = nn.Sequential(nn.Linear(8, 8), nn.GELU()).to(CARD), torch.randn(2, 8, device=CARD)
            with recorder.step(model):
                checkpoint(model, x, use_reentrant=False).sum().backward()
        self.assertEqual(names(recorder.program, "recompute"), ["aten.addmm"])  # the rest is not needed again
        self.assertIn("aten.gelu_backward", names(recorder.program, "backward"))

    def test_recurrent(self):
        with Recorder("lstm") as recorder:
            model, x = nn.LSTM(16, 32, 2).to(CARD), torch.randn(5, 3, 16, device=CARD)
            with recorder.step(model):
                model(x)[0].sum().backward()
        self.assertEqual(names(recorder.program).count("aten._cudnn_rnn"), 1)
        self.assertEqual(names(recorder.program).count("aten._cudnn_rnn_backward"), 1)

    def test_plain_cells(self):
        for kind, mode in (("relu", 0), ("tanh", 1)):
            with Recorder("cells") as recorder:
                model = nn.RNN(64, 128, 2, nonlinearity=kind, batch_first=True, device=CARD)
                x = torch.randn(8, 16, 64, device=CARD)
                with recorder.step(model), torch.no_grad():
                    model(x)
            found = next(one for one in recorder.program.operators if one.name == "aten._cudnn_rnn")
            self.assertEqual(dict((name, value) for name, _, value in found.arguments)["mode"], mode)

    def encoder_layer(self, masked=False, train=False, first=True):
        with Recorder("encoder") as recorder:
            model = nn.TransformerEncoderLayer(128, 4, 256, activation="gelu", batch_first=True, norm_first=first, device=CARD,
                                               dtype=torch.bfloat16).train(train)
            x = torch.randn(2, 64, 128, device=CARD, dtype=torch.bfloat16)
            mask = torch.zeros(2, 64, dtype=torch.bool, device=CARD) if masked else None
            with recorder.step(model), torch.no_grad():
                model(x, src_key_padding_mask=mask)
        return names(recorder.program)

    def test_fused_encoder_layer(self):
        """The operators that PyTorch 2.11 ran on an H200, in their order."""
        attended = ["aten.addmm", f"aten._scaled_dot_product_{'cudnn' if CUDNN else 'flash'}_attention", "aten.addmm", "aten.add_.Tensor"]
        forward = ["aten._addmm_activation", "aten.addmm", "aten.add_.Tensor"]
        norm = ["aten.native_layer_norm"]
        self.assertEqual(self.encoder_layer(), [*norm, *attended, *norm, *forward])
        self.assertEqual(self.encoder_layer(first=False), [*attended, *norm, *forward, *norm])

    def test_encoder_layers_that_are_not_fused(self):
        for plain in (self.encoder_layer(train=True), self.encoder_layer(masked=True)):
            self.assertNotIn("aten._addmm_activation", plain)

    def test_attention_inside_other_functions(self):
        with Recorder("heads") as recorder:
            model = nn.MultiheadAttention(64, 4, batch_first=True, dtype=torch.bfloat16, device=CARD)
            x = torch.randn(2, 16, 64, dtype=torch.bfloat16, device=CARD)
            with recorder.step(model):
                model(x, x, x, need_weights=False)[0].sum().backward()
        chosen = f"aten._scaled_dot_product_{'cudnn' if CUDNN else 'flash'}_attention"
        self.assertIn(chosen, names(recorder.program, "forward"))
        self.assertIn(chosen + "_backward", names(recorder.program, "backward"))

    def test_ties_stay(self):
        with Recorder("tied") as recorder:
            model = nn.ModuleList([nn.Embedding(10, 4), nn.Linear(4, 10, bias=False)])
            model[1].weight = model[0].weight
            model.to(torch.bfloat16)
            self.assertIs(model[1].weight, model[0].weight)
            with recorder.step(model):
                model[1](model[0](torch.zeros(3, dtype=torch.int64, device="cpu"))).sum()
        self.assertEqual([s.bytes for s in recorder.program.storages if s.role == 1], [80])

    def test_real_modules_are_taken(self):
        model = nn.Linear(4, 4)
        with Recorder("real") as recorder:
            recorder.fake(model)
            with recorder.step(model):
                self.assertEqual(model(torch.randn(2, 4, device=CARD)).device.type, "cuda")

    def test_file(self):
        program = self.linear()
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, name) for name in ("a.json.gz", "b.json.gz")]
            for path in paths:
                program.save(path)
            contents = []
            for path in paths:
                with open(path, "rb") as file:
                    contents.append(file.read())
            self.assertEqual(*contents)
            read = json.loads(gzip.decompress(contents[0]))
            self.assertEqual(sorted(os.listdir(folder)), ["a.json.gz", "b.json.gz"])
        self.assertEqual(len(read["calls"]["operator"]), len(program.calls))


@unittest.skipIf(torch is None, "PyTorch is not installed")
class Attention(unittest.TestCase):
    def choice(self, dtype, capability, mask=None, width=64, groups=1):
        q = torch.empty(1, 2, 8, width, dtype=dtype, device="meta")
        k = q[:, ::groups]
        return backend(q, k, k, mask, capability)

    def test_backends(self):
        half, full = torch.bfloat16, torch.float32
        mask = torch.empty(8, 8, device="meta")
        self.assertEqual(self.choice(half, (9, 0)), "cudnn" if CUDNN else "flash")
        self.assertEqual(self.choice(half, (8, 0)), "flash")
        self.assertEqual(self.choice(half, (8, 0), mask=mask), "efficient")
        self.assertEqual(self.choice(half, (9, 0), mask=mask), "cudnn" if CUDNN else "efficient")
        self.assertEqual(self.choice(full, (9, 0)), "efficient")
        self.assertEqual(self.choice(full, (9, 0), width=63), "math")
        self.assertEqual(self.choice(torch.float64, (9, 0)), "math")
        self.assertEqual(self.choice(half, (9, 0), mask=mask.T), "math")  # a mask must lie row by row
        self.assertEqual(self.choice(half, (9, 0), mask=mask.requires_grad_()), "efficient")
        self.assertEqual(self.choice(half, (8, 0), groups=2), "flash")
        self.assertEqual(self.choice(full, (8, 0), groups=2), "math")


@unittest.skipIf(torch is None, "PyTorch is not installed")
class Walk(unittest.TestCase):
    """The walk over autograd's graph gives the gradients that PyTorch's engine gives."""

    def agree(self, make, *sizes):
        torch.manual_seed(1)
        inputs = [torch.randn(size, dtype=torch.float64, requires_grad=True) for size in sizes]
        make(*inputs).backward()
        expected = [x.grad for x in inputs]
        for x in inputs:
            x.grad = None
        with results_seen():
            Backward().run(make(*inputs))
        for x, gradient in zip(inputs, expected):
            torch.testing.assert_close(x.grad, gradient)

    def test_products(self):
        self.agree(lambda x, w, b: torch.relu(x @ w + b).square().mean(), (5, 3), (3, 4), (4,))

    def test_a_tensor_used_often(self):
        self.agree(lambda x: (x * x.sum() + x.exp() * x).sum(), (6,))

    def test_several_results(self):
        self.agree(lambda x: sum(part.sum() * n for n, part in enumerate(x.chunk(3))) + x.max(), (7,))

    def test_products_along_a_dimension(self):
        self.agree(lambda x: (x.exp().cumprod(1) * x).sum() + x.exp().cumprod(-2).sum(), (3, 4))

    def test_types_change(self):
        self.agree(lambda x: (x.float() * 2).double().sum() + x.sum(), (4,))

    def test_own_function(self):
        class Twice(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, factor):
                ctx.factor = factor
                return x * factor, x + 1

            @staticmethod
            def backward(ctx, first, second):
                return first * ctx.factor + second, None
        self.agree(lambda x: Twice.apply(x, 2.5)[0].sum(), (4,))

    def test_recomputation(self):
        self.agree(lambda x, w: checkpoint(lambda a: torch.tanh(a @ w).exp(), x, use_reentrant=False).sum(),
                   (3, 3), (3, 3))

    def test_gradients_add_up_over_steps(self):
        x = torch.ones(3, requires_grad=True)
        for _ in range(2):
            Backward().run((2 * x).sum())
        torch.testing.assert_close(x.grad, torch.full((3,), 4.0))


@unittest.skipUnless(torch and NO_COMPILER, "PyTorch compiles here")
class NotCompiled(unittest.TestCase):
    def test_one_error_says_why(self):
        with self.assertRaisesRegex(errors.QueryError, "2.8 or later"):
            Recorder("compiled").compile(nn.Linear(4, 4))


@unittest.skipIf(bool(NO_COMPILER), NO_COMPILER)
class Compiled(unittest.TestCase):
    """Graphs that Inductor gets."""

    def record(self, model, in_place=False, training=True):
        with Recorder("compiled") as recorder, torch.device("cuda:0"):
            model = model()
            recorder.compile(model, in_place)
            x = torch.randn(64, 128)
            with recorder.step(model, traced=True):
                if training:
                    model(x).square().mean().backward()
                else:
                    with torch.no_grad():
                        model(x)
        return recorder.program

    def calls(self, program, graph):
        return [program.operators[call.operator].name for call in program.calls if call.graph == graph]

    def test_forward_and_backward_are_graphs_and_the_loss_is_not(self):
        program = self.record(lambda: nn.Sequential(nn.Linear(128, 256), nn.GELU(), nn.Linear(256, 16)))
        self.assertEqual(self.calls(program, 0).count("aten.addmm"), 2)
        self.assertIn("aten.erf", self.calls(program, 0), "operators are decomposed")
        self.assertEqual(self.calls(program, 1).count("aten.mm"), 3, "the input needs no gradient")
        self.assertIn("aten.erf", self.calls(program, 1), "what is cheap is computed again")
        self.assertIn("aten.mean", self.calls(program, -1))
        paths = {program.modules.items[call.module] for call in program.calls if call.graph == 0}
        self.assertLessEqual({"0", "1", "2"}, paths)
        self.assertIn("graph", program.to_json()["calls"])

    def test_modules_of_pytorch_are_passed_over_in_place(self):
        program = self.record(lambda: nn.Sequential(nn.Linear(128, 256), nn.GELU()), in_place=True, training=False)
        graphs = {call.graph for call in program.calls}
        if RELEASE > (2, 11) and graphs == {0}:
            self.skipTest("this release compiles PyTorch's own modules too, as 2.15 does")
        self.assertEqual(graphs, {-1})
        self.assertIn("aten.gelu", [program.operators[call.operator].name for call in program.calls])

    def test_numbers_that_a_module_moves_to_the_card_are_no_hindrance(self):
        class Moves(nn.Module):
            def forward(self, x):
                return torch.where(x > 0, torch.tensor(2.0).type_as(x), x)

        program = self.record(Moves, training=False)
        self.assertIn("aten.where.self", self.calls(program, 0))

    @unittest.skipIf(bool(torch) and RELEASE < (2, 11), "before PyTorch 2.11 Dynamo asks the driver which kernel attention runs")
    def test_attention_with_a_mask_that_no_kernel_takes_comes_apart(self):
        class Attends(nn.Module):
            def forward(self, x):
                q = x.view(1, 4, 64, 32).bfloat16()
                mask = torch.ones(64, 1, dtype=torch.bool, device=x.device).expand(64, 64)
                return nn.functional.scaled_dot_product_attention(q, q, q, attn_mask=mask)

        program = self.record(Attends, training=False)
        self.assertEqual(self.calls(program, 0).count("aten.bmm"), 2)
        products = [program.operators[call.operator] for call in program.calls
                    if program.operators[call.operator].name == "aten.bmm"]
        self.assertEqual({program.layouts.items[op.results[0]][0] for op in products}, {"fp32"})


if __name__ == "__main__":
    unittest.main()
