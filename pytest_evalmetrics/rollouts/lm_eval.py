"""lm-evaluation-harness: ``samples_<task>_<date>.jsonl``, or its results alone."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from pytest_evalmetrics.rollouts import foreign
from pytest_evalmetrics.rollouts.foreign import Document, Rollout, ToolLoader, Ungraded
from pytest_evalmetrics.rollouts.formats import is_lm_eval_results

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_evalmetrics.ext import Source, TaskId

_NO_FILTER: Final = "none"
_NO_METRIC: Final = frozenset({"doc_id"})
_MEANS: Final = frozenset({"acc", "acc_norm", "exact_match", "em"})  # where nothing is said
_MEASURES: Final = ("metric_list", "filter_list", "process_results", "doc_to_target")
_name = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d.-]+)\.jsonl").fullmatch


class LmEval(ToolLoader):
    """Reads samples: a document is a task, scored once however often it was generated.

    A metric is a score by its name, or as ``metric,filter`` where the filter has a name.
    """

    def _fill(self, builder: foreign.ChunkBuilder, source: Source) -> None:
        if is_lm_eval_results(source.keys):
            _add_aggregates(builder, Document.of(source, "lm-evaluation-harness's results"), source)
            return
        results = _Results(source)
        documents: dict[TaskId, _Scored] = {}
        for place, row in foreign.rows_of(source):
            task: Any = row.get("doc_id")
            if type(task) not in (int, str):
                raise source.error_at(
                    place,
                    f"this row's doc_id is {task!r}; expected a whole number",
                    "is this the output of lm-evaluation-harness with --log_samples?",
                )
            if task not in documents:
                content = row.get("doc_hash")
                content = row.get("doc") if content is None else content
                documents[task] = _Scored(place, foreign.slim(row, self._request), content)
            documents[task].add(row, place, source)
        builder.positional = any(type(task) is int for task in documents)
        for task, scored in documents.items():
            is_scored = any(value is not None for value in scored.scores.values())
            builder.add(
                Rollout(
                    record={**scored.record, "task": results.task},
                    name=source.at(scored.place),
                    task=task if results.task is None else f"{results.task}/{task}",
                    sample=0,
                    agent=results.model,
                    scores=scored.scores,
                    error=None if is_scored else Ungraded("not scored"),
                    content=scored.content,
                )
            )
        if len(builder):
            builder.notes += results.disagreements(documents, source)
            if results.task is not None:
                scores = {name for scored in documents.values() for name in scored.scores}
                builder.measured(f"lm_eval task {results.task}", scores, results.measures())


def _add_aggregates(builder: foreign.ChunkBuilder, results: Document, source: Source) -> None:
    """Add each task of a file of results as one rollout, with its standard errors."""
    counts, groups = results.object("n-samples"), results.object("group_subtasks")
    model = results.get("model_name")
    left_out = []
    for task, stated in results.object("results").items():
        if groups.get(task):  # its tasks are here themselves
            left_out.append(task)
            continue
        entries = foreign.mapping(stated)
        scores: dict[str, Any] = {}
        names: list[str] = []
        samples = foreign.number(foreign.mapping(counts.get(task)).get("effective"))
        for key, value in entries.items():
            metric, comma, name = key.partition(",")
            stderr = f"{metric}_stderr{comma}{name}"
            if metric.endswith("_stderr") or not (comma or stderr in entries):
                continue
            column = metric if name in ("", _NO_FILTER) else key
            names.append(column)
            scores |= foreign.aggregate(column, value, foreign.number(entries.get(stderr)), samples)
        builder.add(
            Rollout(
                record={"task": task},
                name=f"{source.shown}: {task}",
                task=task,
                sample=0,
                agent=model if isinstance(model, str) and model else None,
                scores=scores,
                rewards=names,
                error=None if scores else Ungraded("not scored"),
            )
        )
    if left_out:
        builder.notes.append(f"{source.shown}: groups are left out: {', '.join(left_out)}")
    builder.notes.append(
        f"{source.shown} holds aggregates without samples: a drop is judged by Welch's test of "
        "their standard errors, which pairs no questions; with --log_samples a smaller one is seen"
    )


@dataclass(slots=True)
class _Scored:
    """One document and what all the filters make of it."""

    place: int
    record: dict[str, Any]
    content: Any = None
    scores: dict[str, Any] = field(default_factory=dict)
    filters: dict[str, int] = field(default_factory=dict)
    repeats: int = 1

    def add(self, row: Mapping[str, Any], place: int, source: Source) -> None:
        name = str(row.get("filter") or _NO_FILTER)
        if name in self.filters:
            raise source.error_at(
                place,
                f"the document {row['doc_id']!r} with the filter {name!r} stands here and in "
                f"{source.at(self.filters[name])}",
                "was a run appended to the file of another?",
            )
        self.filters[name] = place
        for metric in _metrics(row):
            self.scores[metric if name == _NO_FILTER else f"{metric},{name}"] = row.get(metric)
        answers = row.get("resps")
        if isinstance(answers, list):
            counts = [len(a) for a in answers if isinstance(a, list) and a]
            if row.get("filter") is not None:  # before, a list was an answer with its likelihood
                self.repeats = max([self.repeats, *counts])


def _metrics(row: Mapping[str, Any]) -> list[str]:
    named = row.get("metrics")
    if isinstance(named, list):
        return [name for name in named if isinstance(name, str)]
    return [k for k, v in row.items() if k not in _NO_METRIC and isinstance(v, bool | int | float)]


class _Results:
    """The file of results that belongs to samples, as far as it is there."""

    def __init__(self, source: Source) -> None:
        match = _name(source.path.name.removesuffix(".gz").removesuffix(".zst"))
        self.task = match["task"] if match else None
        self._name = f"results_{match['date']}.json" if match else ""
        what = "the results of lm-evaluation-harness"
        self._document = foreign.document_beside(source, self._name, what) if match else None
        model = self._document.get("model_name") if self._document else None
        self.model = model if isinstance(model, str) and model else None

    def _of_task(self, key: str) -> Any:
        """Get what the results say of the task under a key; nothing without results."""
        return self._document.object(key).get(str(self.task)) if self._document else None

    def measures(self) -> dict[str, Any]:
        """Get the version of the task, and how its answers are parsed and scored."""
        config = foreign.mapping(self._of_task("configs"))
        version = self._of_task("versions")
        return {"version": version, **{key: config.get(key) for key in _MEASURES}}

    def disagreements(self, documents: Mapping[TaskId, _Scored], source: Source) -> Iterator[str]:
        repeats = max(d.repeats for d in documents.values())
        if repeats > 1:
            yield (
                f"{source.shown}: each document was answered {repeats} times and scored once, "
                "which makes it one rollout"
            )
        shown = f"{source.shown.rpartition('/')[0]}/{self._name}".lstrip("/")
        config = foreign.mapping(self._of_task("configs"))
        counted = foreign.mapping(self._of_task("n-samples")).get("effective")
        if counted is not None and counted != len(documents):
            there = len(documents)
            yield f"{source.shown}: {shown} counts {counted} documents, and there are {there}"
        for key, stated in foreign.mapping(self._of_task("results")).items():
            metric, _, name = key.partition(",")
            theirs = foreign.number(stated)
            if theirs is None or not _is_mean(metric, config):
                continue
            column = metric if name in ("", _NO_FILTER) else key
            values = [foreign.number(d.scores.get(column)) for d in documents.values()]
            given = [value for value in values if value is not None]
            if given and not foreign.agree(fmean(given), theirs):
                yield (
                    f"{source.shown}: {shown} says that {key} is {theirs:.6g}, and the "
                    f"samples give {fmean(given):.6g}"
                )


def _is_mean(metric: str, config: Mapping[str, Any]) -> bool:
    for entry in foreign.objects(config.get("metric_list")):
        if entry.get("metric") == metric and entry.get("aggregation"):
            return bool(entry["aggregation"] == "mean")
    return metric in _MEANS
