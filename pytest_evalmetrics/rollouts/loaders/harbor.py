"""Jobs of Harbor: a folder with one folder per trial, each with its ``result.json``."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Final

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

    from pytest_evalmetrics.json_types import JsonValue
    from pytest_evalmetrics.rollouts.loader import Request

RESULT: Final = "result.json"
_CONFIG: Final = "config.json"
_RUN: Final = ("agent_execution.started_at", "agent_execution.finished_at")
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
        results = list(self._results(file, is_folder=source.is_folder))
        trials = [
            _trial(result, name) for kind, result, name in results if kind == "trial"
        ]
        unfinished = [
            _unfinished(c, name, trials)
            for kind, c, name in results
            if kind == "config"
        ]
        if not trials and not unfinished:
            hint = f"give the folder of a job, or of trials, each with its {RESULT}"
            raise source.error("there is no Harbor trial here", hint=hint)
        # the checksum is of all files of a task, which keeps its name
        builder.versioned = True
        builder.attempts = True
        for kind, result, name in results:
            of_job = [r for r in trials if r.name.startswith(name.removesuffix(RESULT))]
            if kind == "job":
                _compare(result, name, of_job, builder)
        yield from (*trials, *unfinished)

    def _results(
        self, file: RolloutFile, *, is_folder: bool
    ) -> Iterator[tuple[str, Document, str]]:
        if is_folder:
            yield from _walk(file, _DEPTH, self._folders)
        else:
            yield _result(file)


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


def _walk(
    folder: RolloutFile, depth: int, visited: set[Path]
) -> Iterator[tuple[str, Document, str]]:
    """Find the results in a folder, and the configurations of trials without one."""
    place = folder.path.resolve()
    if place in visited:  # a link such as jobs/latest
        return
    visited.add(place)
    prefix = (
        "" if folder.shown.rstrip("/") in ("", ".") else f"{folder.shown.rstrip('/')}/"
    )
    paths = sorted(folder.path.iterdir())
    files = {path.name: RolloutFile(path, prefix + path.name) for path in paths}
    kind = ""
    if RESULT in files:
        kind, result, name = _result(files[RESULT])
        yield kind, result, name
    elif _CONFIG in files:
        config = Document.of(
            open_source(files[_CONFIG]), "the configuration of a trial"
        )
        if config.get("trial_name") is not None:
            kind = "config"
            yield kind, config, folder.shown
    if kind not in ("trial", "config") and depth:  # a trial has its logs below
        for file in files.values():
            if file.path.is_dir():
                yield from _walk(file, depth - 1, visited)


def _result(file: RolloutFile) -> tuple[str, Document, str]:
    """Read the result of a job or a trial: which of them it is, and how its file is written."""
    result = Document.of(open_source(file), "a Harbor result")
    for kind, keys in (("trial", HARBOR_TRIAL), ("job", HARBOR_JOB)):
        if result.whole(keys).keys() == keys:
            return kind, result, file.shown
    raise DataError(
        "this is not a Harbor result: it has neither "
        f"{' and '.join(sorted(HARBOR_TRIAL))}, nor {' and '.join(sorted(HARBOR_JOB))}",
        file=file.shown,
        hint="was it written by another version of Harbor, or by another tool?",
    )


def _trial(trial: Document, name: str) -> Rollout:
    record = trial.whole()
    task = record["task_name"]
    if not isinstance(task, str):
        raise DataError(
            f"the task_name of this trial is {task!r}; expected text", file=name
        )
    steps = json_values.objects(record.get("step_results"))
    info = trial.object("agent_info")
    result = trial.object("verifier_result")
    rewards = json_values.mapping(result.get("rewards"))
    if "rewards" not in result and "reward" in result:  # early versions have one
        rewards = {"reward": result["reward"]}
    if (
        record.get("reward_valid") is False
    ):  # Harbor counts such a trial as one without a reward
        rewards = dict.fromkeys(rewards)
    # errors that a trial survived are recorded with its steps
    errors = json_values.objects(
        [holder.get("exception_info") for holder in (record, *steps)]
    )
    error = None
    if errors:
        error = RolloutError(
            kind=str(errors[0].get("exception_type") or "error"),
            message=str(errors[0].get("exception_message") or ""),
        )
    # durations may be recorded with the steps only
    took = json_values.duration(record, *_RUN)
    if took is None:
        took = json_values.total(json_values.duration(step, *_RUN) for step in steps)
    if took is None:
        took = json_values.duration(record, "started_at", "finished_at")
    holders = steps if record.get("agent_result") is None else [record]
    return Rollout(
        record=record,
        name=name,
        task=task,
        agent=_agent(info.get("name"), json_values.lookup(info, "model_info.name")),
        scores=rewards,
        usage=usage(*(each.get("agent_result") for each in holders), latency_s=took),
        error=error,
        started=json_values.seconds(record.get("started_at")),
        content=record.get("task_checksum"),
        record_id=json_values.text(record.get("id")),
    )


def _unfinished(config: Document, name: str, rollouts: Sequence[Rollout]) -> Rollout:
    """Make the missing rollout of a trial that was begun and left no result."""
    trial = str(config.get("trial_name"))
    start = trial.rpartition("__")[0]
    task = config.object("task")
    agent = config.object("agent")
    path = str(task.get("path") or "").replace("\\", "/").rstrip("/").rpartition("/")[2]
    model = str(agent.get("model_name") or "").rpartition("/")[2]
    alike = [
        r for r in rollouts if str(r.record["trial_name"]).rpartition("__")[0] == start
    ]
    return Rollout(
        record={"trial_name": trial},
        name=name,
        task=alike[0].task if alike else task.get("name") or path or start,
        agent=alike[0].agent if alike else _agent(agent.get("name"), model),
        error=RolloutError(
            kind="no result",
            message=f"the trial has no {RESULT}: was the job interrupted?",
        ),
    )


def _agent(name: JsonValue, model: JsonValue) -> str | None:
    """Name an agent with its model, as Harbor's own statistics do."""
    if not isinstance(name, str):
        return None
    return f"{name}__{model}" if model else name


def _compare(
    job: Document, name: str, trials: Sequence[Rollout], builder: ChunkBuilder
) -> None:
    """Compare a job's own numbers with those of its trials, a missing reward as 0, as it does."""
    builder.compare(
        "n_total_trials", job.get("n_total_trials"), len(trials), where=name
    )
    scores: dict[str, list[Mapping[str, JsonValue]]] = defaultdict(list)
    for trial in trials:
        scores[f"{trial.agent}__{trial.record.get('source') or 'adhoc'}"].append(
            trial.scores
        )
    for key, stats in json_values.mapping(job.object("stats").get("evals")).items():
        names = {name for each in scores[key] for name in each} or {"reward"}
        for metric in json_values.objects(json_values.mapping(stats).get("metrics")):
            for metric_name, stated in metric.items():
                is_only = metric_name == "mean" and len(names) == 1
                reward = next(iter(names)) if is_only else metric_name
                if scores[key] and reward in names:
                    ours = fmean(
                        json_values.number(each.get(reward)) or 0
                        for each in scores[key]
                    )
                    claim = f"the mean {reward} of {key}, a missing one counted as 0,"
                    builder.compare(claim, stated, ours, where=name)
