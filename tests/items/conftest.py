"""Benchmarks that are collected in this process."""

from pathlib import Path

import pytest

FILE = "math.bench.yaml"


class Collecting:
    """A project of one benchmark file, whose items are collected and not run."""

    def __init__(self, pytester, capsys):
        self.pytester = pytester
        self._capsys = capsys
        self.path = pytester.path
        self.rollouts((1, 0, 1, 1) * 10)

    def rollouts(self, rewards, name="runs.jsonl", **fields):
        rows = []
        for task, reward in enumerate(rewards):
            more = "".join(f', "{key}": {value}' for key, value in fields.items())
            rows.append(
                f'{{"_ng_task_index": {task}, "_ng_rollout_index": 0, "reward": {reward}{more}}}\n'
            )
        with Path(self.path, name).open("a", encoding="utf-8") as file:
            file.writelines(rows)

    def printed(self):
        """Return what pytest has printed so far."""
        return self._capsys.readouterr().out

    def __call__(self, text, *arguments):
        Path(self.path, FILE).write_text(text, encoding="utf-8")
        found, _ = self.pytester.inline_genitems(*arguments)
        return found


@pytest.fixture
def collected(pytester, capsys):
    return Collecting(pytester, capsys)
