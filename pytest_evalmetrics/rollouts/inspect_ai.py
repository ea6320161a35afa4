"""Logs of inspect_ai: ``.eval`` archives, also with zstd members, and ``.json`` files."""

from __future__ import annotations

import math
import re
import sys
import zlib
from collections import defaultdict
from contextlib import contextmanager
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, Final

import msgspec

from pytest_evalmetrics.ext import question_of
from pytest_evalmetrics.rollouts import foreign
from pytest_evalmetrics.rollouts.foreign import Document, Rollout, ToolLoader, Ungraded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pytest_evalmetrics.ext import Source

    if sys.version_info >= (3, 14):
        from zipfile import ZipFile
    else:
        from backports.zstd.zipfile import ZipFile
    from pytest_evalmetrics.ext import DataError, Request

_LETTERS: Final = {"C": 1, "I": 0, "P": 0.5, "N": 0}
_WORDS: Final = {"yes": 1, "true": 1, "no": 0, "false": 0}
_SUMMARISED: Final = 1000
_ATTACHED: Final = "attachment://"
_counting = re.compile(r"(?P<kind>pass_at|at_least)_(?P<k>[1-9]\d*)").fullmatch
_exception = re.compile(r"\s*([A-Za-z_][\w.]*)\(").match
_WHAT: Final = "an inspect_ai log"
_VERSIONS: Final = (1, 2, 3)  # 3 was written for a while, and differs in what is not read
_HELD: Final = "attachments"
_INTERRUPTED: Final = "was the run, its copy or its download interrupted?"
_KEPT: Final = [
    "id",
    "epoch",
    "input",
    "target",
    "scores",
    "score",
    "model_usage",
    "error",
    "invalidation",
    "total_time",
    "started_at",
    "completed_at",
]


def agent_of(spec: Mapping[str, Any]) -> str | None:
    """Name the model that a log is of; the solver where there is none."""
    model = spec.get("model")
    named = isinstance(model, str) and model not in ("none", "none/none")
    agent = model if named else spec.get("solver")
    return agent if isinstance(agent, str) else None


def rollout_of(
    sample: Mapping[str, Any], scores: dict[str, Any], agent: str | None, source: Source
) -> Rollout:
    """Make a rollout of a sample; one that failed and was graded keeps its scores."""
    error = _error(sample.get("error"))
    invalid = sample.get("invalidation")
    if invalid:
        reason = invalid.get("reason") if isinstance(invalid, dict) else None
        error, scores = ("invalidated", reason or ""), dict.fromkeys(scores)
    elif error is None and all(v is None or v != v for v in scores.values()):  # noqa: PLR0124 - NaN
        error = Ungraded("not scored")
    start, stop = (
        foreign.seconds(sample.get("started_at")),
        foreign.seconds(sample.get("completed_at")),
    )
    took = sample.get("total_time")
    if took is None and start is not None and stop is not None:
        took = stop - start
    return Rollout(
        record=sample,
        name=f"{source.shown}, sample {sample['id']!r}, epoch {sample.get('epoch', 1)}",
        task=sample["id"],
        sample=sample.get("epoch", 1) - 1,
        agent=agent,
        scores=scores,
        usage=_usage(sample.get("model_usage"), took),
        error=error,
        started=start,
        content=_question(sample),
    )


def _question(sample: Mapping[str, Any]) -> Any:
    """Reduce a sample to its question and target, the same from a summary and from the whole."""
    asked_for, target = sample.get("input"), sample.get("target")
    if asked_for is None:
        return None
    texts = [asked_for]
    if isinstance(asked_for, list):
        texts = []
        for message in question_of(asked_for):
            held = message.get("content") if isinstance(message, dict) else message
            parts = held if isinstance(held, list) else [held]
            texts += [p.get("text") if isinstance(p, dict) else p for p in parts]
    text = "\n".join(part for part in texts if isinstance(part, str))
    targets = target if isinstance(target, list) else [target]
    # a summary has no more of a long text
    return [text[:_SUMMARISED], *(str(each)[:_SUMMARISED] for each in targets)]


def unfolded(sample: Mapping[str, Any]) -> dict[str, Any]:
    """Put long contents back where a sample refers to its attachments: ``attachment://ID``."""
    held = foreign.mapping(sample.get("attachments"))

    def filled(value: Any) -> Any:
        if isinstance(value, str):
            return held.get(value.removeprefix(_ATTACHED), value) if _ATTACHED in value else value
        if isinstance(value, dict):
            return {key: filled(each) for key, each in value.items()}
        return [filled(each) for each in value] if isinstance(value, list) else value

    return {key: filled(value) if held else value for key, value in sample.items()}


