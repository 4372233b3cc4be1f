"""How a case is laid out in one measurement: input sets, copies of the kernel, cache flush.

Cold cases rotate over input sets that together exceed three times the L2 cache. Tiny cases
would need too many sets for that: they run once over each set, after a read of a large buffer
has pushed everything out of the cache.
"""

from dataclasses import dataclass

from . import cost

ROTATION_BYTES = 180e6  # 3 x the 60 MB L2 of the H200
MAX_SETS = 64
MAX_COPIES = 256
GRAPH_SECONDS = 1.3e-3  # target length of one replay


@dataclass(frozen=True)
class Layout:
    sets: int
    copies: int
    flush: bool


def of(case):
    copies = int(min(MAX_COPIES, max(1, GRAPH_SECONDS / cost.guess_seconds(case))))
    if case.warmth == "warm":
        return Layout(1, copies, False)
    wanted = int(-(-ROTATION_BYTES // cost.of(case).bytes))
    if wanted > MAX_SETS:
        return Layout(MAX_SETS, MAX_SETS, True)
    rounds = max(1, round(copies / wanted))
    return Layout(wanted, wanted * rounds, False)
