"""lm-evaluation-harness: ``samples_<task>_<date>.jsonl``, or its results alone."""

from __future__ import annotations

import re
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from pytest_evalmetrics.rollouts import foreign
from pytest_evalmetrics.rollouts.foreign import Document, Rollout, ToolLoader
from pytest_evalmetrics.rollouts.formats import is_lm_eval_results

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_evalmetrics.ext import Source, TaskId

_WHAT: Final = "the results of lm-evaluation-harness"
_NO_FILTER: Final = ("", "none")
_MEANS: Final = frozenset({"acc", "acc_norm", "exact_match", "em"})  # where nothing is said
_MEASURES: Final = ("metric_list", "filter_list", "process_results", "doc_to_target")
_name = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d.-]+)\.jsonl").fullmatch


class LmEval(ToolLoader):
    """Reads samples: a document is a task, scored once however often it was generated.

    A metric is a score by its name, or as ``metric,filter`` where the filter has a name.
    """

    def _fill(self, builder: foreign.ChunkBuilder, source: Source) -> None:
        if is_lm_eval_results(source.keys):
            _add_aggregates(builder, Document.of(source, _WHAT), source)
            return
        match = _name(source.path.name.removesuffix(".gz").removesuffix(".zst"))
        name = match["task"] if match else None
        file = f"results_{match['date']}.json" if match else ""
        results = Document.beside(source, file, _WHAT) if match else None
        documents, repeats = self._documents(source, name, results)
        builder.positional = any(type(task) is int for task in documents)
        for rollout in documents.values():
            builder.add(rollout)
        if repeats > 1:
            builder.notes.append(
                f"{source.shown}: each document was answered {repeats} times and scored once, "
                "which makes it one rollout"
            )
        if results is not None:
            _compare(documents, results, str(name), file, builder)
        if name is not None and documents:
            config = foreign.mapping(_of_task(results, "configs", name))
            settings = {key: config.get(key) for key in _MEASURES}
            settings = {"version": _of_task(results, "versions", name), **settings}
            scores = {score for rollout in documents.values() for score in rollout.scores}
            builder.measured(f"lm_eval task {name}", scores, settings)

    def _documents(
        self, source: Source, name: str | None, results: Document | None
    ) -> tuple[dict[TaskId, Rollout], int]:
        """Read each document with the scores of all filters, and how often they were answered."""
        documents: dict[TaskId, Rollout] = {}
        places: dict[tuple[TaskId, str], int] = {}
        repeats = 1
        reads_records = foreign.reads_records(self._request)
        for place, row in foreign.rows_of(source):
            task: Any = row.get("doc_id")
            if type(task) not in (int, str):
                raise source.error_at(
                    place,
                    f"this row's doc_id is {task!r}; expected a whole number",
                    "is this the output of lm-evaluation-harness with --log_samples?",
                )
            filter_ = str(row.get("filter") or _NO_FILTER[-1])
            if (task, filter_) in places:
                raise source.error_at(
                    place,
                    f"the document {task!r} with the filter {filter_!r} stands here and in "
                    f"{source.at(places[task, filter_])}",
                    "was a run appended to the file of another?",
                )
            places[task, filter_] = place
            if task not in documents:
                content = row.get("doc_hash")
                record = row if reads_records else dict.fromkeys(row)
                documents[task] = Rollout(
                    record={**record, "task": name},
                    name=source.at(place),
                    task=task if name is None else f"{name}/{task}",
                    sample=0,
                    agent=_agent(results),
                    content=row.get("doc") if content is None else content,
                )
            for metric in _metrics(row):
                documents[task].scores[_column(metric, filter_)] = row.get(metric)
            answers = row.get("resps")
            # before there were filters, a list was an answer with its likelihood
            if isinstance(answers, list) and row.get("filter") is not None:
                repeats = max([repeats, *(len(a) for a in answers if isinstance(a, list))])
        return documents, repeats


def _add_aggregates(builder: foreign.ChunkBuilder, results: Document, source: Source) -> None:
    """Add each task of a file of results as one rollout, with its standard errors."""
    groups = results.object("group_subtasks")
    left_out = []
    for task, stated in results.object("results").items():
        if groups.get(task):  # its tasks are here themselves
            left_out.append(task)
            continue
        entries = foreign.mapping(stated)
        scores: dict[str, Any] = {}
        names: list[str] = []
        counts = foreign.mapping(_of_task(results, "n-samples", task))
        for key, value in entries.items():
            metric, comma, filter_ = key.partition(",")
            stderr = f"{metric}_stderr{comma}{filter_}"
            if metric.endswith("_stderr") or not (comma or stderr in entries):
                continue
            names.append(_column(metric, filter_))
            samples = foreign.number(counts.get("effective"))
            error = foreign.number(entries.get(stderr))
            scores |= foreign.aggregate(names[-1], value, error, samples)
        builder.add(
            Rollout(
                record={"task": task},
                name=f"{source.shown}: {task}",
                task=task,
                sample=0,
                agent=_agent(results),
                scores=scores,
                rewards=names,
            )
        )
    if left_out:
        builder.notes.append(f"{source.shown}: groups are left out: {', '.join(left_out)}")
    builder.notes.append(
        f"{source.shown} holds aggregates without samples: a drop is judged by Welch's test of "
        "their standard errors, which pairs no questions; with --log_samples a smaller one is seen"
    )


def _column(metric: str, filter_: str) -> str:
    return metric if filter_ in _NO_FILTER else f"{metric},{filter_}"


def _metrics(row: Mapping[str, Any]) -> list[str]:
    named = row.get("metrics")
    if isinstance(named, list):
        return [name for name in named if isinstance(name, str)]
    return [k for k, v in row.items() if k != "doc_id" and isinstance(v, bool | int | float)]


def _agent(results: Document | None) -> str | None:
    model = None if results is None else results.get("model_name")
    return model if isinstance(model, str) and model else None


def _of_task(results: Document | None, key: str, task: str) -> Any:
    return None if results is None else results.object(key).get(task)


def _compare(
    documents: Mapping[TaskId, Rollout],
    results: Document,
    task: str,
    file: str,
    builder: foreign.ChunkBuilder,
) -> None:
    """Compare the counts and the means of the results with those of the documents."""
    counts = foreign.mapping(_of_task(results, "n-samples", task))
    builder.compare(f"n-samples in {file}", counts.get("effective"), len(documents))
    config = foreign.mapping(_of_task(results, "configs", task))
    aggregations = {
        str(entry.get("metric")): entry["aggregation"]
        for entry in foreign.objects(config.get("metric_list"))
        if entry.get("aggregation")
    }
    for key, stated in foreign.mapping(_of_task(results, "results", task)).items():
        metric, _, filter_ = key.partition(",")
        if aggregations.get(metric, "mean" if metric in _MEANS else None) == "mean":
            column = _column(metric, filter_)
            values = [foreign.number(each.scores.get(column)) for each in documents.values()]
            given = [value for value in values if value is not None]
            builder.compare(f"{key} in {file}", stated, *([fmean(given)] if given else []))
