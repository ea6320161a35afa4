"""Samples of lm-evaluation-harness: ``samples_<task>_<date>.jsonl``, or its results alone."""

from __future__ import annotations

import re
from statistics import fmean
from typing import TYPE_CHECKING, Final

from pytest_evalmetrics.model.rollout_notes import (
    AggregatesAlone,
    GroupsLeftOut,
    LimitedRun,
    ScoredOnce,
)
from pytest_evalmetrics.rollouts import json_values
from pytest_evalmetrics.rollouts.documents import Document, rows_of
from pytest_evalmetrics.rollouts.format_keys import LM_EVAL_RESULTS
from pytest_evalmetrics.rollouts.tool_loader import (
    ChunkBuilder,
    Rollout,
    ToolLoader,
    aggregate,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pytest_evalmetrics.json_types import JsonMapping, JsonObject, JsonValue
    from pytest_evalmetrics.model.rollout_table import TaskId
    from pytest_evalmetrics.rollouts.source import Source

_WHAT: Final = "the results of lm-evaluation-harness"
_NO_FILTER: Final = ("", "none")
_RENAMED: Final = {"perplexity": "log_likelihood"}  # rows use the aggregate's name
_UNSCORED: Final = "bypass"  # the only metric of a run with --predict_only
_MEASURES: Final = ("metric_list", "filter_list", "process_results", "doc_to_target")
_name = re.compile(
    r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d.-]+)\.jsonl"
).fullmatch


class LmEval(ToolLoader):
    """Reads samples: a document is a task with one sample.

    A metric is a score by its name, or as ``metric,filter`` where the filter has a name.
    """

    def rollouts(self, source: Source, builder: ChunkBuilder) -> Iterator[Rollout]:
        """Yield the rollouts of one file."""
        if any(source.keys >= keys for keys in LM_EVAL_RESULTS):
            yield from _aggregates(builder, Document.of(source, _WHAT), source)
            return
        match = _name(source.path.name.removesuffix(".gz").removesuffix(".zst"))
        name = None
        file = ""
        if match is not None:
            name = match["task"]
            file = f"results_{match['date']}.json"
        results = Document.beside(source, file, _WHAT)
        documents, repeats = self._documents(source, name, _model(results))
        builder.positional = any(type(task) is int for task in documents)
        if repeats > 1:
            builder.notes.append(ScoredOnce(source.shown, repeats))
        keys = ("configs", "versions", "n-samples", "results", "higher_is_better")
        stated = {key: results.object(key).get(str(name)) for key in keys}
        _compare(documents, stated, file, builder)
        yield from documents.values()
        if name is not None:
            settings = {"version": stated.get("versions")}
            settings |= {
                key: json_values.lookup(stated, f"configs.{key}") for key in _MEASURES
            }
            builder.measured(f"lm_eval task {name}", builder.scores, settings)

    def _documents(
        self, source: Source, name: str | None, model: JsonValue
    ) -> tuple[dict[TaskId, Rollout], int]:
        """Read each document with the scores of all filters, and how often they were answered."""
        documents: dict[TaskId, Rollout] = {}
        scores: dict[TaskId, JsonObject] = {}
        places: dict[tuple[TaskId, str], int] = {}
        repeats = 1
        for place, row in rows_of(source):
            task = _document_id(row, place, source)
            filter_ = str(row.get("filter") or _NO_FILTER[-1])
            first = places.setdefault((task, filter_), place)
            if first != place:
                message = f"the document {task!r} with the filter {filter_!r} occurs here and in "
                hint = "was a run appended to the file of another?"
                raise source.error_at(place, message + source.at(first), hint)
            if task not in documents:
                content = row.get("doc_hash")
                scores[task] = {}
                documents[task] = Rollout(
                    record={**self.kept(row), "task": name},
                    name=source.at(place),
                    task=task if name is None else f"{name}/{task}",
                    sample=0,
                    agent=model,
                    scores=scores[task],
                    content=row.get("doc") if content is None else content,
                )
            for metric in _metrics(row):
                column = _column(_RENAMED.get(metric, metric), filter_)
                value = None if metric == _UNSCORED else row.get(metric)
                scores[task][column] = value
            repeats = max(repeats, _count_answers(row))
        return documents, repeats


def _document_id(row: JsonMapping, place: int, source: Source) -> TaskId:
    task = row.get("doc_id")
    if isinstance(task, bool) or not isinstance(task, int | str):
        message = f"this row's doc_id is {task!r}; expected a whole number"
        hint = "is this the output of lm-evaluation-harness with --log_samples?"
        raise source.error_at(place, message, hint)
    return task


def _count_answers(row: JsonMapping) -> int:
    """Count the answers to a document that one row stands for."""
    answers = row.get("resps")
    # before there were filters, a list was an answer with its likelihood
    if not isinstance(answers, list) or row.get("filter") is None:
        return 1
    counts = [len(answer) for answer in answers if isinstance(answer, list)]
    return max(counts, default=1)


