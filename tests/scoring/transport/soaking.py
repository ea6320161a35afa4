"""A soak: many calls under random faults, with kills and a second process."""

import json
import subprocess
import sys
import urllib.request
from pathlib import Path
from random import Random
from types import SimpleNamespace

HERE = Path(__file__).parent
PARALLELISM = 32
REFUSED = 97  # of so many rows one can't be scored at all


def start(script, *args):
    command = [sys.executable, str(HERE / script), *map(str, args)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def end(process):
    process.kill()
    process.communicate()


def soak(folder, rows, kills, seed=0):
    """Score rows in processes that are killed, each beside a second one, then to the end.

    Returns the outcome of each row, how often each was paid for, and what was done.
    """
    random = Random(seed)  # noqa: S311 - no secret
    server = start("faulty.py", seed, REFUSED)
    processes = []
    try:
        address = f"http://127.0.0.1:{int(server.stdout.readline())}"

        def run():
            args = (f"{address}/score", folder / "journal.log", rows, PARALLELISM)
            processes.append(start("crashing.py", *args))
            return processes[-1]

        for _ in range(kills):
            both = (run(), run())
            victim, other = random.sample(both, 2)
            for _ in range(random.randrange(1, rows // (kills + 1))):
                if not victim.stdout.readline():
                    break
            end(victim)
            end(other)
        first = run()
        second = run()
        reports = []
        for process in (first, second):
            out, err = process.communicate(timeout=600)
            assert process.returncode == 0, err
            reports.append(json.loads(out.splitlines()[-1]))
        with urllib.request.urlopen(f"{address}/seen", timeout=30) as response:  # noqa: S310 - loopback
            paid = json.load(response)
        return SimpleNamespace(
            outcomes=[report["outcomes"] for report in reports],
            warnings=[report["warnings"] for report in reports],
            paid={int(row): count for row, count in paid.items()},
            killed=2 * kills,
        )
    finally:
        for process in processes:
            end(process)
        end(server)
