"""Programs over many cards, recorded as one rank of them without any. Records stand for PyTorch where it is absent."""

import gzip
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from package_testing import ROOT, needs_package

try:
    import torch
    from torch import nn
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    import tilecast.torch as tt
    WHY = ""
except ImportError as problem:
    torch = None
    WHY = f"PyTorch with FSDP2 is not installed: {problem}"

RECORDS = ROOT / "data" / "programs" / "ranks"
WIDTH, LAYERS = 4096, 2


@needs_package
class Records(unittest.TestCase):
    """What was recorded of a decoder of two layers over eight cards (tools/collect/programs/over_many.py)."""

    def forecast(self, plan, **where):
        import tilecast
        return tilecast.predict(str(RECORDS / f"decoder-{plan}-training.json.gz"), **where)

    def on_h100(self, plan):
        raw = self.forecast(plan, cluster="hgx-h100").to_dict()
        self.assertEqual(raw["ranks"], 8)
        return raw

    def by_op(self, raw):
        found = {}
        for kind in raw["collectives"]:
            found.setdefault(kind["op"], []).append(kind)
        return found

    def test_tensor_parallel_exchanges_what_megatron_does(self):
        raw = self.on_h100("tensor")
        found = self.by_op(raw)
        tokens = 2 * 2048
        activations = [kind for op in ("all_gather", "reduce_scatter") for kind in found[op] if kind["bytes"] == 2 * tokens * WIDTH]
        # forward: attention and feed-forward of a layer gather once for each product that reads a sharded sequence, and scatter once
        self.assertGreaterEqual(sum(kind["calls"] for kind in activations), 8 * LAYERS)
        self.assertEqual({kind["ranks"] for kind in activations}, {8})
        self.assertGreater(raw["exposed_ms"], 0)
        self.assertAlmostEqual(raw["exchanged_ms"], sum(k["calls"] * k["latency_us"] for k in raw["collectives"]) / 1e3, places=6)

    def test_fsdp_gathers_layers_twice_and_scatters_their_gradients(self):
        raw = self.on_h100("sharded")
        found = self.by_op(raw)
        layer = 4 * WIDTH * WIDTH + 3 * 4 * WIDTH * WIDTH + 2 * WIDTH
        gathers = {kind["bytes"]: kind["calls"] for kind in found["all_gather"]}
        scatters = {kind["bytes"]: kind["calls"] for kind in found["reduce_scatter"]}
        self.assertEqual(gathers[2 * layer], 2 * LAYERS)  # bf16, forward and backward
        self.assertEqual(scatters[4 * layer], LAYERS)  # gradients in fp32
        self.assertLess(raw["exposed_ms"], raw["exchanged_ms"])  # what is fetched ahead runs beside computation

    def test_both_together_have_groups_of_their_own(self):
        raw = self.on_h100("both")
        self.assertEqual({kind["ranks"] for kind in raw["collectives"]}, {2, 4})

    def test_slower_links_cost_more_and_one_card_is_refused(self):
        import tilecast
        here = self.forecast("tensor", gpu="H100-SXM")
        apart = self.forecast("tensor", cluster="hgx-h100:8").to_dict()
        self.assertEqual(here.to_dict()["cluster"], apart["cluster"])
        pcie = self.forecast("tensor", gpu="L40S").to_dict()
        self.assertGreater(pcie["exposed_ms"], here.to_dict()["exposed_ms"])
        with self.assertRaises(tilecast.QueryError) as refused:
            tilecast.predict(str(ROOT / "data" / "programs" / "lstm-training-eager-batch128_length256.json.gz"), cluster="hgx-h100")
        self.assertEqual(refused.exception.field, "cluster")

    def test_a_broken_record_is_refused(self):
        import tempfile
        import tilecast
        with gzip.open(RECORDS / "decoder-sharded-training.json.gz", "rt") as file:
            good = json.load(file)
        for change, field in ((lambda d: d["ranks"].update(rank=8), "ranks.rank"),
                              (lambda d: d["ranks"].update(groups=[]), "ranks.groups"),
                              (lambda d: d["ranks"]["groups"][0].update(ranks=[9]), "ranks.groups[0].ranks[0]"),
                              (lambda d: d["ranks"]["waits"]["until"].pop(), "ranks.waits.until"),
                              (lambda d: d["calls"]["stream"].__setitem__(0, -1), "calls.stream[0]")):
            bad = json.loads(json.dumps(good))
            change(bad)
            with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                json.dump(bad, file)
                file.flush()
                with self.assertRaises(tilecast.QueryError) as refused:
                    tilecast.predict(file.name, cluster="hgx-h100")
                self.assertEqual(refused.exception.field, field)


