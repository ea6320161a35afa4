"""A baseline that can't be read: named with the way out, and replaced by an update."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from baselines.conftest import Quick

UPDATE = "--snapshot-update"
BASELINE = 'metrics: [pass@1]\nexpect: {tasks: 2}\nbaseline: true\nthresholds: {pass@1: ">= 0.9"}'


@pytest.fixture
def recorded(quick: Quick) -> Quick:
    quick.rollouts([[1.0], [1.0]])
    quick.bench(BASELINE)
    assert quick.run(UPDATE).ret == 0
    return quick


def edit(change: Callable[[Any], Any]) -> Callable[[str], str]:
    def edited(text: str) -> str:
        doc = json.loads(text)
        change(doc)
        return json.dumps(doc)

    return edited


BROKEN: dict[str, tuple[Callable[[str], str], str]] = {
    "conflict": (
        lambda text: text.replace("  }", "<<<<<<< HEAD\n  }\n=======\n>>>>>>> main", 1),
        "*math.json:*marks of a merge conflict*",
    ),
    "empty": (lambda _: "\n", "*math.json: this baseline is empty*"),
    "half": (lambda text: text[: len(text) // 2], "*math.json:*: this baseline is no JSON*"),
    "nan": (lambda text: text.replace("[1]", "[NaN]"), "*math.json: this is no baseline*"),
    "list": (lambda _: "[]", "*math.json: this is no baseline*"),
    "deep": (lambda _: "[" * 100_000, "*math.json: this baseline is no JSON*"),
    "version": (
        edit(lambda doc: doc.update(schema_version=99, agents=[])),
        "*math.json: this baseline has the schema version 99, and 1 is known*",
    ),
    "newer": (
        edit(lambda doc: doc.update(schema_version=2)),
        "*math.json: this baseline has the schema version 2, and 1 is known*",
    ),
    "text": (
        edit(lambda doc: doc["agents"]["agent"]["tasks"]["0"].update(reward=["1"])),
        "*math.json: this is no baseline: *`$.agents[[]...[]].tasks[[]...[]][[]...[]][[]0]`*",
    ),
    "flat": (
        edit(lambda doc: doc["agents"]["agent"]["tasks"].update({"0": [1]})),
        "*math.json: this is no baseline: Expected `object`*",
    ),
    "names": (
        edit(lambda doc: doc["agents"]["agent"]["tasks"]["1"].update(other=[1])),
        "*math.json: task '1' of agent has scores of different lengths or names*",
    ),
    "lengths": (
        edit(lambda doc: doc["agents"]["agent"]["tasks"]["0"].update(a=[1, 2])),
        "*math.json: task '0' of agent has scores of different lengths or names*",
    ),
    "other": (
        edit(lambda doc: doc.update(benchmark="physics")),
        "*math.json: this is the baseline of 'physics', expected that of 'math'*",
    ),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_baseline_is_inconclusive_and_replaced_by_an_update(
    recorded: Quick, kind: str
) -> None:
    good = recorded.baseline().read_text(encoding="utf-8")
    change, told = BROKEN[kind]
    broken = change(good)
    assert broken != good
    recorded.baseline().write_text(broken, encoding="utf-8")
    result = recorded.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"INCONCLUSIVE {told}", "  -> *--snapshot-update*"])
    # the thresholds are judged all the same
    assert recorded.checks()["pass@1"]["verdict"] == "PASS"
    assert recorded.baseline().read_text(encoding="utf-8") == broken
    assert recorded.run("--snapshot-update-new-only").ret == 1
    result = recorded.run(UPDATE)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["    recorded *math.json", "1 snapshot updated."])
    assert recorded.run().ret == 0


def _no_utf8(path: Path) -> None:
    path.write_bytes(b'{"schema_version": "\xff"}')


def _loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (_no_utf8, "this baseline is no UTF-8: *"),
        (_loop, "this baseline can't be read: Too many levels of symbolic links"),
        (_folder, "this baseline can't be read: Is a directory"),
    ],
)
def test_what_is_no_file_of_text(recorded: Quick, spoil: Callable[[Path], None], told: str) -> None:
    spoil(recorded.baseline())
    result = recorded.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"INCONCLUSIVE *math.json: {told}", "  -> *"])


def test_an_update_replaces_what_is_no_text_and_not_a_folder(recorded: Quick) -> None:
    _no_utf8(recorded.baseline())
    assert recorded.run(UPDATE).ret == 0
    assert recorded.run().ret == 0
    _folder(recorded.baseline())
    result = recorded.run(UPDATE)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*math.json: this baseline can't be written: Is a directory"])
    recorded.baseline().rmdir()
    assert recorded.run(UPDATE).ret == 0


def test_a_merge_of_two_recordings_is_told(recorded: Quick) -> None:
    text = recorded.baseline().read_text(encoding="utf-8")
    recorded.baseline().write_text(text.replace('"1": {"reward": [1]}', '"1": {"reward": [0]}'))
    result = recorded.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["INCONCLUSIVE *math.json: *edited by hand, or by a merge*"])
    # a tool that lays JSON out anew changes nothing
    recorded.baseline().write_text(json.dumps(json.loads(text), indent=4, sort_keys=True))
    result = recorded.run()
    assert "by a merge" not in result.stdout.str()
    recorded.run(UPDATE)
    assert recorded.baseline().read_text(encoding="utf-8") == text
