"""Jobs of Harbor: a folder with one folder per trial, each with its ``result.json``."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.rollouts import json_values
from pytest_evalmetrics.rollouts.documents import Document
from pytest_evalmetrics.rollouts.format_keys import HARBOR_JOB, HARBOR_TRIAL
from pytest_evalmetrics.rollouts.not_judged import RolloutError
from pytest_evalmetrics.rollouts.source import RolloutFile, Source, open_source
from pytest_evalmetrics.rollouts.tool_loader import ChunkBuilder, Rollout, ToolLoader
from pytest_evalmetrics.rollouts.tool_usage import usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pytest_evalmetrics.json_types import JsonMapping, JsonObject, JsonValue
    from pytest_evalmetrics.rollouts.loader import Request

RESULT: Final = "result.json"
_CONFIG: Final = "config.json"
_RUN: Final = ("agent_execution.started_at", "agent_execution.finished_at")
_VERSIONS: Final = (None, 1)  # of a trial's schema
_DEPTH: Final = 3  # a folder of jobs, a job, a trial


class Harbor(ToolLoader):
    """Reads trials: rewards are scores, and attempts are ordered by their start.

    A folder that several paths or links lead to is read once.
    """

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._folders = set[Path]()  # those that were read, without links

    def rollouts(self, source: Source, builder: ChunkBuilder) -> Iterator[Rollout]:
        """Yield the rollouts of one file."""
        file = RolloutFile(source.path, source.shown)
        if source.is_folder:
            found = list(_walk(file, _DEPTH, self._folders))
        else:
            found = [_result(file)]
        jobs = [result for result in found if result.kind == "job"]
        trials = [_trial(result) for result in found if result.kind == "trial"]
        configs = [result for result in found if result.kind == "config"]
        if not trials and not configs:
            hint = f"give the folder of a job, or of trials, each with its {RESULT}"
            raise source.error("there is no Harbor trial here", hint=hint)
        # the checksum is of all files of a task, which keeps its name
        builder.versioned = True
        builder.attempts = True
        for job in jobs:
            folder = job.name.removesuffix(RESULT)
            of_job = [trial for trial in trials if trial.name.startswith(folder)]
            _compare(job, of_job, builder)
        yield from trials
        for config in configs:
            yield _unfinished(config, trials)


class Found(msgspec.Struct, frozen=True):
    """A document of Harbor, and its name in messages."""

    #: The result of a trial or of a job, or the configuration of a trial without a result.
    kind: Literal["trial", "job", "config"]
    document: Document
    name: str


def is_trials_folder(folder: Path) -> bool:
    """Return whether a folder holds Harbor's results, its own or those of folders in it."""
    for pattern in (RESULT, f"*/{RESULT}", f"*/*/{RESULT}"):
        for path in folder.glob(pattern):
            keys = open_source(RolloutFile(path, str(path))).keys
            return keys >= HARBOR_TRIAL or keys >= HARBOR_JOB
    return False


def jobs_as_folders(files: Iterable[RolloutFile]) -> list[RolloutFile]:
    """Replace the result of a job by its folder, and drop what lies in another folder's."""
    sources = [_as_folder(file) for file in files]
    places = [source.path.resolve() for source in sources]
    folders = {place for place in places if place.is_dir()}
    return [
        source
        for source, place in zip(sources, places, strict=True)
        if folders.isdisjoint(place.parents)
    ]


def _as_folder(file: RolloutFile) -> RolloutFile:
    if file.path.name != RESULT or not open_source(file).keys >= HARBOR_JOB:
        return file
    return RolloutFile(file.path.parent, file.shown.removesuffix(RESULT) or ".")


def _walk(folder: RolloutFile, depth: int, visited: set[Path]) -> Iterator[Found]:
    """Find the results in a folder, and the configurations of trials without one."""
    place = folder.path.resolve()
    if place in visited:  # a link such as jobs/latest
        return
    visited.add(place)
    shown = folder.shown.rstrip("/")
    prefix = f"{shown}/" if shown not in ("", ".") else ""
    paths = sorted(folder.path.iterdir())
    files = {path.name: RolloutFile(path, prefix + path.name) for path in paths}
    found = _document_in(folder, files)
    if found is not None:
        yield found
    if depth and (found is None or found.kind == "job"):  # a trial has its logs below
        for file in files.values():
            if file.path.is_dir():
                yield from _walk(file, depth - 1, visited)


def _document_in(folder: RolloutFile, files: Mapping[str, RolloutFile]) -> Found | None:
    """Read the result in a folder, or the configuration of a trial that has none."""
    if RESULT in files:
        return _result(files[RESULT])
    if _CONFIG not in files:
        return None
    config = Document.of(open_source(files[_CONFIG]), "the configuration of a trial")
    if config.get("trial_name") is None:
        return None
    return Found(kind="config", document=config, name=folder.shown)


def _result(file: RolloutFile) -> Found:
    """Read the result of a job or a trial."""
    result = Document.of(open_source(file), "a Harbor result")
    if result.whole(HARBOR_TRIAL).keys() == HARBOR_TRIAL:
        version = result.get("schema_version")
        if version not in _VERSIONS:
            raise DataError(
                f"this Harbor trial is of the schema version {version!r}; known is 1",
                file=file.shown,
                hint="update pytest-evalmetrics",
            )
        return Found(kind="trial", document=result, name=file.shown)
    if result.whole(HARBOR_JOB).keys() == HARBOR_JOB:
        return Found(kind="job", document=result, name=file.shown)
    raise DataError(
        "this is not a Harbor result: it has neither "
        f"{' and '.join(sorted(HARBOR_TRIAL))}, nor {' and '.join(sorted(HARBOR_JOB))}",
        file=file.shown,
        hint="was it written by another version of Harbor, or by another tool?",
    )


