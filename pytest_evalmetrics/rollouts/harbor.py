"""Jobs of Harbor: a folder with one folder per trial, each with its ``result.json``."""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from pytest_evalmetrics.ext import DataError, RolloutFile, open_source
from pytest_evalmetrics.rollouts import foreign
from pytest_evalmetrics.rollouts.foreign import Document, Rollout, ToolLoader, Ungraded
from pytest_evalmetrics.rollouts.formats import HARBOR_JOB, HARBOR_TRIAL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from pytest_evalmetrics.ext import Source

RESULT: Final = "result.json"
_DEPTH: Final = 3  # a folder of jobs, a job, a trial


class Harbor(ToolLoader):
    """Reads trials: their rewards are the scores, and attempts are in the order of their start."""

    def _fill(self, builder: foreign.ChunkBuilder, source: Source) -> None:
        results = _Results()
        file = RolloutFile(source.path, source.shown)
        if source.is_folder:
            results.walk(file, _DEPTH)
        else:
            results.add(file)
        rollouts = [_rollout(trial, name) for trial, name in results.trials]
        rollouts += [_unfinished(config, name, rollouts) for config, name in results.unfinished]
        if not rollouts:
            raise source.error(
                "there is no Harbor trial here",
                hint=f"give the folder of a job, or of trials, each with its {RESULT}",
            )
        builder.versioned = True  # the checksum is of all files of a task, which keeps its name
        for rollout in rollouts:
            builder.add(rollout)
        for job, name in results.jobs:
            builder.notes += _disagreements(job, name, results.trials)


def is_trials_folder(folder: Path) -> bool:
    """Whether a folder holds Harbor's results, its own or those of folders in it."""
    for pattern in (RESULT, f"*/{RESULT}", f"*/*/{RESULT}"):
        for path in folder.glob(pattern):
            keys = open_source(RolloutFile(path, str(path))).keys
            return keys >= HARBOR_TRIAL or keys >= HARBOR_JOB
    return False


def jobs_as_folders(files: Iterable[RolloutFile]) -> list[RolloutFile]:
    """Let the result of a job stand for its folder, and the trials in it for themselves once."""
    files = list(files)
    jobs = {
        file.path: RolloutFile(file.path.parent, file.shown.removesuffix(RESULT) or ".")
        for file in files
        if file.path.name == RESULT and open_source(file).keys >= HARBOR_JOB
    }
    folders = {path.parent for path in jobs}
    return [
        jobs.get(file.path, file)
        for file in files
        if file.path in jobs or folders.isdisjoint(file.path.parents)
    ]


class _Results:
    """The results in a folder, each with how its file is called."""

    def __init__(self) -> None:
        self.trials: list[tuple[Document, str]] = []
        self.jobs: list[tuple[Document, str]] = []
        self.unfinished: list[tuple[Document, str]] = []

    def walk(self, folder: RolloutFile, depth: int) -> None:
        """Add the results in a folder and those below it."""
        result = _below(folder, RESULT)
        if result.path.is_file():
            if not self.add(result):
                return  # a trial: what is below are its logs
        elif (folder.path / "config.json").is_file():
            file = open_source(_below(folder, "config.json"))
            config = Document.of(file, "the configuration of a trial")
            if "trial_name" in config.keys:
                self.unfinished.append((config, folder.shown))
                return
        for path in sorted(folder.path.iterdir()) if depth else ():
            if path.is_dir():
                self.walk(_below(folder, path.name), depth - 1)

    def add(self, file: RolloutFile) -> bool:
        """Add a result, and return whether there may be trials beside it."""
        result = Document.of(open_source(file), "a Harbor result")
        is_trial = HARBOR_TRIAL.issubset(result.keys)
        if not is_trial and not HARBOR_JOB.issubset(result.keys):
            raise DataError(
                "this is no Harbor result: it has neither "
                f"{' and '.join(sorted(HARBOR_TRIAL))}, nor {' and '.join(sorted(HARBOR_JOB))}",
                file=file.shown,
                hint="was it written by another version of Harbor, or by another tool?",
            )
        (self.trials if is_trial else self.jobs).append((result, file.shown))
        return not is_trial


def _below(folder: RolloutFile, name: str) -> RolloutFile:
    shown = folder.shown.rstrip("/")
    return RolloutFile(folder.path / name, name if shown in ("", ".") else f"{shown}/{name}")


def _rollout(trial: Document, name: str) -> Rollout:
    record = {key: trial.get(key) for key in trial.keys}
    task = record["task_name"]
    if not isinstance(task, str):
        raise DataError(f"the task_name of this trial is {task!r}; expected text", file=name)
    steps = foreign.objects(trial.get("step_results"))
    scores = _rewards(trial)
    error = _error(record, steps)
    if error is None and all(value is None for value in scores.values()):
        error = Ungraded("no reward", "the verifier gave none")
    return Rollout(
        record=record,
        name=name,
        task=task,
        agent=_agent(trial),
        scores=scores,
        usage=_usage(record, steps),
        error=error,
        started=foreign.seconds(record.get("started_at")),
        content=record.get("task_checksum"),
    )