def _usage(models: Any, took: float | None) -> dict[str, float]:
    used = [m for m in models.values() if isinstance(m, dict)] if isinstance(models, dict) else []
    return foreign.usage(
        latency_s=took,
        prompt_tokens=foreign.total(_prompt_tokens(m) for m in used),
        completion_tokens=foreign.total(m.get("output_tokens") for m in used),
        cached_tokens=foreign.total(m.get("input_tokens_cache_read") for m in used),
        total_tokens=foreign.total(m.get("total_tokens") for m in used),
        cost_usd=foreign.total(m.get("total_cost") for m in used),
    )


def _prompt_tokens(model: Mapping[str, Any]) -> float | None:
    """Add what came from the cache, where a provider does not count it as input already."""
    given = foreign.number(model.get("input_tokens"))
    cached = foreign.total(model.get(f"input_tokens_cache_{way}") for way in ("read", "write"))
    if given is None or not cached:
        return given
    written, both = (
        foreign.number(model.get("output_tokens")),
        foreign.number(model.get("total_tokens")),
    )
    included = written is not None and both == given + written
    return given if included else given + cached


def _error(error: Any) -> tuple[str, str] | None:
    if error is None:
        return None
    said = error.get("message", "") if isinstance(error, dict) else str(error)
    kind = _exception(str(said))
    return kind.group(1) if kind else "error", str(said)


def scores_of(sample: Mapping[str, Any]) -> dict[str, Any]:
    """Flatten a sample's scores, and take C, I, P, N and the like as numbers."""
    given = sample.get("scores")
    if given is None and isinstance(sample.get("score"), dict):  # early versions have one
        given = {"score": sample["score"]}
    found: dict[str, Any] = {}
    for name, score in given.items() if isinstance(given, dict) else ():
        value = score.get("value") if isinstance(score, dict) else score
        if isinstance(value, dict):
            found.update({f"{name}.{key}": _number(v) for key, v in value.items()})
        elif isinstance(value, list):
            found.update({f"{name}.{at}": _number(v) for at, v in enumerate(value)})
        else:
            found[name] = _number(value)
    return found


def _number(value: Any) -> Any:
    """Take a value as inspect does; but other text stays text, where inspect makes it 0."""
    if not isinstance(value, str):
        return value
    if value in _LETTERS:
        return _LETTERS[value]
    if value.lower() in _WORDS:
        return _WORDS[value.lower()]
    try:
        return float(value)
    except ValueError:
        return value


def scorers_of(
    spec: Mapping[str, Any], results: Mapping[str, Any], columns: Sequence[str]
) -> Iterator[tuple[str, list[str], dict[str, Any]]]:
    """Tell the scorers of a log, the scores that each gave, and its settings."""
    shared = {
        "task_version": spec.get("task_version"),
        "grader": foreign.mapping(spec.get("model_roles")).get("grader"),
    }
    for given in (*foreign.objects(spec.get("scorers")), *foreign.objects(results.get("scores"))):
        name = str(given.get("scorer") or given.get("name")).rpartition("/")[2]
        named = re.compile(rf"{re.escape(name)}\d*(\..*)?", re.DOTALL).fullmatch
        if scores := [column for column in columns if named(column)]:
            options = given.get("options") or given.get("params")
            yield name, scores, {**shared, "options": options, "metadata": given.get("metadata")}


def planned(spec: Mapping[str, Any], results: Mapping[str, Any]) -> list[tuple[Any, int]]:
    """List the samples that were to be run; none where the log does not say."""
    data, config = foreign.mapping(spec.get("dataset")), foreign.mapping(spec.get("config"))
    ids, epochs = data.get("sample_ids"), config.get("epochs") or 1
    if not isinstance(ids, list) or type(epochs) is not int or results.get("early_stopping"):
        return []
    known = [task for task in ids if type(task) in (int, str)]
    return [(task, epoch) for epoch in range(1, epochs + 1) for task in known]


def never_run(
    key: tuple[Any, int], agent: str | None, status: str, log: Document, source: Source
) -> Rollout:
    """Make the missing rollout of a sample that was planned and is not in the log."""
    error = _error(log.get("error"))
    return Rollout(
        record={"id": key[0], "epoch": key[1]},
        name=f"{source.shown}, sample {key[0]!r}, epoch {key[1]}",
        task=key[0],
        sample=key[1] - 1,
        agent=agent,
        error=(
            "planned and not in the log",
            f"the eval's status is {status!r}" + (f": {error[1]}" if error else ""),
        ),
    )