class Layers(nn.Module if torch else object):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList(nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 256)) for _ in range(3))

    def forward(self, x):
        for part in self.parts:
            x = x + part(x)
        return x


@unittest.skipIf(bool(WHY), WHY)
class Recorded(unittest.TestCase):
    def recorded(self, prepare):
        with tt.ranks(8), tt.Recorder("layers") as recorder:
            model = Layers().to("cuda:0")
            prepare(model, init_device_mesh("cuda", (8,), mesh_dim_names=("x",)))
            x = torch.randn(16, 256, device="cuda:0")
            with recorder.step(model):
                model(x).square().mean().backward()
        self.assertFalse(torch.distributed.is_initialized())
        return recorder.program

    def names(self, program):
        return [program.operators[call.operator].name for call in program.calls]

    def tensor_parallel(self, model, mesh):
        for part in model.parts:
            parallelize_module(part, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})

    def test_local_shapes_and_one_sum_a_layer_each_way(self):
        program = self.recorded(self.tensor_parallel)
        names = self.names(program)
        self.assertEqual(names.count("_c10d_functional.all_reduce"), 3 + 2)  # nobody wants the gradient of the first one's input
        shapes = {tuple(program.layouts.items[i][2]) for op in program.operators if op.name == "aten.addmm" for i in op.results}
        self.assertEqual(shapes, {(16, 128), (16, 256)})
        self.assertEqual((program.world, program.rank, program.groups), (8, 0, [("0", list(range(8)))]))
        # nothing of DTensor's own search for shapes is left in it
        self.assertNotIn((16, 1024), {tuple(layout[2]) for layout in program.layouts.items})

    def test_fsdp_frees_and_gathers(self):
        def sharded(model, mesh):
            for part in model.parts:
                fully_shard(part, mesh=mesh)
            fully_shard(model, mesh=mesh)
        program = self.recorded(sharded)
        names = self.names(program)
        self.assertEqual(names.count("c10d._allgather_base_"), 3 + 3)  # forward, and again for the backward pass
        self.assertEqual(names.count("c10d._reduce_scatter_base_"), 3)
        layer = 4 * (256 * 1024 + 1024 + 1024 * 256 + 256)
        whole = 3 * layer
        held = program.peak_bytes()
        self.assertLess(held, whole + 4 * layer)  # never all layers with their gradients
        self.assertTrue(program.waits)
        self.assertGreater(max(call.stream for call in program.calls), 0)

    def test_estimate_on_a_cluster(self):
        with tt.ranks(8), tt.Estimate(cluster=["hgx-h100", "hgx-b200"]) as estimate:
            with estimate.aside():
                model = Layers().to("cuda:0")
                self.tensor_parallel(model, init_device_mesh("cuda", (8,)))
                x = torch.randn(16, 256, device="cuda:0")
            model(x).square().mean().backward()
        self.assertEqual(len(estimate.results), 2)
        first = estimate.result
        self.assertEqual([kind["op"] for kind in first.collectives], ["all_reduce"])
        self.assertEqual(first.collectives[0]["calls"], 5)
        self.assertGreater(first.exposed_ms, 0)
        self.assertGreater(first.modules["parts.0"]["forward_ms"], 0)
        self.assertEqual(first.unknown, {})

    def test_a_second_world_is_refused(self):
        with tt.ranks(2):
            with self.assertRaises(RuntimeError):
                with tt.ranks(2):
                    pass


if __name__ == "__main__":
    unittest.main()
