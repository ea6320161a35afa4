"""Logs of inspect_ai: ``.eval`` archives, also with zstd members, and ``.json`` files."""

from __future__ import annotations

import math
import re
import sys
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Protocol

import msgspec
from msgspec import structs

from pytest_evalmetrics.json_types import JsonMapping, list_of
from pytest_evalmetrics.model.rollout_notes import AggregatesAlone, UnfinishedRun
from pytest_evalmetrics.model.rollout_table import TaskId, question_of
from pytest_evalmetrics.rollouts import json_values
from pytest_evalmetrics.rollouts.documents import Document
from pytest_evalmetrics.rollouts.loaders.inspect_results import (
    compare_means,
    rollout_of_means,
)
from pytest_evalmetrics.rollouts.not_judged import RolloutError, exception_of, judged
from pytest_evalmetrics.rollouts.tool_loader import ChunkBuilder, Rollout, ToolLoader
from pytest_evalmetrics.rollouts.tool_usage import usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pytest_evalmetrics.json_types import JsonMapping, JsonObject, JsonValue
    from pytest_evalmetrics.rollouts.loader import Request
    from pytest_evalmetrics.rollouts.source import Source

_WHAT: Final = "an inspect_ai log"
_VERSIONS: Final = (1, 2, 3)  # 3 was written for a while, and differs in unused fields
_HEADERS: Final = ("header.json", "_journal/start.json")
_SUMMARY: Final = "summaries.json"
_SUMMARISED: Final = 1000  # characters of a text in a summary
_INVALID: Final = "invalidated"
# most rollouts of a plan, in case its number is damaged
_MOST_PLANNED: Final = 20_000_000
_ATTACHED: Final = "attachment://"
_KEPT: Final = (
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
    "uuid",
)
_NUMBERS: Final = {
    "C": 1,
    "yes": 1,
    "true": 1,
    "P": 0.5,
    "I": 0,
    "N": 0,
    "no": 0,
    "false": 0,
}
_LETTERS: Final = ("C", "I", "P", "N")


