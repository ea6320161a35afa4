"""Reports on recorded rollouts, and benchmark files for them or from another tool's settings."""

from __future__ import annotations

import glob
import json
import os
import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import yaml

from pytest_evalmetrics.errors import DataError, EvalMetricsError
from pytest_evalmetrics.layout import many, visible
from pytest_evalmetrics.rollouts.foreign import USAGE, objects
from pytest_evalmetrics.rollouts.formats import recognise
from pytest_evalmetrics.rollouts.harbor import is_trials_folder
from pytest_evalmetrics.rollouts.propose import REWARDS, Proposal, may_be_reward, propose
from pytest_evalmetrics.rollouts.recorded import load
from pytest_evalmetrics.rollouts.source import RolloutFile, open_source
from pytest_evalmetrics.spec import RolloutsSpec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import RolloutTable

_FILES: Final = ("jsonl", "jsonl.gz", "jsonl.zst", "json", "parquet", "csv", "eval")  # of a folder
_LISTED: Final = 10  # names on a line
_SHORT: Final = 60  # characters that go on the line of the path
_RTOL: Final = 0.08  # of vLLM's lm-eval tests where their file says nothing
_TOL: Final = 0.08  # of its gsm8k tests: absolute
_is_word = re.compile(
    r"(?!(yes|no|true|false|on|off|y|n|null)$)[A-Za-z][\w -]*", re.IGNORECASE
).fullmatch
_is_plain = re.compile(r"[A-Za-z_.][\w./-]*").fullmatch


def survey(pattern: str, base: Path) -> str:
    """Read rollouts, and report what was recognised, found and missing."""
    report, name, lines = _surveyed(pattern, base)
    lines = [*report, "", f"# a benchmark file to start from, such as {name}", *lines]
    # names and ids may hold anything, and no line of it is more than a line
    return "\n".join(map(visible, lines)) + "\n"


def write_benchmark(pattern: str, base: Path) -> tuple[Path, str]:
    """Write a benchmark file for rollouts of any shape, or for another tool's settings.

    Return it, and what was found; nothing of settings, which have no rollouts yet. Raise a
    `DataError` where there is such a file already, or the rollouts can't be read.
    """
    source = base / pattern
    is_yaml = source.suffix in (".yaml", ".yml") and source.is_file()
    lines = _migrated(source) if is_yaml else None
    report: list[str] = []
    name = f"{_name(pattern)}.bench.yaml"
    if lines is None:
        report, name, lines = _surveyed(pattern, base)
        lines[-1] = "  baseline: true"
    path = base / name
    text = "\n".join(map(visible, ("# written by pytest --evalmetrics-init", *lines))) + "\n"
    try:
        with path.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        hint = "change it by hand, or rename it and start anew"
        raise DataError("there is such a benchmark file already", file=name, hint=hint) from None
    except OSError as error:
        raise DataError(f"it can't be written: {error.strerror}", file=name) from None
    return path, "\n".join(map(visible, report)) + "\n"


def _surveyed(pattern: str, base: Path) -> tuple[list[str], str, list[str]]:
    """Describe rollouts, and name and write a benchmark file for them."""
    if (base / pattern).is_dir():
        pattern = _files_in(pattern, base)
    proposal, table = _read_guessing(pattern, base)
    rewards = _rewards(table)
    if proposal.spec.fields.reward or proposal.spec.map or proposal.spec.lists:
        rewards = ["reward", *(name for name in rewards if name != "reward")]
    report = [*_source_lines(table, base), *_attempt_lines(table)]
    report += [*_score_lines(table, next(iter(rewards), None)), *table.notes]
    lines = [f"# {why}" for why in proposal.reasons]
    lines += _benchmark(table, _place(pattern, proposal.spec), pattern, rewards)
    return report, f"{_name(pattern)}.bench.yaml", lines


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
    """Read the rollouts; where their rows don't say which task they are of, by a guess."""
    spec = RolloutsSpec(path=(pattern,))
    try:
        return Proposal(spec), load(spec, base, scores=())
    except DataError as error:
        proposal = None
        with suppress(EvalMetricsError):
            proposal = propose(pattern, base)
        if proposal is None:
            raise
        fields = proposal.spec.fields
        for each in (fields, replace(fields, content=None)):
            with suppress(EvalMetricsError):
                guess = replace(proposal, spec=replace(proposal.spec, fields=each))
                return guess, load(guess.spec, base, scores=())
        raise error  # noqa: TRY201 - of reading it the plain way


