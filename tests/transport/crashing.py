"""A run in a process of its own, for tests that kill it.

python crashing.py URL JOURNAL ROWS PARALLELISM [MODE]: scores rows, prints "answered N" for
each row as it is answered, and at the end a JSON of what it knows.
"""

import json
import sys
from pathlib import Path

from pytest_evalmetrics.ext import CallError, Endpoint
from pytest_evalmetrics.transport import (
    Call,
    Journal,
    JournalMode,
    Occurrences,
    RetryPolicy,
    Transport,
    run_bounded,
)


def say(line):
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main(url, path, rows, parallelism, mode="normal"):
    endpoint = Endpoint(url, parallelism=int(parallelism), max_retries=8)
    occurrences, outcomes, hits = Occurrences(), {}, []
    journal = Journal(Path(path), JournalMode(mode))
    with Transport(journal, policy=RetryPolicy(base_s=0.05)) as transport:

        def calls():
            for n in range(int(rows)):
                call = Call(endpoint, {"row": n // 2})  # each content comes twice
                yield n, call, occurrences.next(call.payload)

        async def ask(item):
            _, call, occurrence = item
            return await transport.call(call, occurrence=occurrence)

        def done(item, outcome):
            failed = isinstance(outcome, CallError)
            if not failed and outcome.from_journal:
                hits.append(item[0])
            outcomes[item[0]] = str(outcome) if failed else outcome.body
            say(f"answered {item[0]}")

        transport.run(run_bounded(ask, calls(), int(parallelism), done))
        say(
            json.dumps(
                {
                    "outcomes": [outcomes[n] for n in sorted(outcomes)],
                    "hits": len(hits),
                    "warnings": transport.warnings,
                }
            )
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
