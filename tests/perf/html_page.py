"""What ``report.html`` costs: to make, in bytes, and to open.

One benchmark of 10,000 tasks x 4 rollouts with three scores against a baseline; the same with
1,000,000 tasks; and 1,000 benchmarks of 50 tasks. Prints seconds of the processor, medians of
five (of one for the million), sizes, and where a Chromium with its driver is installed, the
time from asking for the page to its tasks being there. Asserts nothing.

    python tests/perf/html_page.py
"""

from __future__ import annotations

import contextlib
import io
import shutil
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pytest_evalmetrics.data import RolloutTable, SourceFile
from pytest_evalmetrics.reports import report_document
from pytest_evalmetrics.reports.html import PagePieces, page_pieces, picture_of, write_page

ROUNDS = 5


def table(tasks: int, samples: int = 4) -> RolloutTable:
    """Make rollouts with a reward, a cost and a number of tokens."""
    rng = np.random.default_rng(0)
    rows = tasks * samples
    return RolloutTable(
        agents=("agent",),
        agent=np.zeros(rows, np.int32),
        tasks=tuple(f"repository__task-{i:07d}" for i in range(tasks)),
        task=np.repeat(np.arange(tasks), samples),
        sample=np.tile(np.arange(samples), tasks),
        scores={
            "reward": (rng.random(rows) < 0.7).astype(float),
            "cost": rng.gamma(2, 0.01, rows),
            "output_tokens": rng.integers(10, 4000, rows).astype(float),
        },
        sources=(SourceFile("runs/now.jsonl", rows, rows * 4096, row_is_line=True),),
        read_as=np.arange(rows),
    )


def compared_with(now: RolloutTable) -> RolloutTable:
    """Make the run before it: a few tasks differ."""
    rng = np.random.default_rng(1)
    flipped = rng.random(len(now)) < 0.05
    reward = np.where(flipped, 1 - now.scores["reward"], now.scores["reward"])
    return replace(now, scores={**now.scores, "reward": reward})


def entry(name: str, tasks: int) -> dict[str, Any]:
    """Make an entry of the report."""
    estimate = {
        "name": "pass@1",
        "value": 0.7,
        "tasks": tasks,
        "rollouts": 4 * tasks,
        "interval": {"low": 0.69, "high": 0.71, "level": 0.95, "method": "t"},
        "reason": "",
        "by_hook": False,
    }
    check = {
        "gate": "threshold",
        "name": "pass@1",
        "verdict": "PASS",
        "agent": "",
        "value": 0.7,
        "bound": ">= 0.5",
        "reason": "",
        "hint": "",
        "estimate": estimate,
        "line": 3,
        "evidence": {},
    }
    agent = {
        "agent": "agent",
        "tasks": tasks,
        "rollouts": 4 * tasks,
        "missing": 0,
        "estimates": {"pass@1": estimate},
        "key_metrics": {"pass@1": 0.7},
        "scores": [],
    }
    return {
        "id": f"benchmarks/some.bench.yaml::{name}",
        "name": name,
        "description": "",
        "file": "benchmarks/some.bench.yaml",
        "line": 1,
        "verdict": "PASS",
        "xfail": False,
        "agents": [agent],
        "checks": [check],
        "notes": [],
        "sources": [],
        "recorded": {},
        "failed_rows": [],
    }


class Kept:
    """The texts of benchmarks, as the artifacts keep them."""

    def __init__(self) -> None:
        self.file = io.BytesIO()

    def add(self, texts: list[str]) -> PagePieces:
        """Keep them."""
        places = []
        for text in texts:
            start = self.file.seek(0, io.SEEK_END)
            places.append((start, self.file.write(text.encode())))
        return PagePieces(*places)

    def read(self, place: tuple[int, int]) -> bytes:
        """Give one back."""
        self.file.seek(place[0])
        return self.file.read(place[1])


def measured(name: str, tasks: int, benchmarks: int, rounds: int = ROUNDS) -> bytes:
    """Measure one kind of run, and give its page."""
    now = table(tasks)
    was = compared_with(now)
    entries = [entry(f"part-{i:04d}", tasks) for i in range(benchmarks)]
    making, writing = [], []
    for _ in range(rounds):
        start = time.process_time()
        texts = page_pieces({"agent": picture_of(now, reward="reward", compared=(was, None))})
        making.append(time.process_time() - start)
        kept = Kept()
        pieces = {e["id"]: kept.add(texts) for e in entries}
        report = report_document(entries, [])
        page = io.BytesIO()
        start = time.process_time()
        write_page(page, report, pieces, kept.read)
        writing.append(time.process_time() - start)
    print(
        f"{name:<32} made in {statistics.median(making):.3f} s each, written in "
        f"{statistics.median(writing):.3f} s, {len(page.getvalue()) / 1e6:.2f} MB"
    )
    return page.getvalue()


def opened(page: bytes) -> None:
    """Open a page in a browser, if there is one."""
    with contextlib.suppress(ImportError):
        from selenium import webdriver  # noqa: PLC0415 - may not be installed

        binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
        if binary is None or driver is None:
            return
        options = webdriver.ChromeOptions()
        options.binary_location = binary
        with tempfile.TemporaryDirectory() as folder:
            flags = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic")
            for flag in (*flags, f"--user-data-dir={folder}/profile"):
                options.add_argument(flag)
            service = webdriver.ChromeService(executable_path=driver)
            browser = webdriver.Chrome(options=options, service=service)
            try:
                path = Path(folder, "report.html")
                path.write_bytes(page)
                took = []
                for _ in range(ROUNDS):
                    browser.get("about:blank")
                    browser.get(path.as_uri())
                    took.append(
                        browser.execute_script(
                            "return new Promise(r => requestAnimationFrame(() => setTimeout(() =>"
                            "r(performance.getEntriesByType('navigation')[0].loadEventEnd))))"
                        )
                    )
                rows = browser.execute_script("return document.querySelectorAll('tbody tr').length")
                print(f"{'':<32} opened in {statistics.median(took):.0f} ms, {rows} rows drawn")
            finally:
                browser.quit()


if __name__ == "__main__":
    opened(measured("one benchmark, 10,000 tasks", 10_000, 1))
    opened(measured("1,000 benchmarks, 50 tasks", 50, 1_000))
    opened(measured("one benchmark, 1,000,000 tasks", 1_000_000, 1, 1))
