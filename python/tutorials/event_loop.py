# %% [markdown]
# # Steps for a simulator of one's own
#
# Whoever simulates a scheduler needs one thing from outside: how long the next step takes. `StepPredictor` answers that in
# microseconds, within half a percent of what `predict` says of the same step.

# %%
import random

import tilecast

steps = tilecast.StepPredictor("Llama-3.1-8B", gpu="H100-SXM", engine="vllm")
print(f"{steps.step_time(prefill=[(512, 0)], decode=[2048] * 32) * 1e3:.2f} ms")

# %% [markdown]
# A small event loop: requests arrive, prompts are computed in chunks beside the answers of those that run, as vLLM does.

# %%
BUDGET = 2048  # tokens of a step
draw = random.Random(7)
arrivals = sorted(draw.uniform(0, 10) for _ in range(60))
waiting = [{"arrives": at, "prompt": draw.randint(200, 1500), "answer": draw.randint(20, 120), "cached": 0, "made": 0} for at in arrivals]
running, first_tokens, clock, count = [], [], 0.0, 0
while waiting or running:
    if not running and waiting[0]["arrives"] > clock:
        clock = waiting[0]["arrives"]
    room, prefill, decode = BUDGET, [], []
    for request in running:
        if request["cached"] >= request["prompt"]:
            decode.append(request)
            room -= 1
    while waiting and waiting[0]["arrives"] <= clock:
        running.append(waiting.pop(0))
    for request in running:
        left = request["prompt"] - request["cached"]
        if left > 0 and room > 0:
            prefill.append((request, min(left, room)))
            room -= prefill[-1][1]
    clock += steps.step_time([(new, request["cached"]) for request, new in prefill], [request["cached"] for request in decode])
    count += 1
    for request, new in prefill:
        request["cached"] += new
        if request["cached"] == request["prompt"]:
            first_tokens.append(clock - request["arrives"])
            request["made"] = 1
    for request in decode:
        request["cached"] += 1
        request["made"] += 1
    running = [request for request in running if request["made"] < request["answer"]]
print(f"{count} steps, {clock:.1f} s, first token after {1e3 * sum(first_tokens) / len(first_tokens):.0f} ms on average")