class InspectAi(ToolLoader):
    """Reads a log: the id of a sample is the task, its epoch the sample, and the model the agent.

    Each scorer is a score, or ``scorer.key`` where its value is an object or a list; C, I, P
    and N are 1, 0, 0.5 and 0. Samples that were planned and are not in the log are missing.
    """

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._first: tuple[str, str] | None = None  # the inspect task, and the file

    def rollouts(self, source: Source, builder: ChunkBuilder) -> Iterator[Rollout]:
        """Yield the rollouts of one file."""
        if not source.is_zip:
            log = Document.of(source, _WHAT)
            yield from self._of_log(builder, log, log.items("samples"), source)
            return
        with _archive(source) as archive:
            # the last of the same name counts
            names = dict.fromkeys(archive.namelist())
            start = next((name for name in _HEADERS if name in names), None)
            if start is None:
                raise source.error(
                    "this archive is not an inspect_ai log: it has no header.json"
                )
            log = Document(archive.read(start), source, _WHAT)
            members = [name for name in names if _is_sample(name)]
            samples = None
            if members or _logs_samples(log):
                has_summaries = _SUMMARY in names and not log.get("invalidated")
                samples = self._archived_samples(
                    archive, members, source, has_summaries=has_summaries
                )
            yield from self._of_log(builder, log, samples, source)

    def _archived_samples(
        self,
        archive: _Archive,
        members: Sequence[str],
        source: Source,
        *,
        has_summaries: bool,
    ) -> Iterator[JsonMapping]:
        """Read the summaries of samples where they are enough, else the samples."""
        if has_summaries and not self.reads_records:
            text = b'{"all":' + archive.read(_SUMMARY) + b"}"
            summaries = list(Document(text, source, _WHAT).items("all") or ())
            if _are_enough(summaries, members):
                yield from summaries
                return
        keys = None if self.reads_records else (*_KEPT, "attachments")
        for name in members:
            yield Document(archive.read(name), source, _WHAT).whole(keys)

    def _of_log(
        self,
        builder: ChunkBuilder,
        log: Document,
        samples: Iterable[JsonMapping] | None,
        source: Source,
    ) -> Iterator[Rollout]:
        _must_be_of_known_version(log, source, has_samples=samples is not None)
        spec = log.object("eval")
        self._must_be_of_one_task(str(spec.get("task")), source)
        status = log.get("status") or "started"
        rollouts: list[Rollout] = []
        if samples is not None:
            rollouts = self._last_attempts(samples, log, source)
        elif status == "success":
            whole = rollout_of_means(spec, log.object("results"), source)
            if whole is not None:
                builder.notes.append(AggregatesAlone(source.shown))
                yield whole
                return
        if not rollouts:
            hint = "did the run fail? else run it without --no-log-samples, and give the whole log"
            raise source.error(
                f"this log holds no samples (its status: {status})", hint=hint
            )
        if status != "success":
            builder.notes.append(UnfinishedRun(source.shown, str(status)))
        yield from _judged(rollouts, log, builder)

    def _must_be_of_one_task(self, task: str, source: Source) -> None:
        """Refuse the logs of two inspect tasks."""
        if self._first is None:
            self._first = task, source.shown
        first, file = self._first
        if first != task:
            message = (
                f"this log is of the inspect task {task!r}, and {file} is of {first!r}"
            )
            hint = "write one benchmark for each, with paths that tell them apart"
            raise source.error(message, hint=hint)

    def _last_attempts(
        self, samples: Iterable[JsonMapping], log: Document, source: Source
    ) -> list[Rollout]:
        """Take each sample, and those that were planned and are not in the log."""
        spec = log.object("eval")
        error = _error(log.get("error"))
        why = f"the eval's status is {log.get('status') or 'started'!r}"
        if error is not None:
            why += f": {error.message}"
        agent = spec.get("model")
        if not isinstance(agent, str) or agent in ("none", "none/none"):
            agent = spec.get("solver")
        rollouts: dict[tuple[JsonValue, JsonValue], Rollout] = {}
        for sample in samples:  # one that was run again is written again
            rollout = self._rollout(sample, agent, source)
            rollouts[rollout.task, rollout.sample] = rollout
        planned = _planned(spec, log.object("results"), source)
        if not rollouts.keys() <= set(planned):
            # a log with samples of another plan was put together from several
            return list(rollouts.values())
        for id_, number in planned:
            missing = self._rollout({"id": id_, "epoch": number + 1}, agent, source)
            error = RolloutError(kind="planned and not in the log", message=why)
            rollouts.setdefault((id_, number), structs.replace(missing, error=error))
        return list(rollouts.values())

    def _rollout(
        self, sample: JsonMapping, agent: JsonValue, source: Source
    ) -> Rollout:
        """Make a rollout of a sample; one that failed and was graded keeps its scores."""
        id_ = sample.get("id")
        epoch = sample.get("epoch", 1)
        is_id = isinstance(id_, int | str) and not isinstance(id_, bool)
        if not is_id or type(epoch) is not int or epoch < 1:
            message = f"a sample of this log has the id {id_!r} and the epoch {epoch!r}; expected "
            message += "text or a whole number, and a whole number from 1"
            raise source.error(message)
        sample = self._restored(sample)
        scores = _scores(sample)
        took = sample.get("total_time")
        if took is None:
            took = json_values.duration(sample, "started_at", "completed_at")
        models = list(json_values.mapping(sample.get("model_usage")).values())
        return Rollout(
            record=sample,
            name=f"{source.shown}, sample {id_!r}, epoch {epoch}",
            task=id_,
            sample=epoch - 1,
            agent=agent,
            scores=scores,
            usage=usage(
                *map(_usage_of_model, json_values.objects(models)), latency_s=took
            ),
            error=_error_of_sample(sample, scores),
            started=json_values.seconds(sample.get("started_at")),
            content=_question(sample),
            record_id=json_values.text(sample.get("uuid")),
        )

    def _restored(self, sample: JsonMapping) -> JsonMapping:
        """Take what is read of a sample, with its attachments where they belong."""
        attachments = json_values.mapping(sample.get("attachments"))
        if not self.reads_records:
            sample = {key: sample[key] for key in _KEPT if key in sample}
        if not attachments:
            return sample
        return {
            key: _with_attachments(value, attachments) for key, value in sample.items()
        }


def _judged(
    rollouts: Sequence[Rollout], log: Document, builder: ChunkBuilder
) -> Iterator[Rollout]:
    """Yield the rollouts of samples, and tell the builder what scored them."""
    results = log.object("results")
    builder.positional = all(isinstance(rollout.task, int) for rollout in rollouts)
    compare_means(rollouts, results, builder)
    for rollout in rollouts:
        graded = _graded_by_letter(rollout.record)
        builder.directions.update(dict.fromkeys(graded, "higher"))
        if rollout.error is not None and rollout.error.voids:
            scores = judged(rollout.scores, rollout.error)
            yield structs.replace(rollout, scores=scores)
        else:
            yield rollout
    for name, columns, settings in _scorers(
        log.object("eval"), results, builder.scores
    ):
        builder.measured(f"inspect_ai {name}", columns, settings)


