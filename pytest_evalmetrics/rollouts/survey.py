"""Reports on recorded rollouts, and benchmark files for them or from another tool's settings."""

from __future__ import annotations

import glob
import math
import os
import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import yaml
from msgspec import structs

from pytest_evalmetrics.errors import DataError, EvalMetricsError
from pytest_evalmetrics.layout import listed, many, visible
from pytest_evalmetrics.rollouts.direction_hint import should_be_low
from pytest_evalmetrics.rollouts.formats import recognise
from pytest_evalmetrics.rollouts.json_values import objects
from pytest_evalmetrics.rollouts.loaders.harbor import is_trials_folder
from pytest_evalmetrics.rollouts.propose import (
    REWARDS,
    Proposal,
    by_name,
    may_be_reward,
    propose,
)
from pytest_evalmetrics.rollouts.recorded import load
from pytest_evalmetrics.rollouts.source import RolloutFile, open_source, score_paths
from pytest_evalmetrics.rollouts.tool_usage import USAGE
from pytest_evalmetrics.spec import RolloutsSpec
from pytest_evalmetrics.spec.field_types import is_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pytest_evalmetrics.model.rollout_table import RolloutTable

_FILES: Final = (
    "jsonl",
    "jsonl.gz",
    "jsonl.zst",
    "json",
    "parquet",
    "csv",
    "eval",
)  # of a folder
_LISTED: Final = 10  # names on a line
_RTOL: Final = 0.08  # the default of vLLM's lm-eval tests
_TOL: Final = 0.08  # of its gsm8k tests: absolute


def survey(pattern: str, base: Path) -> str:
    """Read rollouts, and report what was recognised, found and missing."""
    report, benchmark, comments = _surveyed(pattern, base)
    comments["baseline"] = "record it with: pytest --snapshot-update"
    title = f"# a benchmark file to start from, such as {_name(pattern)}.bench.yaml"
    return _joined([*report, "", title, *_written({"benchmark": benchmark}, comments)])


def write_benchmark(pattern: str, base: Path) -> tuple[Path, str]:
    """Write a benchmark file for rollouts of any shape, or for another tool's settings."""
    source = base / pattern
    is_yaml = source.suffix in (".yaml", ".yml") and source.is_file()
    report: list[str] = []
    content, comments = _migrated(source) if is_yaml else ({}, {})
    if not content:
        report, benchmark, comments = _surveyed(pattern, base)
        content = {"benchmark": benchmark}
    name = f"{_name(pattern)}.bench.yaml"
    text = _joined(
        ["# written by pytest --evalmetrics-init", *_written(content, comments)]
    )
    try:
        with (base / name).open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        hint = "change it by hand, or rename it and start anew"
        raise DataError(
            "there is such a benchmark file already", file=name, hint=hint
        ) from None
    except OSError as error:
        raise DataError(f"it can't be written: {error.strerror}", file=name) from None
    return base / name, _joined(report)


def _joined(lines: Iterable[str]) -> str:
    # names and ids may hold anything, and no line of it is more than a line
    return "\n".join(map(visible, lines)) + "\n"


def _written(content: Mapping[str, Any], comments: Mapping[str, str]) -> list[str]:
    """Write a benchmark file with comments on the lines of their keys, and that of "" on top."""
    text = yaml.safe_dump(
        content, default_flow_style=None, sort_keys=False, width=math.inf
    )
    lines = [f"# {line}" for line in comments.get("", "").splitlines()]
    for line in text.splitlines():
        comment = comments.get(line.strip(" -").partition(":")[0])
        lines.append(line if comment is None else f"{line}  # {comment}")
    return lines


