# %% [markdown]
# # Choosing a GPU
#
# A model, a load, and cards that are not in the room: which of them is fast enough, which is cheap enough, and which would gain
# from being different?

# %%
import tilecast

# %% [markdown]
# Any argument may be a list. The answer is a table of all combinations; what cannot run says why.

# %%
step = tilecast.predict("Llama-3.1-8B", gpu=["A100-SXM-80GB", "L40S", "H100-SXM", "H200-SXM", "B200", "MI300X"], mode="decode",
                        batch=32, context=4096)
for row in step:
    f = row.answer
    print(f"{row.arguments['gpu']:15} {f.step_ms:6.2f} ms ({f.interval_ms.low:.2f} to {f.interval_ms.high:.2f}), "
          f"{f.tokens_per_second:6.0f} tokens/s, limited by {f.limited_by}, card measured: {f.seen}")
step

# %% [markdown]
# Formats that a card does not have are marked, and the rest goes on.

# %%
formats = tilecast.predict("Llama-3.1-8B", gpu=["V100-SXM", "H100-SXM", "B200"], dtype=["bf16", "fp8", "nvfp4"], mode="prefill", seq=4096)
for row in formats:
    print(row.arguments, f"{row.answer.step_ms:.1f} ms" if row.answer else f"impossible: {row.error.problem}")

# %% [markdown]
# Where does the time of one card go?

# %%
best = step[2].answer
print({name: round(ms, 2) for name, ms in best.breakdown.items()})
best

# %% [markdown]
# Decoding waits for memory. What would a card with twice the bandwidth do? A description needs to say no more than what differs.

# %%
faster = tilecast.gpu({"like": "H100-SXM", "name": "H100 with 6.7 TB/s", "dram": {"gb_per_s": 6700}})
both = tilecast.predict("Llama-3.1-8B", gpu=["H100-SXM", faster], mode="decode", batch=[1, 32, 256], context=4096)
for row in both:
    print(row.figures()["gpu"], row.arguments["batch"], f"{row.answer.step_ms:.2f} ms")
both