def _must_be_of_known_version(
    log: Document, source: Source, *, has_samples: bool
) -> None:
    version = log.get("version")
    # the header alone, as other tools write it, has none
    is_header = version is None and not has_samples
    if version not in _VERSIONS and not is_header:
        known = ", ".join(map(str, _VERSIONS))
        raise source.error(
            f"this is {_WHAT} of version {version!r}; known are {known}",
            hint="update pytest-evalmetrics, or convert it with: inspect log convert",
        )


def _are_enough(summaries: Sequence[JsonMapping], members: Sequence[str]) -> bool:
    """Check that there is a summary of each sample, with its usage and its time."""
    if not members:
        return True
    # summaries of early versions lack usage and time
    are_complete = all("model_usage" in s and "total_time" in s for s in summaries)
    return are_complete and len(summaries) >= len(members)


def _is_sample(member: str) -> bool:
    return member.startswith("samples/") and member.endswith(".json")


def _logs_samples(log: Document) -> bool:
    """Check that a run was to write its samples."""
    return json_values.lookup(log.get("eval"), "config.log_samples") is not False


def _with_attachments(value: JsonValue, attachments: JsonMapping) -> JsonValue:
    """Put long contents back where a sample refers to its attachments: ``attachment://ID``."""
    if isinstance(value, str):
        if not value.startswith(_ATTACHED):
            return value
        return attachments.get(value.removeprefix(_ATTACHED), value)
    if isinstance(value, dict):
        return {
            key: _with_attachments(inner, attachments) for key, inner in value.items()
        }
    if isinstance(value, list):
        return [_with_attachments(inner, attachments) for inner in value]
    return value


def _question(sample: JsonMapping) -> JsonValue:
    """Reduce a sample to its question and target, as far as a summary has them."""
    prompt = sample.get("input")
    if prompt is None:
        return None
    texts: Iterable[JsonValue] = [prompt]
    if isinstance(prompt, list):
        texts = _texts_of(prompt)
    question = "\n".join(text for text in texts if isinstance(text, str))
    target = sample.get("target")
    targets = target if isinstance(target, list) else [target]
    accepted = [str(answer)[:_SUMMARISED] for answer in targets]
    return [question[:_SUMMARISED], *accepted]


def _texts_of(messages: list[JsonValue]) -> Iterator[JsonValue]:
    """Yield the texts of messages, without those of the system."""
    for message in list_of(question_of(messages)):
        content = message
        if isinstance(message, dict):
            content = message.get("content")
        parts = content if isinstance(content, list) else [content]
        for part in parts:
            yield part.get("text") if isinstance(part, dict) else part


def _usage_of_model(model: JsonMapping) -> JsonObject:
    """Take a model's usage, with what came from the cache as part of the input."""
    return {**model, "input_tokens": _prompt_tokens(model)}


def _prompt_tokens(model: JsonMapping) -> float | None:
    """Add what came from the cache, where a provider does not count it as input already."""
    given = json_values.number(model.get("input_tokens"))
    written = json_values.number(model.get("output_tokens"))
    total = json_values.number(model.get("total_tokens"))
    cached = json_values.total(
        (
            model.get("input_tokens_cache_read"),
            model.get("input_tokens_cache_write"),
        )
    )
    if given is None or not cached:
        return given
    if written is not None and total == given + written:
        return given
    return given + cached


def _error(error: JsonValue) -> RolloutError | None:
    if error is None:
        return None
    if isinstance(error, dict):
        return exception_of(error.get("message", ""))
    return exception_of(error)


def _error_of_sample(sample: JsonMapping, scores: JsonMapping) -> RolloutError | None:
    """Find why a sample has no scores, or none that count."""
    invalid = sample.get("invalidation")
    if invalid:
        reason = str(json_values.lookup(invalid, "reason") or "")
        return RolloutError(kind=_INVALID, message=reason, voids=True)
    error = _error(sample.get("error"))
    if error is None and all(map(_is_unscored, scores.values())):
        return _words_of_scorers(sample)
    return error


def _is_unscored(score: JsonValue) -> bool:
    """Check for no score, which is written as NaN; text may be one of a `map:`."""
    return score is None or (isinstance(score, float) and math.isnan(score))


def _words_of_scorers(sample: JsonMapping) -> RolloutError | None:
    """Find a scorer's words on why it did not score a sample."""
    for name, score in json_values.mapping(sample.get("scores")).items():
        reasons = [
            json_values.text(json_values.lookup(score, key))
            for key in ("reason", "explanation")
        ]
        words = ": ".join(reason for reason in reasons if reason is not None)
        if words:
            kind = f"{name} was not scored"
            return RolloutError(kind=kind, message=words, of_grader=True)
    return None