def _place(pattern: str, spec: RolloutsSpec) -> list[str]:
    """Write where the rollouts are, as a benchmark file says it."""
    fields = spec.fields
    named = {name: getattr(fields, name) for name in ("task", "sample", "agent", "reward")}
    keys = [f"{name}: {_text(path)}" for name, path in named.items() if path is not None]
    if fields.content:
        keys.append(f"content: [{', '.join(map(_text, fields.content))}]")
    shape = [f"{name}: {_text(v)}" for name in ("rows", "keyed") if (v := getattr(spec, name))]
    if spec.lists:
        shape.append(f"lists: {_flow(spec.lists)}")
    if spec.pivot:
        by, name, value = map(_text, (spec.pivot.by[0], spec.pivot.name, spec.pivot.value))
        shape.append(f"pivot: {{by: {by}, name: {name}, value: {value}}}")
    if keys:
        shape.append(f"fields: {{{', '.join(keys)}}}")
    shape += [f"map: {{{_text(name)}: {_flow(words)}}}" for name, words in spec.map.items()]
    if not shape:
        return [f"rollouts: {_text(pattern)}"]
    if len(shape) == 1 and len(shape[0]) < _SHORT:
        return [f"rollouts: {{path: {_text(pattern)}, {shape[0]}}}"]
    return ["rollouts:", f"  path: {_text(pattern)}", *(f"  {line}" for line in shape)]


def _flow(values: Mapping[str, float | None]) -> str:
    entries = (
        f"{name if _is_word(name) else json.dumps(name)}: {'null' if v is None else f'{v:g}'}"
        for name, v in values.items()
    )
    return f"{{{', '.join(entries)}}}"


def _source_lines(table: RolloutTable, base: Path) -> Iterator[str]:
    for source in table.sources[:_LISTED]:
        path, rows = base / source.path, many(source.rows, "rollout")
        here = path.exists()  # else it lies elsewhere
        kind = f"{recognise(open_source(RolloutFile(path, path.name))).name}, " if here else ""
        yield f"{source.path}: {kind}{rows}"
    if len(table.sources) > _LISTED:
        yield f"and {many(len(table.sources) - _LISTED, 'more file')}"


def _attempt_lines(table: RolloutTable) -> Iterator[str]:
    for agent, part in table.by_agent():
        least, most = _sample_range(part)
        each = str(least) if least == most else f"{least} to {most}"
        shown = ", ".join(map(str, part.tasks[:_LISTED]))
        more = ", ..." if len(part.tasks) > _LISTED else ""
        yield f"agent {agent}: {many(len(part.tasks), 'task')} ({shown}{more}), {each} each"


def _sample_range(table: RolloutTable) -> tuple[int, int]:
    counts = np.diff(table.offsets)
    return int(counts.min()), int(counts.max())


def _score_lines(table: RolloutTable, reward: str | None) -> Iterator[str]:
    width = max(map(len, table.scores), default=0)
    for name, column in table.scores.items():
        given = column[np.isfinite(column)]
        values = "nothing but missing values"
        if len(given):
            values = f"mean {given.mean():.4g}, from {given.min():.4g} to {given.max():.4g}"
            values += f", {len(column) - len(given)} missing" if len(given) < len(column) else ""
        yield f"  {name:{width}}  {values}{'  <- the reward' if name == reward else ''}"


def _rewards(table: RolloutTable) -> list[str]:
    """List what may be the reward, the likeliest first; no identifier, no time, no usage."""
    likelihoods = {}
    for name, column in table.scores.items():
        values = column[np.isfinite(column)]
        numbers = list(map(int if name in table.integers else float, values))
        if name in USAGE or not may_be_reward(name, numbers):
            continue
        last = re.split(r"[./]", name.lower())[-1]
        place = REWARDS.index(last) if last in REWARDS else len(REWARDS)
        is_share = len(values) and values.min() >= 0 and values.max() <= 1
        likelihoods[name] = place, not is_share
    return sorted(likelihoods, key=likelihoods.__getitem__)


def _benchmark(
    table: RolloutTable, place: Sequence[str], pattern: str, rewards: Sequence[str]
) -> Iterator[str]:
    reward = next(iter(rewards), None)
    yield "benchmark:"
    yield f"  name: {_name(pattern)}"
    yield from (f"  {line}" for line in place)
    if reward is not None and reward != "reward":
        why = "by its name" if reward.lower() in REWARDS else "by its values"
        others = f"; or {', '.join(rewards[1:])}" if rewards[1:] else ""
        yield f"  reward: {_text(reward)}  # {why}{others}"
    column = table.scores[reward] if reward is not None else np.empty(0)
    counts = [_sample_range(part) for _, part in table.by_agent()]
    least, most = min(a for a, _ in counts), max(b for _, b in counts)
    if least == most:
        yield f"  num_samples: {most}"
    yield f"  metrics: [{', '.join(_metrics(column, least))}]"
    tasks = {len(part.tasks) for _, part in table.by_agent()}
    expect = [f"tasks: {tasks.pop()}"] if len(tasks) == 1 else []
    expect += ["missing_reward: error"] if np.isnan(column).any() else []
    if expect:
        yield f"  expect: {{{', '.join(expect)}}}"
    yield from _thresholds(table)
    yield "  baseline: true  # record it with: pytest --snapshot-update"


