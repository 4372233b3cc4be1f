"""The recorded programs of data/programs keep the form that docs/program.md tells. Needs nothing but Python."""

import csv
import glob
import gzip
import json
import os
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
KINDS = {"tensor", "tensors", "int", "float", "bool", "ints", "floats", "bools", "dtype", "text"}
ROLES = {"parameter", "buffer", "gradient", "optimizer", "other"}


def programs():
    for path in sorted(glob.glob(os.path.join(ROOT, "data", "programs", "*.json.gz"))):
        with gzip.open(path, "rt") as file:
            yield os.path.basename(path)[:-len(".json.gz")], json.load(file)


def peak(program, device="cuda"):
    kept, calls = program["storages"], len(program["calls"]["operator"])
    change = [0] * (calls + 2)
    for size, place, born, dies in zip(kept["bytes"], kept["device"], kept["born"], kept["dies"]):
        if place == device:
            change[born + 1] += size
            if dies != -1:
                change[dies + 2] -= size
    held = most = 0
    for step in change:
        held += step
        most = max(most, held)
    return most


class Files(unittest.TestCase):
    def test_form(self):
        count = 0
        for name, program in programs():
            count += 1
            with self.subTest(name):
                self.assertEqual((program["format"], program["version"]), ("tilecast.program", 1))
                self._tables(program)
                self._calls(program)
        self.assertGreater(count, 0)

    def _tables(self, program):
        layouts = len(program["layouts"])
        for layout in program["layouts"]:
            self.assertEqual(len(layout["shape"]), len(layout["strides"]))
            self.assertIn(layout["device"], ("cuda", "cpu"))
        for operator in program["operators"]:
            self.assertTrue(all(0 <= result < layouts for result in operator["results"]))
            for _, kind, value in operator["arguments"]:
                self.assertIn(kind, KINDS)
                pointed = {"tensor": [value], "tensors": value}.get(kind, [])
                self.assertTrue(all(-1 <= layout < layouts for layout in pointed))

    def _calls(self, program):
        calls, kept = program["calls"], program["storages"]
        self.assertEqual(len({len(column) for column in calls.values()}), 1)
        self.assertEqual(len({len(column) for column in kept.values()}), 1)
        self.assertLessEqual(set(kept["role"]), ROLES)
        for column, table in (("operator", "operators"), ("module", "modules"), ("phase", "phases")):
            self.assertTrue(all(0 <= place < len(program[table]) for place in calls[column]))
        for place, (reads, writes) in enumerate(zip(calls["reads"], calls["writes"])):
            for storage in reads + writes:
                self.assertLessEqual(kept["born"][storage], place)
                self.assertTrue(kept["dies"][storage] == -1 or kept["dies"][storage] >= place)
            operator = program["operators"][calls["operator"][place]]
            self.assertEqual(len(writes), len(operator["results"]))

    def test_every_measured_program_has_a_record(self):
        with open(os.path.join(ROOT, "data", "measurements", "h200_programs.csv"), newline="") as file:
            measured = {row["program"] for row in csv.DictReader(file)}
        self.assertEqual(measured - {name for name, _ in programs()}, set())


if __name__ == "__main__":
    unittest.main()