def _rewards(trial: Document) -> dict[str, Any]:
    result = trial.object("verifier_result")
    if "rewards" not in result and "reward" in result:  # early versions have one
        return {"reward": result["reward"]}
    return foreign.mapping(result.get("rewards"))


def _unfinished(config: Document, name: str, rollouts: list[Rollout]) -> Rollout:
    """Make the missing rollout of a trial that was begun and left no result."""
    trial = str(config.get("trial_name"))
    start = trial.rpartition("__")[0]
    task = config.object("task")
    agent = config.object("agent")
    path = str(task.get("path") or "").replace("\\", "/").rstrip("/").rpartition("/")[2]
    alike = [r for r in rollouts if str(r.record["trial_name"]).rpartition("__")[0] == start]
    model = str(agent.get("model_name") or "").rpartition("/")[2]
    return Rollout(
        record={"trial_name": trial},
        name=name,
        task=alike[0].task if alike else task.get("name") or path or start,
        agent=alike[0].agent if alike else _joined(agent.get("name"), model),
        error=("no result", f"the trial has no {RESULT}: was the job interrupted?"),
    )


def _agent(trial: Document) -> str | None:
    info = trial.object("agent_info")
    return _joined(info.get("name"), foreign.mapping(info.get("model_info")).get("name"))


def _joined(agent: Any, model: Any) -> str | None:
    """Name an agent with its model, as Harbor's own statistics do."""
    if not isinstance(agent, str):
        return None
    return f"{agent}__{model}" if model else agent


def _error(record: Mapping[str, Any], steps: list[dict[str, Any]]) -> tuple[str, str] | None:
    # a trial of several steps keeps what it survived with the step
    for held in (record, *steps):
        info = held.get("exception_info")
        if isinstance(info, dict):
            kind = str(info.get("exception_type") or "error")
            return kind, str(info.get("exception_message") or "")
    return None


def _usage(record: Mapping[str, Any], steps: list[dict[str, Any]]) -> dict[str, float]:
    """Add what the steps took, where the trial as a whole does not say."""
    holders = [record] if record.get("agent_result") is not None else steps
    used = [r for h in holders if isinstance(r := h.get("agent_result"), dict)]
    times = [record] if _duration(record.get("agent_execution")) is not None else steps
    took = foreign.total(_duration(each.get("agent_execution")) for each in times)
    return foreign.usage(
        latency_s=_duration(record) if took is None else took,
        prompt_tokens=foreign.total(each.get("n_input_tokens") for each in used),
        completion_tokens=foreign.total(each.get("n_output_tokens") for each in used),
        cached_tokens=foreign.total(each.get("n_cache_tokens") for each in used),
        cost_usd=foreign.total(each.get("cost_usd") for each in used),
    )


def _duration(span: Any) -> float | None:
    if not isinstance(span, dict):
        return None
    start, stop = foreign.seconds(span.get("started_at")), foreign.seconds(span.get("finished_at"))
    return None if start is None or stop is None else stop - start


def _disagreements(job: Document, name: str, trials: list[tuple[Document, str]]) -> Iterator[str]:
    """Compare a job's own numbers with those of its trials, a missing reward as 0, as it does."""
    mine = [t for t, n in trials if n.startswith(name.removesuffix(RESULT))]
    planned = foreign.number(job.get("n_total_trials"))
    if planned is not None and planned != len(mine):
        yield f"{name}: the job has {planned} trials, and {len(mine)} of them have a result here"
    rewards: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for trial in mine:
        key = f"{_agent(trial)}__{trial.get('source') or 'adhoc'}"
        rewards[key].append(_rewards(trial))
    for key, stats in foreign.mapping(job.object("stats").get("evals")).items():
        names = {n for given in rewards.get(key, ()) for n in given}
        for metric in foreign.objects(foreign.mapping(stats).get("metrics")):
            for metric_name, stated in metric.items():
                one = metric_name == "mean" and len(names) <= 1
                if not rewards.get(key) or (not one and metric_name not in names):
                    continue
                reward = next(iter(names), "") if one else metric_name
                ours = fmean(foreign.number(given.get(reward)) or 0 for given in rewards[key])
                theirs = foreign.number(stated)
                if theirs is not None and not foreign.agree(ours, theirs):
                    yield (
                        f"{name}: the job says that the mean {reward or 'reward'} of {key} is "
                        f"{theirs:.6g}, and its trials give {ours:.6g}, a missing one counted as 0"
                    )