def _thresholds(table: RolloutTable) -> Iterator[str]:
    """Take over the thresholds that the files say each score was held against, as deepeval's do."""
    bounds = {
        score: settings["threshold"][0]
        for settings in table.ruler.values()
        if len(settings.get("threshold", ())) == 1
        for score in settings.get("scores", ())
        if score in table.scores and score != "success"
    }
    if bounds:
        yield "  thresholds:  # as the files say"
        for score, bound in bounds.items():
            yield f"    {json.dumps(f'mean/{score}')}: {{min: {bound}}}"


def _metrics(column: NDArray[np.float64], samples: int) -> list[str]:
    given = column[np.isfinite(column)]
    if not len(given) or not np.isin(given, (0, 1)).all():
        return ["mean_reward"]
    return ["pass@1"] if samples == 1 else ["pass@1", f"pass@{samples}", f"pass^{samples}"]


def _name(pattern: str) -> str:
    names = [part for part in Path(pattern).parts if not glob.has_magic(part)]
    stem = names[-1].partition(".")[0] if names else ""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", stem).strip("-") or "benchmark"


def _text(text: str) -> str:
    return text if _is_plain(text) else json.dumps(text)


# -- settings of other tools -----------------------------------------------------------------


def _migrated(path: Path) -> list[str] | None:
    """Turn another tool's settings into the lines of a benchmark file; None for what is none."""
    try:
        settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        why = " ".join(str(error).split())
        raise DataError(f"these settings can't be read: {why}", file=path.name) from None
    if not isinstance(settings, dict):
        return None
    tasks = [
        task for task in objects(settings.get("tasks")) if isinstance(task.get("metrics"), list)
    ]
    if tasks:
        return ["benchmarks:", *(line for task in tasks for line in _lm_eval(task, settings))]
    if _is_number(settings.get("accuracy_threshold")):
        return list(_gsm8k(settings))
    if "providers" in settings and ("tests" in settings or "defaultTest" in settings):
        return list(_promptfoo(settings))
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _lm_eval(task: Mapping[str, Any], settings: Mapping[str, Any]) -> Iterator[str]:
    """https://github.com/vllm-project/vllm, .buildkite/lm-eval-harness/configs."""
    name = str(task.get("name"))
    rtol = settings.get("rtol", _RTOL)
    scores = {
        str(m["name"]).removesuffix(",none"): m["value"]
        for m in objects(task["metrics"])
        if _is_number(m.get("value"))
    }
    yield f"  - name: {json.dumps(name)}"
    yield f"    description: {json.dumps(str(settings.get('model_name', '')))}"
    yield f"    rollouts: {json.dumps(f'results/**/samples_{name}_*.jsonl')}"
    yield "    # the samples that lm-eval writes with --log_samples"
    yield f"    reward: {json.dumps(next(iter(scores), 'acc'))}"
    yield "    metrics: [mean_reward]"
    if _is_number(settings.get("limit")):
        yield f"    expect: {{tasks: {int(settings['limit'])}}}"
    yield "    thresholds:"
    for score, value in scores.items():
        key = json.dumps(f"mean/{score}")
        yield f"      {key}: {{value: {value}, rtol: {100 * float(rtol):g}%}}"


def _gsm8k(settings: Mapping[str, Any]) -> Iterator[str]:
    """https://github.com/vllm-project/vllm, tests/evals/gsm8k."""
    least = round(float(settings["accuracy_threshold"]) - _TOL, 6)
    yield "benchmark:"
    yield "  name: gsm8k"
    yield f"  description: {json.dumps(str(settings.get('model_name', '')))}"
    yield "  rollouts: results/gsm8k.jsonl  # a row per question, with its task and reward"
    yield "  metrics: [mean_reward]"
    if _is_number(settings.get("num_questions")):
        yield f"  expect: {{tasks: {int(settings['num_questions'])}}}"
    yield "  thresholds:"
    yield f"    mean_reward: {{min: {least}}}  # {settings['accuracy_threshold']} - {_TOL}"


def _promptfoo(settings: Mapping[str, Any]) -> Iterator[str]:
    """https://www.promptfoo.dev/docs/configuration/expected-outputs."""
    bounds: dict[str, float] = {}
    for test in objects([settings.get("defaultTest"), *objects(settings.get("tests"))]):
        for each in objects(test.get("assert")):
            name = each.get("metric")
            if isinstance(name, str) and _is_number(each.get("threshold")):
                bounds[name] = max(each["threshold"], bounds.get(name, each["threshold"]))
    yield "benchmark:"
    yield f"  name: {json.dumps(str(settings.get('description') or 'promptfoo'))}"
    yield "  rollouts: results.json  # promptfoo eval -o results.json"
    yield "  reward: success"
    yield "  metrics: [mean_reward]"
    yield "  thresholds:"
    yield '    mean_reward: ">= 1"  # promptfoo fails where any test does'
    for name, bound in bounds.items():
        yield f"    {json.dumps(f'mean/{name}')}: {{min: {bound}}}  # its assertions' threshold"
