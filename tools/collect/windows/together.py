"""Cases profiled together, many to one trace: every call is marked by its case and direction, which its kernels tell."""

import os
import tempfile

from collect.programs import profiled

COUNTED, TOGETHER = 2, 12  # calls of a direction; cases in one profile


def kernels_of(ready, after=lambda: None):
    """(place among `ready`, direction, kernel) of the kernels that each {direction: call} launches; `after` runs behind
    the calls of a direction."""
    def step(mark):
        for place, calls in enumerate(ready):
            for direction, call in calls.items():
                mark(f"{place}:{direction}")
                for _ in range(COUNTED):
                    call()
                after()
    path = os.path.join(tempfile.mkdtemp(), "trace.json")
    events = profiled.timed_events(profiled.profile(step, 1, path))
    profiled.remove(path)
    for kernel in profiled.grouped(events, COUNTED):
        if kernel["phase"]:
            place, direction = kernel["phase"].split(":")
            yield int(place), direction, kernel


def measure_all(plan, measure, rows, deadline):
    """measure(group) for one group of cases after the other, until the deadline."""
    for first in range(0, len(plan), TOGETHER):
        if deadline.passed():
            break
        measure(plan[first:first + TOGETHER])
    print(f"{rows.count} kernels of {min(first + TOGETHER, len(plan))} cases, {deadline.elapsed():.1f} s", flush=True)
