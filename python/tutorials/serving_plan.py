# %% [markdown]
# # A serving plan
#
# Requests arrive at a rate, and clients are promised times. How many of which GPUs does that take, and how far does it go?

# %%
import tilecast

# %% [markdown]
# First a single card under growing load. `simulate` runs the engine's own scheduler over requests; the metrics are those of
# `vllm bench serve`.

# %%
curve = tilecast.simulate("Llama-3.1-8B", gpu="H100-SXM", sweep="rate=2,4,8,16", num_prompts=100, input=1024, output=128)
for load in curve.loads:
    m = load["metrics"]
    print(f"{load['load']:10} {m['output_throughput']:7.0f} tokens/s, TTFT {m['mean_ttft_ms']:6.0f} ms, TPOT {m['mean_tpot_ms']:5.1f} ms")
curve

# %% [markdown]
# Then the question the other way round: objectives in, deployments out, the cheapest that meets them first.

# %%
plan = tilecast.plan_serve("Llama-3.1-8B", slo="ttft=1s,tpot=40ms", rate=8, gpus=["H100", "L40S"], input=1024, output=128)
for deployment in plan.to_dict()["front"]:
    pool, simulated = deployment["pool"], deployment["simulated"]
    print(f"{deployment['gpus']} x {deployment['gpu']}, tp {pool['tp']}, {pool['copies']} copies: TTFT {simulated['ttft_ms']:.0f} ms, "
          f"TPOT {simulated['tpot_ms']:.1f} ms")
plan

# %% [markdown]
# The best one comes with the command that starts it.

# %%
print(plan.launch)
