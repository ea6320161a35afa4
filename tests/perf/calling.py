"""A whole pytest run over a benchmark that calls, against a bare loop over the same client.

Rows are scored by a server process on loopback (10,000 rows, 20 ms, 64 at once), or answered by it
(2,000 rows, four times each, 50 ms, 128 at once). Bare: as many workers over one aiohttp session
that parse the JSON. Ours: `pytest` from its start to its end: rows read, bodies rendered, called,
journaled, scored, reduced, reported. Start and end are what a run over one row takes, which is
called for too. Also a second run from the journal alone, and the peak memory over more and more
calls, at full speed. In one run, alternating, medians of three. Prints; asserts nothing.

    python tests/perf/calling.py score|generate [rows]
"""

import asyncio
import json
import sys
import tempfile
import urllib.request
from pathlib import Path
from statistics import median

import aiohttp
from measuring import ROUNDS, pytest_run, served, wall


class Scoring:
    """Each row is scored by an endpoint."""

    server, path = "scoring/transport/server.py", "/ok"
    rows, samples, at_once, latency = 10_000, 1, 64, 0.02
    sizes = 2_000, 10_000, 50_000

    @staticmethod
    def row(index):
        """Make a row of some 2 KB."""
        return {
            "task": index % 100,  # few: what is reported of each task is not scoring's
            "reference": "The capital is Paris. " * 10,
            "output": f"Paris {index} " * 20,
            "trace": "so it goes " * 140,
        }

    @staticmethod
    def seen(address):
        """Return 1: this server does not tell."""
        del address
        return 1

    @staticmethod
    def body(row):
        return {"reference": row["reference"], "output": f"said: {row['output']}"}

    @staticmethod
    def benchmark(url, rows):
        del rows
        parser = {"type": "json", "json_path": "$.score"}
        return {
            "dataset": {"path": "data.jsonl", "fields": {"task": "task"}},
            "scorers": [
                {
                    "type": "remote",
                    "url": url,
                    "body": {
                        "reference": "{{ item.reference }}",
                        "output": "said: {{ item.output }}",
                    },
                    "scores": [
                        {"name": "score", "parser": parser, "minimum": 0, "maximum": 1}
                    ],
                }
            ],
            "expect": {"rollouts": "any"},
        }


class Generating:
    """Each row is answered by a model, several times."""

    server, path = "scoring/generation/openai_server.py", "/v1/chat/completions"
    rows, samples, at_once, latency = 2_000, 4, 128, 0.05
    sizes = 500, 2_000, 5_000

    @staticmethod
    def row(index):
        """Make a row of some 1 KB."""
        text = "Natalia sold clips to her friends. " * 20
        return {"id": index, "question": f"{text}{index} + 1", "answer": str(index + 1)}

    @staticmethod
    def seen(address):
        """Return the requests per second between the first and the last that the server saw."""
        with urllib.request.urlopen(f"{address}?reset", timeout=30) as response:  # noqa: S310
            seen = json.load(response)
        return seen["posts"] / ((seen["last"] - seen["first"]) or 1.0)

    @staticmethod
    def body(row):
        system = {"role": "system", "content": "be short"}
        return {
            "model": "m",
            "messages": [system, {"role": "user", "content": row["question"]}],
        }

    @staticmethod
    def benchmark(url, rows):
        return {
            "dataset": "data.jsonl",
            "num_samples": Generating.samples,
            "model": {"url": url, "name": "m", "format": "chat"},
            "prompt_template": [
                {"role": "system", "content": "be short"},
                {"role": "user", "content": "{{ question }}"},
            ],
            "scorers": [{"type": "exact_match", "reference": "{{ answer }}"}],
            "expect": {"tasks": rows},
        }


async def bare(kind, url, rows):
    """Run bounded workers over one session: what there is to reach."""
    jobs = iter([index for index in range(rows) for _ in range(kind.samples)])
    connector = aiohttp.TCPConnector(limit=kind.at_once)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def work():
            for index in jobs:
                async with session.post(
                    url, json=kind.body(kind.row(index))
                ) as response:
                    json.loads(await response.read())

        await asyncio.gather(*(work() for _ in range(kind.at_once)))


def project(kind, folder, rows, url):
    """Write a data set and its benchmark."""
    folder.mkdir()
    with (folder / "data.jsonl").open("w") as file:
        file.writelines(json.dumps(kind.row(i)) + "\n" for i in range(rows))
    shared = {"name": "perf", "metrics": ["mean_reward"]}
    shared["params"] = {"parallelism": kind.at_once}
    spec = {"benchmark": shared | kind.benchmark(url, rows)}
    (folder / "a.bench.yaml").write_text(json.dumps(spec))  # JSON is YAML
    return folder


def main(kind, rows):
    """Measure and print."""
    bares, ours, ones, asking = [], [], [], []
    journal = "--evalmetrics-journal=journal.log"
    with served(kind.server) as server, tempfile.TemporaryDirectory() as name:
        address = server + kind.path
        url = f"{address}?latency={kind.latency}"
        whole = project(kind, Path(name, "all"), rows, url)
        one = project(kind, Path(name, "one"), 1, url)

        def loop():
            asyncio.run(bare(kind, url, rows))

        loop()  # warm: imports, the server's code
        for _ in range(ROUNDS):
            ones.append(pytest_run(one, journal, "--evalmetrics-refresh"))
            kind.seen(address)
            bares.append(wall(loop))
            asked = kind.seen(address)
            ours.append(pytest_run(whole, journal, "--evalmetrics-refresh"))
            asking.append(kind.seen(address) / asked)
        again = pytest_run(whole, journal)
        peaks = {
            size * kind.samples: pytest_run(
                project(kind, Path(name, f"{size}"), size, address)
            )
            for size in kind.sizes
        }
    calls = rows * kind.samples
    seconds, cpu, _ = map(median, zip(*ours, strict=True))
    start, start_cpu, _ = map(median, zip(*ones, strict=True))
    ratio = median(b / o.wall for b, o in zip(bares, ours, strict=True))
    inner = median(b / (o.wall - start) for b, o in zip(bares, ours, strict=True))
    print(f"{calls} calls, {kind.at_once} at once, {kind.latency * 1e3:.0f} ms")
    print(f"bare    {calls / median(bares):6.0f} calls/s")
    print(
        f"pytest  {calls / seconds:6.0f} calls/s, {start:.2f} s of {seconds:.2f} s for one row"
    )
    print(
        f"ratio   {ratio:6.2f} whole run, {inner:.2f} without start and end (limit 0.80)"
    )
    if kind is Generating:
        print(
            f"ratio   {median(asking):6.2f} from the first request to the last (limit 0.80)"
        )
    print(f"CPU     {(cpu - start_cpu) / calls * 1e3:6.3f} ms a call (limit 1)")
    print(
        f"again   {calls / again.wall:6.0f} calls/s from the journal, {again.wall:.2f} s in all"
    )
    print(
        "memory  "
        + ", ".join(f"{n} calls {used.peak:.1f} MiB" for n, used in peaks.items())
    )


if __name__ == "__main__":
    kind = {"score": Scoring, "generate": Generating}[sys.argv[1]]
    main(kind, int(sys.argv[2]) if len(sys.argv) > 2 else kind.rows)
