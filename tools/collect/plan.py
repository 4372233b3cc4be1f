"""The whole plan in the order it is measured.

The order is a fixed shuffle: when the time runs out, every family is covered evenly. Another
seed keeps the regular grids and draws other random shapes.
"""

import random

from . import layout, plan_attention, plan_matmul, plan_memory, plan_training

SEED = 20261115
EAGER_SHARE = 0.04


def build(families=None, seed=SEED):
    rng = random.Random(seed)
    cases = []
    for part in (plan_matmul, plan_attention, plan_memory, plan_training):
        cases.extend(part.plan(rng))
    cases.extend(_eager_twins(rng, cases))
    cases = list(dict.fromkeys(cases))
    rng.shuffle(cases)
    if families:
        cases = [case for case in cases if case.family in families]
    return cases


QUICK_SEED = 7  # other random shapes than the sweep's
QUICK_WEIGHTS = {"gemm": 2, "bmm": 2, "attention_prefill": 3, "attention_decode": 3, "layernorm": 2, "rmsnorm": 2}


def quick(families=None, seed=QUICK_SEED):
    """The plan in the order that is worth most after a minute: every kind of kernel has its share, which grows with the
    square root of its number of cases; kinds that models spend their time in get more."""
    kinds = {}
    for case in build(families, seed):
        kind = (case.family, case.dtype, case.kernel_source, case.runtime, case.warmth, case.backward)
        kinds.setdefault(kind, []).append(case)
    ranked = []
    for kind, cases in kinds.items():
        share = QUICK_WEIGHTS.get(kind[0], 1) * len(cases) ** 0.5 * (0.5 if kind[3] == "eager" else 1)
        ranked += [((index + 0.5) / share, kind, index) for index in range(len(cases))]
    ranked.sort(key=lambda rank: (rank[0], str(rank[1])))
    return [kinds[kind][index] for _, kind, index in ranked]


def smoke(count_per_kind=2):
    """A few cases of every kind, to find broken ones quickly."""
    seen, chosen = {}, []
    for case in build():
        kind = (case.family, case.dtype, case.kernel_source, case.runtime, case.backward,
                case.get("kind"), case.get("op"), case.get("axis"))
        seen[kind] = seen.get(kind, 0) + 1
        if seen[kind] <= count_per_kind:
            chosen.append(case)
    return chosen


def _eager_twins(rng, cases):
    """Some cases again as plain launches, to show what the host's launches cost. Tiny ones run
    warm: a cache flush would give the host a head start."""
    for case in cases:
        if case.runtime == "graph" and case.warmth == "cold" and rng.random() < EAGER_SHARE:
            twin = case.with_runtime("eager")
            yield twin.with_warmth("warm") if layout.of(case).flush else twin
