"""Jobs of Harbor: a folder with one folder per trial, each with its ``result.json``."""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from pytest_evalmetrics.ext import DataError, RolloutFile, open_source
from pytest_evalmetrics.rollouts import foreign
from pytest_evalmetrics.rollouts.foreign import Document, Rollout, ToolLoader
from pytest_evalmetrics.rollouts.formats import HARBOR_JOB, HARBOR_TRIAL

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from pytest_evalmetrics.ext import Source

RESULT: Final = "result.json"
_CONFIG: Final = "config.json"
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
        finished = tuple(results.rollouts)
        rollouts = [*finished, *(_unfinished(*each, finished) for each in results.unfinished)]
        if not rollouts:
            raise source.error(
                "there is no Harbor trial here",
                hint=f"give the folder of a job, or of trials, each with its {RESULT}",
            )
        builder.versioned = True  # the checksum is of all files of a task, which keeps its name
        for rollout in rollouts:
            builder.add(rollout)
        for job, name in results.jobs:
            trials = [r for r in finished if r.name.startswith(name.removesuffix(RESULT))]
            _compare(job, name, trials, builder)


def is_trials_folder(folder: Path) -> bool:
    """Return whether a folder holds Harbor's results, its own or those of folders in it."""
    for pattern in (RESULT, f"*/{RESULT}", f"*/*/{RESULT}"):
        for path in folder.glob(pattern):
            keys = open_source(RolloutFile(path, str(path))).keys
            return keys >= HARBOR_TRIAL or keys >= HARBOR_JOB
    return False


def jobs_as_folders(files: Iterable[RolloutFile]) -> list[RolloutFile]:
    """Replace the result of a job by its folder, and drop the results of the trials in it."""
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
    """The results in a folder."""

    def __init__(self) -> None:
        self.rollouts: list[Rollout] = []
        self.jobs: list[tuple[Document, str]] = []  # each with how its file is written
        self.unfinished: list[tuple[Document, str]] = []

    def walk(self, folder: RolloutFile, depth: int) -> None:
        """Add the results in a folder and those below it."""
        prefix = "" if folder.shown.rstrip("/") in ("", ".") else f"{folder.shown.rstrip('/')}/"
        files = {
            path.name: RolloutFile(path, prefix + path.name)
            for path in sorted(folder.path.iterdir())
        }
        if RESULT in files:
            if not self.add(files[RESULT]):
                return  # a trial, with its logs below
        elif _CONFIG in files:
            config = Document.of(open_source(files[_CONFIG]), "the configuration of a trial")
            if config.get("trial_name") is not None:
                self.unfinished.append((config, folder.shown))
                return
        for file in files.values() if depth else ():
            if file.path.is_dir():
                self.walk(file, depth - 1)

    def add(self, file: RolloutFile) -> bool:
        """Add a result, and return whether it is a job's, with trials beside it."""
        result = Document.of(open_source(file), "a Harbor result")
        record = result.whole()
        if record.keys() >= HARBOR_TRIAL:
            self.rollouts.append(_rollout(result, record, file.shown))
            return False
        if record.keys() >= HARBOR_JOB:
            self.jobs.append((result, file.shown))
            return True
        raise DataError(
            "this is no Harbor result: it has neither "
            f"{' and '.join(sorted(HARBOR_TRIAL))}, nor {' and '.join(sorted(HARBOR_JOB))}",
            file=file.shown,
            hint="was it written by another version of Harbor, or by another tool?",
        )