def _surveyed(
    pattern: str, base: Path
) -> tuple[list[str], dict[str, Any], dict[str, str]]:
    """Describe rollouts, and make a benchmark for them, with comments on its keys."""
    if (base / pattern).is_dir():
        pattern = _files_in(pattern, base)
    proposal, table = _read_guessing(pattern, base)
    rewards = _rewards(table)
    if proposal.spec.fields.reward or proposal.spec.map or proposal.spec.lists:
        rewards = [*dict.fromkeys(["reward", *rewards])]
    reward = next(iter(rewards), proposal.reward)
    place = {"path": pattern, **proposal.keys} if proposal.keys else pattern
    benchmark: dict[str, Any] = {"name": _name(pattern), "rollouts": place}
    comments = {"": "\n".join(proposal.reasons), "thresholds": "as the files say"}
    if reward is not None and reward != "reward":
        benchmark["reward"] = reward
        others = f"; or {', '.join(rewards[1:])}" if rewards[1:] else ""
        comments["reward"] = (
            f"by its {'name' if reward.lower() in REWARDS else 'values'}{others}"
        )
    column = table.scores.get(reward or "", np.empty(0))
    parts = [part for _, part in table.by_agent()]
    counts = np.concatenate([np.diff(part.offsets) for part in parts])
    least, most = int(counts.min()), int(counts.max())
    if least == most:
        benchmark["num_samples"] = most
    given = column[np.isfinite(column)]
    is_lower = not proposal.spec.map and should_be_low(
        score_paths(proposal.spec.fields).get("reward") or reward or ""
    )
    is_binary = len(given) and np.isin(given, (0, 1)).all() and not is_lower
    passes = ["pass@1"] if least == 1 else ["pass@1", f"pass@{least}", f"pass^{least}"]
    benchmark["metrics"] = passes if is_binary else ["mean_reward"]
    tasks = {len(part.tasks) for part in parts}
    expect = {
        "tasks": tasks.pop() if len(tasks) == 1 else None,
        "missing_reward": "error" if np.isnan(column).any() else None,
    }
    more: dict[str, Any] = {"expect": _given(expect), "thresholds": _thresholds(table)}
    more["baseline"] = {"direction": "lower"} if is_lower else True
    if is_lower:
        comments["baseline"] = (
            "the direction is proposed from the reward's name: check it"
        )
    return [*_report(table, base, reward)], benchmark | _given(more), comments


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value}


def _files_in(folder: str, base: Path) -> str:
    """Write the glob for the files of a folder, unless the folder is a format's own."""
    names = [name for _, _, some in os.walk(base / folder) for name in some]
    ends = {end: sum(name.endswith(f".{end}") for name in names) for end in _FILES}
    end = max(ends, key=ends.__getitem__)
    if is_trials_folder(base / folder) or not ends[end]:
        return folder
    flat = any(name.endswith(f".{end}") for name in os.listdir(base / folder))  # noqa: PTH208
    return f"{folder.rstrip('/')}/{'' if flat else '**/'}*.{end}"


def _read_guessing(pattern: str, base: Path) -> tuple[Proposal, RolloutTable]:
    """Read the rollouts, with a guess of their shape if their rows name no task."""
    spec = RolloutsSpec(path=(pattern,))
    try:
        return Proposal(spec), load(spec, base, scores=())
    except DataError:
        guesses: list[Proposal] = []
        with suppress(EvalMetricsError):
            if (proposal := propose(pattern, base)) is not None:
                fields = replace(proposal.spec.fields, content=None)
                plainer = structs.replace(
                    proposal, spec=replace(proposal.spec, fields=fields)
                )
                guesses = [proposal, plainer]
        for guess in guesses:
            with suppress(EvalMetricsError):
                return guess, load(guess.spec, base, scores=())
        raise  # why it can't be read the plain way


def _report(table: RolloutTable, base: Path, reward: str | None) -> Iterator[str]:
    for source in table.sources[:_LISTED]:
        path, rows = base / source.path, many(source.rows, "rollout")
        here = path.exists()  # otherwise it is remote
        kind = (
            f"{recognise(open_source(RolloutFile(path, path.name))).name}, "
            if here
            else ""
        )
        yield f"{source.path}: {kind}{rows}"
    if len(table.sources) > _LISTED:
        yield f"and {many(len(table.sources) - _LISTED, 'more file')}"
    for agent, part in table.by_agent():
        least, most = np.diff(part.offsets).min(), np.diff(part.offsets).max()
        each = str(least) if least == most else f"{least} to {most}"
        tasks = f"{many(len(part.tasks), 'task')} ({listed(part.tasks, _LISTED)})"
        yield f"agent {agent}: {tasks}, {each} each"
    width = max(map(len, table.scores), default=0)
    for name, column in table.scores.items():
        given = column[np.isfinite(column)]
        values = "nothing but missing values"
        if len(given):
            values = (
                f"mean {given.mean():.4g}, from {given.min():.4g} to {given.max():.4g}"
            )
            values += (
                f", {len(column) - len(given)} missing"
                if len(given) < len(column)
                else ""
            )
        yield f"  {name:{width}}  {values}{'  <- the reward' if name == reward else ''}"
    yield from table.notes


