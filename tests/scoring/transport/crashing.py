"""A run in a process of its own, for tests that kill it.

python crashing.py URL JOURNAL ROWS PARALLELISM [MODE] [LEASE]: scores rows, prints "answered N" for
each row as it is answered, and at the end a JSON of what it knows.
"""

import json
import sys
from pathlib import Path

from fakes import Client

# `ext` would import numpy and pydantic, which no call needs, in each of these processes
from pytest_evalmetrics.scoring.transport.wire import CallError


def say(line):
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main(url, path, *counts_and_mode):
    rows, parallelism, mode, lease_s = [
        *counts_and_mode,
        *["normal", "30"][len(counts_and_mode) - 2 :],
    ]
    outcomes = {}

    def done(row, outcome):
        outcomes[row] = outcome
        say(f"answered {row}")

    with Client(Path(path)) as client:
        client(mode=mode, network=True, base_s=0.05, lease_s=float(lease_s))
        rows, parallelism = int(rows), int(parallelism)
        client.run(client.many(range(rows), parallelism, done, url=url, max_retries=8))
        results = [outcomes[row] for row in range(rows)]
        failed = [isinstance(one, CallError) for one in results]
        know = {
            "outcomes": [
                str(one) if bad else one.body
                for one, bad in zip(results, failed, strict=True)
            ],
            "hits": client.usage.from_journal,
            "warnings": client.transport.warnings,
        }
    say(json.dumps(know))


if __name__ == "__main__":
    main(*sys.argv[1:])
