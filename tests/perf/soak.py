"""A soak: 10,000 calls under random faults, with kills and a second process.

A server answers 500, 502, 429, 503, an error inside a 200, a cut body, nothing, or late, each to
one call in a hundred, and is down for .4 of every 4 seconds. Two processes share a journal and are
killed, again and again; at the end two make all calls. Prints; fails if a row has neither a score
nor a reason, or if more was paid twice than was in flight.

    python tests/perf/soak.py [rows] [kills] [seed]
"""

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from scoring.transport.soaking import PARALLELISM, REFUSED, soak


def main(rows=10_000, kills=10, seed=0):
    """Soak and print."""
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        soaked = soak(Path(name), rows, kills, seed)
    seconds = time.perf_counter() - started
    twice = sum(count - 1 for count in soaked.paid.values())
    bound = soaked.killed * PARALLELISM
    print(f"{rows} rows, {soaked.killed} processes killed, {seconds:.0f} s")
    print(
        f"answers paid for: {sum(soaked.paid.values())}, twice: {twice} (limit {bound})"
    )
    right = True
    for outcomes in soaked.outcomes:
        scored = sum(isinstance(one, dict) for one in outcomes)
        reasons = [one for one in outcomes if isinstance(one, str)]
        refused = sum("can not be scored" in one for one in reasons)
        expected = len(range(0, rows, REFUSED))
        print(f"scored {scored}, refused by the server {refused} of {expected}")
        for reason in sorted(set(reasons)):
            if "can not be scored" not in reason:
                print(f"lost: {reason}")
        right = right and scored + expected == rows
    print(f"warnings: {soaked.warnings}")
    if not right or twice > bound:
        sys.exit("a row was lost, or paid twice")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
