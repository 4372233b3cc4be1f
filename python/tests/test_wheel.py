"""The wheel: what is in it, and the README's lines in a Python that has nothing but it."""

import base64
import csv
import hashlib
import io
import os
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

from package_testing import ROOT, needs_package


def readme_lines():
    return re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S).group(1)


@needs_package
class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        library = os.environ.get("TILECAST_LIBRARY", str(ROOT / "build" / "release" / "libtilecast.so"))
        told = subprocess.run([sys.executable, str(ROOT / "tools" / "wheel"), library, cls.folder.name], check=True, capture_output=True, text=True)
        cls.wheel = Path(told.stdout.strip())

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_names_and_record(self):
        self.assertRegex(self.wheel.name, r"^tilecast-\d+\.\d+\.\d+-py3-none-linux_\w+\.whl$")
        with zipfile.ZipFile(self.wheel) as files:
            names = set(files.namelist())
            record = next(name for name in names if name.endswith("RECORD"))
            rows = list(csv.reader(io.StringIO(files.read(record).decode())))
            self.assertEqual({row[0] for row in rows}, names)
            for name, digest, size in rows:
                if name == record:
                    continue
                data = files.read(name)
                self.assertEqual(digest, "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode())
                self.assertEqual(int(size), len(data))
        self.assertTrue({"tilecast/__init__.py", "tilecast/py.typed", "tilecast/libtilecast.so", "tilecast/torch/__init__.py"} <= names)

    def test_needs_nothing_but_the_c_library(self):
        with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(self.wheel) as files:
            library = files.extract("tilecast/libtilecast.so", folder)
            told = subprocess.run(["ldd", library], capture_output=True, text=True)
            if told.returncode != 0:
                self.skipTest("ldd is not there")
            allowed = ("linux-vdso", "libc.so", "libm.so", "ld-linux", "libpthread", "libdl", "librt")
            others = [line for line in told.stdout.splitlines() if line.strip() and not any(name in line for name in allowed)]
            self.assertEqual(others, [])

    def test_runs_the_lines_of_the_readme(self):
        with tempfile.TemporaryDirectory() as folder:
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target", folder, str(self.wheel)]
            if subprocess.run(pip, capture_output=True).returncode != 0:
                zipfile.ZipFile(self.wheel).extractall(folder)  # no pip here
            surroundings = {name: value for name, value in os.environ.items() if name != "TILECAST_LIBRARY"}
            told = subprocess.run([sys.executable, "-c", readme_lines()], capture_output=True, text=True, cwd=folder,
                                  env={**surroundings, "PYTHONPATH": folder})
            self.assertEqual(told.returncode, 0, told.stderr)
            self.assertIn("tokens_per_second", told.stdout)
        self.assertEqual(len(readme_lines().strip().splitlines()), 4)


if __name__ == "__main__":
    unittest.main()