def _rewards(table: RolloutTable) -> list[str]:
    """List what may be the reward, the likeliest first; no identifier, no time, no usage."""
    ranks: dict[str, int] = {}
    for name, column in table.scores.items():
        values = column[np.isfinite(column)]
        numbers = list(map(int if name in table.integers else float, values))
        if name not in USAGE and may_be_reward(name, numbers):
            low, high = (values.min(), values.max()) if len(values) else (-1.0, 0.0)
            # those in [0, 1] first, and of these the ones that differ
            ranks[name] = (low == high) if low >= 0 and high <= 1 else 2
    names = sorted(ranks, key=lambda name: (should_be_low(name), ranks[name]))
    return [*dict.fromkeys([*by_name([*ranks], REWARDS), *names])]


def _thresholds(table: RolloutTable) -> dict[str, dict[str, float]]:
    """Return the thresholds that files state for their scores, as deepeval's do."""
    bounds = {}
    for settings in table.ruler.values():
        with suppress(
            KeyError, ValueError
        ):  # none, several, or one that is not a number
            (threshold,) = map(float, settings["threshold"])
            bounds.update(dict.fromkeys(settings["scores"], threshold))
    names = [name for name in bounds if name in table.scores and name != "success"]
    return {f"mean/{name}": {"min": bounds[name]} for name in names}


def _name(pattern: str) -> str:
    names = [part for part in Path(pattern).parts if not glob.has_magic(part)]
    stem = names[-1].partition(".")[0] if names else ""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", stem).strip("-") or "benchmark"


# -- settings of other tools -----------------------------------------------------------------


def _migrated(path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """Convert another tool's settings to a benchmark file with comments; empty if unknown."""
    try:
        settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        why = " ".join(str(error).split())
        raise DataError(
            f"these settings can't be read: {why}", file=path.name
        ) from None
    if not isinstance(settings, dict):
        return {}, {}
    tasks = [
        task
        for task in objects(settings.get("tasks"))
        if isinstance(task.get("metrics"), list)
    ]
    stated: Any = settings.get("accuracy_threshold")
    if tasks:
        comments = {"rollouts": "the samples that lm-eval writes with --log_samples"}
        return {
            "benchmarks": [_given(_lm_eval(task, settings)) for task in tasks]
        }, comments
    if is_number(stated):  # https://github.com/vllm-project/vllm, tests/evals/gsm8k
        comments = {"rollouts": "a row per question, with its task and reward"}
        comments["mean_reward"] = f"{stated} - {_TOL}"
        benchmark = {
            "name": "gsm8k",
            "description": str(settings.get("model_name", "")),
            "rollouts": "results/gsm8k.jsonl",
            "metrics": ["mean_reward"],
            "expect": _expect(settings.get("num_questions")),
            "thresholds": {"mean_reward": {"min": round(float(stated) - _TOL, 6)}},
        }
    elif "providers" in settings and ("tests" in settings or "defaultTest" in settings):
        comments = {"rollouts": "promptfoo eval -o results.json"}
        comments["thresholds"] = (
            "all tests have to pass, as there; the others are its assertions'"
        )
        benchmark = {
            "name": str(settings.get("description") or "promptfoo"),
            "rollouts": "results.json",
            "reward": "success",
            "metrics": ["mean_reward"],
            "thresholds": {"mean_reward": ">= 1", **_bounds_of_assertions(settings)},
        }
    else:
        return {}, {}
    return {"benchmark": _given(benchmark)}, comments


def _expect(tasks: Any) -> dict[str, int]:
    return {"tasks": int(tasks)} if is_number(tasks) else {}


def _lm_eval(task: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """https://github.com/vllm-project/vllm, .buildkite/lm-eval-harness/configs."""
    name, rtol = str(task.get("name")), f"{100 * float(settings.get('rtol', _RTOL)):g}%"
    scores = {
        str(m["name"]).removesuffix(",none"): m["value"]
        for m in objects(task["metrics"])
        if is_number(m.get("value"))
    }
    return {
        "name": name,
        "description": str(settings.get("model_name", "")),
        "rollouts": f"results/**/samples_{name}_*.jsonl",
        "reward": next(iter(scores), "acc"),
        "metrics": ["mean_reward"],
        "expect": _expect(settings.get("limit")),
        "thresholds": {
            f"mean/{s}": {"value": v, "rtol": rtol} for s, v in scores.items()
        },
    }


def _bounds_of_assertions(settings: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """https://www.promptfoo.dev/docs/configuration/expected-outputs."""
    bounds: dict[str, dict[str, float]] = {}
    for test in objects([settings.get("defaultTest"), *objects(settings.get("tests"))]):
        for each in objects(test.get("assert")):
            if isinstance(each.get("metric"), str) and is_number(each.get("threshold")):
                bound = bounds.setdefault(
                    f"mean/{each['metric']}", {"min": each["threshold"]}
                )
                bound["min"] = max(each["threshold"], bound["min"])
    return bounds