def _reduced(reducer: Any, tasks: list[list[float]]) -> list[float]:
    """Reduce each task's epochs as inspect does; nothing for a reducer that is not known."""
    if reducer in (None, "mean"):
        return [fmean(values) for values in tasks]
    if reducer in ("median", "max"):
        return [(median if reducer == "median" else max)(values) for values in tasks]
    counted = _counting(str(reducer))
    if counted is None:
        return []
    k = int(counted["k"])
    found = []
    for values in tasks:
        n, c = len(values), sum(value >= 1 for value in values)
        if counted["kind"] == "at_least":
            found.append(float(c >= k))
        elif n >= k:  # inspect leaves out the others
            found.append(1 - math.comb(n - c, k) / math.comb(n, k))
    return found


class Headline:
    """The means that a log's results are to agree with."""

    def __init__(self) -> None:
        self._values: dict[str, dict[Any, list[float]]] = defaultdict(lambda: defaultdict(list))

    def add(self, task: Any, scores: Mapping[str, Any]) -> None:
        """Take in the scores of one sample."""
        for name, value in scores.items():
            amount = foreign.number(value)
            if amount is not None and math.isfinite(amount):
                self._values[name][task].append(amount)

    def disagreements(self, results: Mapping[str, Any], source: Source) -> Iterator[str]:
        """Tell where a mean or an accuracy that the log states is not that of its samples."""
        scores = results.get("scores")
        if scores is None and isinstance(results.get("scorer"), dict):  # early versions have one
            scores = [{**results["scorer"], "metrics": results.get("metrics")}]
        for score in foreign.objects(scores):
            name, scorer = score.get("name"), score.get("scorer") or score.get("name")
            column = name if name == scorer else f"{scorer}.{name}"
            tasks = self._values.get(str(column), {})
            reduced = _reduced(score.get("reducer"), list(tasks.values()))
            if not reduced:
                continue
            ours = [fmean(reduced)]
            if score.get("reducer") is None:  # of the samples as they are, it may be
                ours.append(fmean([v for values in tasks.values() for v in values]))
            for metric, stated in foreign.mapping(score.get("metrics")).items():
                theirs = foreign.number(stated.get("value")) if isinstance(stated, dict) else None
                plain = metric.rpartition("/")[2] in ("accuracy", "mean")
                if plain and theirs is not None and not any(foreign.agree(o, theirs) for o in ours):
                    yield (
                        f"{source.shown}: the log says that {metric} of {column} is {theirs:.6g}, "
                        f"and its samples give {ours[0]:.6g}"
                    )