def _given_scores(sample: JsonMapping) -> Iterator[tuple[str, JsonValue]]:
    """Yield the scores of a sample by the names of their scorers, as they are written."""
    given = sample.get("scores")
    if given is None and isinstance(sample.get("score"), dict):
        given = {"score": sample["score"]}  # early versions have one
    for name, score in json_values.mapping(given).items():
        yield name, score.get("value") if isinstance(score, dict) else score


def _graded_by_letter(sample: JsonMapping) -> list[str]:
    """Name the scores that are correct, partial, incorrect or no answer: C, P, I, N."""
    return [name for name, value in _given_scores(sample) if value in _LETTERS]


def _scores(sample: JsonMapping) -> JsonObject:
    """Flatten a sample's scores, and take C, I, P, N and the like as numbers."""
    scores: JsonObject = {}
    for name, value in _given_scores(sample):
        if isinstance(value, dict):
            for key, part in value.items():
                scores[f"{name}.{key}"] = _number(part)
        elif isinstance(value, list):
            for index, part in enumerate(value):
                scores[f"{name}.{index}"] = _number(part)
        else:
            scores[name] = _number(value)
    return scores


def _number(value: JsonValue) -> JsonValue:
    """Take a value as inspect does; but other text stays text, where inspect makes it 0."""
    if not isinstance(value, str):
        return value
    for word in (value, value.lower()):
        if word in _NUMBERS:
            return _NUMBERS[word]
    try:
        return float(value)
    except ValueError:
        return value


def _scorers(
    spec: JsonMapping,
    results: JsonMapping,
    columns: Iterable[str],
) -> Iterator[tuple[str, list[str], JsonObject]]:
    """Yield the scorers of a log, each with its scores and its settings."""
    grader = json_values.mapping(spec.get("model_roles")).get("grader")
    shared = {"task_version": spec.get("task_version"), "grader": grader}
    for given in (
        *json_values.objects(spec.get("scorers")),
        *json_values.objects(results.get("scores")),
    ):
        name = str(given.get("scorer") or given.get("name")).rpartition("/")[2]
        is_of_scorer = re.compile(rf"{re.escape(name)}\d*(\..*)?", re.DOTALL).fullmatch
        scores = [column for column in columns if is_of_scorer(column)]
        if scores:
            options = given.get("options") or given.get("params")
            metadata = given.get("metadata")
            yield name, scores, {**shared, "options": options, "metadata": metadata}


def _planned(
    spec: JsonMapping, results: JsonMapping, source: Source
) -> list[tuple[TaskId, int]]:
    """List the samples that were to be run, with their numbers; none if the log has no plan."""
    data = json_values.mapping(spec.get("dataset"))
    config = json_values.mapping(spec.get("config"))
    ids = data.get("sample_ids")
    epochs = config.get("epochs") or 1
    if (
        not isinstance(ids, list)
        or type(epochs) is not int
        or results.get("early_stopping")
    ):
        return []
    tasks = [
        task
        for task in ids
        if isinstance(task, int | str) and not isinstance(task, bool)
    ]
    if len(tasks) * epochs > _MOST_PLANNED:
        raise source.error(
            f"this log plans {epochs:,} epochs of {len(tasks):,} samples"
        )
    return [(task, number) for number in range(epochs) for task in tasks]


class _Archive(Protocol):
    """A ZIP archive, of the standard library's or a backport's module."""

    def namelist(self) -> list[str]:
        """List the members."""

    def read(self, name: str) -> bytes:
        """Read one member."""


@contextmanager
def _archive(source: Source) -> Iterator[_Archive]:
    """Open an archive, also with zstd members, and report its defects."""
    if sys.version_info >= (3, 14):
        import zipfile  # only if there is an archive

        from compression.zstd import ZstdError
    else:
        from backports.zstd import ZstdError, zipfile  # the same
    broken = (
        zipfile.BadZipFile,
        zlib.error,
        ZstdError,
        EOFError,
        NotImplementedError,
        OSError,
    )
    try:
        with zipfile.ZipFile(source.path) as archive:
            yield archive
    except (*broken, msgspec.DecodeError) as error:
        why = f"this inspect_ai archive is damaged: {error}"
        if not zipfile.is_zipfile(source.path):
            why = "this looks like an inspect_ai archive, and its end is missing"
        hint = "was the run, its copy or its download interrupted?"
        raise source.error(why, hint=hint) from error