def _declare_direction(
    builder: ChunkBuilder, score: str, higher_is_better: object
) -> None:
    """Take over what a task states of a metric; it may state nothing."""
    if isinstance(higher_is_better, bool):
        builder.directions[score] = "higher" if higher_is_better else "lower"


def _aggregates(
    builder: ChunkBuilder, results: Document, source: Source
) -> Iterator[Rollout]:
    """Take each task of a file of results as one rollout, with its standard errors."""
    groups = results.object("group_subtasks")
    counts = results.object("n-samples")
    higher = results.object("higher_is_better")
    left_out = []
    for task, stated in results.object("results").items():
        if groups.get(task):  # its tasks are here themselves
            left_out.append(task)
            continue
        entries = json_values.mapping(stated)
        samples = json_values.number(json_values.lookup(counts.get(task), "effective"))
        if samples is None:
            samples = _limit(results)
        documents = json_values.number(json_values.lookup(counts.get(task), "original"))
        scores: JsonObject = {}
        names: list[str] = []
        for key in _metric_keys(entries):
            metric, comma, filter_ = key.partition(",")
            name = _column(metric, filter_)
            names.append(name)
            stated_direction = json_values.lookup(higher.get(task), metric)
            _declare_direction(builder, name, stated_direction)
            scores |= aggregate(
                name,
                entries[key],
                error=entries.get(f"{metric}_stderr{comma}{filter_}"),
                samples=samples,
                documents=documents,
            )
        yield Rollout(
            record={"task": task},
            name=f"{source.shown}: {task}",
            task=task,
            sample=0,
            agent=_model(results),
            scores=scores,
            rewards=names,
        )
    if left_out:
        builder.notes.append(GroupsLeftOut(source.shown, tuple(left_out)))
    builder.notes.append(AggregatesAlone(source.shown, option="--log_samples"))


def _limit(results: Document) -> float | None:
    """Read the number of documents that a run was limited to, if its file has no counts."""
    limit = json_values.number(json_values.lookup(results.get("config"), "limit"))
    if limit is None or limit < 1:  # a share of the documents
        return None
    return limit


def _metric_keys(entries: JsonMapping) -> list[str]:
    """List the keys of a task's metrics: ``metric,filter``, or up to version 0.3 ``metric``."""
    is_filtered = any("," in key for key in entries)
    keys = []
    for key, value in entries.items():
        metric, comma, _ = key.partition(",")
        if metric.endswith("_stderr"):
            continue
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if comma or (not is_filtered and is_number):
            keys.append(key)
    return keys


def _model(results: Document) -> str | None:
    """Name the model; versions up to 0.3 have its arguments: ``pretrained=org/name,...``."""
    named = json_values.text(results.get("model_name"))
    if named is not None:
        return named
    config = json_values.mapping(results.get("config"))
    given = config.get("model_args")
    arguments = str(given or "").split(",")
    pairs = dict(argument.partition("=")[::2] for argument in arguments)
    return pairs.get("pretrained") or json_values.text(config.get("model"))


def _column(metric: str, filter_: str) -> str:
    return metric if filter_ in _NO_FILTER else f"{metric},{filter_}"


def _metrics(row: JsonMapping) -> list[str]:
    named = row.get("metrics")
    if isinstance(named, list):
        return [name for name in named if isinstance(name, str)]
    return [
        key
        for key, value in row.items()
        if key != "doc_id" and isinstance(value, bool | int | float)
    ]


def _compare(
    documents: Mapping[TaskId, Rollout],
    stated: JsonMapping,
    file: str,
    builder: ChunkBuilder,
) -> None:
    """Compare the counts and the means of the results with those of the documents."""
    count = json_values.number(json_values.lookup(stated, "n-samples.effective"))
    builder.compare(f"n-samples in {file}", count, len(documents))
    original = json_values.number(json_values.lookup(stated, "n-samples.original"))
    if count is not None and original is not None and count < original:
        builder.notes.append(LimitedRun(file, documents=count, of=original))
    aggregations = _aggregations(stated)
    for key, value in json_values.mapping(stated["results"]).items():
        metric, _, filter_ = key.partition(",")
        column = _column(metric, filter_)
        given = _numbers_of(column, documents.values())
        how = aggregations.get(metric, "mean")
        claim = f"{key} in {file}"
        if how.isidentifier() and how != "mean":
            claim += f" (by {how})"
        if given:
            builder.compare(claim, value, fmean(given))
        stated_direction = json_values.lookup(stated["higher_is_better"], metric)
        _declare_direction(builder, column, stated_direction)


def _aggregations(stated: JsonMapping) -> dict[str, str]:
    """Read how each metric is aggregated, where a task says so."""
    listed = json_values.lookup(stated, "configs.metric_list")
    return {
        str(entry.get("metric")): str(entry["aggregation"])
        for entry in json_values.objects(listed)
        if entry.get("aggregation")
    }


def _numbers_of(column: str, documents: Iterable[Rollout]) -> list[float]:
    """List the scores of a column that are numbers."""
    numbers = []
    for document in documents:
        score = json_values.number(document.scores.get(column))
        if score is not None:
            numbers.append(score)
    return numbers