class InspectAi(ToolLoader):
    """Reads a log: a sample's id is the task, its epoch the sample, the model the agent.

    Each scorer is a score, or ``scorer.key`` where its value is an object or a list; C, I, P
    and N are 1, 0, 0.5 and 0. Samples that were planned and are not in the log are missing.
    """

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._first: tuple[str, str] | None = None  # the inspect task, and the file

    def _fill(self, builder: foreign.ChunkBuilder, source: Source) -> None:
        if source.is_zip:
            self._fill_from_archive(builder, source)
            return
        log = Document.of(source, _WHAT)
        samples = log.items("samples") if log.get("samples") is not None else None
        self._fill_from_log(builder, log, samples, source)

    def _fill_from_archive(self, builder: foreign.ChunkBuilder, source: Source) -> None:
        with _archive(source) as archive:
            names = dict.fromkeys(archive.namelist())  # the last of the same name counts
            start = next((n for n in ("header.json", "_journal/start.json") if n in names), None)
            if start is None:
                raise source.error("this zip archive is no inspect_ai log: it has no header.json")
            log = Document(archive.read(start), source, _WHAT)
            samples = self._samples(archive, names, log, source)
            self._fill_from_log(builder, log, samples, source)

    def _samples(
        self, archive: ZipFile, names: Iterable[str], log: Document, source: Source
    ) -> Iterator[Mapping[str, Any]]:
        members = [n for n in names if n.startswith("samples/") and n.endswith(".json")]
        if "summaries.json" in names and not self._wants_all(log):
            text = b'{"all":' + archive.read("summaries.json") + b"}"
            summaries = list(Document(text, source, _WHAT).items("all"))
            # those of early versions lack what a sample took
            told = all("model_usage" in s and "total_time" in s for s in summaries)
            if len(summaries) >= len(members) and (told or not members):
                yield from summaries
                return
        for name in members:
            sample = Document(archive.read(name), source, _WHAT)
            wanted = sample.keys if self._wants_all() else _KEPT
            found = {key: sample.get(key) for key in wanted if key in sample.keys}
            if not self._request.whole and "attachment://" in str(found.get("input")):
                found |= unfolded({"input": found["input"], "attachments": sample.object(_HELD)})
            yield found

    def _wants_all(self, log: Document | None = None) -> bool:
        """Whether more is needed of a sample than its summary says."""
        fields = self._request.fields
        paths = (
            *(fields.task, fields.sample, fields.agent, fields.reward, *fields.scores),
            *(fields.content or ()),
        )
        if self._request.whole or (log is not None and log.get("invalidated")):
            return True
        return bool(self._request.categories) or any(path is not None for path in paths)

    def _fill_from_log(
        self,
        builder: foreign.ChunkBuilder,
        log: Document,
        samples: Iterable[Mapping[str, Any]] | None,
        source: Source,
    ) -> None:
        version = log.get("version")
        if version not in _VERSIONS:
            raise source.error(
                f"this is {_WHAT} of version {version!r}; versions "
                f"{', '.join(map(str, _VERSIONS))} are known",
                hint="update pytest-evalmetrics, or convert it with: inspect log convert",
            )
        spec = log.object("eval")
        self._same_task(spec, source)
        status = log.get("status") or "started"
        if samples is None:
            raise source.error(
                f"this log holds no samples (its status: {status})",
                hint="run the eval without --no-log-samples, or give the whole log, not its header",
            )
        builder.positional = True
        headline = Headline()
        latest: dict[tuple[Any, Any], Mapping[str, Any]] = {}
        for sample in samples:  # a sample that was run again is written again
            latest[_key(sample, source)] = _kept(sample, self._wants_all())
        for key, sample in latest.items():
            builder.positional &= isinstance(key[0], int)
            scores = scores_of(sample)
            headline.add(key[0], scores)
            whole = unfolded(sample) if self._request.whole else sample
            builder.add(rollout_of(whole, scores, agent_of(spec), source))
        plan = planned(spec, log.object("results"))
        # a log with samples of another plan was put together from several
        for key in plan if latest.keys() <= set(plan) else ():
            if key not in latest:
                builder.add(never_run(key, agent_of(spec), status, log, source))
        if not len(builder):
            raise source.error(
                f"this log holds no sample (its status: {status})", hint="did the run fail?"
            )
        if status != "success":
            builder.notes.append(f"{source.shown}: the status of this eval is {status!r}")
        builder.notes += headline.disagreements(log.object("results"), source)
        columns = builder.graded
        for name, given, settings in scorers_of(spec, log.object("results"), columns):
            builder.measured(f"inspect_ai {name}", given, settings)

    def _same_task(self, spec: Mapping[str, Any], source: Source) -> None:
        task = str(spec.get("task"))
        if self._first is None:
            self._first = task, source.shown
        if self._first[0] != task:
            raise source.error(
                f"this log is of the inspect task {task!r}, and {self._first[1]} is of "
                f"{self._first[0]!r}",
                hint="write one benchmark for each, with paths that tell them apart",
            )


def _key(sample: Mapping[str, Any], source: Source) -> tuple[Any, Any]:
    task, epoch = sample.get("id"), sample.get("epoch", 1)
    if type(task) not in (int, str) or type(epoch) is not int or epoch < 1:
        raise source.error(
            f"a sample of this log has the id {task!r} and the epoch {epoch!r}; expected text or "
            "a whole number, and a whole number from 1"
        )
    return task, epoch


def _kept(sample: Mapping[str, Any], everything: bool) -> Mapping[str, Any]:
    return sample if everything else {k: sample[k] for k in _KEPT if k in sample}


def is_log_archive(source: Source) -> bool:
    """Whether a zip archive has a log's header."""
    try:
        with _archive(source) as archive:
            return "header.json" in archive.namelist()
    except Exception:  # noqa: BLE001 - whatever it is, it is none of ours
        return False


@contextmanager
def _archive(source: Source) -> Iterator[ZipFile]:
    """Open an archive whose members may be packed with zstd, and put its faults into words."""
    if sys.version_info >= (3, 14):
        import zipfile  # noqa: PLC0415 - only where there is an archive

        from compression.zstd import ZstdError  # noqa: PLC0415
    else:
        from backports.zstd import ZstdError, zipfile  # noqa: PLC0415 - the same
    broken = (zipfile.BadZipFile, zlib.error, ZstdError, EOFError, NotImplementedError, OSError)
    try:
        with zipfile.ZipFile(source.path) as archive:
            yield archive
    except broken as error:
        raise _damaged(source, error) from error
    except msgspec.DecodeError as error:
        raise _damaged(source, error) from error


def _damaged(source: Source, error: Exception) -> DataError:
    if "not a zip file" in str(error):
        why = "this looks like an inspect_ai archive, and its end is missing"
    else:
        why = f"this inspect_ai archive is damaged: {error}"
    return source.error(why, hint=_INTERRUPTED)