def _rollout(trial: Document, record: dict[str, Any], name: str) -> Rollout:
    task = record["task_name"]
    if not isinstance(task, str):
        raise DataError(f"the task_name of this trial is {task!r}; expected text", file=name)
    steps = foreign.objects(record.get("step_results"))
    info, result = trial.object("agent_info"), trial.object("verifier_result")
    rewards = foreign.mapping(result.get("rewards"))
    if "rewards" not in result and "reward" in result:  # early versions have one
        rewards = {"reward": result["reward"]}
    return Rollout(
        record=record,
        name=name,
        task=task,
        agent=_agent(info.get("name"), foreign.lookup(info, "model_info.name")),
        scores=rewards,
        usage=_usage(record, steps),
        error=_error([record, *steps]),  # a trial keeps what it survived with the step
        started=foreign.seconds(record.get("started_at")),
        content=record.get("task_checksum"),
    )


def _unfinished(config: Document, name: str, rollouts: Sequence[Rollout]) -> Rollout:
    """Make the missing rollout of a trial that was begun and left no result."""
    trial = str(config.get("trial_name"))
    start = trial.rpartition("__")[0]
    task, agent = config.object("task"), config.object("agent")
    path = str(task.get("path") or "").replace("\\", "/").rstrip("/").rpartition("/")[2]
    model = str(agent.get("model_name") or "").rpartition("/")[2]
    alike = [r for r in rollouts if str(r.record["trial_name"]).rpartition("__")[0] == start]
    return Rollout(
        record={"trial_name": trial},
        name=name,
        task=alike[0].task if alike else task.get("name") or path or start,
        agent=alike[0].agent if alike else _agent(agent.get("name"), model),
        error=("no result", f"the trial has no {RESULT}: was the job interrupted?"),
    )


def _agent(name: Any, model: Any) -> str | None:
    """Name an agent with its model, as Harbor's own statistics do."""
    if not isinstance(name, str):
        return None
    return f"{name}__{model}" if model else name


def _error(holders: Iterable[Mapping[str, Any]]) -> tuple[str, str] | None:
    for holder in holders:
        info = holder.get("exception_info")
        if isinstance(info, dict):
            kind = str(info.get("exception_type") or "error")
            return kind, str(info.get("exception_message") or "")
    return None


def _usage(record: Mapping[str, Any], steps: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Add up the usage of the steps where the trial as a whole does not state it."""
    holders = [record] if record.get("agent_result") is not None else steps
    times = [record] if _duration(record.get("agent_execution")) is not None else steps
    took = foreign.total(_duration(each.get("agent_execution")) for each in times)
    return foreign.usage(
        *holders,
        latency_s=_duration(record) if took is None else took,
        prompt_tokens="agent_result.n_input_tokens",
        completion_tokens="agent_result.n_output_tokens",
        cached_tokens="agent_result.n_cache_tokens",
        cost_usd="agent_result.cost_usd",
    )


def _duration(span: Any) -> float | None:
    start, stop = (
        foreign.seconds(foreign.lookup(span, f"{edge}_at")) for edge in ("started", "finished")
    )
    return None if start is None or stop is None else stop - start


def _compare(
    job: Document, name: str, trials: Sequence[Rollout], builder: foreign.ChunkBuilder
) -> None:
    """Compare a job's own numbers with those of its trials, a missing reward as 0, as it does."""
    builder.compare("n_total_trials", job.get("n_total_trials"), len(trials), where=name)
    rewards: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for trial in trials:
        rewards[f"{trial.agent}__{trial.record.get('source') or 'adhoc'}"].append(trial.scores)
    for key, stats in foreign.mapping(job.object("stats").get("evals")).items():
        names = {name for given in rewards.get(key, ()) for name in given}
        for metric in foreign.objects(foreign.mapping(stats).get("metrics")):
            for metric_name, stated in metric.items():
                is_only = metric_name == "mean" and len(names) <= 1
                if not rewards.get(key) or (not is_only and metric_name not in names):
                    continue
                reward = next(iter(names), "reward") if is_only else metric_name
                ours = fmean(foreign.number(given.get(reward)) or 0 for given in rewards[key])
                claim = f"the mean {reward} of {key}, a missing one counted as 0,"
                builder.compare(claim, stated, ours, where=name)