def _trial(found: Found) -> Rollout:
    """Make the rollout of a trial's result."""
    record = found.document.whole()
    task = record["task_name"]
    if not isinstance(task, str):
        raise DataError(
            f"the task_name of this trial is {task!r}; expected text", file=found.name
        )
    steps = json_values.objects(record.get("step_results"))
    info = found.document.object("agent_info")
    holders = steps if record.get("agent_result") is None else [record]
    return Rollout(
        record=record,
        name=found.name,
        task=task,
        agent=_agent(info.get("name"), json_values.lookup(info, "model_info.name")),
        scores=_rewards(record, found.document.object("verifier_result")),
        usage=usage(
            *(holder.get("agent_result") for holder in holders),
            latency_s=_duration(record, steps),
        ),
        error=_error(record, steps),
        started=json_values.seconds(record.get("started_at")),
        content=record.get("task_checksum"),
        record_id=json_values.text(record.get("id")),
    )


def _rewards(record: JsonMapping, verified: JsonMapping) -> JsonObject:
    """Read the verifier's rewards, None where Harbor calls them invalid."""
    rewards = json_values.mapping(verified.get("rewards"))
    if "rewards" not in verified and "reward" in verified:  # early versions have one
        rewards = {"reward": verified["reward"]}
    if record.get("reward_valid") is False:
        # Harbor counts such a trial as one without a reward
        return dict.fromkeys(rewards)
    return rewards


def _error(record: JsonMapping, steps: Sequence[JsonMapping]) -> RolloutError | None:
    """Find the first exception; those that a trial survived are recorded with its steps."""
    for holder in (record, *steps):
        exception = holder.get("exception_info")
        if isinstance(exception, dict):
            return RolloutError(
                kind=str(exception.get("exception_type") or "error"),
                message=str(exception.get("exception_message") or ""),
            )
    return None


def _duration(record: JsonMapping, steps: Sequence[JsonMapping]) -> float | None:
    """Read how long the agent took; durations may be recorded with the steps only."""
    took = json_values.duration(record, *_RUN)
    if took is None:
        took = json_values.total(json_values.duration(step, *_RUN) for step in steps)
    if took is None:
        took = json_values.duration(record, "started_at", "finished_at")
    return took


def _unfinished(found: Found, rollouts: Sequence[Rollout]) -> Rollout:
    """Make the missing rollout of a trial that was begun and left no result."""
    config = found.document
    trial = str(config.get("trial_name"))
    start = _start_of(trial)
    task: JsonValue = config.object("task").get("name")
    path = str(config.object("task").get("path") or "").replace("\\", "/")
    given = config.object("agent")
    model = str(given.get("model_name") or "").rpartition("/")[2]
    agent: JsonValue = _agent(given.get("name"), model)
    task = task or path.rstrip("/").rpartition("/")[2] or start
    for rollout in rollouts:
        if _start_of(str(rollout.record["trial_name"])) == start:
            task = rollout.task
            agent = rollout.agent
            break
    message = f"the trial has no {RESULT}: was the job interrupted?"
    return Rollout(
        record={"trial_name": trial},
        name=found.name,
        task=task,
        agent=agent,
        error=RolloutError(kind="no result", message=message),
    )


def _start_of(trial: str) -> str:
    """Cut the random end off a trial's name."""
    return trial.rpartition("__")[0]


def _agent(name: JsonValue, model: JsonValue) -> str | None:
    """Name an agent with its model, as Harbor's own statistics do."""
    if not isinstance(name, str):
        return None
    if not model:
        return name
    return f"{name}__{model}"


def _compare(job: Found, trials: Sequence[Rollout], builder: ChunkBuilder) -> None:
    """Compare a job's own numbers with those of its trials, a missing reward as 0, as it does."""
    total = job.document.get("n_total_trials")
    builder.compare("n_total_trials", total, len(trials), where=job.name)
    scores: dict[str, list[JsonMapping]] = defaultdict(list)
    for trial in trials:
        source = trial.record.get("source") or "adhoc"
        scores[f"{trial.agent}__{source}"].append(trial.scores)
    evals = json_values.mapping(job.document.object("stats").get("evals"))
    for key, stats in evals.items():
        if scores[key]:
            for reward, stated in _stated_means(stats, scores[key]):
                claim = f"the mean {reward} of {key}, a missing one counted as 0,"
                mean = _mean(reward, scores[key])
                builder.compare(claim, stated, mean, where=job.name)


def _stated_means(
    stats: JsonValue, scores: Sequence[JsonMapping]
) -> Iterator[tuple[str, JsonValue]]:
    """Yield the rewards of an agent's trials, each with the mean that its job states."""
    names = {name for rewards in scores for name in rewards} or {"reward"}
    for metric in json_values.objects(json_values.mapping(stats).get("metrics")):
        for name, stated in metric.items():
            if name in names:
                yield name, stated
            elif name == "mean" and len(names) == 1:
                yield next(iter(names)), stated


def _mean(reward: str, scores: Sequence[JsonMapping]) -> float:
    return fmean(json_values.number(rewards.get(reward)) or 0 for rewards in scores)
