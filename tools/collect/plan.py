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
