# %% [markdown]
# # A sweep
#
# Grids too large for one machine, or for one afternoon without interruption.

# %%
import concurrent.futures
import tempfile
from pathlib import Path

import numpy
import tilecast

# %% [markdown]
# Kernels are asked in columns: arrays in, an array of seconds out, on all cores and without the GIL.

# %%
m = numpy.arange(1, 4097)
times = tilecast.batch("gemm", m=m, n=4096, k=4096, gpu="H100-SXM")
print(f"{len(times)} products, {times.min() * 1e6:.1f} to {times.max() * 1e6:.1f} us")

# %% [markdown]
# A sweep is a question and a grid. Chunks of it go to any executor of `concurrent.futures` (for many machines, dask's
# `client.get_executor()`), finished ones to a file: the same call after an interruption goes on from there.

# %%
if __name__ == "__main__":
    folder = tempfile.TemporaryDirectory()
    file = Path(folder.name) / "products.jsonl"
    grid = {"gpu": ["A100-SXM-80GB", "H100-SXM", "B200"], "m": [2**i for i in range(13)], "n": range(512, 8193, 512)}
    with concurrent.futures.ProcessPoolExecutor(2) as workers:
        found = tilecast.sweep({"question": "kernel", "family": "gemm", "k": 4096}, grid, workers, file=file, chunk=128)
    print(found["latency_us"].shape, "microseconds, one for each GPU, m and n")

# %% [markdown]
# The answer is an array as the grid is. Where does the next generation gain most?

# %%
if __name__ == "__main__":
    gain = found["latency_us"][1] / found["latency_us"][2]
    at = numpy.unravel_index(gain.argmax(), gain.shape)
    print(f"B200 over H100: {gain.min():.2f} to {gain.max():.2f}, most at m = {grid['m'][at[0]]}, n = {list(grid['n'])[at[1]]}")
    folder.cleanup()
